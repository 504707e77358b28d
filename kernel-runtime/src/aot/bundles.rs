//! The profiler's two large dumps: every bundle that was executed, and the critical path through
//! them. Both are read line by line, for they reach hundreds of megabytes.
use super::place::{Place, places_in};
use super::report::{DmaCounts, LineCost, OpCounts, Overhead};
use super::scalars::Scalars;
use std::collections::HashMap;
use std::io::{self, BufRead};

/// The unit in which libtpu prints the size of a transfer.
const GRANULE_BYTES: u64 = 32;

/// What a program executed, and for which lines.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    pub(crate) ops: OpCounts,
    pub(crate) dma: DmaCounts,
    pub(crate) n_bundles: u64,
    pub(crate) overhead: Overhead,
    lines: Lines,
    /// Instructions without a location of their own that feed a line: their ids and that line.
    inferred: HashMap<u32, usize>,
}

/// Costs by location.
#[derive(Debug, Default)]
struct Lines {
    /// From the text of a location to its index in `costs`; `None` for locations that name no file.
    by_text: HashMap<String, Option<usize>>,
    by_places: HashMap<Vec<Place>, usize>,
    costs: Vec<LineCost>,
}

/// Instructions whose value has not met a located user yet.
#[derive(Debug, Default)]
struct Waiting {
    ops: OpCounts,
    ids: Vec<u32>,
}

impl Executed {
    /// Reads `<program>_bundles.txt`.
    pub(crate) fn read(mut bundles: impl BufRead) -> io::Result<Self> {
        let mut this = Self::default();
        let mut waiting: HashMap<u32, Waiting> = HashMap::new();
        let mut scalars = Scalars::default();
        let mut line = Vec::new();
        while next_line(&mut bundles, &mut line)? {
            let text = String::from_utf8_lossy(&line);
            if text.starts_with("0x") {
                this.n_bundles += 1;
            } else if let Some(instruction) = Instruction::parse(&text) {
                scalars.execute(&instruction);
                this.count(&instruction, &scalars);
                this.place(&instruction, &mut waiting);
            }
        }
        Ok(this)
    }

    /// Reads `<program>_critical_path.txt`, after the bundles of the same program.
    pub(crate) fn read_critical_path(&mut self, mut path: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut last: Option<(u64, Owner)> = None;
        while next_line(&mut path, &mut line)? {
            let text = String::from_utf8_lossy(&line);
            let Some((length, rest)) = text
                .strip_prefix("Length to end: ")
                .and_then(|rest| rest.split_once(','))
                .and_then(|(length, rest)| Some((length.trim().parse::<u64>().ok()?, rest)))
            else {
                continue;
            };
            if let Some((from, owner)) = last.take() {
                self.charge(owner, from.saturating_sub(length));
            }
            last = Some((length, self.owner(rest)));
        }
        if let Some((length, owner)) = last {
            self.charge(owner, length);
        }
        Ok(())
    }

    /// The costs of all lines.
    pub(crate) fn into_lines(self) -> Vec<LineCost> {
        self.lines.costs
    }

    fn count(&mut self, instruction: &Instruction<'_>, scalars: &Scalars) {
        if !instruction.starts_transfer() {
            self.ops.add(&instruction.counts(), 1);
            return;
        }
        self.dma.n += 1;
        let size = instruction.argument("size_in_granules").and_then(|text| scalars.value(text));
        match size {
            Some(granules) if instruction.op.contains("hbm") => {
                self.dma.hbm_bytes += u64::from(granules) * GRANULE_BYTES;
            }
            Some(granules) => self.dma.other_bytes += u64::from(granules) * GRANULE_BYTES,
            None => self.dma.n_unknown_size += 1,
        }
    }

    /// Books the instruction on its line, or on that of the first line that uses its value.
    fn place(&mut self, instruction: &Instruction<'_>, waiting: &mut HashMap<u32, Waiting>) {
        if let Some(line) = self.lines.of(instruction.text) {
            self.lines.costs[line].ops.add(&instruction.counts(), 1);
            for id in instruction.operands() {
                if let Some(fed) = waiting.remove(&id) {
                    self.lines.costs[line].ops.add(&fed.ops, 1);
                    self.inferred.extend(fed.ids.into_iter().map(|id| (id, line)));
                }
            }
        } else if instruction.is_vector() && !instruction.is_spill() {
            let Some(id) = instruction.result() else { return };
            let mut mine = Waiting { ops: instruction.counts(), ids: vec![id] };
            for id in instruction.operands() {
                if let Some(fed) = waiting.remove(&id) {
                    mine.ops.add(&fed.ops, 1);
                    mine.ids.extend(fed.ids);
                }
            }
            waiting.insert(id, mine);
        }
    }

    fn owner(&mut self, text: &str) -> Owner {
        let Some(instruction) = Instruction::parse(text) else { return Owner::Other };
        if let Some(line) = self.lines.of(instruction.text) {
            return Owner::Line(line);
        }
        if let Some(line) = instruction.result().and_then(|id| self.inferred.get(&id)) {
            return Owner::Line(*line);
        }
        match instruction.op {
            _ if instruction.is_spill() => Owner::Spill,
            op if op.starts_with("dma.") || op.starts_with("vsync") => Owner::Dma,
            _ => Owner::Other,
        }
    }

    fn charge(&mut self, owner: Owner, cycles: u64) {
        match owner {
            Owner::Line(line) => self.lines.costs[line].cycles += cycles,
            Owner::Spill => self.overhead.spill_cycles += cycles,
            Owner::Dma => self.overhead.dma_cycles += cycles,
            Owner::Other => self.overhead.other_cycles += cycles,
        }
    }
}

/// Whom cycles of the critical path are charged to.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Line(usize),
    Spill,
    Dma,
    Other,
}

impl Lines {
    /// The index of the line that the comment of an instruction names.
    fn of(&mut self, instruction: &str) -> Option<usize> {
        let location = &instruction[instruction.find("loc(")?..];
        let location = &location[..closing_paren(location)?];
        if let Some(known) = self.by_text.get(location) {
            return *known;
        }
        let places = places_in(location);
        let line = (!places.is_empty()).then(|| {
            *self.by_places.entry(places).or_insert_with_key(|places| {
                let places = places.clone();
                self.costs.push(LineCost { places, cycles: 0, ops: OpCounts::default() });
                self.costs.len() - 1
            })
        });
        self.by_text.insert(location.to_owned(), line);
        line
    }
}

/// The index behind the parenthesis that closes the first one.
fn closing_paren(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// One instruction of a dump: `%id = op operands /* comment */`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction<'a> {
    pub(crate) text: &'a str,
    pub(crate) op: &'a str,
    /// What stands before the equals sign.
    pub(crate) name: &'a str,
    /// What follows the opcode.
    pub(crate) rest: &'a str,
}

impl<'a> Instruction<'a> {
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let text = line.trim();
        let (name, body) = text.strip_prefix('%')?.split_once(" = ")?;
        if name.contains(' ') {
            return None;
        }
        let end = body.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(body.len());
        Some(Self { text, op: &body[..end], name, rest: &body[end..] })
    }

    /// The unique number inside `v458_v31`, `s36_s26` or `3`.
    pub(crate) fn result(&self) -> Option<u32> {
        id(self.name)
    }

    fn operands(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.rest.split('%').skip(1).filter_map(id)
    }

    /// The text behind `/*name=*/`.
    pub(crate) fn argument(&self, name: &str) -> Option<&'a str> {
        let at = self.rest.find(name)? + name.len();
        let value = self.rest[at..].strip_prefix("=*/")?;
        let end = value.find([',', ' ']).unwrap_or(value.len());
        Some(&value[..end])
    }

    fn is_vector(&self) -> bool {
        self.op.starts_with('v')
            && !["vsync", "vnop", "vtrace", "vwait"].iter().any(|p| self.op.starts_with(p))
    }

    fn is_spill(&self) -> bool {
        self.rest.contains("_spill")
    }

    fn starts_transfer(&self) -> bool {
        self.op.starts_with("dma.") && !self.op.contains("wait")
    }

    fn counts(&self) -> OpCounts {
        const EUP: [&str; 10] = [
            "vexp", "vrcp", "vlog", "vrsqrt", "vtanh", "vpow2", "vsigshft", "verf", "vsin", "vcos",
        ];
        let starts = |prefixes: &[&str]| prefixes.iter().any(|p| self.op.starts_with(p));
        let spill = u64::from(self.is_spill());
        let mut counts = OpCounts::default();
        match self.op {
            op if op.starts_with("vmatmul") => counts.vmatmul = 1,
            op if op.starts_with("vmatpush") => counts.vmatpush = 1,
            "vld" => (counts.vld, counts.fills) = (1, spill),
            "vst" => (counts.vst, counts.spills) = (1, spill),
            "sst" => (counts.salu, counts.scalar_spills) = (1, spill),
            op if op.starts_with("vpop") => counts.vpop = 1,
            _ if starts(&EUP) => counts.eup = 1,
            op if op.contains(".xlane") || starts(&["vrot", "vxpose", "vperm"]) => counts.xlu = 1,
            _ if self.is_vector() => counts.valu = 1,
            _ if starts(&["s", "p"]) => counts.salu = 1,
            _ => {}
        }
        counts
    }
}

/// The number in a value's name.
pub(crate) fn id(name: &str) -> Option<u32> {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Reads the next line, whatever its encoding.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(reader.read_until(b'\n', line)? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLES: &str = r#"0x0: bundle slots:
  %s3_s1 = smov.u32 9 /* x */
  %s4_s1 = sshll.u32 %s3_s1, 2
  %75 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s74_s26, /*size_in_granules=*/8192, /*vmem=*/%s57_s2 /*
base_bounds: (128, 8) */
  %76 = dma.vmem_to_hbm [thread:$0]  /*vmem=*/%s74_s26, /*size_in_granules=*/%s4_s1, /*hbm=*/%s57_s2
  %77 = dma.done.wait [thread:$0]  %s4_s1


0x1: bundle slots:
  %v10_v1 = vld [vmem:[%s1_s1 + $0x4] sm:$0xf]
  %v11_v2 = vunpack.c.l.b16 %v10_v1
  %v12_v2 = vld [vmem:[#allocation7_spill]]
  %13 = vmatmul.bf16.gmra.mxu0 %v11_v2 /* loc("k.rs":30:7) */
  %v14_v3 = vadd.f32 %v12_v2, %v12_v2 /* loc(callsite("in.rs":1:2 at "k.rs":31:7)) */
  %15 = vst [vmem:[#allocation7_spill]] /*vst_source=*/%v14_v3
"#;

    #[test]
    fn counts_operations_and_transfers() {
        let executed = Executed::read(BUNDLES.as_bytes()).unwrap();
        assert_eq!(executed.n_bundles, 2);
        let dma =
            DmaCounts { n: 2, n_unknown_size: 0, hbm_bytes: (8192 + 36) * 32, other_bytes: 0 };
        assert_eq!(executed.dma, dma);
        let ops = executed.ops;
        assert_eq!((ops.vmatmul, ops.vld, ops.fills, ops.vst, ops.spills), (1, 2, 1, 1, 1));
        assert_eq!((ops.valu, ops.salu), (2, 2));
    }

    #[test]
    fn books_feeders_on_the_line_that_uses_them() {
        let lines = Executed::read(BUNDLES.as_bytes()).unwrap().into_lines();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].places[0].to_string(), "k.rs:30:7");
        assert_eq!((lines[0].ops.vmatmul, lines[0].ops.vld, lines[0].ops.valu), (1, 1, 1));
        assert_eq!(lines[1].places[1].to_string(), "k.rs:31:7");
        assert_eq!((lines[1].ops.valu, lines[1].ops.vld), (1, 0));
    }

    #[test]
    fn shares_out_the_critical_path() {
        let path = r#"Length to end: 100, %75 = dma.hbm_to_vmem [thread:$0]
  base_bounds: (128, 8)
Length to end: 60, %v10_v1 = vld [vmem:[%s1_s1 + $0x4] sm:$0xf]
Length to end: 50, %13 = vmatmul.bf16.gmra.mxu0 %v11_v2 /* loc("k.rs":30:7) */
Length to end: 20, %15 = vst [vmem:[#allocation7_spill]] /*vst_source=*/%v14_v3
Length to end: 3, %99 = snop
"#;
        let mut executed = Executed::read(BUNDLES.as_bytes()).unwrap();
        executed.read_critical_path(path.as_bytes()).unwrap();
        let Overhead { dma_cycles, spill_cycles, other_cycles } = executed.overhead;
        assert_eq!((dma_cycles, spill_cycles, other_cycles), (40, 17, 3));
        assert_eq!(executed.into_lines()[0].cycles, 10 + 30);
    }

    proptest::proptest! {
        #[test]
        fn reads_any_dump(lines in proptest::collection::vec(
            r#"(  %[a-z0-9_]{0,4} = |Length to end: [0-9]{0,3}, ?|0x1)?(vld|dma\.x_hbm|sst|sld|smov\.u32|vadd|scalar_select)?[ (%a-z0-9,\]\["=*/é]{0,30}(loc\("k\.rs":1:2\))?"#,
            0..12,
        )) {
            let text = lines.join("\n");
            let mut executed = Executed::read(text.as_bytes()).unwrap();
            executed.read_critical_path(text.as_bytes()).unwrap();
        }
    }
}
