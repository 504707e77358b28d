//! The kernels whose modules are recorded: one per op family or rule, and the shapes of real ones.

use super::sketch::{Cut, Sketch, at, at_dynamic, run, run_from};
use systole::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, DebugOp, Elementwise, Literal, MemoryOp,
    Precision, ReduceKind, ShapeOp, Unary,
};
use systole::ir::{DType, Extent, Kernel, Op, ParamKind, Semantics, Shape, Streams, Type, Value};

use DType::{BF16, Bool, F32, I8, I32};
use ParamKind::{In, InOut, Out, Prefetch};
use Semantics::{Arbitrary, Parallel};

/// Every recorded kernel.
pub(crate) fn all() -> Vec<Kernel> {
    let mut cases = vec![
        scale_add(F32),
        scale_add(BF16),
        softmax(),
        rms_norm(),
        layer_norm(),
        flash(false),
        flash(true),
        strided(),
        scratch_parts(),
        squeezed(),
        element_window(),
        in_out_simple(),
        in_out_computed(),
        prefetch(),
        in_out_prefetch(),
        element_prefetch(),
        dynamic_grid(),
        streams(),
        mask_params(),
        masked_store(),
        loops(),
        shapes(F32),
        shapes(BF16),
        slices(),
        roll(),
        arg_reductions(),
        integers(),
        debug(),
        two_outputs(),
        no_grid_index(),
    ];
    for dtype in [F32, BF16, I8] {
        for transposes in [(false, false), (false, true), (true, false), (true, true)] {
            cases.push(matmul(dtype, transposes, Precision::Medium));
        }
    }
    cases.push(matmul(F32, (false, false), Precision::High));
    cases.push(matmul(F32, (false, false), Precision::Highest));
    cases
}

fn name(base: &str, dtype: DType) -> String {
    format!("{base}_{dtype}")
}

/// The first kernel of every tutorial.
pub(crate) fn scale_add(dtype: DType) -> Kernel {
    let mut k = Sketch::new(&name("scale_add", dtype));
    k.axis("i", 4, Parallel);
    let x = k.param(In, "x", dtype, &[1024, 256], &[Cut::By(256, 0), Cut::Whole]);
    let y = k.param(In, "y", dtype, &[1024, 256], &[Cut::By(256, 0), Cut::Whole]);
    let o = k.param(Out, "o", dtype, &[1024, 256], &[Cut::By(256, 0), Cut::Whole]);
    let (x, y) = (k.load(x), k.load(y));
    let two = k.splat(Literal::from_f64(dtype, 2.0), &[256, 256]);
    let scaled = k.binary(Binary::Mul, x, two);
    let sum = k.binary(Binary::Add, scaled, y);
    k.store(o, sum);
    k.finish()
}

pub(crate) fn matmul(dtype: DType, transposes: (bool, bool), precision: Precision) -> Kernel {
    let letter = |transposed: bool| if transposed { "t" } else { "n" };
    let mut k = Sketch::new(&format!(
        "matmul_{dtype}_{}{}_{}",
        letter(transposes.0),
        letter(transposes.1),
        precision.name()
    ));
    k.axis("i", 2, Parallel);
    k.axis("j", 2, Parallel);
    let l = k.axis("l", 2, Arbitrary);
    let cuts = |transposed: bool, a: Cut, b: Cut| if transposed { [b, a] } else { [a, b] };
    let (ci, cj, cl) = (Cut::By(128, 0), Cut::By(128, 1), Cut::By(128, 2));
    let a = k.param(In, "a", dtype, &[256, 256], &cuts(transposes.0, ci, cl));
    let b = k.param(In, "b", dtype, &[256, 256], &cuts(transposes.1, cl, cj));
    let acc_dtype = if dtype.is_int() { I32 } else { F32 };
    let out_dtype = if dtype.is_int() { I32 } else { dtype };
    let c = k.param(Out, "c", out_dtype, &[256, 256], &[ci, cj]);
    let acc = k.scratch("acc", acc_dtype, &[128, 128]);
    let zero = k.int(0);
    let first = k.compare(Compare::Eq, l, zero);
    k.when(first, |k| {
        let zeros = k.splat(Literal::from_f64(acc_dtype, 0.0), &[128, 128]);
        k.store(acc, zeros);
    });
    let (x, y, sum) = (k.load(a), k.load(b), k.load(acc));
    let product = k.dot(x, y, transposes, precision);
    let sum = k.binary(Binary::Add, sum, product);
    k.store(acc, sum);
    let one = k.int(1);
    let last = k.compare(Compare::Eq, l, one);
    k.when(last, |k| {
        let sum = k.load(acc);
        let result = if acc_dtype == out_dtype { sum } else { k.cast(sum, out_dtype) };
        k.store(c, result);
    });
    k.finish()
}

fn rows(name: &str, dtype: DType, n: usize) -> (Sketch, Value, Value) {
    let mut k = Sketch::new(name);
    k.axis("i", 2, Parallel);
    let x = k.param(In, "x", dtype, &[64, n], &[Cut::By(32, 0), Cut::Whole]);
    let o = k.param(Out, "o", dtype, &[64, n], &[Cut::By(32, 0), Cut::Whole]);
    (k, x, o)
}

fn softmax() -> Kernel {
    let (mut k, x, o) = rows("softmax", BF16, 1024);
    let x = k.load(x);
    let x = k.cast(x, F32);
    let max = k.reduce(ReduceKind::Max, 1, x);
    let max = k.broadcast(max, &[32, 1024]);
    let shifted = k.binary(Binary::Sub, x, max);
    let exp = k.unary(Unary::Exp, shifted);
    let sum = k.reduce(ReduceKind::Sum, 1, exp);
    let inverse = k.unary(Unary::Reciprocal, sum);
    let inverse = k.broadcast(inverse, &[32, 1024]);
    let result = k.binary(Binary::Mul, exp, inverse);
    let result = k.cast(result, BF16);
    k.store(o, result);
    k.finish()
}

fn rms_norm() -> Kernel {
    let (mut k, x, o) = rows("rms_norm", F32, 512);
    let x = k.load(x);
    let square = k.binary(Binary::Mul, x, x);
    let sum = k.reduce(ReduceKind::Sum, 1, square);
    let scale = k.splat(Literal::float(F32, 1.0 / 512.0), &[32, 1]);
    let mean = k.binary(Binary::Mul, sum, scale);
    let epsilon = k.splat(Literal::float(F32, 1e-6), &[32, 1]);
    let mean = k.binary(Binary::Add, mean, epsilon);
    let inverse = k.unary(Unary::Rsqrt, mean);
    let inverse = k.broadcast(inverse, &[32, 512]);
    let result = k.binary(Binary::Mul, x, inverse);
    k.store(o, result);
    k.finish()
}

fn layer_norm() -> Kernel {
    let (mut k, x, o) = rows("layer_norm", BF16, 384);
    let weight = k.param(In, "w", BF16, &[1, 384], &[Cut::Whole, Cut::Whole]);
    let x = k.load(x);
    let x = k.cast(x, F32);
    let sum = k.reduce(ReduceKind::Sum, 1, x);
    let scale = k.splat(Literal::float(F32, 1.0 / 384.0), &[32, 1]);
    let mean = k.binary(Binary::Mul, sum, scale);
    let mean = k.broadcast(mean, &[32, 384]);
    let centred = k.binary(Binary::Sub, x, mean);
    let square = k.binary(Binary::Mul, centred, centred);
    let sum = k.reduce(ReduceKind::Sum, 1, square);
    let variance = k.binary(Binary::Mul, sum, scale);
    let deviation = k.unary(Unary::Sqrt, variance);
    let deviation = k.broadcast(deviation, &[32, 384]);
    let result = k.binary(Binary::Div, centred, deviation);
    let weight = k.load(weight);
    let weight = k.cast(weight, F32);
    let weight = k.broadcast(weight, &[32, 384]);
    let result = k.binary(Binary::Mul, result, weight);
    let result = k.cast(result, BF16);
    k.store(o, result);
    k.finish()
}

/// One head per step, causal, the loop over key blocks unrolled or not.
fn flash(unrolled: bool) -> Kernel {
    let mut k = Sketch::new(if unrolled { "flash_unrolled" } else { "flash_loop" });
    let (s, d, bk) = (256, 128, 128);
    k.axis("h", 2, Parallel);
    let cuts = [Cut::Squeeze(0), Cut::Whole, Cut::Whole];
    let q = k.param(In, "q", BF16, &[2, s, d], &cuts);
    let keys = k.param(In, "k", BF16, &[2, s, d], &cuts);
    let values = k.param(In, "v", BF16, &[2, s, d], &cuts);
    let o = k.param(Out, "o", BF16, &[2, s, d], &cuts);
    let q = k.load(q);
    let row = k.op(
        Op::Shape(ShapeOp::Iota { dtype: I32, shape: Shape::from_slice(&[s, bk]), axis: 0 }),
        &[],
    );
    let column = k.op(
        Op::Shape(ShapeOp::Iota { dtype: I32, shape: Shape::from_slice(&[s, bk]), axis: 1 }),
        &[],
    );
    let low = k.splat(Literal::float(F32, -1e30), &[s, 1]);
    let zero = k.splat(Literal::float(F32, 0.0), &[s, 1]);
    let empty = k.splat(Literal::float(F32, 0.0), &[s, d]);
    let step =
        |k: &mut Sketch, block: Value, state: &[Value], dims: &[AccessDim], starts: &[Value]| {
            let key = k.load_part(keys, dims, starts);
            let value = k.load_part(values, dims, starts);
            let logits = k.dot(q, key, (false, true), Precision::Medium);
            let size = k.int(bk as i64);
            let first = k.binary(Binary::Mul, block, size);
            let first = k.splat_value(first, &[s, bk]);
            let column = k.binary(Binary::Add, column, first);
            let seen = k.compare(Compare::Ge, row, column);
            let hidden = k.splat(Literal::float(F32, -1e30), &[s, bk]);
            let logits = k.select(seen, logits, hidden);
            let max = k.reduce(ReduceKind::Max, 1, logits);
            let max = k.binary(Binary::Max, state[0], max);
            let wide = k.broadcast(max, &[s, bk]);
            let shifted = k.binary(Binary::Sub, logits, wide);
            let p = k.unary(Unary::Exp2, shifted);
            let fade = k.binary(Binary::Sub, state[0], max);
            let fade = k.unary(Unary::Exp2, fade);
            let sum = k.reduce(ReduceKind::Sum, 1, p);
            let old = k.binary(Binary::Mul, state[1], fade);
            let sum = k.binary(Binary::Add, old, sum);
            let p = k.cast(p, BF16);
            let added = k.dot(p, value, (false, false), Precision::Medium);
            let fade = k.broadcast(fade, &[s, d]);
            let old = k.binary(Binary::Mul, state[2], fade);
            let acc = k.binary(Binary::Add, old, added);
            vec![max, sum, acc]
        };
    let mut state = vec![low, zero, empty];
    if unrolled {
        for block in 0..s / bk {
            let index = k.int(block as i64);
            state = step(&mut k, index, &state, &[run(block * bk, bk, 1), AccessDim::full(d)], &[]);
        }
    } else {
        state = k.repeat((s / bk) as i64, &state, |k, block, state| {
            let size = k.int(bk as i64);
            let start = k.binary(Binary::Mul, block, size);
            step(k, block, state, &[run_from(bk, bk), AccessDim::full(d)], &[start])
        });
    }
    let sum = k.broadcast(state[1], &[s, d]);
    let result = k.binary(Binary::Div, state[2], sum);
    let result = k.cast(result, BF16);
    k.store(o, result);
    k.finish()
}

/// Loads and stores in steps.
fn strided() -> Kernel {
    let mut k = Sketch::new("strided");
    let x = k.whole(In, "x", F32, &[32, 128]);
    let o = k.whole(Out, "o", F32, &[32, 128]);
    let even = k.load_part(x, &[run(0, 16, 2), AccessDim::full(128)], &[]);
    let odd = k.load_part(x, &[run(1, 16, 2), AccessDim::full(128)], &[]);
    k.store_part(o, odd, &[run(0, 16, 2), AccessDim::full(128)], &[]);
    k.store_part(o, even, &[run(1, 16, 2), AccessDim::full(128)], &[]);
    k.finish()
}

/// Static and dynamic parts of scratch, with dropped axes.
fn scratch_parts() -> Kernel {
    let mut k = Sketch::new("scratch_parts");
    let i = k.axis("i", 4, Arbitrary);
    let x = k.param(In, "x", F32, &[64, 128], &[Cut::By(16, 0), Cut::Whole]);
    let o = k.param(Out, "o", F32, &[64, 128], &[Cut::By(16, 0), Cut::Whole]);
    let s = k.scratch("s", F32, &[2, 32, 128]);
    let value = k.load(x);
    k.store_part(s, value, &[at(1), run(8, 16, 1), AccessDim::full(128)], &[]);
    let two = k.int(2);
    let half = k.binary(Binary::Rem, i, two);
    let sixteen = k.int(16);
    let start = k.binary(Binary::Mul, half, sixteen);
    k.store_part(s, value, &[at_dynamic(), run_from(16, 16), AccessDim::full(128)], &[half, start]);
    let back = k.load_part(s, &[at(1), run(8, 16, 1), AccessDim::full(128)], &[]);
    k.store(o, back);
    k.finish()
}

fn squeezed() -> Kernel {
    let mut k = Sketch::new("squeezed");
    k.axis("b", 2, Parallel);
    k.axis("h", 4, Parallel);
    let cuts = [Cut::Squeeze(0), Cut::Squeeze(1), Cut::Whole, Cut::Whole];
    let x = k.param(In, "x", BF16, &[2, 4, 32, 128], &cuts);
    let o = k.param(Out, "o", BF16, &[2, 4, 32, 128], &cuts);
    let value = k.load(x);
    k.store(o, value);
    k.finish()
}

fn element_window() -> Kernel {
    let mut k = Sketch::new("element_window");
    k.axis("i", 4, Arbitrary);
    let x = k.param(In, "x", F32, &[80, 128], &[Cut::Element(32, 16, 0), Cut::Element(128, 0, 0)]);
    let o = k.param(Out, "o", F32, &[128, 128], &[Cut::By(32, 0), Cut::Whole]);
    let value = k.load(x);
    k.store(o, value);
    k.finish()
}

/// The block is revisited along `l`, and copied in at its first visit alone.
fn in_out_simple() -> Kernel {
    let mut k = Sketch::new("in_out_simple");
    k.axis("i", 4, Parallel);
    k.axis("l", 3, Arbitrary);
    let x = k.param(InOut, "x", F32, &[64, 128], &[Cut::By(16, 0), Cut::Whole]);
    let value = k.load(x);
    let sum = k.binary(Binary::Add, value, value);
    k.store(x, sum);
    k.finish()
}

/// The index map computes, so that blocks change at some steps of an axis.
fn in_out_computed() -> Kernel {
    let mut k = Sketch::new("in_out_computed");
    k.axis("i", 8, Arbitrary);
    let x = k.param(InOut, "x", F32, &[64, 128], &[Cut::By(16, 0), Cut::Whole]);
    let mut kernel = {
        let value = k.load(x);
        let sum = k.binary(Binary::Add, value, value);
        k.store(x, sum);
        k
    };
    // The map `[i / 2, 0]`, in place of the one above.
    let loc = kernel.loc();
    let (map, args) = kernel.b.open_block(&[Type::Scalar(I32)]);
    let two = kernel.b.constant(Literal::int(I32, 2), loc);
    let half = kernel.binary(Binary::Div, args[0], two);
    let zero = kernel.b.constant(Literal::int(I32, 0), loc);
    kernel.b.close_block(&[half, zero], loc);
    if let Some(window) = &mut kernel.b.kernel_mut().params[0].window {
        window.index_map = map;
    }
    kernel.finish()
}

/// A table chooses the blocks, and a scalar of it goes into the result.
fn prefetch() -> Kernel {
    let mut k = Sketch::new("prefetch");
    let i = k.axis("i", 8, Arbitrary);
    let table = k.smem(Prefetch, "table", I32, &[8]);
    let x = k.param(In, "x", F32, &[128, 256], &[Cut::By(8, 0), Cut::Whole]);
    let o = k.param(Out, "o", F32, &[64, 256], &[Cut::By(8, 0), Cut::Whole]);
    let entry = k.load_part(table, &[at_dynamic()], &[i]);
    let scale = k.cast(entry, F32);
    let scale = k.splat_value(scale, &[8, 256]);
    let value = k.load(x);
    let value = k.binary(Binary::Mul, value, scale);
    k.store(o, value);
    k.remap(1, table, |k, args| vec![k.load_part(args[1], &[at_dynamic()], &[args[0]]), k.int(0)]);
    k.remap(2, table, |k, args| vec![args[0], k.int(0)]);
    k.finish()
}

/// An array updated in place in blocks that a table chooses: whether a step is the first to see its
/// block is found by comparing entries of the table.
fn in_out_prefetch() -> Kernel {
    let mut k = Sketch::new("in_out_prefetch");
    k.axis("i", 8, Arbitrary);
    let table = k.smem(Prefetch, "table", I32, &[8]);
    let y = k.param(InOut, "y", F32, &[128, 128], &[Cut::By(8, 0), Cut::Whole]);
    let x = k.param(In, "x", F32, &[64, 128], &[Cut::By(8, 0), Cut::Whole]);
    k.remap(1, table, |k, args| vec![k.load_part(args[1], &[at_dynamic()], &[args[0]]), k.int(0)]);
    k.remap(2, table, |k, args| vec![args[0], k.int(0)]);
    let (old, add) = (k.load(y), k.load(x));
    let sum = k.binary(Binary::Add, old, add);
    k.store(y, sum);
    k.finish()
}

/// Windows whose first row stands in a table.
fn element_prefetch() -> Kernel {
    let mut k = Sketch::new("element_prefetch");
    k.axis("i", 4, Arbitrary);
    let table = k.smem(Prefetch, "table", I32, &[4]);
    let x = k.param(In, "x", F32, &[80, 128], &[Cut::Element(16, 0, 0), Cut::Element(128, 0, 0)]);
    let o = k.param(Out, "o", F32, &[64, 128], &[Cut::By(16, 0), Cut::Whole]);
    k.remap(1, table, |k, args| {
        let (eight, zero) = (k.int(8), k.int(0));
        let group = k.load_part(args[1], &[at_dynamic()], &[args[0]]);
        vec![k.binary(Binary::Mul, group, eight), zero]
    });
    k.remap(2, table, |k, args| vec![args[0], k.int(0)]);
    let value = k.load(x);
    k.store(o, value);
    k.finish()
}

/// Two axes whose extents are arguments, with which the body and an index map compute.
fn dynamic_grid() -> Kernel {
    let mut k = Sketch::new("dynamic_grid");
    let i = k.axis("i", 1, Arbitrary);
    k.axis("j", 1, Arbitrary);
    for axis in 0..2 {
        k.b.kernel_mut().grid[axis].extent = Extent::Dynamic { operand: 1 - axis };
    }
    let x = k.param(In, "x", F32, &[64, 128], &[Cut::By(8, 0), Cut::Whole]);
    let loc = k.loc();
    let (map, args) = k.b.open_block(&[Type::Scalar(I32), Type::Scalar(I32)]);
    let n = k.op(Op::Control(ControlOp::GridExtent { axis: 1 }), &[]);
    let first = k.binary(Binary::Mul, args[0], n);
    let block = k.binary(Binary::Add, first, args[1]);
    let zero = k.int(0);
    k.b.close_block(&[block, zero], loc);
    if let Some(window) = &mut k.b.kernel_mut().params[0].window {
        window.index_map = map;
    }
    let o = k.whole(Out, "o", F32, &[8, 128]);
    let extent = k.op(Op::Control(ControlOp::GridExtent { axis: 0 }), &[]);
    let one = k.int(1);
    let last = k.binary(Binary::Sub, extent, one);
    let is_last = k.compare(Compare::Eq, i, last);
    let value = k.load(x);
    k.when(is_last, |k| k.store(o, value));
    k.finish()
}

/// A block fetched in four parts.
fn streams() -> Kernel {
    let mut k = Sketch::new("streams");
    k.axis("i", 2, Parallel);
    let x = k.param(In, "x", BF16, &[256, 256], &[Cut::By(128, 0), Cut::Whole]);
    let o = k.param(Out, "o", BF16, &[256, 256], &[Cut::By(128, 0), Cut::Whole]);
    if let Some(window) = &mut k.b.kernel_mut().params[0].window {
        window.streams = Some(Streams { axis: 0, n: 4 });
    }
    let whole = k.load(x);
    k.store(o, whole);
    let across = k.load_part(x, &[run(16, 32, 1), AccessDim::full(256)], &[]);
    k.store_part(o, across, &[run(0, 32, 1), AccessDim::full(256)], &[]);
    k.finish()
}

/// Truth values in arrays.
fn mask_params() -> Kernel {
    let mut k = Sketch::new("mask_params");
    let x = k.whole(In, "x", F32, &[16, 128]);
    let m = k.whole(In, "m", Bool, &[16, 128]);
    let o = k.whole(Out, "o", F32, &[16, 128]);
    let n = k.whole(Out, "n", Bool, &[16, 128]);
    let (x, m) = (k.load(x), k.load(m));
    let zero = k.splat(Literal::float(F32, 0.0), &[16, 128]);
    let chosen = k.select(m, x, zero);
    k.store(o, chosen);
    let positive = k.compare(Compare::Ne, x, zero);
    let both = k.binary(Binary::And, m, positive);
    let inverse = k.unary(Unary::Not, both);
    let yes = k.splat(Literal::int(Bool, 1), &[16, 128]);
    let exclusive = k.binary(Binary::Xor, inverse, yes);
    let chosen = k.select(m, exclusive, both);
    k.store(n, chosen);
    k.finish()
}

fn masked_store() -> Kernel {
    let mut k = Sketch::new("masked_store");
    let x = k.whole(In, "x", F32, &[16, 128]);
    let y = k.whole(In, "y", BF16, &[16, 128]);
    let o = k.whole(InOut, "o", F32, &[16, 128]);
    let p = k.whole(InOut, "p", BF16, &[16, 128]);
    let (x, y) = (k.load(x), k.load(y));
    let zero = k.splat(Literal::float(F32, 0.0), &[16, 128]);
    let mask = k.compare(Compare::Lt, x, zero);
    let access = Access { dims: [AccessDim::full(16), AccessDim::full(128)].into_iter().collect() };
    let store = Op::Memory(MemoryOp::Store { access: access.clone(), masked: true });
    k.ops_none(store.clone(), &[o, x, mask]);
    k.ops_none(store, &[p, y, mask]);
    let load = Op::Memory(MemoryOp::Load { access, masked: true });
    let loaded = k.op(load, &[o, mask]);
    k.store(o, loaded);
    k.finish()
}

/// Loops that carry scalars, tiles and masks.
fn loops() -> Kernel {
    let mut k = Sketch::new("loops");
    let x = k.whole(In, "x", F32, &[16, 128]);
    let o = k.whole(Out, "o", F32, &[16, 128]);
    let x = k.load(x);
    let zero = k.splat(Literal::float(F32, 0.0), &[16, 128]);
    let mask = k.compare(Compare::Gt, x, zero);
    let carried = k.repeat(4, &[x, mask], |k, index, state| {
        let scale = k.cast(index, F32);
        let scale = k.splat_value(scale, &[16, 128]);
        let value = k.binary(Binary::Mul, state[0], scale);
        let mask = k.binary(Binary::Xor, state[1], mask);
        vec![value, mask]
    });
    let masked = k.select(carried[1], carried[0], zero);
    let loc = k.loc();
    let start = k.int(0);
    let types = [Type::Scalar(I32), Type::tile(F32, &[16, 128])];
    let (cond, args) = k.b.open_block(&types);
    let limit = k.int(10);
    let more = k.compare(Compare::Lt, args[0], limit);
    k.b.close_block(&[more], loc);
    let (body, args) = k.b.open_block(&types);
    let three = k.int(3);
    let next = k.binary(Binary::Add, args[0], three);
    let twice = k.binary(Binary::Add, args[1], args[1]);
    k.b.close_block(&[next, twice], loc);
    let results =
        k.b.push_with_regions(Op::Control(ControlOp::While), &[start, masked], &[cond, body], loc);
    let results = results.expect("types");
    let (then, _) = k.b.open_block(&[]);
    k.b.close_block(&[results[1]], loc);
    let (other, _) = k.b.open_block(&[]);
    k.b.close_block(&[zero], loc);
    let limit = k.int(11);
    let cond = k.compare(Compare::Gt, results[0], limit);
    let chosen = k.b.push_with_regions(Op::Control(ControlOp::If), &[cond], &[then, other], loc);
    let chosen = chosen.expect("types")[0];
    k.store(o, chosen);
    k.finish()
}

fn shapes(dtype: DType) -> Kernel {
    let mut k = Sketch::new(&name("shapes", dtype));
    let x = k.whole(In, "x", dtype, &[4, 16, 128]);
    let o = k.whole(Out, "o", dtype, &[128, 64]);
    let p = k.whole(Out, "p", dtype, &[128, 128]);
    let x = k.load(x);
    let flat = k.op(Op::Shape(ShapeOp::Reshape(Shape::from_slice(&[64, 128]))), &[x]);
    let turned = k.op(Op::Shape(ShapeOp::Transpose([1, 0].into_iter().collect())), &[flat]);
    k.store(o, turned);
    let stacked = k.op(Op::Shape(ShapeOp::Concat { axis: 0 }), &[flat, flat]);
    let row = k.op(
        Op::Shape(ShapeOp::Slice {
            starts: Shape::from_slice(&[1, 0]),
            sizes: Shape::from_slice(&[1, 128]),
            strides: Shape::from_slice(&[1, 1]),
        }),
        &[stacked],
    );
    let row = k.broadcast(row, &[128, 128]);
    let sum = k.binary(Binary::Max, stacked, row);
    k.store(p, sum);
    k.finish()
}

fn slices() -> Kernel {
    let mut k = Sketch::new("slices");
    let x = k.whole(In, "x", F32, &[8, 16, 128]);
    let o = k.whole(Out, "o", F32, &[4, 8, 128]);
    let x = k.load(x);
    let part = k.op(
        Op::Shape(ShapeOp::Slice {
            starts: Shape::from_slice(&[1, 4, 0]),
            sizes: Shape::from_slice(&[4, 8, 128]),
            strides: Shape::from_slice(&[2, 1, 1]),
        }),
        &[x],
    );
    k.store(o, part);
    k.finish()
}

fn roll() -> Kernel {
    let mut k = Sketch::new("roll");
    let shifts = k.smem(In, "shifts", I32, &[1]);
    let x = k.whole(In, "x", F32, &[16, 256]);
    let o = k.whole(Out, "o", F32, &[16, 256]);
    let shift = k.load_part(shifts, &[at(0)], &[]);
    let x = k.load(x);
    let rolled = k.op(Op::Shape(ShapeOp::Roll { axis: 1, stride: None }), &[x, shift]);
    let back = k.int(-1);
    let rolled = k.op(Op::Shape(ShapeOp::Roll { axis: 0, stride: None }), &[rolled, back]);
    k.store(o, rolled);
    k.finish()
}

fn arg_reductions() -> Kernel {
    let mut k = Sketch::new("arg_reductions");
    let x = k.whole(In, "x", F32, &[16, 256]);
    let y = k.whole(In, "y", I32, &[16, 256]);
    let o = k.whole(Out, "o", I32, &[16, 256]);
    let (x, y) = (k.load(x), k.load(y));
    let a = k.reduce(ReduceKind::ArgMax, 1, x);
    let b = k.reduce(ReduceKind::ArgMin, 1, y);
    let sum = k.binary(Binary::Add, a, b);
    let sum = k.broadcast(sum, &[16, 256]);
    k.store(o, sum);
    k.finish()
}

fn integers() -> Kernel {
    let mut k = Sketch::new("integers");
    let x = k.whole(In, "x", I8, &[32, 128]);
    let y = k.whole(In, "y", DType::U16, &[32, 128]);
    let o = k.whole(Out, "o", I8, &[32, 128]);
    let p = k.whole(Out, "p", DType::U16, &[32, 128]);
    let (x, y) = (k.load(x), k.load(y));
    let sum = k.binary(Binary::Div, x, x);
    k.store(o, sum);
    let shifted = k.binary(Binary::Shr, y, y);
    k.store(p, shifted);
    k.finish()
}

fn debug() -> Kernel {
    let mut k = Sketch::new("debug");
    let i = k.axis("i", 2, Arbitrary);
    let x = k.param(In, "x", F32, &[16, 128], &[Cut::By(8, 0), Cut::Whole]);
    let o = k.param(Out, "o", F32, &[16, 128], &[Cut::By(8, 0), Cut::Whole]);
    k.ops_none(Op::Debug(DebugOp::Print { message: "step".to_owned() }), &[i]);
    let two = k.int(2);
    let in_range = k.compare(Compare::Lt, i, two);
    k.ops_none(Op::Debug(DebugOp::Assert { message: "i < 2".to_owned() }), &[in_range]);
    let value = k.load(x);
    k.store(o, value);
    k.finish()
}

fn two_outputs() -> Kernel {
    let mut k = Sketch::new("two_outputs");
    k.axis("i", 2, Parallel);
    let cuts = [Cut::By(8, 0), Cut::Whole];
    let x = k.param(In, "x", F32, &[16, 128], &cuts);
    let state = k.param(InOut, "state", F32, &[16, 128], &cuts);
    let o = k.param(Out, "o", BF16, &[16, 128], &cuts);
    let (value, old) = (k.load(x), k.load(state));
    let sum = k.binary(Binary::Add, value, old);
    k.store(state, sum);
    let rounded = k.cast(sum, BF16);
    k.store(o, rounded);
    k.finish()
}

/// Vectors of rank 1.
fn no_grid_index() -> Kernel {
    let mut k = Sketch::new("rank_one");
    let x = k.whole(In, "x", F32, &[1024]);
    let o = k.whole(Out, "o", F32, &[1024]);
    let x = k.load(x);
    let count = k.op(
        Op::Shape(ShapeOp::Iota { dtype: I32, shape: Shape::from_slice(&[1024]), axis: 0 }),
        &[],
    );
    let count = k.op(Op::Elementwise(Elementwise::Cast(F32)), &[count]);
    let sum = k.binary(Binary::Add, x, count);
    let total = k.reduce(ReduceKind::Sum, 0, sum);
    let total = k.broadcast(total, &[1024]);
    let share = k.binary(Binary::Div, sum, total);
    k.store(o, share);
    k.finish()
}
