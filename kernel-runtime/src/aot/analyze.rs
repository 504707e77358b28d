//! From a compile's dumps to the figures of a [`Report`].
use super::bundles::Executed;
use super::dumps::Dumps;
use super::hlo::{Instruction, Module};
use super::report::{DmaCounts, LineCost, Occupancy, OpCounts, Overhead, Program, Report};
use crate::target::Chip;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;

/// HLO opcodes that cost nothing, or whose cost is counted with their partner.
const FREE: [&str; 16] = [
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "copy-done",
    "slice-done",
    "after-all",
    "partition-id",
    "async-done",
    "async-update",
    "opt-barrier",
    "custom-call-done",
    "dynamic-slice-done",
    "dynamic-update-slice-done",
    "replica-id",
];

/// Custom calls that are no work.
const FREE_CALLS: [&str; 5] =
    ["AllocateBuffer", "NopReturnToken", "Pad", "AssumeGatherIndicesInBound", "ConcatBitcast"];

/// Results up to this size are computed in a few cycles, whatever computes them.
const TINY_BYTES: u64 = 4096;

/// What the walk over the module found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    programs: Vec<Program>,
    lines: HashMap<Vec<super::Place>, LineCost>,
    overhead: Overhead,
    copy_bytes: u64,
    n_tiny: u64,
    /// Programs and loops that no estimate covers.
    pub(crate) missing: Vec<String>,
    notes: Vec<String>,
}

/// Reads everything about one module.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    module: &'a Module,
    dumps: Vec<Dumps>,
    estimates: HashMap<String, u64>,
    /// By the signature of a fusion or kernel: one with an estimate.
    signatures: HashMap<u64, (String, u64)>,
}

impl<'a> Analysis<'a> {
    /// `dumps` are those of one or several compiles of the same module.
    pub(crate) fn new(module: &'a Module, dumps: Vec<Dumps>) -> Self {
        let mut estimates = HashMap::new();
        for dump in &dumps {
            for (name, cycles) in dump.estimates() {
                // 0 is also what the profiler writes before it fails.
                if cycles > 0 || !estimates.contains_key(&name) {
                    estimates.insert(name, cycles);
                }
            }
        }
        for instruction in module.all() {
            if let Some(cycles) = instruction.estimated_cycles() {
                estimates.insert(instruction.name.clone(), cycles);
            }
        }
        let mut signatures = HashMap::new();
        for program in module.all() {
            let cycles = estimates.get(&program.name).filter(|&&cycles| cycles > 0);
            let (Some(&cycles), Some(signature)) = (cycles, module.signature(program)) else {
                continue;
            };
            let known = signatures.entry(signature);
            let known = known.or_insert_with(|| (program.name.clone(), cycles));
            // The same one each time, whatever the order of the map.
            if program.name < known.0 {
                *known = (program.name.clone(), cycles);
            }
        }
        Self { module, dumps, estimates, signatures }
    }

    /// Walks over the entry computation and what it calls.
    pub(crate) fn walk(&self) -> Walk {
        let mut walk = Walk::default();
        self.walk_computation(self.module.entry(), 1, &mut walk);
        // In the order of the program: of equal ones libtpu makes the first, and profiles no other.
        let mut seen = HashSet::new();
        walk.missing.retain(|name| seen.insert(name.clone()));
        walk.notes.sort();
        walk.notes.dedup();
        walk
    }

    fn walk_computation(&self, computation: u64, runs: u64, walk: &mut Walk) {
        for instruction in self.module.instructions(computation) {
            self.walk_instruction(instruction, runs, walk);
        }
    }

    fn walk_instruction(&self, instruction: &Instruction, runs: u64, walk: &mut Walk) {
        let name = &instruction.name;
        let estimate = self.estimates.get(name).copied();
        match instruction.opcode.as_str() {
            opcode if FREE.contains(&opcode) => {}
            "while" => self.walk_loop(instruction, runs, walk),
            opcode @ ("call" | "conditional") => {
                if opcode == "conditional" {
                    walk.notes.push("both branches of a conditional are counted".into());
                }
                for &called in instruction.called() {
                    self.walk_computation(called, runs, walk);
                }
            }
            "custom-call"
                if estimate.is_none() && FREE_CALLS.contains(&instruction.custom_call_target()) => {
            }
            _ if estimate.is_none() && instruction.runs_on_sparse_core() => {
                walk.missing.push(format!("{name} (offloaded to the SparseCore)"));
            }
            "copy-start" => {
                walk.copy_bytes += instruction.bytes() * runs;
            }
            "async-start" if estimate.is_none() => self.walk_async(instruction, runs, walk),
            _ => match self.profiled(instruction) {
                Some((profiled, cycles)) => {
                    self.add_program(instruction, profiled, cycles, runs, walk);
                }
                None if self.is_tiny(instruction) => walk.n_tiny += runs,
                None => walk.missing.push(name.clone()),
            },
        }
    }

    fn walk_loop(&self, instruction: &Instruction, runs: u64, walk: &mut Walk) {
        let [body, condition] = instruction.called() else {
            walk.missing.push(instruction.name.clone());
            return;
        };
        // libtpu often drops the trip count: the bound is then the only constant of the condition.
        let bound = || {
            let mut constants =
                self.module.instructions(*condition).iter().filter_map(Instruction::constant);
            constants.next().filter(|_| constants.next().is_none())
        };
        match instruction.known_trip_count().or_else(bound) {
            Some(trips) => {
                walk.notes.push(format!("{} runs {trips} times", instruction.name));
                self.walk_computation(*body, runs * trips, walk);
            }
            None => {
                walk.missing.push(format!("{} (unknown trip count)", instruction.name));
                self.walk_computation(*body, runs, walk);
            }
        }
    }

    /// An asynchronous operation of XLA: a copy, or a computation beside the main one.
    fn walk_async(&self, instruction: &Instruction, runs: u64, walk: &mut Walk) {
        for &called in instruction.called() {
            let inner = self.module.instructions(called);
            let work = inner.iter().filter(|inner| inner.opcode != "parameter");
            let copied: Option<u64> = work.map(|inner| copied_bytes(inner, called, self)).sum();
            match copied {
                Some(bytes) => walk.copy_bytes += bytes * runs,
                None => self.walk_computation(called, runs, walk),
            }
        }
    }

    /// The name under which this program was profiled, and its estimate: of several equal programs
    /// libtpu dumps one, and writes the estimate into the backend config of some.
    fn profiled<'b>(&'b self, instruction: &'b Instruction) -> Option<(&'b str, u64)> {
        let own = self.estimates.get(&instruction.name).copied();
        let is_dumped = |name: &str| self.dumps.iter().any(|dumps| dumps.bundles(name).is_file());
        if let Some(cycles) = own
            && is_dumped(&instruction.name)
        {
            return Some((&instruction.name, cycles));
        }
        let opcode = instruction.opcode.as_str();
        let moves = matches!(opcode, "copy" | "broadcast" | "transpose" | "reshape");
        if own.is_none()
            && let Some(signature) = self.module.signature(instruction)
        {
            let known = self.signatures.get(&signature);
            return known.map(|(name, cycles)| (name.as_str(), *cycles));
        }
        let mut twins =
            self.module.all().filter(|other| other.is_like(instruction)).filter_map(|twin| {
                self.estimates.get(&twin.name).map(|&cycles| (twin.name.as_str(), cycles))
            });
        match own {
            Some(cycles) => Some(
                twins
                    .find(|(name, other)| *other == cycles && is_dumped(name))
                    .unwrap_or((&instruction.name, cycles)),
            ),
            None if moves => twins.next(),
            None => None,
        }
    }

    fn is_tiny(&self, instruction: &Instruction) -> bool {
        !matches!(instruction.opcode.as_str(), "fusion" | "custom-call" | "convolution" | "dot")
            && instruction.bytes() <= TINY_BYTES
    }

    /// Adds a program with the dumps of the one that was `profiled`.
    fn add_program(
        &self,
        instruction: &Instruction,
        profiled: &str,
        cycles: u64,
        runs: u64,
        walk: &mut Walk,
    ) {
        let mut program = Program {
            name: instruction.name.clone(),
            opcode: instruction.opcode.clone(),
            is_kernel: instruction.is_kernel(),
            runs,
            cycles,
            vmem_bytes: instruction.vmem_bytes(),
            ops: OpCounts::default(),
            dma: DmaCounts::default(),
            occupancy: None,
        };
        for dumps in &self.dumps {
            let Ok(bundles) = File::open(dumps.bundles(profiled)) else { continue };
            let Ok(mut executed) = Executed::read(BufReader::new(bundles)) else { continue };
            if let Ok(path) = File::open(dumps.critical_path(profiled)) {
                // A path that ends early makes the cycles of lines incomplete, not wrong.
                let _incomplete = executed.read_critical_path(BufReader::new(path));
            }
            program.ops = executed.ops;
            program.dma = executed.dma;
            program.occupancy =
                dumps.occupancy(profiled, &executed.ops, executed.n_bundles, cycles);
            walk.overhead.dma_cycles += executed.overhead.dma_cycles * runs;
            walk.overhead.spill_cycles += executed.overhead.spill_cycles * runs;
            walk.overhead.other_cycles += executed.overhead.other_cycles * runs;
            for line in executed.into_lines() {
                walk.add_line(line, runs);
            }
            break;
        }
        walk.programs.push(program);
    }
}

impl Walk {
    fn add_line(&mut self, line: LineCost, runs: u64) {
        let total = self.lines.entry(line.places).or_insert_with_key(|places| LineCost {
            places: places.clone(),
            cycles: 0,
            ops: OpCounts::default(),
        });
        total.cycles += line.cycles * runs;
        total.ops.add(&line.ops, runs);
    }

    /// Fills in the figures of a report.
    pub(crate) fn fill(mut self, report: &mut Report, chip: &Chip) {
        let mut cycles = 0;
        let mut serial_us = 0.0;
        let us_of_cycles = |cycles: u64| cycles as f64 / chip.clock_ghz / 1e3;
        let us_of_bytes = |bytes: u64| bytes as f64 / chip.hbm_bytes_per_second * 1e6;
        for program in &self.programs {
            cycles += program.cycles * program.runs;
            report.ops.add(&program.ops, program.runs);
            report.dma.add(&program.dma, program.runs);
            let one = us_of_cycles(program.cycles).max(us_of_bytes(program.dma.hbm_bytes));
            serial_us += one * program.runs as f64;
        }
        report.vmem_bytes = self.programs.iter().map(|program| program.vmem_bytes).max();
        report.copy_bytes = self.copy_bytes;
        report.occupancy = mean_occupancy(&self.programs, cycles);
        report.overhead = self.overhead;
        if self.missing.is_empty() && !self.programs.is_empty() {
            let bytes = report.dma.hbm_bytes + self.copy_bytes;
            let (compute_us, hbm_us) = (us_of_cycles(cycles), us_of_bytes(bytes));
            report.cycles = Some(cycles);
            report.compute_us = Some(compute_us);
            // A sum that leaves transfers out is no sum.
            if report.dma.n_unknown_size == 0 {
                report.hbm_bytes = Some(bytes);
                report.hbm_us = Some(hbm_us);
                report.time_us = Some(compute_us.max(hbm_us));
                report.serial_time_us = Some(serial_us.max(hbm_us));
            }
        }
        report.cycles_note = self.note(report);
        self.programs.sort_by(|a, b| {
            let cost = |program: &Program| std::cmp::Reverse(program.cycles * program.runs);
            cost(a).cmp(&cost(b)).then_with(|| a.name.cmp(&b.name))
        });
        report.programs = self.programs;
        report.lines = self.lines.into_values().collect();
        report.lines.sort_by(|a, b| b.cycles.cmp(&a.cycles).then_with(|| a.places.cmp(&b.places)));
    }

    fn note(&self, report: &Report) -> Option<String> {
        let mut notes = Vec::new();
        if !self.missing.is_empty() {
            const SHOWN: usize = 4;
            let (shown, more) = self.missing.split_at(self.missing.len().min(SHOWN));
            let tail =
                if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
            notes.push(format!("libtpu gives no estimate for {}{tail}", shown.join(", ")));
        }
        if report.dma.n_unknown_size > 0 {
            notes.push(format!(
                "the bytes are unknown: only the running program knows the size of {} transfers",
                report.dma.n_unknown_size
            ));
        }
        if self.n_tiny > 0 {
            notes.push(format!("{} tiny operations are not counted", self.n_tiny));
        }
        notes.extend(self.notes.iter().cloned());
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Bytes that an operation of an asynchronous computation moves; `None` if it does more than move.
fn copied_bytes(inner: &Instruction, computation: u64, analysis: &Analysis<'_>) -> Option<u64> {
    match inner.opcode.as_str() {
        "slice" | "dynamic-slice" | "copy" => Some(inner.bytes()),
        // The update moves; the array that it goes into stays.
        "dynamic-update-slice" => {
            let mut siblings = analysis.module.instructions(computation).iter();
            siblings.find(|sibling| sibling.is_parameter(1)).map(Instruction::bytes)
        }
        _ => None,
    }
}

/// The occupancies of programs, weighted by their cycles; `None` if a program that takes cycles has
/// none.
fn mean_occupancy(programs: &[Program], cycles: u64) -> Option<Occupancy> {
    if cycles == 0 {
        return None;
    }
    let mut mean = Occupancy::default();
    for program in programs.iter().filter(|program| program.cycles > 0) {
        let busy = program.occupancy?;
        let weight = (program.cycles * program.runs) as f64 / cycles as f64;
        mean.mxu += busy.mxu * weight;
        mean.valu += busy.valu * weight;
        mean.eup += busy.eup * weight;
        mean.xlu += busy.xlu * weight;
        mean.vld += busy.vld * weight;
        mean.vst += busy.vst * weight;
        mean.issue += busy.issue * weight;
    }
    Some(mean)
}

#[cfg(test)]
mod tests {
    use super::super::report::Status;
    use super::*;
    use crate::target::V5E;

    fn put(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
        let key = (u32::from(field) << 3) | 2;
        for mut number in [key, u32::try_from(bytes.len()).unwrap()] {
            while number >= 0x80 {
                out.push(number as u8 | 0x80);
                number >>= 7;
            }
            out.push(number as u8);
        }
        out.extend(bytes);
    }

    /// An instruction of `n_floats` f32, with computations that it calls and a backend config.
    fn instruction(name: &str, opcode: &str, n_floats: u8, called: &[u8], config: &str) -> Vec<u8> {
        let mut shape = vec![2 << 3, 11];
        put(&mut shape, 3, &[n_floats]);
        let mut out = Vec::new();
        put(&mut out, 1, name.as_bytes());
        put(&mut out, 2, opcode.as_bytes());
        put(&mut out, 3, &shape);
        put(&mut out, 38, called);
        put(&mut out, 43, config.as_bytes());
        out
    }

    /// A fusion with an estimate.
    fn fusion(name: &str, cycles: u64) -> Vec<u8> {
        let config = format!(r#"{{"bundle_analysis_data":{{"estimated_cycles":"{cycles}"}}}}"#);
        instruction(name, "fusion", 1, &[], &config)
    }

    fn constant(value: u8) -> Vec<u8> {
        let mut out = instruction("bound", "constant", 1, &[], "");
        put(&mut out, 8, &[4 << 3, value]);
        out
    }

    /// A module whose computations have the ids 1, 2, ..; the first is the entry.
    fn walk(computations: &[Vec<Vec<u8>>]) -> (Walk, Report) {
        let mut message = vec![6 << 3, 1];
        for (idx, instructions) in computations.iter().enumerate() {
            let mut computation = vec![5 << 3, idx as u8 + 1];
            instructions.iter().for_each(|bytes| put(&mut computation, 2, bytes));
            put(&mut message, 3, &computation);
        }
        let module = Module::parse("hlo", &message).unwrap();
        let analysis = Analysis::new(&module, Vec::new());
        let mut report = Report::new("k", &V5E, Status::Ok);
        analysis.walk().fill(&mut report, V5E.chip.as_ref().unwrap());
        (analysis.walk(), report)
    }

    #[test]
    fn sums_programs_and_copies() {
        let copy = instruction("c", "copy-start", 8, &[], "");
        let free = instruction("p", "parameter", 8, &[], "");
        let (_, report) = walk(&[vec![free, fusion("a", 100), copy, fusion("b", 50)]]);
        assert_eq!(report.cycles, Some(150));
        assert_eq!((report.copy_bytes, report.hbm_bytes), (32, Some(32)));
        assert_eq!(report.compute_us, Some(0.1));
        assert_eq!(report.programs[0].name, "a");
        assert_eq!(report.cycles_note, None);
    }

    #[test]
    fn tells_kernels_from_what_xla_made() {
        let config = r#"{"bundle_analysis_data":{"estimated_cycles":"70"}}"#;
        let mut kernel = instruction("scaled", "custom-call", 1, &[], config);
        // Field 28.
        kernel.extend([0xe2, 0x01, 15]);
        kernel.extend(b"tpu_custom_call");
        let (_, report) = walk(&[vec![fusion("a", 100), kernel, fusion("b", 50)]]);
        assert_eq!((report.kernels_cycles(), report.xla_cycles()), (Some(70), Some(150)));
        let text = report.to_string();
        assert!(text.contains("cycles   220: kernels 70, XLA 150"), "{text}");
        assert!(text.contains("kernel   70 cycles x 1: scaled"), "{text}");
        let silent = instruction("kernel", "custom-call", 1, &[], "");
        let (_, report) = walk(&[vec![fusion("a", 100), silent]]);
        assert_eq!((report.kernels_cycles(), report.xla_cycles()), (None, None));
    }

    #[test]
    fn tells_programs_that_are_alike_once() {
        let layers = [("f.1", 10), ("f.2", 10), ("f.3", 11), ("g", 15)];
        let (_, report) = walk(&[layers.map(|(name, cycles)| fusion(name, cycles)).to_vec()]);
        let text = report.to_string();
        let told = "XLA      10 cycles x 2: f.1 and 1 like it\n  XLA      15 cycles x 1: g\n";
        assert!(text.contains(told), "{text}");
        assert!(text.contains("\n  XLA      11 cycles x 1: f.3"), "{text}");
    }

    #[test]
    fn equal_kernels_share_an_estimate() {
        let kernel = |name: &str, body: &str, operand: u8, cycles: Option<u64>| {
            let estimate = cycles.map(|cycles| {
                format!(r#", "bundle_analysis_data":{{"estimated_cycles":"{cycles}"}}"#)
            });
            let config = format!(
                r#"{{"custom_call_config":{{"body":"{body}"}}{}}}"#,
                estimate.unwrap_or_default()
            );
            let mut call = instruction(name, "custom-call", 9, &[], &config);
            // The target, and the operands' ids.
            put(&mut call, 28, b"tpu_custom_call");
            put(&mut call, 36, &[operand]);
            call
        };
        let array = |id: u8, n_floats: u8| {
            let mut array = instruction("p", "parameter", n_floats, &[], "");
            // Field 35, a number.
            array.extend([0x98, 0x02, id]);
            array
        };
        let cycles = |body: &str, operand: u8| {
            let known = kernel("k.1", "a", 1, Some(70));
            let other = kernel("k.2", body, operand, None);
            walk(&[vec![array(1, 8), array(2, 8), array(3, 9), known, other]]).1.cycles
        };
        assert_eq!(cycles("a", 2), Some(140));
        // Another body, an operand of another shape.
        assert_eq!((cycles("b", 2), cycles("a", 3)), (None, None));
    }

    #[test]
    fn multiplies_loops_by_their_trip_count() {
        let told = instruction("w", "while", 1, &[2, 3], r#"{"known_trip_count":{"n":"7"}}"#);
        let body = vec![fusion("a", 10)];
        let (_, report) = walk(&[vec![told], body.clone(), vec![]]);
        assert_eq!(report.cycles, Some(70));
        let silent = instruction("w", "while", 1, &[2, 3], "");
        let (_, report) = walk(&[vec![silent.clone()], body.clone(), vec![constant(5)]]);
        assert_eq!(report.cycles, Some(50));
        assert!(report.cycles_note.unwrap().contains("w runs 5 times"));
        let two = vec![constant(5), constant(6)];
        let (walk, report) = walk(&[vec![silent], body, two]);
        assert_eq!((report.cycles, report.time_us), (None, None));
        assert_eq!(walk.missing, ["w (unknown trip count)"]);
    }

    #[test]
    fn never_sums_in_part() {
        let kernel = instruction("kernel", "custom-call", 1, &[], "");
        let (walk, report) = walk(&[vec![fusion("a", 100), kernel]]);
        assert_eq!(walk.missing, ["kernel"]);
        assert_eq!((report.cycles, report.hbm_bytes), (None, None));
        assert_eq!(report.cycles_note.unwrap(), "libtpu gives no estimate for kernel");
    }

    #[test]
    fn takes_the_estimate_of_an_equal_copy() {
        let config = r#"{"bundle_analysis_data":{"estimated_cycles":"9"}}"#;
        let profiled = instruction("c1", "copy", 9, &[], config);
        let twin = instruction("c2", "copy", 9, &[], "");
        let (_, report) = walk(&[vec![profiled, twin]]);
        assert_eq!(report.cycles, Some(18));
        // Another order of the axes is another program.
        let permuted = |name: &str, order: &[u8], config: &str| {
            let mut transpose = instruction(name, "transpose", 100, &[], config);
            put(&mut transpose, 14, order);
            transpose
        };
        let profiled = permuted("t1", &[1, 0, 2], config);
        let (_, report) = walk(&[vec![profiled.clone(), permuted("t2", &[1, 0, 2], "")]]);
        assert_eq!(report.cycles, Some(18));
        let (found, _) = walk(&[vec![profiled, permuted("t2", &[2, 1, 0], "")]]);
        assert_eq!((found.n_tiny, found.missing.len()), (1, 0));
        let other = instruction("c3", "copy", 2, &[], "");
        let (_, report) = walk(&[vec![fusion("a", 1), other]]);
        assert_eq!(report.cycles, Some(1));
        assert!(report.cycles_note.unwrap().contains("1 tiny operations"));
    }

    #[test]
    fn takes_the_estimate_of_a_fusion_that_computes_the_same() {
        let config = r#"{"bundle_analysis_data":{"estimated_cycles":"9"}}"#;
        let layer = |opcode| vec![instruction("x", opcode, 9, &[], "")];
        let profiled = instruction("f1", "fusion", 9, &[2], config);
        let other = |called: u8, n_floats: u8, config: &str| {
            let twin = instruction("f2", "fusion", n_floats, &[called], config);
            let computations = [layer("add"), layer("add"), layer("multiply")];
            let mut all = vec![vec![profiled.clone(), twin]];
            all.extend(computations);
            walk(&all)
        };
        assert_eq!(other(3, 9, "").1.cycles, Some(18));
        // Another op, another shape, other tiles.
        let tiles = r#"{"window_config":{"kernel_window_bounds":["8"]}}"#;
        for (found, report) in [other(4, 9, ""), other(3, 8, ""), other(3, 9, tiles)] {
            assert_eq!((report.cycles, &found.missing[..]), (None, &["f2".to_owned()][..]));
        }
    }

    /// Reductions and products of one shape differ in the dimensions that they are over.
    #[test]
    fn fusions_over_other_dimensions_are_other_fusions() {
        let config = r#"{"bundle_analysis_data":{"estimated_cycles":"9"}}"#;
        let inner = |opcode, (field, payload): (u8, &[u8])| {
            let mut inner = instruction("x", opcode, 9, &[], "");
            put(&mut inner, field, payload);
            vec![inner]
        };
        let cycles = |opcode, one: (u8, &[u8]), other: (u8, &[u8])| {
            let fusions = vec![
                instruction("f1", "fusion", 9, &[2], config),
                instruction("f2", "fusion", 9, &[3], ""),
            ];
            walk(&[fusions, inner(opcode, one), inner(opcode, other)]).1.cycles
        };
        for (opcode, one, other) in [
            ("reduce", (14, &[0][..]), (14, &[1][..])),
            ("broadcast", (14, &[0]), (14, &[1])),
            ("slice", (17, &[8, 0, 16, 9]), (17, &[8, 9, 16, 18])),
            // Contracting dimensions of the left and the right operand.
            ("dot", (30, &[10, 1, 1, 18, 1, 0]), (30, &[10, 1, 0, 18, 1, 0])),
            ("convolution", (16, &[56, 0]), (16, &[56, 1])),
        ] {
            assert_eq!(cycles(opcode, one, one), Some(18), "{opcode}");
            assert_eq!(cycles(opcode, one, other), None, "{opcode}");
        }
    }

    #[test]
    fn counts_what_asynchronous_operations_move() {
        let start = instruction("s", "async-start", 100, &[2], "");
        let moved = |opcode| vec![instruction("x", opcode, 4, &[], "")];
        let (_, report) = walk(&[vec![start.clone(), fusion("a", 1)], moved("dynamic-slice")]);
        assert_eq!(report.copy_bytes, 16);
        let (_, report) = walk(&[vec![start], vec![fusion("b", 5)]]);
        assert_eq!((report.copy_bytes, report.cycles), (0, Some(5)));
    }
}
