//! `run`: runs a kernel on the CPU and compares it with its reference.

use super::args::{Backend, RunArgs};
use super::output::Output;
use super::select::{Selected, select_one};
use super::table::{Align, Table, grouped, or_dash};
use super::{Failure, Verdict};
use crate::back::interp;
use crate::diag::Diagnostics;
use crate::ir::Array;
use crate::run::device::XlaDevice;
use crate::run::{Comparison, KernelEntry, Tolerance, compare_all, tensor_file};
use crate::target::GENERIC;
use crate::valid::{self, Valid};
use serde::Serialize;
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
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &RunArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let selected = select_one(registry, &args.name, args.spec.as_deref())?;
    let mut row = Row {
        kernel: selected.entry.name,
        spec: selected.spec.name(),
        backend: args.on.name(),
        ok: false,
        max_abs_err: None,
        max_ulp: None,
        wall_ms: None,
    };
    let ran = run_selected(&selected, args)?;
    let comparison = match &ran {
        Ok(ran) => {
            row.ok = ran.comparison.ok;
            row.max_abs_err = Some(ran.comparison.max_abs_err);
            row.max_ulp = Some(ran.comparison.max_ulp);
            row.wall_ms = Some(ran.wall_ms);
            Some(&ran.comparison)
        }
        Err(diagnostics) => {
            output.diagnostics(diagnostics);
            None
        }
    };
    if output.json() {
        output.value(&row);
    } else {
        output.table(&table(&row, selected.spec.tolerated()));
    }
    if let Some(text) = comparison.and_then(Comparison::describe_bad) {
        output.error_text(&text);
    }
    Ok(Verdict::from_ok(row.ok))
}

struct Ran {
    comparison: Comparison,
    wall_ms: f64,
}

/// Runs the spec; the outer error is a mistake on the command line, the inner one the kernel's.
fn run_selected(
    selected: &Selected<'_>,
    args: &RunArgs,
) -> Result<Result<Ran, Diagnostics>, Failure> {
    let spec = &selected.spec;
    let valid = match spec.kernel(&GENERIC).and_then(|kernel| valid::check(kernel, &GENERIC)) {
        Ok(valid) => valid,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
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
