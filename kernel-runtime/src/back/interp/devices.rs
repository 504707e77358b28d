//! Runs on several devices or cores: one run for each, schedules tried, results compared.

use super::agents::{self, Layout};
use super::budget::Budget;
use super::exec::Run;
use super::report::Reports;
use super::rounding::rounded_params;
use super::{Options, Outcome, Random, gather};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Kernel, Semantics};
use std::sync::Arc;

/// Whether a kernel runs on several cores or on subcores that meet, or knows of other devices.
pub(super) fn has_several_agents(kernel: &Kernel) -> bool {
    let on_cores = |axis: &crate::ir::GridAxis| axis.semantics == Semantics::CoreParallel;
    !kernel.mesh.is_empty() || kernel.grid.iter().any(on_cores) || agents::subcores_meet(kernel)
}

/// A kernel for several devices was given the arrays of one.
pub(super) fn one_for_many(kernel: &Kernel) -> Diagnostic {
    let (name, n) = (&kernel.name, kernel.n_devices());
    let message = format!("`{name}` runs on {n} devices at once, but was given the arrays of one");
    Diagnostic::error(Code::INTERP_INPUT, message).help(
        "give it the arrays of each: `run::call_devices(&kernel.trace(&args)?, &[..])`, or `interp::run_devices`",
    )
}

/// Runs a kernel on all its devices in the schedules that are asked for.
pub(super) fn run(
    kernel: &Kernel,
    inputs: &[&[Array]],
    options: &Options,
) -> Result<Vec<Outcome>, Diagnostics> {
    if inputs.len() != kernel.n_devices() {
        let message = format!(
            "`{}` runs on {} devices, but the arrays of {} were given",
            kernel.name,
            kernel.n_devices(),
            inputs.len()
        );
        return Err(Diagnostic::error(Code::INTERP_INPUT, message).into());
    }
    let runs = inputs.iter().enumerate().map(|(device, inputs)| {
        let name = format!("device {device}");
        Run::new(kernel, inputs, options).map_err(|problems| noted(problems, &name))
    });
    let runs = runs.collect::<Result<Vec<Run<'_>>, Diagnostics>>()?;
    let Some(first) = runs.first() else { return Ok(Vec::new()) };
    if let Some(device) = runs.iter().position(|run| run.extents != first.extents) {
        let message = format!(
            "the grid has {:?} steps on device 0, but {:?} on device {device}",
            first.extents, runs[device].extents
        );
        return Err(Diagnostic::error(Code::INTERP_INPUT, message).into());
    }
    if !has_several_agents(kernel) {
        let only = super::run_segments(first)?;
        let mut reports = Reports::default();
        let outcome = gather(first, only, &mut reports);
        return if reports.is_empty() {
            Ok(vec![outcome])
        } else {
            Err(reports.into_diagnostics())
        };
    }
    let n_agents = Layout::count(kernel, &first.extents);
    Budget::of(first).with_agents(n_agents, first).check(n_agents, first)?;
    let layout = Arc::new(Layout::of(&first.plan, &first.extents));
    let mut random = Random(options.seed);
    let mut outcomes: Option<Vec<Outcome>> = None;
    for schedule in 0..options.schedules.max(1) {
        let found = run_schedule(&runs, &layout, random.next());
        let found = found.map_err(|problems| {
            let n = options.schedules.max(1);
            noted(problems, &format!("schedule {} of {n}, seed {}", schedule + 1, options.seed))
        })?;
        match &outcomes {
            None => outcomes = Some(found),
            Some(known) => check_equal(kernel, known, &found, schedule, options)?,
        }
    }
    Ok(outcomes.unwrap_or_default())
}

fn run_schedule(
    runs: &[Run<'_>],
    layout: &Arc<Layout>,
    seed: u64,
) -> Result<Vec<Outcome>, Diagnostics> {
    let mut scheduled = agents::run(runs, layout, seed)?;
    let mut all = scheduled.reports;
    for found in scheduled.found.iter_mut().flatten() {
        all.extend(std::mem::take(&mut found.reports));
    }
    // What is missing after a mistake is missing for that reason alone.
    if !all.is_empty() {
        return Err(all.into_diagnostics());
    }
    let mut outcomes = Vec::with_capacity(runs.len());
    for (device, (run, found)) in runs.iter().zip(scheduled.found).enumerate() {
        let mut reports = Reports::default();
        outcomes.push(gather(run, found, &mut reports));
        if runs.len() > 1 {
            reports.note(&format!("device {device}"));
        }
        all.extend(reports);
    }
    if all.is_empty() { Ok(outcomes) } else { Err(all.into_diagnostics()) }
}

/// Whether all elements are equal but for the rounding of sums in another order.
fn is_rounding(known: &Array, found: &Array) -> bool {
    let dtype = known.dtype();
    if !dtype.is_float() {
        return false;
    }
    // Hundreds of summands, each rounded in the worst way.
    let unit = if dtype == DType::F32 { 2f64.powi(-16) } else { 2f64.powi(-4) };
    let (known, found) = (known.to_f64(), found.to_f64());
    let largest = known.iter().filter(|x| x.is_finite()).fold(0f64, |most, x| most.max(x.abs()));
    known
        .iter()
        .zip(&found)
        .all(|(x, y)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= unit * largest)
}

/// Checks that a schedule gave what the first one did.
fn check_equal(
    kernel: &Kernel,
    known: &[Outcome],
    found: &[Outcome],
    schedule: u32,
    options: &Options,
) -> Result<(), Diagnostics> {
    let params = kernel.params.iter().zip(rounded_params(kernel));
    let outputs: Vec<_> = params.filter(|(param, _)| param.kind.is_output()).collect();
    for (device, (known, found)) in known.iter().zip(found).enumerate() {
        let pairs = known.outputs.iter().zip(&found.outputs).zip(&outputs);
        let differing = pairs.into_iter().find(|((known, found), (_, rounded))| {
            // As bytes: NaN is equal to itself here.
            known.as_bytes() != found.as_bytes() && !(*rounded && is_rounding(known, found))
        });
        let Some((_, (param, _))) = differing else { continue };
        let message = format!(
            "`{}` of device {device} is another in schedule {} than in schedule 1: it depends on which device or copy is faster",
            param.name,
            schedule + 1
        );
        let diagnostic = Diagnostic::error(Code::INTERP_SCHEDULE, message)
            .at_opt(kernel.span(param.loc), format!("`{}` is declared here", param.name))
            .note(format!("seed {}", options.seed))
            .help("let no result depend on `read` of a semaphore, or on the order in which sums arrive");
        return Err(diagnostic.into());
    }
    Ok(())
}

/// Says of each problem where it was found.
fn noted(problems: Diagnostics, note: &str) -> Diagnostics {
    Diagnostics(problems.0.into_iter().map(|problem| problem.note(note)).collect())
}
