//! `bench`: the estimated cycles of kernels beside XLA's for the same math.
//!
//! Like for like: both sides are compiled with their arrays in HBM, so that every transfer is
//! inside the estimate. XLA is compiled with its defaults too, where it may prefetch arrays into
//! VMEM outside of every estimate, and its better time is reported; the note says which.

use super::args::{Against, BenchArgs};
use super::compile::{Status, compile, lower, require_mlir};
use super::output::Output;
use super::select::{Selected, select, select_targets};
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
    #[serde(skip)]
    failed: bool,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &BenchArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let selected = select(registry, &args.names, args.spec.as_deref())?;
    let targets = select_targets(&args.target)?;
    require_mlir("bench")?;
    // What else there will be to compare with needs its own rows; rustc points here then.
    let Against::Xla = args.against;
    let (rows, diagnostics) = bench_all(&selected, &targets)?;
    if output.json() {
        output.value(&rows);
    } else {
        print(&rows, output);
    }
    output.diagnostics(&diagnostics);
    Ok(Verdict::from_ok(rows.iter().all(|row| !row.failed)))
}

/// The requests of one row, by their place in the list of all.
struct Pending {
    row: usize,
    ours: usize,
    xla: Option<[usize; 2]>,
}

fn bench_all(
    selected: &[Selected<'_>],
    targets: &[&'static Target],
) -> Result<(Vec<Row>, Diagnostics), Failure> {
    let (mut rows, mut requests, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    let mut diagnostics = Diagnostics::default();
    for selected in selected {
        for &target in targets {
            let mut row = Row::new(selected, target);
            match lower(selected, target) {
                Ok(lowered) => {
                    let ours = requests.len();
                    requests.push(lowered.request);
                    let xla = selected.spec.stablehlo().map(|program| {
                        [true, false].map(|in_hbm| {
                            requests.push(xla_request(selected, target, &program, in_hbm));
                            requests.len() - 1
                        })
                    });
                    pending.push(Pending { row: rows.len(), ours, xla });
                }
                Err((Status::Unsupported, reasons)) => {
                    let reason = reasons.iter().next().map(|d| d.message.as_str());
                    row.note = Some(format!("unsupported: {}", reason.unwrap_or("by the target")));
                }
                Err((_, reasons)) => {
                    row.failed = true;
                    row.note = Some("the kernel does not compile".into());
                    diagnostics.0.extend(reasons.0);
                }
            }
            rows.push(row);
        }
    }
    let reports = compile(&requests, "compiling")?;
    for Pending { row, ours, xla } in pending {
        let xla = xla.map(|requests| requests.map(|request| &reports[request]));
        rows[row].fill(&reports[ours], xla);
        if !reports[ours].is_ok() {
            diagnostics.0.extend(reports[ours].diagnostics());
        }
    }
    Ok((rows, diagnostics))
}

/// XLA's side of a row.
fn xla_request(
    selected: &Selected<'_>,
    target: &'static Target,
    program: &str,
    operands_in_hbm: bool,
) -> Request {
    let options = Options { operands_in_hbm, lines: false, ..Options::default() };
    Request::new(format!("{}, XLA's own", selected.name()), target, program).with(options)
}

impl Row {
    fn new(selected: &Selected<'_>, target: &'static Target) -> Row {
        Row {
            kernel: selected.entry.name,
            spec: selected.spec.name().to_owned(),
            target: target.name,
            cycles: None,
            xla_cycles: None,
            ratio: None,
            time_us: None,
            xla_time_us: None,
            hbm_bytes: None,
            xla_hbm_bytes: None,
            note: None,
            failed: false,
        }
    }

    fn fill(&mut self, ours: &Report, xla: Option<[&Report; 2]>) {
        let mut notes = Vec::new();
        self.failed = !ours.is_ok();
        self.cycles = ours.cycles;
        self.time_us = ours.time_us;
        self.hbm_bytes = ours.hbm_bytes;
        if self.failed {
            notes.push("the kernel does not compile".to_owned());
        } else {
            notes.extend(ours.cycles_note.clone());
        }
        match xla {
            None => notes.push("the spec has no StableHLO to compare with".into()),
            // A target without a cycle model says so once.
            Some([hbm, _])
                if !self.failed
                    && hbm.is_ok()
                    && ours.cycles.is_none()
                    && hbm.cycles_note == ours.cycles_note => {}
            Some(reports) => notes.push(self.fill_xla(reports)),
        }
        let ratio = |(ours, xla): (u64, u64)| ours as f64 / xla as f64;
        self.ratio = self.cycles.zip(self.xla_cycles).filter(|(_, xla)| *xla > 0).map(ratio);
        notes.dedup();
        self.note = Some(notes.join("; "));
    }

    /// Takes the better of XLA's two reports; gives the note.
    fn fill_xla(&mut self, [hbm, default]: [&Report; 2]) -> String {
        let (best, note) = match (hbm.time_us, default.time_us) {
            (Some(in_hbm), Some(free)) if free < in_hbm => (default, "XLA with its defaults"),
            (None, Some(_)) => (default, "XLA with its defaults"),
            (Some(_), _) => (hbm, "XLA with arrays in HBM"),
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
        note.into()
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
