//! From a kernel to libtpu's report in one call.

use crate::aot::{self, Report, Request};
use crate::back::mosaic;
use crate::diag::Diagnostics;
use crate::ir::Kernel;
use crate::target::Target;
use crate::valid;

/// Validates a kernel for a TPU, lowers it and compiles it with libtpu in a worker process.
///
/// The program must begin its `main` with [`aot::init`].
///
/// # Errors
/// What the validator or the lowering refuses, and libtpu's own messages at the kernel's lines.
pub fn compile_for(kernel: &Kernel, target: &'static Target) -> Result<Report, Diagnostics> {
    let valid = valid::check(kernel.clone(), target)?;
    let program = mosaic::call(&valid, &mosaic::Options::default())?;
    let report = aot::compile(&Request::new(&kernel.name, target, program));
    if report.is_ok() { Ok(report) } else { Err(Diagnostics(report.diagnostics())) }
}
