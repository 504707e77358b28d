//! `bench`: the estimated cycles of kernels beside XLA's for the same math.
//!
//! Like for like: both sides are compiled with their arrays in HBM, so that every transfer is
//! inside the estimate. XLA is compiled with its defaults too, where it may prefetch arrays into
//! VMEM outside of every estimate, and its better time is reported; the note says which.

use super::args::{Against, BenchArgs};
use super::compile::{Compiled, Status, Wanted, compile_wanted};
use super::output::Output;
use super::select::Selected;
use super::table::{Align, Table, grouped, or_dash};
use super::{Failure, Verdict};
use crate::aot::{Options, Report, Request};
use crate::diag::Diagnostics;
use crate::run::KernelEntry;
use crate::target::Target;
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    spec: String,
    target: &'static str,
    cycles: Option<u64>,
    xla_cycles: Option<u64>,
    /// `cycles / xla_cycles`: below 1, the kernel needs fewer cycles than XLA.
    ratio: Option<f64>,
    time_us: Option<f64>,
    xla_time_us: Option<f64>,
    hbm_bytes: Option<u64>,
    xla_hbm_bytes: Option<u64>,
    note: Option<String>,
    /// Warnings, and why the kernel did not compile.
    diagnostics: Diagnostics,
    #[serde(skip)]
    status: Status,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &BenchArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let wanted = Wanted {
        command: "bench",
        names: &args.names,
        spec: args.spec.as_deref(),
        targets: &args.target,
        all: true,
        lines: false,
    };
    // What else there will be to compare with needs its own programs; rustc points here then.
    let Against::Xla = args.against;
    let compiled = compile_wanted(registry, &wanted, Some(xla_requests), output)?;
    let rows: Vec<Row> = compiled.into_iter().map(Row::new).collect();
    if output.json() {
        output.value(&rows);
    } else {
        print(&rows, output);
    }
    let failed = || rows.iter().filter(|row| row.status == Status::Error);
    for row in failed() {
        output.diagnostics(&row.diagnostics);
    }
    Ok(Verdict::from_ok(failed().next().is_none()))
}

/// XLA's side of a row: with all arrays in HBM, and with its defaults.
fn xla_requests(selected: &Selected<'_>, target: &'static Target) -> Vec<Request> {
    let Some(program) = selected.spec.stablehlo() else { return Vec::new() };
    let request = |operands_in_hbm: bool| {
        let options = Options { operands_in_hbm, lines: false, ..Options::default() };
        Request::new(format!("{}, XLA's own", selected.name()), target, program.as_str())
            .with(options)
    };
    vec![request(true), request(false)]
}

impl Row {
    fn new(compiled: Compiled) -> Row {
        let mut row = Row {
            kernel: compiled.kernel,
            spec: compiled.spec,
            target: compiled.target.name,
            cycles: None,
            xla_cycles: None,
            ratio: None,
            time_us: None,
            xla_time_us: None,
            hbm_bytes: None,
            xla_hbm_bytes: None,
            note: None,
            diagnostics: compiled.diagnostics,
            status: compiled.status,
        };
        match (compiled.report, row.status) {
            (Some(ours), _) => row.fill(&ours, &compiled.beside),
            (None, Status::Unsupported) => {
                let reason = row.diagnostics.iter().next().map(|d| d.message.as_str());
                row.note = Some(format!("unsupported: {}", reason.unwrap_or("by the target")));
            }
            (None, _) => row.note = Some("the kernel does not compile".into()),
        }
        row
    }

    fn fill(&mut self, ours: &Report, xla: &[Report]) {
        let mut notes = Vec::new();
        self.cycles = ours.cycles;
        self.time_us = ours.time_us;
        self.hbm_bytes = ours.hbm_bytes;
        if ours.is_ok() {
            notes.extend(ours.cycles_note.clone());
        } else {
            notes.push("the kernel does not compile".to_owned());
        }
        match xla {
            // A target without a cycle model says so once.
            [hbm, _]
                if ours.is_ok()
                    && hbm.is_ok()
                    && ours.cycles.is_none()
                    && hbm.cycles_note == ours.cycles_note => {}
            [hbm, default] => notes.push(self.fill_xla(hbm, default)),
            _ => notes.push("the spec has no StableHLO to compare with".into()),
        }
        let ratio = |(ours, xla): (u64, u64)| ours as f64 / xla as f64;
        self.ratio = self.cycles.zip(self.xla_cycles).filter(|(_, xla)| *xla > 0).map(ratio);
        notes.dedup();
        self.note = Some(notes.join("; "));
    }

    /// Takes the better of XLA's two reports; gives the note.
    fn fill_xla(&mut self, hbm: &Report, default: &Report) -> String {
        let (best, note) = match (hbm.time_us, default.time_us) {
            (Some(in_hbm), Some(free)) if free < in_hbm => {
                (default, "XLA with its defaults".to_owned())
            }
            (None, Some(_)) => {
                let why = hbm.cycles_note.as_deref().unwrap_or("no estimate");
                (default, format!("XLA with its defaults; with arrays in HBM: {why}"))
            }
            (Some(_), _) => (hbm, "XLA with arrays in HBM".to_owned()),
            (None, None) => {
                let why = hbm.cycles_note.clone().or_else(|| {
                    hbm.messages.first().and_then(|m| m.text.lines().next()).map(str::to_owned)
                });
                return format!("XLA: {}", why.unwrap_or_else(|| "no estimate".into()));
            }
        };
        self.xla_cycles = best.cycles;
        self.xla_time_us = best.time_us;
        self.xla_hbm_bytes = best.hbm_bytes;
        note
    }
}

fn print(rows: &[Row], output: &mut Output<'_>) {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("spec", Align::Left),
        ("target", Align::Left),
        ("cycles", Align::Right),
        ("XLA cycles", Align::Right),
        ("ratio", Align::Right),
        ("us", Align::Right),
        ("XLA us", Align::Right),
        ("note", Align::Left),
    ]);
    for row in rows {
        table.row(vec![
            row.kernel.into(),
            row.spec.clone(),
            row.target.into(),
            or_dash(row.cycles, grouped),
            or_dash(row.xla_cycles, grouped),
            or_dash(row.ratio, |ratio| format!("{ratio:.2}")),
            or_dash(row.time_us, |us| format!("{us:.2}")),
            or_dash(row.xla_time_us, |us| format!("{us:.2}")),
            row.note.clone().unwrap_or_default(),
        ]);
    }
    output.table(&table);
    output.text(
        "cycles: libtpu's static model, no measurement; us: the larger of cycles/clock and HBM \
         bytes/bandwidth; ratio: cycles over XLA's",
    );
}
