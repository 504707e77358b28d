//! Whole kernels: grids, windows, edge blocks, revisited blocks, prefetched tables.

use crate::batch::{Batch, array};
use crate::kernels;
use crate::shape::build;
use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::{BlockDim, Extent, ParamKind};
use systole::ir::ops::{Binary, Compare, Precision};
use systole::ir::{Array, DType};
use systole::run::{Sampler, Tolerance};

pub(crate) fn batches() -> Vec<Batch> {
    let mut batches = matmuls();
    batches.extend(softmax());
    for n_steps in [1, 3, 100] {
        batches.extend([revisit(n_steps), gather(n_steps), running_sum(n_steps)]);
    }
    batches.extend([loops(), stencil(), in_place(), dynamic_extent(1), dynamic_extent(5)]);
    batches
}

fn kernel_batch(
    name: String,
    kernel: systole::valid::Valid,
    inputs: Vec<Array>,
    expected: Array,
    tolerance: Tolerance,
) -> Batch {
    Batch::of_kernel("grid", &name, kernel, inputs, (expected, tolerance))
}

fn matmuls() -> Vec<Batch> {
    let mut batches = Vec::new();
    for (dtype, blocks, ulp) in [
        (DType::BF16, [16, 128, 128], 1),
        (DType::BF16, [104, 384, 256], 1),
        (DType::F32, [16, 128, 128], 200),
        (DType::F32, [56, 128, 64], 200),
    ] {
        let [m, n, k] = [100, 300, 256];
        let mut sampler = Sampler::new(1);
        let (a, b) = (sampler.normal(dtype, &[m, k]), sampler.normal(dtype, &[k, n]));
        let (x, y) = (a.to_f64(), b.to_f64());
        let element = |i: &[usize]| (0..k).map(|l| x[i[0] * k + l] * y[l * n + i[1]]).sum::<f64>();
        let expected = build(dtype, &[m, n], element);
        let kernel = kernels::matmul(dtype, [m, n, k], blocks, Precision::Highest);
        let [bm, bn, bk] = blocks;
        let name = format!("matmul_{bm}x{bn}x{bk}::{dtype}");
        let tolerance = Tolerance::ulp(ulp).floor(2e-5, "sums cancel");
        batches.push(kernel_batch(name, kernel, vec![a, b], expected, tolerance));
    }
    batches
}

fn softmax() -> Vec<Batch> {
    let batch = |(dtype, ulp)| {
        let x = Sampler::new(2).normal(dtype, &[100, 256]);
        let values = x.to_f64();
        let sums: Vec<f64> =
            values.chunks(256).map(|row| row.iter().map(|x| x.exp()).sum()).collect();
        let expected = build(dtype, &[100, 256], |i| values[i[0] * 256 + i[1]].exp() / sums[i[0]]);
        let kernel = kernels::softmax(dtype, [100, 256], 16);
        let name = format!("softmax_edge_block::{dtype}");
        kernel_batch(name, kernel, vec![x], expected, Tolerance::ulp(ulp))
    };
    [(DType::F32, 32), (DType::BF16, 1)].into_iter().map(batch).collect()
}

/// Whole numbers as `f32`, so that sums are exact.
fn whole_numbers(shape: &[usize]) -> Array {
    let values = Sampler::new(3).small_ints(DType::I32, shape).to_f64();
    array(DType::F32, shape, &values)
}

fn revisit(n_steps: usize) -> Batch {
    let x = whole_numbers(&[8 * n_steps, 128]);
    let values = x.to_f64();
    let expected = build(DType::F32, &[8, 128], |i| {
        (0..n_steps).map(|step| values[(8 * step + i[0]) * 128 + i[1]]).sum()
    });
    let kernel = kernels::revisit(n_steps);
    kernel_batch(format!("revisit_{n_steps}::f32"), kernel, vec![x], expected, Tolerance::exact())
}

fn gather(n_steps: usize) -> Batch {
    let x = whole_numbers(&[50, 8, 128]);
    let values = x.to_f64();
    let row = |i: usize| (i * 7 + 3) % 50;
    let table: Vec<f64> = (0..n_steps).map(|i| row(i) as f64).collect();
    let table = array(DType::I32, &[n_steps], &table);
    let expected =
        build(DType::F32, &[n_steps, 8, 128], |i| values[(row(i[0]) * 8 + i[1]) * 128 + i[2]]);
    let kernel = kernels::gather(50, n_steps);
    let inputs = vec![table, x];
    kernel_batch(format!("gather_{n_steps}::f32"), kernel, inputs, expected, Tolerance::exact())
}

/// Scratch that keeps its contents from step to step of an inner axis, and starts anew with each
/// step of the outer one.
fn running_sum(n_steps: usize) -> Batch {
    let x = whole_numbers(&[2 * n_steps, 8, 128]);
    let values = x.to_f64();
    let expected = build(DType::F32, &[2 * n_steps, 8, 128], |i| {
        let first = i[0] / n_steps * n_steps;
        (first..=i[0]).map(|step| values[(step * 8 + i[1]) * 128 + i[2]]).sum()
    });
    let mut s = Sketch::new("running_sum");
    s.parallel(2);
    let step = s.arbitrary(n_steps);
    let block = [BlockDim::Squeezed, BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let mut param = |kind| {
        s.param(kind, DType::F32, &[2 * n_steps, 8, 128], &block, |s, g| {
            let n_steps = s.int(n_steps as i64);
            let first = s.binary(Binary::Mul, g[0], n_steps);
            let zero = s.int(0);
            vec![s.binary(Binary::Add, first, g[1]), zero, zero]
        })
    };
    let (x, y) = (param(ParamKind::In), param(ParamKind::Out));
    let sum = s.scratch(DType::F32, &[8, 128]);
    let zero = s.int(0);
    let first = s.compare(Compare::Eq, step, zero);
    s.if_(
        first,
        |s| {
            let x = s.load(x);
            let zeros = s.like(x, 0.0);
            s.store(sum, zeros);
            vec![]
        },
        |_| vec![],
    );
    let (x, old) = (s.load(x), s.load(sum));
    let new = s.binary(Binary::Add, old, x);
    s.store(sum, new);
    s.store(y, new);
    let name = format!("running_sum_{n_steps}::f32");
    kernel_batch(
        name,
        s.valid(),
        vec![values_array(&values, n_steps)],
        expected,
        Tolerance::exact(),
    )
}

fn values_array(values: &[f64], n_steps: usize) -> Array {
    array(DType::F32, &[2 * n_steps, 8, 128], values)
}

fn loops() -> Batch {
    let x = Sampler::new(5).normal(DType::F32, &[64, 128]);
    let values = x.to_f64();
    let expected = build(DType::F32, &[8, 128], |i| {
        let terms = (0..4).map(|block| values[(16 * block + i[0]) * 128 + i[1]].exp());
        terms.sum::<f64>() / 4.0
    });
    kernel_batch("loops::f32".into(), kernels::loops(), vec![x], expected, Tolerance::ulp(16))
}

/// Overlapping windows by element offset, the last of which reach over the end.
fn stencil() -> Batch {
    let x = whole_numbers(&[40, 128]);
    let values = x.to_f64();
    let row = |i: usize, j: usize| values[i.min(39) * 128 + j];
    let expected = build(DType::F32, &[40, 128], |i| {
        row(i[0], i[1]) + if i[0] == 39 { 0.0 } else { row(i[0] + 1, i[1]) }
    });
    let mut s = Sketch::new("stencil");
    let step = s.parallel(5);
    let block = [BlockDim::Element(16), BlockDim::Blocked(128)];
    let x_ref = s.param(ParamKind::In, DType::F32, &[40, 128], &block, |s, g| {
        let (eight, zero) = (s.int(8), s.int(0));
        vec![s.binary(Binary::Mul, g[0], eight), zero]
    });
    let block = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let y = s.param(ParamKind::Out, DType::F32, &[40, 128], &block, |s, g| vec![g[0], s.int(0)]);
    let rows = |start| access(&[dim(Some(start), 8, 1, true), dim(Some(0), 128, 1, true)]);
    let (here, below) = (s.load_at(x_ref, rows(0), &[]), s.load_at(x_ref, rows(1), &[]));
    // The row below the last one is padding.
    let iota = systole::ir::ops::ShapeOp::Iota {
        dtype: DType::I32,
        shape: [8, 128].into_iter().collect(),
        axis: 0,
    };
    let row = s.shape(iota, &[]);
    let eight = s.int(8);
    let first = s.binary(Binary::Mul, step, eight);
    let first = s.shape(systole::ir::ops::ShapeOp::Splat([8, 128].into_iter().collect()), &[first]);
    let row = s.binary(Binary::Add, row, first);
    let last = s.like(row, 39.0);
    let inside = s.compare(Compare::Lt, row, last);
    let zeros = s.like(here, 0.0);
    let below = s.select(inside, below, zeros);
    let sum = s.binary(Binary::Add, here, below);
    s.store(y, sum);
    kernel_batch("stencil::f32".into(), s.valid(), vec![x], expected, Tolerance::exact())
}

/// An array that is read and updated in place, in blocks that reach over its end.
fn in_place() -> Batch {
    let x = whole_numbers(&[20, 200]);
    let expected = build(DType::F32, &[20, 200], |i| 2.0 * x.to_f64()[i[0] * 200 + i[1]]);
    let mut s = Sketch::new("in_place");
    s.parallel(3);
    s.parallel(2);
    let block = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let y = s.param(ParamKind::InOut, DType::F32, &[20, 200], &block, |_, g| vec![g[0], g[1]]);
    let old = s.load(y);
    let twice = s.binary(Binary::Add, old, old);
    s.store(y, twice);
    kernel_batch("in_place::f32".into(), s.valid(), vec![x], expected, Tolerance::exact())
}

/// A grid whose extent is an argument: sums the first `n` blocks.
fn dynamic_extent(n: usize) -> Batch {
    let x = whole_numbers(&[64, 128]);
    let values = x.to_f64();
    let expected = build(DType::F32, &[8, 128], |i| {
        (0..n).map(|step| values[(8 * step + i[0]) * 128 + i[1]]).sum()
    });
    let mut s = Sketch::new("dynamic_extent");
    let step = s.arbitrary(1);
    s.b.kernel_mut().grid[0].extent = Extent::Dynamic { operand: 0 };
    let block = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let x_ref = s.param(ParamKind::In, DType::F32, &[64, 128], &block, |s, g| vec![g[0], s.int(0)]);
    let y = s.output(DType::F32, &[8, 128]);
    let zero = s.int(0);
    let first = s.compare(Compare::Eq, step, zero);
    let x_tile = s.load(x_ref);
    s.if_(
        first,
        |s| {
            s.store(y, x_tile);
            vec![]
        },
        |s| {
            let old = s.load(y);
            let sum = s.binary(Binary::Add, old, x_tile);
            s.store(y, sum);
            vec![]
        },
    );
    let extent = array(DType::I32, &[], &[n as f64]);
    let name = format!("dynamic_extent_{n}::f32");
    kernel_batch(name, s.valid(), vec![extent, x], expected, Tolerance::exact())
}
