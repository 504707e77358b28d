//! Each check finds its mistake, with code, line and numbers, and lets the correct twin pass.

use super::support::*;
use systole::back::interp::Options;
use systole::diag::Code;
use systole::ir::DType::{F32, I32};
use systole::ir::ParamKind::{In, InOut, Out};
use systole::ir::ops::{Binary, Compare, DotOp, ReduceKind, ShapeOp, Unary};
use systole::ir::{Array, DType, MemorySpace, Value};

const SHAPE: [usize; 2] = [8, 128];

/// A kernel of one step that makes the only output from the only input.
fn pointwise(make: &dyn Fn(&mut Draft, Value) -> Value) -> Draft {
    let (mut d, _) = Draft::new(&[]);
    let x = d.line(1).whole(In, "x", F32, &SHAPE);
    let y = d.line(2).whole(Out, "y", F32, &SHAPE);
    d.line(3);
    let value = make(&mut d, x);
    d.line(9).store(y, value);
    d
}

#[test]
fn load_out_of_bounds() {
    let kernel = |start: i64| {
        pointwise(&|d, x| {
            let start = d.int(start);
            let four = d.line(5).load_rows(x, start, 4);
            d.shape_op(ShapeOp::Concat { axis: 0 }, &[four, four])
        })
    };
    let words =
        ["this load touches elements 6 to 9 of `x` along axis 0, which has 8", "only grid step"];
    assert_caught(kernel(6).run(&[counting(&SHAPE)]), Code::INTERP_OUT_OF_BOUNDS, &[5], &words);
    let words = ["elements -1 to 2 of `x`"];
    assert_caught(kernel(-1).run(&[counting(&SHAPE)]), Code::INTERP_OUT_OF_BOUNDS, &[5], &words);
    let y = kernel(4).run(&[counting(&SHAPE)]).unwrap().outputs[0].to_f32();
    assert_eq!((y[0], y[1023]), (512.0, 1023.0));
}

#[test]
fn store_out_of_bounds() {
    let kernel = |hi: i64| {
        let (mut d, _) = Draft::new(&[]);
        let y = d.line(2).whole(Out, "y", F32, &SHAPE);
        let bounds = [d.int(0), d.int(hi), d.int(1)];
        d.line(4).count(bounds, &[], &|d, i, _| {
            let row = d.filled(F32, &[1, 128], 2.0);
            d.line(6).store_rows(y, row, i);
            vec![]
        });
        d
    };
    let words = ["this store touches element 8 of `y` along axis 0, which has 8"];
    assert_caught(kernel(9).run(&[]), Code::INTERP_OUT_OF_BOUNDS, &[6], &words);
    assert_eq!(kernel(8).run(&[]).unwrap().outputs[0].to_f32(), vec![2.0; 1024]);
}

#[test]
fn start_that_breaks_its_promise() {
    let kernel = |start: i64| {
        pointwise(&|d, x| {
            let start = d.int(start);
            let four = d.line(5).load_rows_aligned(x, start, (4, 4));
            d.shape_op(ShapeOp::Concat { axis: 0 }, &[four, four])
        })
    };
    let words = ["is 2, which is no multiple of 4"];
    assert_caught(kernel(2).run(&[counting(&SHAPE)]), Code::INTERP_MISALIGNED, &[5], &words);
    kernel(4).run(&[counting(&SHAPE)]).unwrap();
}

#[test]
fn scratch_read_before_it_is_written() {
    let kernel = |first: bool| {
        let (mut d, idx) = Draft::new(&[("l", 4, Arbitrary)]);
        let x = d.line(1).param(In, "x", F32, &[32, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], d.int(0)]
        });
        let y = d.line(2).whole(Out, "y", F32, &SHAPE);
        let acc = d.line(3).scratch("acc", F32, &SHAPE);
        if first {
            let zero = d.int(0);
            let is_first = d.compare(Compare::Eq, idx[0], zero);
            d.line(4).when(is_first, &|d| {
                let zeros = d.filled(F32, &SHAPE, 0.0);
                d.store(acc, zeros);
            });
        }
        let old = d.line(5).load(acc);
        let x = d.load(x);
        let sum = d.binary(Binary::Add, old, x);
        d.line(6).store(acc, sum);
        let total = d.line(7).load(acc);
        d.line(8).store(y, total);
        d
    };
    let words = [
        "uninitialized elements of `acc` reach the result: `y[0, 0]` and 1023 more elements",
        "`acc` is read here before it was written",
        "grid step (l=3)",
    ];
    let result = kernel(false).run(&[counting(&[32, 128])]);
    assert_caught(result, Code::INTERP_UNINITIALIZED, &[8, 5], &words);
    let y = kernel(true).run(&[counting(&[32, 128])]).unwrap().outputs[0].to_f32();
    assert_eq!(y[1], (1 + 1025 + 2049 + 3073) as f32);
}

#[test]
fn scratch_carried_along_a_parallel_axis() {
    let kernel = |semantics| {
        let (mut d, idx) = Draft::new(&[("i", 4, semantics)]);
        let y = d.line(2).param(Out, "y", F32, &[32, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], d.int(0)]
        });
        let acc = d.line(3).scratch("acc", F32, &SHAPE);
        let zero = d.int(0);
        let is_first = d.compare(Compare::Eq, idx[0], zero);
        d.line(4).when(is_first, &|d| {
            let zeros = d.filled(F32, &SHAPE, 0.0);
            d.store(acc, zeros);
        });
        let old = d.line(5).load(acc);
        let one = d.filled(F32, &SHAPE, 1.0);
        let next = d.binary(Binary::Add, old, one);
        d.line(6).store(acc, next);
        d.line(7).store(y, next);
        d
    };
    let words = ["grid step (i=1)", "the same happens in 2 more grid steps", "does not outlive"];
    assert_caught(kernel(Parallel).run(&[]), Code::INTERP_UNINITIALIZED, &[7, 5], &words);
    let y = kernel(Arbitrary).run(&[]).unwrap().outputs[0].to_f32();
    assert_eq!((y[0], y[31 * 128]), (1.0, 4.0));
}

#[test]
fn branch_and_loop_on_undefined_scalars() {
    let kernel = |written: bool, use_it: &dyn Fn(&mut Draft, Value)| {
        let (mut d, _) = Draft::new(&[]);
        let y = d.line(2).whole(Out, "y", F32, &SHAPE);
        let flags = d.line(3).scratch_in(MemorySpace::Smem, "flags", I32, &[4]);
        let at = d.int(2);
        if written {
            let one = d.int(1);
            d.line(4).write(flags, at, one);
        }
        let flag = d.line(5).read(flags, at);
        use_it(&mut d, flag);
        let zeros = d.filled(F32, &SHAPE, 0.0);
        d.line(9).store(y, zeros);
        d
    };
    let branch = |d: &mut Draft, flag: Value| {
        let zero = d.int(0);
        let cond = d.line(6).compare(Compare::Gt, flag, zero);
        d.line(7).when(cond, &|_| {});
    };
    let words = ["the condition of this `if` depends on uninitialized elements of `flags`"];
    let code = Code::INTERP_UNINITIALIZED;
    assert_caught(kernel(false, &branch).run(&[]), code, &[7, 5], &words);
    kernel(true, &branch).run(&[]).unwrap();
    let count = |d: &mut Draft, flag: Value| {
        let (zero, one) = (d.int(0), d.int(1));
        d.line(7).count([zero, flag, one], &[], &|_, _, _| vec![]);
    };
    let words = ["the upper bound of this `for` depends on uninitialized elements of `flags`"];
    assert_caught(kernel(false, &count).run(&[]), code, &[7, 5], &words);
    kernel(true, &count).run(&[]).unwrap();
    let print = |d: &mut Draft, flag: Value| d.line(7).print("flag", &[flag]);
    let words = ["a printed scalar depends on"];
    assert_caught(kernel(false, &print).run(&[]), code, &[7, 5], &words);
    assert_eq!(kernel(true, &print).run(&[]).unwrap().prints[0].text, "flag 1");
}

#[test]
fn elements_left_out_by_a_mask() {
    let kernel = |fill: bool| {
        pointwise(&|d, x| {
            let (column, limit) = (d.iota(&SHAPE, 1), d.int(100));
            let limit = d.splat(limit, &SHAPE);
            let mask = d.compare(Compare::Lt, column, limit);
            let x = d.line(5).load_masked(x, mask);
            let zeros = d.filled(F32, &SHAPE, 0.0);
            if fill { d.select(mask, x, zeros) } else { x }
        })
    };
    let words =
        ["elements of `x` that a load's mask left out reach the result: `y[0, 100]` and 223 more"];
    let result = kernel(false).run(&[counting(&SHAPE)]);
    assert_caught(result, Code::INTERP_UNINITIALIZED, &[9, 5], &words);
    let y = kernel(true).run(&[counting(&SHAPE)]).unwrap().outputs[0].to_f32();
    assert_eq!((y[99], y[100]), (99.0, 0.0));
}

/// Sums of rows of an array of 20 columns in blocks of 16: the second block is cut off.
fn row_sums(masked: bool) -> Draft {
    let (mut d, idx) = Draft::new(&[("j", 2, Arbitrary)]);
    let x = d
        .line(1)
        .param(In, "x", F32, &[8, 20], &[Blocked(8), Blocked(16)], &|d, g| vec![d.int(0), g[0]]);
    let y = d.line(2).whole(Out, "y", F32, &[8, 1]);
    let acc = d.line(3).scratch("acc", F32, &[8, 1]);
    let zero = d.int(0);
    let first = d.compare(Compare::Eq, idx[0], zero);
    d.line(4).when(first, &|d| {
        let zeros = d.filled(F32, &[8, 1], 0.0);
        d.store(acc, zeros);
    });
    let mut block = d.line(5).load(x);
    if masked {
        let (width, end) = (d.int(16), d.int(20));
        let start = d.binary(Binary::Mul, idx[0], width);
        let start = d.splat(start, &[8, 16]);
        let column = d.iota(&[8, 16], 1);
        let column = d.binary(Binary::Add, column, start);
        let end = d.splat(end, &[8, 16]);
        let inside = d.compare(Compare::Lt, column, end);
        let zeros = d.filled(F32, &[8, 16], 0.0);
        block = d.select(inside, block, zeros);
    }
    let sum = d.line(6).reduce(ReduceKind::Sum, 1, block);
    let old = d.load(acc);
    let total = d.binary(Binary::Add, old, sum);
    d.store(acc, total);
    let total = d.line(7).load(acc);
    d.line(8).store(y, total);
    d
}

#[test]
fn padding_of_an_edge_block() {
    let words = [
        "padding beyond the end of `x` reach the result: `y[0, 0]` and 7 more elements",
        "`x` is read here beyond the end of its array",
        "grid step (j=1)",
    ];
    let result = row_sums(false).run(&[counting(&[8, 20])]);
    assert_caught(result, Code::INTERP_PADDING, &[8, 5], &words);
    let y = row_sums(true).run(&[counting(&[8, 20])]).unwrap().outputs[0].to_f32();
    assert_eq!((y[0], y[1]), (190.0, 590.0));
}

#[test]
fn padding_in_the_contraction_of_a_dot() {
    let kernel = |k: usize| {
        let (mut d, _) = Draft::new(&[]);
        let blocks = [Blocked(8), Blocked(8)];
        let zero: IndexFn<'_> = &|d, _| vec![d.int(0), d.int(0)];
        let a = d.line(1).param(In, "a", F32, &[8, k], &blocks, zero);
        let b = d.line(2).param(In, "b", F32, &[8, 8], &blocks, zero);
        let y = d.line(3).whole(Out, "y", F32, &[8, 8]);
        let (a, b) = (d.line(4).load(a), d.line(5).load(b));
        let op =
            DotOp { transpose_lhs: false, transpose_rhs: false, precision: Default::default() };
        let product = d.line(6).dot(op, a, b);
        d.line(7).store(y, product);
        d.run(&[counting(&[8, k]), counting(&[8, 8])])
    };
    assert_caught(kernel(7), Code::INTERP_PADDING, &[7, 4], &["`y[0, 0]` and 63 more elements"]);
    kernel(8).unwrap();
}

#[test]
fn padding_is_harmless_where_it_is_dropped() {
    let (mut d, _) = Draft::new(&[("i", 3, Parallel)]);
    let blocks = [Blocked(8), Blocked(128)];
    let map: IndexFn<'_> = &|d, g| vec![g[0], d.int(0)];
    let x = d.param(In, "x", F32, &[20, 128], &blocks, map);
    let y = d.param(Out, "y", F32, &[20, 128], &blocks, map);
    let x = d.load(x);
    let x = d.unary(Unary::Neg, x);
    d.store(y, x);
    let outcome = d.run(&[counting(&[20, 128])]).unwrap();
    assert_eq!(outcome.outputs[0].to_f32()[2559], -2559.0);
    assert_eq!(outcome.n_steps, 3);
}

#[test]
fn block_outside_its_array() {
    let kernel = |offset: i64| {
        let (mut d, _) = Draft::new(&[("i", 2, Parallel)]);
        let blocks = [Blocked(8), Blocked(128)];
        let x = d.line(1).param(In, "x", F32, &[16, 128], &blocks, &|d, g| {
            let offset = d.int(offset);
            vec![d.binary(Binary::Add, g[0], offset), d.int(0)]
        });
        let y = d.line(2).param(Out, "y", F32, &[16, 128], &blocks, &|d, g| vec![g[0], d.int(0)]);
        let x = d.line(3).load(x);
        d.line(4).store(y, x);
        d.run(&[counting(&[16, 128])])
    };
    let words = [
        "block 2 of `x` along axis 0 (`x0`) starts at element 16, but the axis has 16 elements",
        "numbered 0 to 1",
        "grid step (i=1)",
    ];
    assert_caught(kernel(1), Code::INTERP_BLOCK_OUT_OF_RANGE, &[1], &words);
    let words = ["block -1 of `x`", "starts at element -8", "grid step (i=0)"];
    assert_caught(kernel(-1), Code::INTERP_BLOCK_OUT_OF_RANGE, &[1], &words);
    kernel(0).unwrap();
}

#[test]
fn race_between_parallel_steps() {
    let kernel = |by_axis: bool| {
        let (mut d, idx) = Draft::new(&[("i", 2, Parallel), ("j", 2, Parallel)]);
        let y = d.line(2).param(Out, "y", F32, &[16, 256], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], if by_axis { g[1] } else { d.int(0) }]
        });
        let zero = d.int(0);
        let first = d.compare(Compare::Eq, idx[1], zero);
        let value = d.filled(F32, &SHAPE, 1.0);
        d.either(
            first,
            &|d| {
                d.line(5).store(y, value);
                vec![]
            },
            &|d| {
                d.line(6).store(y, value);
                vec![]
            },
        );
        d
    };
    let words = [
        "grid step (i=0, j=0) and grid step (i=0, j=1) both write the block of `y` at element [0, 0]",
        "kernel.rs:5:5: stored here in grid step (i=0, j=0)",
        "kernel.rs:6:5: and here in grid step (i=0, j=1)",
    ];
    for threads in [1, 3] {
        for seed in 0..4 {
            let options = Options { threads, seed, ..Options::default() };
            let result = run(kernel(false).finish(), &[], &options);
            assert_caught(result, Code::INTERP_RACE, &[5, 6], &words);
        }
    }
    kernel(true).run(&[]).unwrap();
}

#[test]
fn race_between_overlapping_windows() {
    let kernel = |stride: i64| {
        let (mut d, _) = Draft::new(&[("i", 2, Parallel)]);
        let blocks = [Element(8), Blocked(128)];
        let y = d.line(2).param(Out, "y", F32, &[16, 128], &blocks, &|d, g| {
            let stride = d.int(stride);
            vec![d.binary(Binary::Mul, g[0], stride), d.int(0)]
        });
        let value = d.filled(F32, &SHAPE, 1.0);
        d.line(5).store(y, value);
        d.run(&[])
    };
    let words = ["the blocks of `y` at elements [0, 0] and [4, 0]"];
    assert_caught(kernel(4), Code::INTERP_RACE, &[5, 5], &words);
    kernel(8).unwrap();
}

#[test]
fn output_revisited() {
    let kernel = |axes: [&str; 2]| {
        let grid: Vec<_> = axes.iter().map(|&name| (name, 2, Arbitrary)).collect();
        let (mut d, idx) = Draft::new(&grid);
        let i = axes.iter().position(|&name| name == "i").unwrap();
        let y = d.line(2).param(Out, "y", F32, &[16, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[i], d.int(0)]
        });
        let l = idx[1 - i];
        let value = d.cast(F32, l);
        let value = d.splat(value, &SHAPE);
        d.line(5).store(y, value);
        d.run(&[])
    };
    let words = [
        "grid step (l=1, i=0) comes back to the block of `y` at element [0, 0]",
        "left after grid step (l=0, i=0)",
    ];
    assert_caught(kernel(["l", "i"]), Code::INTERP_OUTPUT_REVISITED, &[5, 5], &words);
    assert_eq!(kernel(["i", "l"]).unwrap().outputs[0].to_f32(), vec![1.0; 2048]);
}

#[test]
fn output_never_written() {
    let kernel = |n: usize, rows: usize| {
        let (mut d, _) = Draft::new(&[("i", n, Parallel)]);
        let y = d.line(2).param(Out, "y", F32, &[24, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], d.int(0)]
        });
        let value = d.filled(F32, &[rows, 128], 1.0);
        let zero = d.int(0);
        d.line(5).store_rows(y, value, zero);
        d.run(&[])
    };
    let words = ["1024 of the 3072 elements of `y` are never stored, the first is `y[16, 0]`"];
    assert_caught(kernel(2, 8), Code::INTERP_OUTPUT_NEVER_WRITTEN, &[2, 5], &words);
    let words = ["384 of the 3072 elements of `y` are never stored, the first is `y[7, 0]`"];
    assert_caught(kernel(3, 7), Code::INTERP_OUTPUT_NEVER_WRITTEN, &[2, 5], &words);
    kernel(3, 8).unwrap();
}

#[test]
fn inout_keeps_what_is_not_stored() {
    let (mut d, _) = Draft::new(&[("i", 2, Parallel)]);
    let y = d.param(InOut, "y", F32, &[24, 128], &[Blocked(8), Blocked(128)], &|d, g| {
        vec![g[0], d.int(0)]
    });
    let zero = d.int(0);
    let old = d.load_rows(y, zero, 1);
    let new = d.unary(Unary::Neg, old);
    d.store_rows(y, new, zero);
    let y = d.run(&[counting(&[24, 128])]).unwrap().outputs[0].to_f32();
    assert_eq!((y[1], y[128], y[8 * 128], y[16 * 128]), (-1.0, 128.0, -1024.0, 2048.0));
}

#[test]
fn loop_step_not_positive() {
    let kernel = |step: i64| {
        pointwise(&|d, x| {
            let bounds = [d.int(0), d.int(4), d.int(step)];
            d.line(4).count(bounds, &[], &|_, _, _| vec![]);
            d.load(x)
        })
    };
    let words = ["from 0 to 4 has step 0"];
    assert_caught(kernel(0).run(&[counting(&SHAPE)]), Code::INTERP_LOOP_STEP, &[4], &words);
    let words = ["has step -2"];
    assert_caught(kernel(-2).run(&[counting(&SHAPE)]), Code::INTERP_LOOP_STEP, &[4], &words);
    kernel(3).run(&[counting(&SHAPE)]).unwrap();
}

#[test]
fn index_arithmetic_that_overflows() {
    let kernel = |factor: i64| {
        pointwise(&|d, x| {
            let (big, factor) = (d.int(1 << 20), d.int(factor));
            let product = d.line(4).binary(Binary::Mul, big, factor);
            let four = d.line(5).load_rows(x, product, 4);
            d.shape_op(ShapeOp::Concat { axis: 0 }, &[four, four])
        })
    };
    let words = [
        "the index of `x` along axis 0 comes from 4294967296, which does not fit 32 bits and wrapped to 0",
    ];
    let result = kernel(1 << 12).run(&[counting(&SHAPE)]);
    assert_caught(result, Code::INTERP_INDEX_OVERFLOW, &[4, 5], &words);
    kernel(0).run(&[counting(&SHAPE)]).unwrap();
}

#[test]
fn block_index_that_overflows() {
    let kernel = |factor: i64| {
        let (mut d, _) = Draft::new(&[("i", 2, Arbitrary)]);
        let blocks = [Blocked(8), Blocked(128)];
        let x = d.line(1).param(In, "x", F32, &[16, 128], &blocks, &|d, g| {
            let (big, factor) = (d.int(1 << 20), d.int(factor));
            let product = d.binary(Binary::Mul, g[0], big);
            vec![d.binary(Binary::Mul, product, factor), d.int(0)]
        });
        let y = d.line(2).param(Out, "y", F32, &[16, 128], &blocks, &|d, g| vec![g[0], d.int(0)]);
        let x = d.load(x);
        d.store(y, x);
        d.run(&[counting(&[16, 128])])
    };
    let words = ["the block index of `x` along axis 0 comes from 4294967296", "grid step (i=1)"];
    assert_caught(kernel(1 << 12), Code::INTERP_INDEX_OVERFLOW, &[1, 1], &words);
    kernel(0).unwrap();
}

#[test]
fn an_overflow_that_is_undone_is_none() {
    let kernel = pointwise(&|d, x| {
        let (max, one) = (d.int(i64::from(i32::MAX)), d.int(1));
        let sum = d.binary(Binary::Add, max, one);
        let start = d.binary(Binary::Sub, sum, max);
        let four = d.load_rows(x, start, 4);
        d.shape_op(ShapeOp::Concat { axis: 0 }, &[four, four])
    });
    kernel.run(&[counting(&SHAPE)]).unwrap();
}

#[test]
fn a_hash_may_wrap() {
    let kernel = pointwise(&|d, x| {
        let (a, b, n) = (d.int(1 << 30), d.int(1 << 10), d.int(3));
        let hash = d.binary(Binary::Mul, a, b);
        let row = d.binary(Binary::And, hash, n);
        let four = d.load_rows(x, row, 4);
        d.shape_op(ShapeOp::Concat { axis: 0 }, &[four, four])
    });
    kernel.run(&[counting(&SHAPE)]).unwrap();
}

#[test]
fn assertion_that_fails() {
    let kernel = |limit: i64| {
        let (mut d, idx) = Draft::new(&[("i", 2, Parallel)]);
        let y = d.param(Out, "y", F32, &[16, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], d.int(0)]
        });
        let limit = d.int(limit);
        let cond = d.compare(Compare::Lt, idx[0], limit);
        d.line(4).assert("i is small", cond);
        let value = d.filled(F32, &SHAPE, 1.0);
        d.store(y, value);
        d.run(&[])
    };
    let words = ["an assertion failed: i is small", "grid step (i=1)"];
    assert_caught(kernel(1), Code::INTERP_ASSERTION, &[4], &words);
    kernel(2).unwrap();
}

#[test]
fn non_finite_results_on_request() {
    let kernel = || {
        pointwise(&|d, x| {
            let x = d.load(x);
            let log = d.line(4).unary(Unary::Log, x);
            d.line(5).unary(Unary::Neg, log)
        })
        .finish()
    };
    let options = Options { trap_non_finite: true, ..Options::default() };
    let words = ["`log` gives -inf at [0, 0] of [8, 128] from operands that are not"];
    let result = run(kernel(), &[counting(&SHAPE)], &options);
    assert_caught(result, Code::INTERP_NON_FINITE, &[4], &words);
    run(kernel(), &[counting(&SHAPE)], &Options::default()).unwrap();
    let ones = Array::from_f32(&SHAPE, vec![1.0; 1024]).unwrap();
    run(kernel(), &[ones], &options).unwrap();
}

#[test]
fn inputs_that_do_not_fit() {
    let kernel = || pointwise(&|d, x| d.load(x));
    let code = Code::INTERP_INPUT;
    assert_caught(kernel().run(&[]), code, &[], &["takes 1 arrays (x), but 0 were given"]);
    let words = ["`x` is f32[8, 128], but the array given for it is f32[8, 64]"];
    assert_caught(kernel().run(&[counting(&[8, 64])]), code, &[1], &words);
    let words = ["the array given for it is bf16[8, 128]"];
    let wrong = Array::zeros(DType::BF16, &SHAPE);
    assert_caught(kernel().run(&[wrong]), code, &[1], &words);
}

#[test]
fn several_problems_are_told_at_once() {
    let (mut d, idx) = Draft::new(&[("i", 4, Parallel)]);
    let y = d.line(2).param(Out, "y", F32, &[32, 128], &[Blocked(8), Blocked(128)], &|d, g| {
        vec![g[0], d.int(0)]
    });
    let acc = d.line(3).scratch("acc", F32, &SHAPE);
    let (one, two) = (d.int(1), d.int(2));
    let small = d.compare(Compare::Lt, idx[0], one);
    d.line(4).assert("", small);
    let start = d.binary(Binary::Mul, idx[0], two);
    let row = d.line(5).load_rows(acc, start, 8);
    d.line(6).store(y, row);
    let problems = d.run(&[]).unwrap_err();
    let codes: Vec<Code> = problems.iter().map(|p| p.code).collect();
    assert_eq!(codes, [Code::INTERP_UNINITIALIZED, Code::INTERP_ASSERTION], "{problems}");
    assert!(problems.to_string().contains("the same happens in 2 more grid steps"), "{problems}");
}

#[test]
fn results_do_not_depend_on_threads_or_seed() {
    let kernel = || {
        let (mut d, idx) = Draft::new(&[("i", 16, Parallel), ("l", 2, Arbitrary)]);
        let y = d.param(Out, "y", F32, &[128, 128], &[Blocked(8), Blocked(128)], &|d, g| {
            vec![g[0], d.int(0)]
        });
        d.print("step", &[idx[0], idx[1]]);
        let value = d.cast(F32, idx[0]);
        let value = d.splat(value, &SHAPE);
        d.store(y, value);
        d.finish()
    };
    let run_with = |threads, seed| {
        run(kernel(), &[], &Options { threads, seed, ..Options::default() }).unwrap()
    };
    let (one, four) = (run_with(1, 7), run_with(4, 7));
    assert_eq!(one, four);
    let other_seed = run_with(4, 8);
    assert_eq!(one.outputs, other_seed.outputs);
    assert_ne!(one.prints, other_seed.prints);
}

#[test]
fn prefetch_tables_choose_blocks() {
    let (mut d, idx) = Draft::new(&[("i", 3, Arbitrary)]);
    let table = d.table("table", &[3]);
    let blocks = [Blocked(8), Blocked(128)];
    let x = d
        .line(2)
        .param(In, "x", F32, &[24, 128], &blocks, &|d, g| vec![d.read(g[1], g[0]), d.int(0)]);
    let y = d.param(Out, "y", F32, &[24, 128], &blocks, &|d, g| vec![g[0], d.int(0)]);
    let x = d.load(x);
    let weight = d.read(table, idx[0]);
    let weight = d.cast(F32, weight);
    let weight = d.splat(weight, &SHAPE);
    let x = d.binary(Binary::Mul, x, weight);
    d.store(y, x);
    let kernel = d.finish();
    let table = |values: [f64; 3]| Array::from_f64(I32, &[3], &values).unwrap();
    let options = Options::default();
    let outcome = run(kernel.clone(), &[table([2.0, 0.0, 1.0]), counting(&[24, 128])], &options);
    let y = outcome.unwrap().outputs[0].to_f32();
    assert_eq!((y[0], y[1024], y[2048]), (4096.0, 0.0, 1024.0));
    let result = run(kernel, &[table([2.0, 3.0, 1.0]), counting(&[24, 128])], &options);
    assert_caught(result, Code::INTERP_BLOCK_OUT_OF_RANGE, &[2], &["block 3 of `x`"]);
}

#[test]
fn squeezed_axes_and_prints() {
    let (mut d, _) = Draft::new(&[("i", 2, Parallel)]);
    let map: IndexFn<'_> = &|d, g| vec![g[0], d.int(0), d.int(0)];
    let blocks = [Squeezed, Blocked(2), Blocked(2)];
    let x = d.param(In, "x", F32, &[2, 2, 2], &blocks, map);
    let y = d.param(Out, "y", F32, &[2, 2, 2], &blocks, map);
    let x = d.load(x);
    d.print("x =", &[x]);
    d.store(y, x);
    let outcome = d.run(&[counting(&[2, 2, 2])]).unwrap();
    let mut texts: Vec<&str> = outcome.prints.iter().map(|print| print.text.as_str()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["x = [[0, 1], [2, 3]]", "x = [[4, 5], [6, 7]]"]);
    assert_eq!(outcome.outputs[0], counting(&[2, 2, 2]));
}

#[test]
fn a_store_with_a_mask_leaves_the_rest() {
    let kernel = |fill: bool| {
        pointwise(&|d, x| {
            let acc = d.scratch("acc", F32, &SHAPE);
            if fill {
                let zeros = d.filled(F32, &SHAPE, 0.0);
                d.line(4).store(acc, zeros);
            }
            let (row, limit) = (d.iota(&SHAPE, 0), d.int(3));
            let limit = d.splat(limit, &SHAPE);
            let mask = d.compare(Compare::Lt, row, limit);
            let x = d.load(x);
            d.line(5).store_masked(acc, x, mask);
            d.line(6).load(acc)
        })
    };
    let words = ["`y[3, 0]` and 639 more elements"];
    let result = kernel(false).run(&[counting(&SHAPE)]);
    assert_caught(result, Code::INTERP_UNINITIALIZED, &[9, 6], &words);
    let y = kernel(true).run(&[counting(&SHAPE)]).unwrap().outputs[0].to_f32();
    assert_eq!((y[383], y[384]), (383.0, 0.0));
}
