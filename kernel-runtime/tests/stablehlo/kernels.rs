//! The kernels of these tests.

use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::{BlockDim, ParamKind};
use systole::ir::ops::{Binary, Compare, Precision, ReduceKind, Unary};
use systole::ir::{DType, ops};
use systole::valid::Valid;

/// `[m, k] x [k, n]` in blocks, accumulated in scratch.
pub(crate) fn matmul(
    dtype: DType,
    [m, n, k]: [usize; 3],
    [bm, bn, bk]: [usize; 3],
    precision: Precision,
) -> Valid {
    let mut s = Sketch::new("matmul");
    let steps = [m.div_ceil(bm), n.div_ceil(bn), k.div_ceil(bk)];
    s.parallel(steps[0]);
    s.parallel(steps[1]);
    let l = s.arbitrary(steps[2]);
    let block = |x, y| [BlockDim::Blocked(x), BlockDim::Blocked(y)];
    let a = s.param(ParamKind::In, dtype, &[m, k], &block(bm, bk), |_, g| vec![g[0], g[2]]);
    let b = s.param(ParamKind::In, dtype, &[k, n], &block(bk, bn), |_, g| vec![g[2], g[1]]);
    let c = s.param(ParamKind::Out, dtype, &[m, n], &block(bm, bn), |_, g| vec![g[0], g[1]]);
    let acc = s.scratch(DType::F32, &[bm, bn]);
    let zero = s.int(0);
    let first = s.compare(Compare::Eq, l, zero);
    s.if_(
        first,
        |s| {
            let old = s.load(acc);
            let zeros = s.like(old, 0.0);
            s.store(acc, zeros);
            vec![]
        },
        |_| vec![],
    );
    let (x, y, old) = (s.load(a), s.load(b), s.load(acc));
    let product = s.dot(x, y, (false, false), precision);
    let sum = s.binary(Binary::Add, old, product);
    s.store(acc, sum);
    let last = s.int(steps[2] as i64 - 1);
    let last = s.compare(Compare::Eq, l, last);
    s.if_(
        last,
        |s| {
            let sum = s.load(acc);
            let sum = if dtype == DType::F32 { sum } else { s.cast(sum, dtype) };
            s.store(c, sum);
            vec![]
        },
        |_| vec![],
    );
    s.valid()
}

/// Row-wise softmax, the last block of rows reaching over the end.
pub(crate) fn softmax(dtype: DType, [m, n]: [usize; 2], bm: usize) -> Valid {
    let mut s = Sketch::new("softmax");
    s.parallel(m.div_ceil(bm));
    let block = [BlockDim::Blocked(bm), BlockDim::Blocked(n)];
    let index = |s: &mut Sketch, g: &[_]| vec![g[0], s.int(0)];
    let x = s.param(ParamKind::In, dtype, &[m, n], &block, index);
    let y = s.param(ParamKind::Out, dtype, &[m, n], &block, index);
    let x = s.load(x);
    let x = s.cast(x, DType::F32);
    let top = s.reduce(ReduceKind::Max, x, 1);
    let top = s.broadcast(top, &[bm, n]);
    let shifted = s.binary(Binary::Sub, x, top);
    let e = s.unary(Unary::Exp, shifted);
    let sum = s.reduce(ReduceKind::Sum, e, 1);
    let sum = s.broadcast(sum, &[bm, n]);
    let result = s.binary(Binary::Div, e, sum);
    let result = s.cast(result, dtype);
    s.store(y, result);
    s.valid()
}

/// Adds up the blocks of a long vector into one output block that is revisited at every step,
/// in a grid too long to be unrolled.
pub(crate) fn revisit(n_steps: usize) -> Valid {
    let mut s = Sketch::new("revisit");
    let i = s.arbitrary(n_steps);
    let rows = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let x =
        s.param(ParamKind::In, DType::F32, &[8 * n_steps, 128], &rows, |s, g| vec![g[0], s.int(0)]);
    let y = s.output(DType::F32, &[8, 128]);
    let zero = s.int(0);
    let first = s.compare(Compare::Eq, i, zero);
    s.if_(
        first,
        |s| {
            let x = s.load(x);
            s.store(y, x);
            vec![]
        },
        |s| {
            let (x, old) = (s.load(x), s.load(y));
            let sum = s.binary(Binary::Add, old, x);
            s.store(y, sum);
            vec![]
        },
    );
    s.valid()
}

/// Gathers rows by a prefetched table.
pub(crate) fn gather(n_rows: usize, n_steps: usize) -> Valid {
    let mut s = Sketch::new("gather");
    s.parallel(n_steps);
    s.prefetch(DType::I32, &[n_steps]);
    let row = [BlockDim::Squeezed, BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let x = s.param(ParamKind::In, DType::F32, &[n_rows, 8, 128], &row, |s, g| {
        let index = s.load_at(g[1], access(&[dim(None, 1, 1, false)]), &[g[0]]);
        let zero = s.int(0);
        vec![index, zero, zero]
    });
    let y = s.param(ParamKind::Out, DType::F32, &[n_steps, 8, 128], &row, |s, g| {
        let zero = s.int(0);
        vec![g[0], zero, zero]
    });
    let x = s.load(x);
    s.store(y, x);
    s.valid()
}

/// A loop in the body that stores to scratch, with a branch too dear for a `select` inside.
pub(crate) fn loops() -> Valid {
    let mut s = Sketch::new("loops");
    let x = s.input(DType::F32, &[64, 128]);
    let y = s.output(DType::F32, &[8, 128]);
    let acc = s.scratch(DType::F32, &[8, 128]);
    let old = s.load(acc);
    let zeros = s.like(old, 0.0);
    s.store(acc, zeros);
    let (lo, hi, step) = (s.int(0), s.int(8), s.int(1));
    let count = s.for_([lo, hi, step], &[lo], |s, args| {
        let (i, count) = (args[0], args[1]);
        let eight = s.int(8);
        let start = s.binary(Binary::Mul, i, eight);
        let rows = access(&[dim(None, 8, 1, true), dim(Some(0), 128, 1, true)]);
        let rows = s.load_at(x, rows, &[start]);
        let (two, zero) = (s.int(2), s.int(0));
        let parity = s.binary(Binary::Rem, i, two);
        let even = s.compare(Compare::Eq, parity, zero);
        let next = s.if_(
            even,
            |s| {
                let e = s.unary(Unary::Exp, rows);
                let old = s.load(acc);
                let sum = s.binary(Binary::Add, old, e);
                s.store(acc, sum);
                let one = s.int(1);
                vec![s.binary(Binary::Add, count, one)]
            },
            |_| vec![count],
        );
        vec![next[0]]
    });
    let sum = s.load(acc);
    let count = s.cast(count[0], DType::F32);
    let count = s.shape(ops::ShapeOp::Splat([8, 128].into_iter().collect()), &[count]);
    let mean = s.binary(Binary::Div, sum, count);
    s.store(y, mean);
    s.valid()
}
