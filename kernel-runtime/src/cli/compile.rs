//! From specs to libtpu's reports: lowering, and compiling many modules behind a progress bar.

use super::Failure;
use super::select::Selected;
use crate::aot::{self, Report, Request};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::pjrt::Plugin;
use crate::target::Target;
use crate::valid::{self, Valid};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// How a kernel fared for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// libtpu compiled it.
    Ok,
    /// It is wrong, or libtpu did not compile it.
    Error,
    /// The target lacks what it needs: our validator said so, and libtpu was not asked.
    Unsupported,
}

impl Status {
    /// The name in results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Error => "error",
            Status::Unsupported => "unsupported",
        }
    }
}

/// A kernel on its way to libtpu.
pub(crate) struct Lowered {
    pub(crate) request: Request,
    pub(crate) warnings: Diagnostics,
}

/// Traces, validates and lowers a spec for a target.
pub(crate) fn lower(
    selected: &Selected<'_>,
    target: &'static Target,
) -> Result<Lowered, (Status, Diagnostics)> {
    let failed = |diagnostics: Diagnostics| {
        let unsupported = diagnostics.is_unsupported();
        (if unsupported { Status::Unsupported } else { Status::Error }, diagnostics)
    };
    let kernel = selected.spec.kernel(target).map_err(failed)?;
    let valid = valid::check(kernel, target).map_err(failed)?;
    let module = mosaic_call(&valid).map_err(failed)?;
    let request = Request::new(selected.name(), target, module);
    Ok(Lowered { request, warnings: valid.warnings().clone() })
}

/// Compiles, or takes from the result cache; reports are in the order of requests.
///
/// A killed run loses nothing: each result is cached as soon as it is there.
pub(crate) fn compile(requests: &[Request], what: &'static str) -> Result<Vec<Report>, Failure> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    // Without libtpu every request fails alike: one diagnostic says more than a hundred.
    if let Err(error) = Plugin::tpu_path() {
        let diagnostic = Diagnostic::error(Code::AOT_UNAVAILABLE, error.message);
        return Err(Failure::Failed(diagnostic.into()));
    }
    let progress = progress_bar(requests.len(), what);
    let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
    let reports = aot::compile_many(requests, parallelism, |idx, report| {
        progress.set_message(format!("{} on {}", requests[idx].name, report.target));
        progress.inc(1);
    });
    progress.finish_and_clear();
    Ok(reports)
}

/// A bar on standard error, which hides itself if that is no terminal.
fn progress_bar(n: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(n as u64).with_prefix(what);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    match ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// The StableHLO module that calls the kernel's Mosaic module.
#[cfg(feature = "mlir")]
pub(crate) fn mosaic_call(valid: &Valid) -> Result<String, Diagnostics> {
    use crate::back::mosaic;
    mosaic::call(valid, &mosaic::Options::default())
}

/// The kernel's Mosaic module as text.
#[cfg(feature = "mlir")]
pub(crate) fn mosaic_text(valid: &Valid) -> Result<String, Diagnostics> {
    use crate::back::mosaic;
    Ok(mosaic::lower(valid, &mosaic::Options::default())?.text)
}

/// Fails if this build cannot do what needs MLIR.
pub(crate) fn require_mlir(what: &str) -> Result<(), Failure> {
    if cfg!(feature = "mlir") {
        return Ok(());
    }
    Err(Failure::Usage(missing_mlir(what).into()))
}

fn missing_mlir(what: &str) -> Diagnostic {
    let message = format!("`{what}` needs the feature `mlir`, which this build lacks");
    Diagnostic::error(Code::CLI_MISSING_FEATURE, message)
        .help("build with default features; `./x setup` installs LLVM 22")
}

#[cfg(not(feature = "mlir"))]
pub(crate) fn mosaic_call(_: &Valid) -> Result<String, Diagnostics> {
    Err(missing_mlir("mosaic").into())
}

#[cfg(not(feature = "mlir"))]
pub(crate) fn mosaic_text(_: &Valid) -> Result<String, Diagnostics> {
    Err(missing_mlir("mosaic").into())
}
