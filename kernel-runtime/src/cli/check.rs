//! `check`: compiles kernels with libtpu and tells what they cost.

use super::args::CheckArgs;
use super::compile::{Compiled, Status, Wanted, compile_wanted};
use super::output::Output;
use super::table::{Align, Table, bytes, grouped, or_dash};
use super::{Failure, Verdict};
use crate::aot::{Bound, LineCost, Overhead, Report};
use crate::diag::Diagnostics;
use crate::run::KernelEntry;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    spec: String,
    target: &'static str,
    status: Status,
    cycles: Option<u64>,
    cycles_note: Option<String>,
    time_us: Option<f64>,
    bound: Option<Bound>,
    mxu_utilization: Option<f64>,
    vmem_bytes: Option<u64>,
    hbm_bytes: Option<u64>,
    code_bytes: Option<u64>,
    compile_ms: Option<u64>,
    diagnostics: Diagnostics,
    #[serde(skip)]
    terms_us: Option<(f64, f64)>,
    #[serde(skip)]
    lines: Vec<LineCost>,
    #[serde(skip)]
    overhead: Overhead,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &CheckArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let wanted = Wanted {
        command: "check",
        names: &args.names,
        spec: args.spec.as_deref(),
        targets: &args.target,
        all: args.all,
        lines: args.verbose,
    };
    let compiled = compile_wanted(registry, &wanted, None, output)?;
    let rows: Vec<Row> = compiled.into_iter().map(Row::new).collect();
    if output.json() {
        output.value(&rows);
    } else {
        print(&rows, args.verbose, output);
    }
    Ok(Verdict::from_ok(rows.iter().all(|row| row.status != Status::Error)))
}

impl Row {
    fn new(compiled: Compiled) -> Row {
        let mut row = Row {
            kernel: compiled.kernel,
            spec: compiled.spec,
            target: compiled.target.name,
            status: compiled.status,
            cycles: None,
            cycles_note: None,
            time_us: None,
            bound: None,
            mxu_utilization: None,
            vmem_bytes: None,
            hbm_bytes: None,
            code_bytes: None,
            compile_ms: None,
            diagnostics: compiled.diagnostics,
            terms_us: None,
            lines: Vec::new(),
            overhead: Overhead::default(),
        };
        if let Some(report) = compiled.report {
            row.fill(report);
        }
        row
    }

    fn fill(&mut self, report: Report) {
        self.bound = report.bound();
        self.code_bytes = report.code_bytes();
        self.cycles = report.cycles;
        self.time_us = report.time_us;
        self.terms_us = report.compute_us.zip(report.hbm_us);
        self.mxu_utilization = report.occupancy.map(|busy| busy.mxu);
        self.vmem_bytes = report.vmem_bytes;
        self.hbm_bytes = report.hbm_bytes;
        self.compile_ms = Some(report.compile_ms);
        self.cycles_note = report.cycles_note;
        self.lines = report.lines;
        self.overhead = report.overhead;
    }
}

fn print(rows: &[Row], verbose: bool, output: &mut Output<'_>) {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("spec", Align::Left),
        ("target", Align::Left),
        ("status", Align::Left),
        ("cycles", Align::Right),
        ("cycles us", Align::Right),
        ("HBM us", Align::Right),
        ("bound", Align::Left),
        ("MXU", Align::Right),
        ("VMEM", Align::Right),
        ("HBM", Align::Right),
        ("code", Align::Right),
        ("compile ms", Align::Right),
    ]);
    for row in rows {
        let us = |us: f64| format!("{us:.2}");
        table.row(vec![
            row.kernel.into(),
            row.spec.clone(),
            row.target.into(),
            row.status.name().into(),
            or_dash(row.cycles, grouped),
            or_dash(row.terms_us, |(cycles, _)| us(cycles)),
            or_dash(row.terms_us, |(_, hbm)| us(hbm)),
            or_dash(row.bound, |bound| name(bound).into()),
            or_dash(row.mxu_utilization, |busy| format!("{:.0}%", busy * 100.0)),
            or_dash(row.vmem_bytes, bytes),
            or_dash(row.hbm_bytes, bytes),
            or_dash(row.code_bytes, bytes),
            or_dash(row.compile_ms, grouped),
        ]);
    }
    output.table(&table);
    output.text(
        "cycles: libtpu's static model, no measurement; time is the larger of cycles/clock and \
         HBM bytes/bandwidth",
    );
    print_notes(rows, output);
    let is_brief = !verbose && print_unsupported(rows, output);
    for row in rows {
        if verbose && !row.lines.is_empty() {
            output.text(&format!("\n{}/{} on {}, by line:", row.kernel, row.spec, row.target));
            output.table(&lines(row));
        }
        let is_told = is_brief && row.status == Status::Unsupported;
        if verbose || (row.status != Status::Ok && !is_told) {
            print_diagnostics(row, output);
        }
    }
}

/// Each note once, with the targets it holds for.
fn print_notes(rows: &[Row], output: &mut Output<'_>) {
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some(note) = row.cycles_note.as_deref() else { continue };
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, targets)) if targets.contains(&row.target) => {}
            Some((_, targets)) => targets.push(row.target),
            None => notes.push((note, vec![row.target])),
        }
    }
    for (note, targets) in notes {
        output.text(&format!("{}: {note}", targets.join(", ")));
    }
}

/// Where many kernels are not for their chips, says why in a line per reason; gives whether it did.
fn print_unsupported(rows: &[Row], output: &mut Output<'_>) -> bool {
    /// Up to so many are told at length.
    const FEW: usize = 3;
    let unsupported = || rows.iter().filter(|row| row.status == Status::Unsupported);
    if unsupported().count() <= FEW {
        return false;
    }
    let mut reasons: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in unsupported() {
        // The same of each chip.
        let of_any = |message: &str| message.replace(row.target, "this chip");
        let first = row.diagnostics.iter().next();
        let why = first.map(|first| format!("{}: {}", first.code, of_any(&first.message)));
        reasons.entry(why.unwrap_or_default()).or_default().push(row);
    }
    output.text("\nunsupported, each told whole where it is named:");
    for (why, rows) in reasons {
        let first = format!("{}/{} on {}", rows[0].kernel, rows[0].spec, rows[0].target);
        let more = match rows.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        output.text(&format!("  {first}{more}: {why}"));
    }
    true
}

fn print_diagnostics(row: &Row, output: &mut Output<'_>) {
    if row.diagnostics.is_empty() {
        return;
    }
    output.error_text(&format!("\n{}/{} on {}:", row.kernel, row.spec, row.target));
    output.diagnostics(&row.diagnostics);
}

fn name(bound: Bound) -> &'static str {
    match bound {
        Bound::Mxu => "mxu",
        Bound::Vpu => "vpu",
        Bound::Hbm => "hbm",
        Bound::Latency => "latency",
    }
}

/// What each line costs, and what belongs to none; parts that cost nothing are left out.
fn lines(row: &Row) -> Table {
    let mut table = Table::new(&[
        ("cycles", Align::Right),
        ("part", Align::Right),
        ("line", Align::Left),
        ("called from", Align::Left),
    ]);
    let mut push = |cycles: u64, line: String, callers: String| {
        let part = 100.0 * cycles as f64 / row.cycles.unwrap_or_default().max(1) as f64;
        if cycles > 0 {
            table.row(vec![grouped(cycles), format!("{part:.1}%"), line, callers]);
        }
    };
    for line in &row.lines {
        let mut places = line.places.iter().map(ToString::to_string);
        let first = places.next().unwrap_or_default();
        push(line.cycles, first, places.collect::<Vec<_>>().join(", "));
    }
    push(row.overhead.dma_cycles, "(waiting for the pipeline's DMA)".into(), String::new());
    push(row.overhead.spill_cycles, "(spilled registers)".into(), String::new());
    push(row.overhead.other_cycles, "(grid loop, index arithmetic, ..)".into(), String::new());
    table
}
