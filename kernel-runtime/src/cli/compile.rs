//! From what the user names to libtpu's reports: selecting, lowering, and compiling many modules
//! behind a progress bar.

use super::Failure;
use super::cache::unusable;
use super::output::Output;
use super::select::{Selected, select, select_targets};
use crate::aot::{self, Report, Request};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::{KernelEntry, Spec};
use crate::target::Target;
use crate::valid::{self, Valid};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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

/// What the user wants compiled.
pub(crate) struct Wanted<'a> {
    /// The command, for messages.
    pub(crate) command: &'static str,
    pub(crate) names: &'a [String],
    pub(crate) spec: Option<&'a str>,
    pub(crate) targets: &'a [String],
    /// Extra specs too, where no kernel is named.
    pub(crate) all: bool,
    /// What each Rust line costs, which takes libtpu a fifth longer.
    pub(crate) lines: bool,
}

/// A kernel for a target, as far as it came.
pub(crate) struct Compiled {
    pub(crate) kernel: &'static str,
    pub(crate) spec: String,
    pub(crate) target: &'static Target,
    pub(crate) status: Status,
    /// Warnings, and why it is not `Ok`.
    pub(crate) diagnostics: Diagnostics,
    /// libtpu's report, unless the kernel did not come so far.
    pub(crate) report: Option<Report>,
    /// The reports of the programs beside it.
    pub(crate) beside: Vec<Report>,
}

/// Gives the programs to compile beside a kernel for a target.
pub(crate) type Beside = fn(&Selected<'_>, &'static Target) -> Vec<Request>;

/// Selects, lowers and compiles: every wanted spec for every wanted target, in registry order. With
/// `beside`, further programs for each kernel that came so far.
///
/// A killed run loses nothing: each result is cached as soon as it is there.
pub(crate) fn compile_wanted(
    registry: &[KernelEntry],
    wanted: &Wanted<'_>,
    beside: Option<Beside>,
    output: &mut Output<'_>,
) -> Result<Vec<Compiled>, Failure> {
    let mut selected = select(registry, wanted.names, wanted.spec)?;
    let targets = select_targets(wanted.targets)?;
    require_mlir(wanted.command)?;
    if !wanted.all && wanted.names.is_empty() && wanted.spec.is_none() {
        leave_extra_out(&mut selected, output);
    }
    let options = aot::Options { lines: wanted.lines, ..aot::Options::default() };
    let mut all = Vec::new();
    // For each kernel that goes to libtpu, how many requests are its own.
    let (mut requests, mut n_requests) = (Vec::new(), Vec::new());
    for selected in &selected {
        for &target in &targets {
            let lowered = lower(selected, target, &options);
            let (status, diagnostics) = match lowered {
                Ok((request, warnings)) => {
                    let n_before = requests.len();
                    requests.push(request);
                    requests.extend(beside.into_iter().flat_map(|beside| beside(selected, target)));
                    n_requests.push((all.len(), requests.len() - n_before));
                    (Status::Ok, warnings)
                }
                Err(failed) => failed,
            };
            all.push(Compiled {
                kernel: selected.entry.name,
                spec: selected.spec.name().to_owned(),
                target,
                status,
                diagnostics,
                report: None,
                beside: Vec::new(),
            });
        }
    }
    let mut reports = compile(&requests, wanted.command, output)?.into_iter();
    for (idx, n) in n_requests {
        all[idx].take(reports.by_ref().take(n));
    }
    let of_each = selected.iter().flat_map(|selected| targets.iter().map(move |_| selected));
    pin_tables(all.iter_mut().zip(of_each), wanted.command, &options);
    Ok(all)
}

/// Leaves specs with [`Spec::EXTRA`] to those who ask for them, and says so.
fn leave_extra_out(selected: &mut Vec<Selected<'_>>, output: &mut Output<'_>) {
    let n_before = selected.len();
    selected.retain(|selected| !selected.spec.has_tag(Spec::EXTRA));
    let n_left_out = n_before - selected.len();
    if n_left_out > 0 {
        output.error_text(&format!(
            "{n_left_out} of {n_before} specs are extra ones and left out: `--all` takes them, as does their kernel's name"
        ));
    }
}

impl Compiled {
    /// Takes the reports of its requests, its own first.
    fn take(&mut self, mut reports: impl Iterator<Item = Report>) {
        self.report = reports.next();
        self.beside = reports.collect();
        if let Some(report) = self.report.as_ref().filter(|report| !report.is_ok()) {
            self.status = Status::Error;
            self.diagnostics.0.extend(report.diagnostics());
        }
    }
}

/// Adds the estimates of kernels that read tables, each for those of its spec's own inputs.
#[cfg(feature = "mlir")]
fn pin_tables<'a, 'b: 'a>(
    compiled: impl Iterator<Item = (&'a mut Compiled, &'a Selected<'b>)>,
    command: &'static str,
    options: &aot::Options,
) {
    let has_tables = |(compiled, selected): (&'a mut Compiled, &'a Selected<'b>)| {
        let kernel = selected.spec.kernel(compiled.target).ok();
        let kernel = kernel.filter(crate::pass::is_pinnable)?;
        compiled.report.is_some().then_some((&selected.spec, compiled, kernel))
    };
    let mut reading: Vec<_> = compiled.filter_map(has_tables).collect();
    let progress = progress_bar(reading.len(), command);
    // Targets share the inputs of a spec, which take longer to make than a cached report to find.
    let of_specs: Vec<_> = reading
        .chunk_by(|a, b| std::ptr::eq(a.0, b.0))
        .map(|of_spec| (of_spec[0].0, of_spec))
        .collect();
    let reports = aot::in_parallel(&of_specs, parallelism(), |_, (spec, of_spec)| {
        let inputs = spec.sample_inputs(0).ok();
        let pinned = of_spec.iter().map(|(_, compiled, kernel)| {
            let (target, report) = (compiled.target, compiled.report.clone());
            progress.set_message(format!("{} on {target}, its tables pinned", spec.name()));
            let (report, inputs) = report.zip(inputs.as_ref())?;
            progress.inc(1);
            Some(aot::estimate_pinned(report, kernel, inputs, target, options))
        });
        pinned.collect::<Vec<_>>()
    });
    progress.finish_and_clear();
    for ((_, compiled, _), report) in reading.iter_mut().zip(reports.into_iter().flatten()) {
        compiled.report = report.or(compiled.report.take());
    }
}

#[cfg(not(feature = "mlir"))]
fn pin_tables<'a, 'b: 'a>(
    _: impl Iterator<Item = (&'a mut Compiled, &'a Selected<'b>)>,
    _: &'static str,
    _: &aot::Options,
) {
}

/// How many compiles at a time.
fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Traces, validates and lowers a spec for a target; with warnings.
fn lower(
    selected: &Selected<'_>,
    target: &'static Target,
    options: &aot::Options,
) -> Result<(Request, Diagnostics), (Status, Diagnostics)> {
    let failed = |diagnostics: Diagnostics| {
        let unsupported = diagnostics.is_unsupported();
        (if unsupported { Status::Unsupported } else { Status::Error }, diagnostics)
    };
    let kernel = selected.spec.kernel(target).map_err(failed)?;
    let valid = valid::check(kernel, target).map_err(failed)?;
    let module = mosaic_call(&valid).map_err(failed)?;
    let request = Request::new(selected.name(), target, module).with(options.clone());
    Ok((request, valid.warnings().clone()))
}

/// Compiles, or takes from the result cache; reports are in the order of requests.
fn compile(
    requests: &[Request],
    command: &'static str,
    output: &mut Output<'_>,
) -> Result<Vec<Report>, Failure> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let progress = progress_bar(requests.len(), command);
    let told = Mutex::new(Instant::now());
    let reports = aot::compile_many(requests, parallelism(), |idx, report| {
        progress.set_message(format!("{} on {}", requests[idx].name, report.target));
        progress.inc(1);
        tell_progress(&progress, &told, command);
    });
    progress.finish_and_clear();
    if let Some(diagnostic) = same_for_all(&reports) {
        return Err(Failure::Failed(diagnostic.into()));
    }
    output.diagnostics(&cache_warnings(&reports));
    Ok(reports)
}

/// The one diagnostic of a set-up with which nothing compiles, whatever the cache still has: it says
/// more than a hundred.
fn same_for_all(reports: &[Report]) -> Option<Diagnostic> {
    let mut asked = reports.iter().filter(|report| !report.from_cache);
    let text_of = |report: &Report| match (report.status, &report.messages[..]) {
        (aot::Status::Unavailable, [message, ..]) => Some(message.text.clone()),
        _ => None,
    };
    let text = text_of(asked.next()?)?;
    asked
        .all(|report| text_of(report).as_ref() == Some(&text))
        .then(|| Diagnostic::error(Code::AOT_UNAVAILABLE, text))
}

/// What the user should know of the result cache.
fn cache_warnings(reports: &[Report]) -> Diagnostics {
    let cache = aot::result_cache(&aot::result_cache_dir());
    let mut warnings = Diagnostics::default();
    let damaged: Vec<String> = reports
        .iter()
        .filter(|report| report.cache_was_damaged)
        .map(|report| format!("{} on {}", report.name, report.target))
        .collect();
    if !damaged.is_empty() {
        let message = format!(
            "{} of {} results in {} were damaged: they were removed, and compiled anew",
            damaged.len(),
            reports.len(),
            cache.dir().display()
        );
        let warning = Diagnostic::warning(Code::CACHE_DAMAGED, message);
        warnings.push(warning.note(damaged.join(", ")).help("`cache verify` checks all others"));
    }
    warnings.0.extend(unusable(&cache));
    warnings
}

/// A bar on standard error, which hides itself if that is no terminal.
fn progress_bar(n: usize, command: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(n as u64).with_prefix(command);
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    match ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}") {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}

/// Where no terminal shows the bar, a line every ten seconds.
fn tell_progress(progress: &ProgressBar, told: &Mutex<Instant>, command: &str) {
    const EVERY: Duration = Duration::from_secs(10);
    let mut last = told.lock().unwrap_or_else(PoisonError::into_inner);
    if progress.is_hidden() && last.elapsed() >= EVERY {
        *last = Instant::now();
        let (done, all) = (progress.position(), progress.length().unwrap_or_default());
        // Nobody can be told if that fails.
        let _ = writeln!(std::io::stderr(), "{command}: {done} of {all}, {}", progress.message());
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
    mosaic::text(valid, &mosaic::Options::default())
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
