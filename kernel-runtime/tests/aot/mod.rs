//! Compiling with libtpu, without a TPU. A missing libtpu fails the tests with the command that gets
//! it.
mod cache;
mod estimate;
mod failure;
#[cfg(feature = "mlir")]
mod pinned;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use systole::aot::{Options, Report, Request};
use systole::target::Target;

/// A matmul as XLA sees it.
pub(crate) const DOT: &str = include_str!("dot.mlir");

/// A matmul kernel in the form that goes into a `tpu_custom_call`, with locations in `kernel.rs`.
pub(crate) const KERNEL: &str = include_str!("matmul.stable_mosaic.mlir");

/// A module that does nothing but call a kernel.
pub(crate) fn call_kernel(body: &str) -> String {
    let body = STANDARD.encode(body);
    let config = format!(
        r#"{{\22custom_call_config\22: {{\22body\22: \22{body}\22, \22serialization_format\22: 1, \22needs_layout_passes\22: true}}}}"#
    );
    format!(
        "func.func public @main(%a: tensor<256x512xbf16>, %b: tensor<512x256xbf16>) -> tensor<256x256xf32> {{
  %c = stablehlo.custom_call @tpu_custom_call(%a, %b) {{backend_config = \"{config}\"}}
    : (tensor<256x512xbf16>, tensor<512x256xbf16>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}}"
    )
}

/// A request that asks libtpu itself, never the cache.
pub(crate) fn fresh(target: &'static Target, program: &str) -> Request {
    let options = Options { cache: None, ..Options::default() };
    Request::new("test", target, program).with(options)
}

/// The report of a compile that must work.
pub(crate) fn ok(report: Report) -> Report {
    assert!(report.is_ok(), "{:?}", report.messages);
    report
}
