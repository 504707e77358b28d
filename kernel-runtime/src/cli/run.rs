//! `run`: runs a kernel on the CPU and compares it with its reference.

use super::args::{Backend, RunArgs};
use super::output::Output;
use super::select::{Selected, select_one};
use super::table::{Align, Table, grouped, or_dash};
use super::{Failure, Verdict};
use crate::back::interp;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::Array;
use crate::run::device::XlaDevice;
use crate::run::{Comparison, KernelEntry, Tolerance, compare_all, tensor_file};
use crate::target::GENERIC;
use crate::valid::{self, Valid};
use serde::Serialize;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

#[derive(Serialize)]
struct Row<'a> {
    kernel: &'a str,
    spec: &'a str,
    backend: &'static str,
    ok: bool,
    max_abs_err: Option<f64>,
    max_ulp: Option<u64>,
    wall_ms: Option<f64>,
    /// Warnings of the validator, and why the kernel failed.
    diagnostics: Diagnostics,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &RunArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let selected = select_one(registry, &args.name, args.spec.as_deref())?;
    refuse_overwriting(args.input.as_deref(), args.output.as_deref())?;
    let mut row = Row {
        kernel: selected.entry.name,
        spec: selected.spec.name(),
        backend: args.on.name(),
        ok: false,
        max_abs_err: None,
        max_ulp: None,
        wall_ms: None,
        diagnostics: Diagnostics::default(),
    };
    let mut errors = Diagnostics::default();
    match run_selected(&selected, args, &mut row.diagnostics)? {
        Ok(ran) => {
            row.ok = ran.comparison.ok;
            row.max_abs_err = Some(ran.comparison.max_abs_err);
            row.max_ulp = Some(ran.comparison.max_ulp);
            row.wall_ms = Some(ran.wall_ms);
            errors.0.extend(wrong_result(&selected, &ran.comparison));
        }
        Err(diagnostics) => errors = diagnostics,
    }
    output.diagnostics(&errors);
    row.diagnostics.0.extend(errors.0);
    if output.json() {
        output.value(&row);
    } else {
        output.table(&table(&row, selected.spec.tolerated()));
    }
    Ok(Verdict::from_ok(row.ok))
}

/// Refuses to write outputs over the inputs, by whatever path: the user has no other copy of them.
pub(super) fn refuse_overwriting(
    input: Option<&Path>,
    output: Option<&Path>,
) -> Result<(), Failure> {
    let (Some(input), Some(output)) = (input, output) else { return Ok(()) };
    // Through links, and equal for two hard links. What does not exist is no other file's name.
    let identity = |path: &Path| {
        let data = std::fs::metadata(path).ok()?;
        Some((data.dev(), data.ino()))
    };
    if identity(input).is_none() || identity(input) != identity(output) {
        return Ok(());
    }
    let (input, output) = (input.display(), output.display());
    let message = format!("`--input {input}` and `--output {output}` are the same file");
    Err(Failure::usage(
        Diagnostic::error(Code::CLI_SAME_FILE, message)
            .help("give another `--output`: the outputs would replace the inputs"),
    ))
}

fn wrong_result(selected: &Selected<'_>, comparison: &Comparison) -> Option<Diagnostic> {
    let message = format!("{}: {}", selected.name(), comparison.describe_bad()?);
    Some(
        Diagnostic::error(Code::RUN_WRONG_RESULT, message)
            .help("run it with `--on interp` and `--on xla-cpu` to see whether both are wrong"),
    )
}

struct Ran {
    comparison: Comparison,
    wall_ms: f64,
}

/// Runs the spec; the outer error is a mistake on the command line, the inner one the kernel's.
fn run_selected(
    selected: &Selected<'_>,
    args: &RunArgs,
    warnings: &mut Diagnostics,
) -> Result<Result<Ran, Diagnostics>, Failure> {
    let spec = &selected.spec;
    let valid = match spec.kernel(&GENERIC).and_then(|kernel| valid::check(kernel, &GENERIC)) {
        Ok(valid) => valid,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    *warnings = valid.warnings().clone();
    let inputs = match &args.input {
        Some(path) => tensor_file::read_inputs(valid.kernel(), path).map_err(Failure::Usage)?,
        None => spec.sample_inputs(args.seed).map_err(Failure::Failed)?,
    };
    let start = Instant::now();
    let outputs = match run_on(args.on, &valid, &inputs) {
        Ok(outputs) => outputs,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    if let Some(path) = &args.output {
        tensor_file::write_outputs(valid.kernel(), &outputs, path).map_err(Failure::Failed)?;
    }
    let expected = spec.expected(&inputs).map_err(Failure::Failed)?;
    let comparison = compare_all(&expected, &outputs, spec.tolerated());
    Ok(Ok(Ran { comparison, wall_ms }))
}

fn run_on(backend: Backend, valid: &Valid, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
    match backend {
        Backend::Interp => Ok(interp::run(valid, inputs, &interp::Options::default())?.outputs),
        Backend::XlaCpu => XlaDevice::xla_cpu()?.run(valid, inputs),
    }
}

fn table(row: &Row<'_>, tolerance: &Tolerance) -> Table {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("spec", Align::Left),
        ("backend", Align::Left),
        ("result", Align::Left),
        ("max abs err", Align::Right),
        ("max ULP", Align::Right),
        ("allowed ULP", Align::Right),
        ("wall ms", Align::Right),
    ]);
    table.row(vec![
        row.kernel.into(),
        row.spec.into(),
        row.backend.into(),
        if row.ok { "ok" } else { "failed" }.into(),
        or_dash(row.max_abs_err, |err| format!("{err:.3e}")),
        or_dash(row.max_ulp, grouped),
        grouped(tolerance.ulp),
        or_dash(row.wall_ms, |ms| format!("{ms:.2}")),
    ]);
    table
}
