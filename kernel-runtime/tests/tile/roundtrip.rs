//! Printing and parsing are inverse to each other, and parsing survives everything.

use crate::generate::{self, Numbers, Random};
use proptest::prelude::*;
use std::collections::BTreeSet;
use systole::ir::{BlockId, Kernel, LocId, Value};
use systole::target::{self, Target};
use systole::valid;

/// Whether two kernels are equal but for the numbers of values, ops, blocks and locations.
fn same(a: &Kernel, b: &Kernel) -> Result<(), String> {
    let mut values = vec![None; a.n_values()];
    let header = |k: &Kernel| {
        let params: Vec<_> = k
            .params
            .iter()
            .map(|p| {
                let window = p.window.as_ref().map(|w| (w.block.clone(), w.buffering, w.streams));
                (p.name.clone(), p.kind, p.dtype, p.axes.clone(), p.space, window, place(k, p.loc))
            })
            .collect();
        let scratch: Vec<_> = k
            .scratch
            .iter()
            .map(|s| (s.name.clone(), s.dtype, s.shape.clone(), s.space, place(k, s.loc)))
            .collect();
        let semaphores: Vec<_> = k
            .semaphores
            .iter()
            .map(|s| (s.name.clone(), s.kind, s.shape.clone(), place(k, s.loc)))
            .collect();
        format!("{} {:?} {:?} {params:?} {scratch:?} {semaphores:?}", k.name, k.grid, k.compile)
    };
    if header(a) != header(b) {
        return Err(format!("headers differ:\n{}\n{}", header(a), header(b)));
    }
    for (pa, pb) in a.params.iter().zip(&b.params) {
        if let (Some(wa), Some(wb)) = (&pa.window, &pb.window) {
            same_block((a, wa.index_map), (b, wb.index_map), &mut values)?;
        }
    }
    same_block((a, a.body), (b, b.body), &mut values)
}

type Side<'k> = (&'k Kernel, BlockId);

fn same_block(a: Side<'_>, b: Side<'_>, values: &mut [Option<Value>]) -> Result<(), String> {
    let (data_a, data_b) = (a.0.block(a.1), b.0.block(b.1));
    let mut pair = |va: &[Value], vb: &[Value]| {
        let types =
            |k: &Kernel, vs: &[Value]| vs.iter().map(|&v| k.ty(v).clone()).collect::<Vec<_>>();
        va.iter().zip(vb).for_each(|(&va, &vb)| values[va.0 as usize] = Some(vb));
        if types(a.0, va) == types(b.0, vb) { Ok(()) } else { Err("types differ".to_string()) }
    };
    pair(&data_a.args, &data_b.args)?;
    if data_a.ops.len() != data_b.ops.len() {
        return Err(format!("{} ops and {} ops", data_a.ops.len(), data_b.ops.len()));
    }
    for (&op_a, &op_b) in data_a.ops.iter().zip(&data_b.ops) {
        let (op_a, op_b) = (a.0.op(op_a), b.0.op(op_b));
        let operands: Vec<_> = op_a.operands.iter().map(|&v| values[v.0 as usize]).collect();
        let expected: Vec<_> = op_b.operands.iter().map(|&v| Some(v)).collect();
        // Not `==` on ops: a NaN constant compares by its bits already, so this is exact.
        if op_a.op != op_b.op || operands != expected {
            return Err(format!("{op_a:?}\n{op_b:?}"));
        }
        if place(a.0, op_a.loc) != place(b.0, op_b.loc) {
            return Err(format!("locations of {op_a:?} differ"));
        }
        for (&ra, &rb) in op_a.regions.iter().zip(&op_b.regions) {
            same_block((a.0, ra), (b.0, rb), values)?;
        }
        let mut pair = |va: &[Value], vb: &[Value]| {
            va.iter().zip(vb).for_each(|(&va, &vb)| values[va.0 as usize] = Some(vb));
            va.iter().zip(vb).all(|(&va, &vb)| a.0.ty(va) == b.0.ty(vb))
        };
        if !pair(&op_a.results, &op_b.results) {
            return Err("result types differ".to_string());
        }
    }
    Ok(())
}

/// A location with those it is inlined at.
fn place(kernel: &Kernel, mut loc: LocId) -> String {
    let mut text = String::new();
    loop {
        let data = kernel.loc(loc);
        text += &format!("{}:{}:{} ", data.file, data.line, data.column);
        match data.inlined_at {
            Some(outer) => loc = outer,
            None => return text,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parse_inverts_print(seed in any::<u64>(), n_ops in 0usize..60) {
        let kernel = generate::kernel(seed, n_ops, Numbers::Any);
        let text = kernel.to_string();
        let parsed = Kernel::parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(parsed.to_string(), text);
        prop_assert_eq!(same(&kernel, &parsed), Ok(()));
        let bare = format!("{kernel:#}");
        prop_assert!(!bare.contains("loc(") && !bare.contains("loc 1"));
        prop_assert!(Kernel::parse(&bare).is_ok());
    }

    #[test]
    fn generated_kernels_are_valid(seed in any::<u64>(), n_ops in 0usize..60) {
        for numbers in [Numbers::Exact, Numbers::Any] {
            let kernel = generate::kernel(seed, n_ops, numbers);
            prop_assert_eq!(valid::check(kernel, &target::GENERIC).map(drop), Ok(()));
        }
    }

    #[test]
    fn parser_survives_any_text(text in "\\PC*") {
        let _ = Kernel::parse(&text);
    }

    #[test]
    fn parser_survives_any_tokens(words in proptest::collection::vec(0usize..WORDS.len(), 0..200)) {
        let text: Vec<&str> = words.into_iter().map(|idx| WORDS[idx]).collect();
        let _ = Kernel::parse(&text.join(" "));
        let _ = Kernel::parse(&format!("kernel k {{ body {{ {} }} }}", text.join(" ")));
    }

    #[test]
    fn parser_survives_mutations(seed in any::<u64>(), n_edits in 1usize..6) {
        let kernel = generate::kernel(seed, 12, Numbers::Any);
        let mut chars: Vec<char> = kernel.to_string().chars().collect();
        let mut random = Random(seed ^ 0x5eed);
        for _ in 0..n_edits {
            let at = random.below(chars.len());
            let end = (at + 1 + random.below(12)).min(chars.len());
            match random.below(4) {
                0 => drop(chars.drain(at..end)),
                1 => {
                    let copy: Vec<char> = chars[at..end].to_vec();
                    let to = random.below(chars.len());
                    chars.splice(to..to, copy);
                }
                2 => chars[at] = ['%', '{', '}', '9', '"', ',', ':', '\n'][random.below(8)],
                _ => {
                    let word = format!(" {} ", WORDS[random.below(WORDS.len())]);
                    chars.splice(at..at, word.chars());
                }
            }
        }
        let text: String = chars.into_iter().collect();
        if let Ok(kernel) = Kernel::parse(&text) {
            for target in Target::ALL {
                if let Ok(valid) = valid::check(kernel.clone(), target) {
                    let _ = valid.cost();
                }
            }
            let printed = kernel.to_string();
            let again = Kernel::parse(&printed);
            prop_assert_eq!(again.map(|k| k.to_string()), Ok(printed));
        }
    }
}

const WORDS: &[&str] = &[
    "kernel",
    "k",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "=",
    "%0",
    "%1",
    "%x",
    "grid",
    "in",
    "out",
    "prefetch",
    "scratch",
    "body",
    "map",
    "block",
    "vmem",
    "smem",
    "hbm",
    "f32",
    "i32",
    "bool",
    "8",
    "128",
    "0",
    "-1",
    "1.5",
    "99999999999999999999",
    "parallel",
    "dynamic",
    "const",
    "add",
    "load",
    "store",
    "if",
    "else",
    "for",
    "while",
    "do",
    "yield",
    "loc",
    "loc 1 =",
    "loc(1)",
    "\"a\"",
    "\"",
    "ds",
    "drop",
    "multiple",
    "axis",
    "perm",
    "mask",
    "dot",
    "transpose",
    "concat",
    "slice",
    "iota",
    "splat",
    "reshape",
    "print",
    "assert",
    "//",
    "\n",
    "∑",
    "high",
    "select",
    "%2 = const 1 : i32",
    "%3 = iota axis 0 : i32[8, 128]",
    "%4 = reshape %3 : i32[0]",
];

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let n = 100_000;
    let text = format!(
        "kernel k {{ body {{ %0 = const true : bool {}{} }} }}",
        "if %0 { ".repeat(n),
        "}".repeat(n)
    );
    let error = Kernel::parse(&text).expect_err("too deep");
    assert!(error.iter().any(|d| d.code.as_str() == "ir::syntax" && d.message.contains("deeper")));
}

#[test]
fn a_big_kernel_round_trips() {
    let n = 20_000;
    let mut text = "kernel k {\nbody {\n  %0 = const 1 : i32\n".to_string();
    for idx in 1..n {
        text += &format!("  %{idx} = add %{}, %0 : i32\n", idx - 1);
    }
    text += "}\n}\n";
    let kernel = Kernel::parse(&text).unwrap();
    assert_eq!(kernel.to_string(), text);
}

#[test]
fn generated_kernels_cover_every_op() {
    use systole::ir::ops::{Binary, Compare, ReduceKind, Unary};
    let mut wanted: Vec<&str> = Unary::ALL.iter().map(|op| op.name()).collect();
    wanted.extend(Binary::ALL.iter().map(|op| op.name()));
    wanted.extend(Compare::ALL.iter().map(|op| op.name()));
    wanted.extend(ReduceKind::ALL.iter().map(|kind| kind.name()));
    wanted.extend(["const", "select", "cast", "bitcast", "splat", "broadcast", "reshape"]);
    wanted.extend(["transpose", "concat", "slice", "iota", "roll", "take_along_axis"]);
    wanted.extend(["dot", "load", "store"]);
    wanted.extend(["if", "for", "while", "yield", "print"]);
    for numbers in [Numbers::Exact, Numbers::Any] {
        let mut seen = BTreeSet::new();
        for seed in 0..400 {
            let kernel = generate::kernel(seed, 60, numbers);
            kernel.walk(kernel.body, &mut |_, op| {
                seen.insert(op.op.mnemonic());
            });
        }
        let prints = numbers == Numbers::Any;
        let missing =
            wanted.iter().filter(|&&name| !seen.contains(name) && (prints || name != "print"));
        let missing: Vec<_> = missing.collect();
        assert!(missing.is_empty(), "{numbers:?}: never generated: {missing:?}");
    }
}

#[test]
fn printed_form_is_the_documented_one() {
    let text = include_str!("roundtrip/every_part.tile");
    assert_eq!(Kernel::parse(text).unwrap().to_string(), text);
}
