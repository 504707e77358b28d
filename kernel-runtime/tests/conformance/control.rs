//! Branches and loops, with values and memory that they carry.

use crate::batch::{Batch, Refs, array};
use crate::sketch::Sketch;
use systole::ir::kernel::Value;
use systole::ir::ops::{Binary, Compare, ShapeOp, Unary};
use systole::ir::{Array, DType};
use systole::run::Tolerance;

const SHAPE: [usize; 2] = [8, 128];

pub(crate) fn batches() -> Vec<Batch> {
    vec![branches(), loops()]
}

fn splat(s: &mut Sketch, value: Value) -> Value {
    s.shape(ShapeOp::Splat(SHAPE.into_iter().collect()), &[value])
}

/// An `i32` tile with one value everywhere.
fn uniform(value: i64) -> Array {
    array(DType::I32, &SHAPE, &[value as f64; 1024])
}

fn add_int(s: &mut Sketch, x: Value, value: i64) -> Value {
    let value = s.int(value);
    s.binary(Binary::Add, x, value)
}

fn mul_int(s: &mut Sketch, x: Value, value: i64) -> Value {
    let value = s.int(value);
    s.binary(Binary::Mul, x, value)
}

/// Stores a scalar as a tile.
fn put(s: &mut Sketch, memory: Value, value: Value) {
    let tile = splat(s, value);
    s.store(memory, tile);
}

/// Adds a scalar to a tile in memory.
fn bump(s: &mut Sketch, memory: Value, value: Value) {
    let (old, tile) = (s.load(memory), splat(s, value));
    let sum = s.binary(Binary::Add, old, tile);
    s.store(memory, sum);
}

/// Ops that make an arm too dear to be run in vain; they keep the value.
fn make_dear(s: &mut Sketch, x: Value) -> Value {
    let tile = splat(s, x);
    let wide = s.cast(tile, DType::F32);
    let zero = s.binary(Binary::Sub, wide, wide);
    let one = s.unary(Unary::Exp, zero);
    let kept = s.binary(Binary::Mul, wide, one);
    s.cast(kept, DType::I32)
}

fn branches() -> Batch {
    let mut batch = Batch::new("control", "branches");
    for taken in [0, 1] {
        for known in [false, true] {
            let known_name = if known { "known_" } else { "" };
            let flag = batch.scalar(taken);
            let cond = move |s: &mut Sketch, refs: &Refs| {
                let (one, flag) =
                    (s.int(1), if known { s.int(taken) } else { refs.scalar(s, flag) });
                s.compare(Compare::Eq, flag, one)
            };
            let name = |what: &str| format!("if_{known_name}{what}_{taken}::i32");
            let pick = |then: i64, other: i64| uniform(if taken == 1 { then } else { other });
            batch.case(name("value"), pick(3, 5), Tolerance::exact(), move |s, refs| {
                let cond = cond(s, refs);
                let value = s.if_(cond, |s| vec![s.int(3)], |s| vec![s.int(5)]);
                splat(s, value[0])
            });
            let memory = batch.scratch(DType::I32, &SHAPE);
            batch.case(name("store"), pick(7, 2), Tolerance::exact(), move |s, refs| {
                let memory = refs.scratch[memory];
                let (two, seven) = (s.int(2), s.int(7));
                put(s, memory, two);
                let cond = cond(s, refs);
                let then = |s: &mut Sketch| {
                    put(s, memory, seven);
                    vec![]
                };
                s.if_(cond, then, |_| vec![]);
                s.load(memory)
            });
            let memory = [(); 2].map(|()| batch.scratch(DType::I32, &SHAPE));
            batch.case(name("dear"), pick(4 + 8, 1 + 9 + 2), Tolerance::exact(), move |s, refs| {
                let memory = memory.map(|idx| refs.scratch[idx]);
                let (one, two) = (s.int(1), s.int(2));
                put(s, memory[0], one);
                put(s, memory[1], two);
                let cond = cond(s, refs);
                let tile = s.if_(
                    cond,
                    |s| {
                        let (four, six) = (s.int(4), s.int(6));
                        let four = make_dear(s, four);
                        s.store(memory[0], four);
                        bump(s, memory[1], six);
                        let zero = s.int(0);
                        vec![splat(s, zero)]
                    },
                    |s| {
                        let nine = s.int(9);
                        vec![splat(s, nine)]
                    },
                );
                let (x, y) = (s.load(memory[0]), s.load(memory[1]));
                let sum = s.binary(Binary::Add, x, y);
                s.binary(Binary::Add, sum, tile[0])
            });
        }
    }
    batch
}

/// `lo`, `hi` and `step` of loops: XLA miscounts those whose step does not divide the way.
const BOUNDS: [(i64, i64, i64); 11] = [
    (0, 5, 1),
    (3, 20, 4),
    (-7, 2, 3),
    (5, 5, 1),
    (6, 2, 1),
    (0, 1, 2),
    (-6, 1, 5),
    (4, 3, 7),
    (i32::MAX as i64 - 3, i32::MAX as i64, 2),
    (i32::MIN as i64, i32::MAX as i64, 1 << 30),
    (i32::MAX as i64, i32::MIN as i64, 3),
];

fn loops() -> Batch {
    let mut batch = Batch::new("control", "loops");
    for (lo, hi, step) in BOUNDS {
        let sum = (lo..hi).step_by(step as usize).sum::<i64>();
        for known in [false, true] {
            let bounds = [lo, hi, step].map(|value| (value, batch.scalar(value)));
            let known_name = if known { "known_" } else { "" };
            let name = format!("for_{known_name}{lo}_{hi}_{step}::i32");
            let memory = batch.scratch(DType::I32, &SHAPE);
            // The sum comes out carried, and once more in memory.
            let expected = uniform(DType::I32.wrap_int(2 * sum));
            batch.case(name, expected, Tolerance::exact(), move |s, refs| {
                let memory = refs.scratch[memory];
                let zero = s.int(0);
                put(s, memory, zero);
                let bounds = bounds.map(|(value, idx)| match known {
                    true => s.int(value),
                    false => refs.scalar(s, idx),
                });
                let carried = s.for_(bounds, &[zero], |s, args| {
                    bump(s, memory, args[0]);
                    vec![s.binary(Binary::Add, args[1], args[0])]
                });
                let (tile, stored) = (splat(s, carried[0]), s.load(memory));
                s.binary(Binary::Add, tile, stored)
            });
        }
    }
    counting(&mut batch);
    swapping(&mut batch);
    collatz(&mut batch);
    nested(&mut batch);
    batch
}

/// Loops with a condition that count, as a `for` would, up to a bound or including it; the
/// condition notes in memory how often it was asked.
fn counting(batch: &mut Batch) {
    for (lo, hi, step) in BOUNDS.into_iter().filter(|&(lo, hi, _)| lo.abs() < 100 && hi.abs() < 100)
    {
        for (op, end) in [(Compare::Lt, hi), (Compare::Le, hi + 1)] {
            let n = (lo..end).step_by(step as usize).count() as i64;
            let memory = batch.scratch(DType::I32, &SHAPE);
            let name = format!("while_{}_{lo}_{hi}_{step}::i32", op.name());
            let expected = uniform(100 * n + n + 1);
            batch.case(name, expected, Tolerance::exact(), move |s, refs| {
                let memory = refs.scratch[memory];
                let [zero, one, lo, hi] = [0, 1, lo, hi].map(|value| s.int(value));
                put(s, memory, zero);
                let end = s.while_(
                    &[lo, zero],
                    |s, args| {
                        bump(s, memory, one);
                        s.compare(op, args[0], hi)
                    },
                    |s, args| vec![add_int(s, args[0], step), add_int(s, args[1], 100)],
                );
                let (count, asked) = (splat(s, end[1]), s.load(memory));
                s.binary(Binary::Add, count, asked)
            });
        }
    }
}

/// Fibonacci numbers: carried values that trade places.
fn swapping(batch: &mut Batch) {
    let n = batch.scalar(20);
    batch.case("for_swaps::i32", uniform(6765), Tolerance::exact(), move |s, refs| {
        let (zero, one) = (s.int(0), s.int(1));
        let n = refs.scalar(s, n);
        let pair = s.for_([zero, n, one], &[zero, one], |s, args| {
            vec![args[2], s.binary(Binary::Add, args[1], args[2])]
        });
        splat(s, pair[0])
    });
}

/// Counts the steps of the Collatz sequence of 27 and stores the largest number on the way.
fn collatz(batch: &mut Batch) {
    let start = batch.scalar(27);
    let memory = batch.scratch(DType::I32, &SHAPE);
    let expected = uniform(111 + 9232);
    batch.case("while_collatz::i32", expected, Tolerance::exact(), move |s, refs| {
        let memory = refs.scratch[memory];
        let (zero, one) = (s.int(0), s.int(1));
        put(s, memory, zero);
        let start = refs.scalar(s, start);
        let end = s.while_(
            &[start, zero],
            |s, args| s.compare(Compare::Ne, args[0], one),
            |s, args| {
                let (old, here) = (s.load(memory), splat(s, args[0]));
                let top = s.binary(Binary::Max, old, here);
                s.store(memory, top);
                let two = s.int(2);
                let rest = s.binary(Binary::Rem, args[0], two);
                let odd = s.compare(Compare::Eq, rest, one);
                let next = s.if_(
                    odd,
                    |s| {
                        let triple = mul_int(s, args[0], 3);
                        vec![add_int(s, triple, 1)]
                    },
                    |s| vec![s.binary(Binary::Div, args[0], two)],
                );
                vec![next[0], add_int(s, args[1], 1)]
            },
        );
        let (steps, top) = (splat(s, end[1]), s.load(memory));
        s.binary(Binary::Add, steps, top)
    });
    let never = batch.scalar(1);
    batch.case("while_never::i32", uniform(1), Tolerance::exact(), move |s, refs| {
        let (one, start) = (s.int(1), refs.scalar(s, never));
        let end = s.while_(
            &[start],
            |s, args| s.compare(Compare::Ne, args[0], one),
            |s, args| vec![add_int(s, args[0], 1)],
        );
        splat(s, end[0])
    });
}

/// A loop in a dear branch in a loop, all of which store.
fn nested(batch: &mut Batch) {
    let memory = batch.scratch(DType::I32, &SHAPE);
    let mut expected = 0;
    for i in 0..6 {
        expected += if i % 2 == 0 { (0..i).sum::<i64>() } else { 100 };
    }
    batch.case("nested::i32", uniform(expected), Tolerance::exact(), move |s, refs| {
        let memory = refs.scratch[memory];
        let (zero, one, six) = (s.int(0), s.int(1), s.int(6));
        put(s, memory, zero);
        s.for_([zero, six, one], &[], |s, args| {
            let (i, two) = (args[0], s.int(2));
            let rest = s.binary(Binary::Rem, i, two);
            let even = s.compare(Compare::Eq, rest, zero);
            s.if_(
                even,
                |s| {
                    s.for_([zero, i, one], &[], |s, args| {
                        bump(s, memory, args[0]);
                        vec![]
                    });
                    vec![]
                },
                |s| {
                    let hundred = s.int(100);
                    bump(s, memory, hundred);
                    vec![]
                },
            );
            vec![]
        });
        s.load(memory)
    });
}
