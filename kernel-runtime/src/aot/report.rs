//! What one compile by libtpu tells: data, with nothing but arithmetic on it.
use super::place::Place;
use crate::diag::{Code, Diagnostic, Span};
use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// How a compile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// libtpu compiled the program.
    Ok,
    /// libtpu said what is wrong with the program.
    Rejected,
    /// The worker process aborted.
    Crashed,
    /// The worker process was killed at its time limit.
    TimedOut,
    /// There was no compile: libtpu or the worker is missing, or the worker's answer is unreadable.
    Unavailable,
}

/// What libtpu or its supervisor has to say about a program that did not compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The text, as libtpu wrote it.
    pub text: String,
    /// Lines of the user's Rust that the text names, innermost first.
    pub places: Vec<Place>,
}

/// How often each kind of instruction was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// Matrix multiplications: one push of rows through a matrix unit each.
    pub vmatmul: u64,
    /// Pushes of weights into a matrix unit.
    pub vmatpush: u64,
    /// Pops of results from a unit's queue.
    pub vpop: u64,
    /// Vector arithmetic.
    pub valu: u64,
    /// Transcendentals.
    pub eup: u64,
    /// Cross-lane operations.
    pub xlu: u64,
    /// Vector loads, fills of spilled registers included.
    pub vld: u64,
    /// Vector stores, spills of registers included.
    pub vst: u64,
    /// Scalar operations.
    pub salu: u64,
    /// Vector loads that only bring back a spilled register.
    pub fills: u64,
    /// Vector stores that only spill a register.
    pub spills: u64,
    /// Scalar stores that only spill a register.
    pub scalar_spills: u64,
}

impl OpCounts {
    pub(crate) fn add(&mut self, other: &OpCounts, times: u64) {
        let pairs = [
            (&mut self.vmatmul, other.vmatmul),
            (&mut self.vmatpush, other.vmatpush),
            (&mut self.vpop, other.vpop),
            (&mut self.valu, other.valu),
            (&mut self.eup, other.eup),
            (&mut self.xlu, other.xlu),
            (&mut self.vld, other.vld),
            (&mut self.vst, other.vst),
            (&mut self.salu, other.salu),
            (&mut self.fills, other.fills),
            (&mut self.spills, other.spills),
            (&mut self.scalar_spills, other.scalar_spills),
        ];
        for (total, count) in pairs {
            *total += count * times;
        }
    }
}

/// Transfers between memories that the program started itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmaCounts {
    /// Number of transfers.
    pub n: u64,
    /// Transfers whose size libtpu does not print as a number and we could not evaluate.
    pub n_unknown_size: u64,
    /// Bytes from or to HBM.
    pub hbm_bytes: u64,
    /// Bytes between other memories.
    pub other_bytes: u64,
}

impl DmaCounts {
    pub(crate) fn add(&mut self, other: &DmaCounts, times: u64) {
        self.n += other.n * times;
        self.n_unknown_size += other.n_unknown_size * times;
        self.hbm_bytes += other.hbm_bytes * times;
        self.other_bytes += other.other_bytes * times;
    }
}

/// Which part of its slots each unit used over the estimated cycles, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// The matrix units.
    pub mxu: f64,
    /// Vector arithmetic.
    pub valu: f64,
    /// Transcendentals.
    pub eup: f64,
    /// Cross-lane units.
    pub xlu: f64,
    /// Vector load slots.
    pub vld: f64,
    /// Vector store slots.
    pub vst: f64,
    /// Bundles issued per cycle.
    pub issue: f64,
}

/// One program of the module: a kernel, or a fusion of XLA.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name in the optimised HLO.
    pub name: String,
    /// The HLO opcode: `custom-call` for kernels.
    pub opcode: String,
    /// Whether it is a kernel; else XLA made it.
    pub is_kernel: bool,
    /// How often the module runs it.
    pub runs: u64,
    /// libtpu's estimate for one run.
    pub cycles: u64,
    /// Scoped VMEM that one run takes.
    pub vmem_bytes: u64,
    /// Instructions of one run.
    pub ops: OpCounts,
    /// Transfers of one run.
    pub dma: DmaCounts,
    /// How busy the units are, where the dumps tell.
    pub occupancy: Option<Occupancy>,
}

/// What one line of the user's Rust costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCost {
    /// The line that wrote the operation, then the lines that called the helper function it is in.
    pub places: Vec<Place>,
    /// Cycles of the critical path that wait for this line. Over all lines and [`Overhead`] they add
    /// up to the estimate.
    pub cycles: u64,
    /// Instructions that this line became.
    pub ops: OpCounts,
}

/// Cycles of the critical path that belong to no line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// Waiting for transfers of the grid pipeline.
    pub dma_cycles: u64,
    /// Spilling and filling registers.
    pub spill_cycles: u64,
    /// The grid loop, index arithmetic, and all else.
    pub other_cycles: u64,
}

/// Memory of the compiled program in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Machine code.
    pub code_bytes: u64,
    /// Arguments.
    pub argument_bytes: u64,
    /// Results.
    pub output_bytes: u64,
    /// HBM for everything in between.
    pub temp_bytes: u64,
}

/// What limits a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// The matrix units.
    Mxu,
    /// Vector work: arithmetic, transcendentals, cross-lane, loads or stores.
    Vpu,
    /// HBM bandwidth.
    Hbm,
    /// No unit: waiting for results and transfers.
    Latency,
}

/// What one compile tells.
///
/// Cycles are those of libtpu's own static model, never of hardware: about 2 % off for large
/// matmuls on v5e, 40 % too slow for tiny steps, unvalidated elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The name that the request gave.
    pub name: String,
    /// The name of the target.
    pub target: String,
    /// How it ended.
    pub status: Status,
    /// What went wrong, if something did.
    pub messages: Vec<Message>,
    /// Estimated cycles of the whole module; `None` unless every program has an estimate.
    pub cycles: Option<u64>,
    /// Why there is no estimate, or what it leaves out.
    pub cycles_note: Option<String>,
    /// `cycles` at the target's clock.
    pub compute_us: Option<f64>,
    /// [`Report::hbm_bytes`] at the target's bandwidth.
    pub hbm_us: Option<f64>,
    /// `max(compute_us, hbm_us)`.
    pub time_us: Option<f64>,
    /// The larger of both terms program by program, summed: what the module takes if programs do not
    /// overlap.
    pub serial_time_us: Option<f64>,
    /// Bytes from and to HBM: transfers of all programs and copies between them.
    pub hbm_bytes: Option<u64>,
    /// Of these, bytes that XLA moves between programs, outside every estimate.
    pub copy_bytes: u64,
    /// Instructions of all runs of all programs.
    pub ops: OpCounts,
    /// Transfers of all runs of all programs.
    pub dma: DmaCounts,
    /// How busy the units are over the estimate, over all programs.
    pub occupancy: Option<Occupancy>,
    /// The most scoped VMEM that a program takes.
    pub vmem_bytes: Option<u64>,
    /// Over how many devices the program is split. All figures are those of one device.
    pub n_partitions: usize,
    /// Memory of the executable.
    pub memory: Option<Memory>,
    /// The programs, the most expensive first.
    pub programs: Vec<Program>,
    /// What each line costs, the most expensive first; empty unless asked for.
    pub lines: Vec<LineCost>,
    /// What belongs to no line.
    pub overhead: Overhead,
    /// Milliseconds inside libtpu's compiler.
    pub compile_ms: u64,
    /// The build of libtpu.
    pub libtpu: String,
    /// Whether it came from the result cache.
    #[serde(skip)]
    pub from_cache: bool,
    /// Whether the result cache had it, but damaged, so that it was compiled anew.
    #[serde(skip)]
    pub cache_was_damaged: bool,
}

impl Report {
    pub(crate) fn new(name: &str, target: &Target, status: Status) -> Self {
        Self {
            name: name.to_owned(),
            target: target.name.to_owned(),
            status,
            messages: Vec::new(),
            cycles: None,
            cycles_note: None,
            compute_us: None,
            hbm_us: None,
            time_us: None,
            serial_time_us: None,
            hbm_bytes: None,
            copy_bytes: 0,
            ops: OpCounts::default(),
            dma: DmaCounts::default(),
            occupancy: None,
            vmem_bytes: None,
            n_partitions: 1,
            memory: None,
            programs: Vec::new(),
            lines: Vec::new(),
            overhead: Overhead::default(),
            compile_ms: 0,
            libtpu: String::new(),
            from_cache: false,
            cache_was_damaged: false,
        }
    }

    /// A report of a compile that gave nothing but one message.
    pub(crate) fn failed(
        name: &str,
        target: &Target,
        status: Status,
        text: impl Into<String>,
    ) -> Self {
        let text = without_boilerplate(&text.into());
        let places = super::place::places_in(&text);
        Self { messages: vec![Message { text, places }], ..Self::new(name, target, status) }
    }

    /// Whether libtpu compiled the program.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }

    /// Cycles of all runs of kernels, where there is an estimate.
    pub fn kernels_cycles(&self) -> Option<u64> {
        self.cycles.map(|_| self.cycles_of(true))
    }

    /// Cycles of all runs of the programs that XLA made, where there is an estimate. With
    /// [`Report::kernels_cycles`] they add up to [`Report::cycles`].
    pub fn xla_cycles(&self) -> Option<u64> {
        self.cycles.map(|_| self.cycles_of(false))
    }

    fn cycles_of(&self, kernels: bool) -> u64 {
        let programs = self.programs.iter().filter(|program| program.is_kernel == kernels);
        programs.map(|program| program.cycles * program.runs).sum()
    }

    /// Bytes of machine code.
    pub fn code_bytes(&self) -> Option<u64> {
        self.memory.map(|memory| memory.code_bytes)
    }

    /// What limits the program, where there is an estimate.
    pub fn bound(&self) -> Option<Bound> {
        let (compute, hbm) = (self.compute_us?, self.hbm_us?);
        if hbm >= compute {
            return Some(Bound::Hbm);
        }
        let busy = self.occupancy?;
        let vector =
            [busy.valu, busy.eup, busy.xlu, busy.vld, busy.vst].into_iter().fold(0.0_f64, f64::max);
        // A unit that is idle most of the time limits nothing.
        const BUSY: f64 = 0.35;
        Some(match () {
            () if busy.mxu >= BUSY && busy.mxu >= vector => Bound::Mxu,
            () if vector >= BUSY => Bound::Vpu,
            // Less than a third of the time is computing, so what it waits for is HBM or results.
            () if hbm >= 0.8 * compute => Bound::Hbm,
            () => Bound::Latency,
        })
    }

    /// The messages as diagnostics, with the Rust lines that libtpu named as labels.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self.status {
            Status::Ok | Status::Rejected => Code::AOT_REJECTED,
            Status::Crashed => Code::AOT_CRASHED,
            Status::TimedOut => Code::AOT_TIMED_OUT,
            Status::Unavailable => Code::AOT_UNAVAILABLE,
        };
        let diagnostic = |message: &Message| {
            let (head, rest) = message.text.split_once("\n\n").unwrap_or((&message.text, ""));
            let head = format!("{} on {}: {head}", self.name, self.target);
            let mut diagnostic = Diagnostic::error(code, head);
            if !rest.is_empty() {
                diagnostic = diagnostic.note(rest);
            }
            message.places.iter().enumerate().fold(diagnostic, |diagnostic, (idx, place)| {
                let span = Span {
                    file: Arc::from(place.file.as_str()),
                    line: place.line,
                    column: place.column,
                };
                diagnostic.at(span, if idx == 0 { "" } else { "called from here" })
            })
        };
        self.messages.iter().map(diagnostic).collect()
    }
}

/// Cycles, time, memory and the most expensive programs, for people to read.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "{} on {}", self.name, self.target)?;
        for message in &self.messages {
            write!(f, "\n  {}", message.text)?;
        }
        if let (Some(cycles), Some(kernels), Some(xla)) =
            (self.cycles, self.kernels_cycles(), self.xla_cycles())
        {
            write!(f, "\n  cycles   {cycles}: kernels {kernels}, XLA {xla}")?;
        }
        if let (Some(time), Some(compute), Some(hbm)) = (self.time_us, self.compute_us, self.hbm_us)
        {
            write!(f, "\n  time     {time:.1} us: compute {compute:.1}, HBM {hbm:.1}")?;
        }
        if let Some(bytes) = self.hbm_bytes {
            write!(
                f,
                "\n  HBM      {bytes} bytes moved, {} of them between programs",
                self.copy_bytes
            )?;
        }
        if let Some(memory) = self.memory {
            let Memory { code_bytes, argument_bytes, output_bytes, temp_bytes } = memory;
            write!(
                f,
                "\n  memory   arguments {argument_bytes}, results {output_bytes}, between \
                 {temp_bytes}, code {code_bytes} bytes"
            )?;
        }
        if let Some(bytes) = self.vmem_bytes {
            write!(f, "\n  VMEM     {bytes} bytes at most")?;
        }
        let alike = alike(&self.programs);
        for (program, runs, n) in alike.iter().take(SHOWN) {
            let Program { name, cycles, is_kernel, .. } = program;
            let kind = if *is_kernel { "kernel" } else { "XLA" };
            write!(f, "\n  {kind:<8} {cycles} cycles x {runs}: {name}")?;
            if *n > 1 {
                write!(f, " and {} like it", n - 1)?;
            }
        }
        let more: usize = alike.iter().skip(SHOWN).map(|(_, _, n)| n).sum();
        if more > 0 {
            write!(f, "\n  and {more} more programs")?;
        }
        match &self.cycles_note {
            Some(note) => write!(f, "\n  note     {note}"),
            None => Ok(()),
        }
    }
}

/// Programs that differ in the numbers of their names alone, as those of a model's layers do: the
/// first, how often all are run, and how many they are. Most cycles come first.
fn alike(programs: &[Program]) -> Vec<(&Program, u64, usize)> {
    let stem = |program: &Program| -> String {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        program.name.trim_end_matches(is_number).to_owned()
    };
    let mut places: HashMap<(String, bool, u64), usize> = HashMap::new();
    let mut all: Vec<(&Program, u64, usize)> = Vec::new();
    for program in programs {
        let key = (stem(program), program.is_kernel, program.cycles);
        let place = *places.entry(key).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, runs, n)) => {
                *runs += program.runs;
                *n += 1;
            }
            None => all.push((program, program.runs, 1)),
        }
    }
    // Those of equal cost stay in their order.
    all.sort_by_key(|(program, runs, _)| std::cmp::Reverse(program.cycles * runs));
    all
}

/// The message without the lines that are of use to libtpu's authors only.
fn without_boilerplate(text: &str) -> String {
    let mut kept = String::new();
    let useful = text.split("=== Source Location Trace").next().unwrap_or_default();
    for line in useful.lines().filter(|line| !line.starts_with("Please report a bug")) {
        kept.push_str(line);
        kept.push('\n');
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::V5E;

    #[test]
    fn turns_a_message_of_libtpu_into_a_diagnostic_at_the_users_line() {
        let text = "Failed to deserialize: INTERNAL: requires the same type\n\nat location: \
            loc(\"kernel.rs\":31:7)\n\nThe MLIR operation involved:\n  %16 = x\n\nPlease report a bug \
            at: url\n\n=== Source Location Trace: ===\na.cc:1\n";
        let report = Report::failed("k", &V5E, Status::Rejected, text);
        let [diagnostic] = &report.diagnostics()[..] else { panic!("one diagnostic") };
        assert_eq!(diagnostic.code.as_str(), "aot::rejected");
        assert_eq!(
            diagnostic.message,
            "k on v5e: Failed to deserialize: INTERNAL: requires the same type"
        );
        assert_eq!(diagnostic.labels[0].span.to_string(), "kernel.rs:31:7");
        assert!(diagnostic.notes[0].ends_with("%16 = x"), "{:?}", diagnostic.notes);
    }

    #[test]
    fn names_what_limits_a_kernel() {
        let busy = |mxu, valu| Some(Occupancy { mxu, valu, ..Occupancy::default() });
        let report = |compute_us, hbm_us, occupancy| Report {
            compute_us: Some(compute_us),
            hbm_us: Some(hbm_us),
            occupancy,
            ..Report::new("k", &V5E, Status::Ok)
        };
        assert_eq!(report(1.0, 2.0, busy(0.9, 0.1)).bound(), Some(Bound::Hbm));
        assert_eq!(report(2.0, 1.0, busy(0.9, 0.1)).bound(), Some(Bound::Mxu));
        assert_eq!(report(2.0, 1.0, busy(0.4, 0.8)).bound(), Some(Bound::Vpu));
        assert_eq!(report(2.0, 1.0, busy(0.1, 0.1)).bound(), Some(Bound::Latency));
        assert_eq!(Report::new("k", &V5E, Status::Ok).bound(), None);
    }
}
