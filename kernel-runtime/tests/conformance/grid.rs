//! Whole kernels: grids, windows, edge blocks, revisited blocks, prefetched tables.

use crate::batch::{Batch, array};
use crate::kernels;
use crate::shape::build;
use crate::sketch::{Sketch, access, dim};
use systole::ir::kernel::{BlockDim, Extent, ParamKind, Value};
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
    batches.extend([windows_by_table(), in_place_by_table(), table_of_tables()]);
    batches.extend([(1, 1), (2, 3), (4, 1)].map(|(m, n)| dynamic_grid(m, n)));
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

/// Windows whose first row stands in a table, at any row.
fn windows_by_table() -> Batch {
    let x = whole_numbers(&[40, 128]);
    let values = x.to_f64();
    let starts = [3.0, 0.0, 24.0, 11.0];
    let expected = build(DType::F32, &[64, 128], |i| {
        values[(starts[i[0] / 16] as usize + i[0] % 16) * 128 + i[1]]
    });
    let mut s = Sketch::new("windows_by_table");
    s.parallel(4);
    s.prefetch(DType::I32, &[4]);
    let window = [BlockDim::Element(16), BlockDim::Element(128)];
    let x_ref = s.param(ParamKind::In, DType::F32, &[40, 128], &window, |s, g| {
        let start = s.load_at(g[1], access(&[dim(None, 1, 1, false)]), &[g[0]]);
        vec![start, s.int(0)]
    });
    let block = [BlockDim::Blocked(16), BlockDim::Blocked(128)];
    let y = s.param(ParamKind::Out, DType::F32, &[64, 128], &block, |s, g| vec![g[0], s.int(0)]);
    let tile = s.load(x_ref);
    s.store(y, tile);
    let inputs = vec![array(DType::I32, &[4], &starts), x];
    kernel_batch("windows_by_table::f32".into(), s.valid(), inputs, expected, Tolerance::exact())
}

/// Blocks of an array that is updated in place, chosen by a table: neighbouring steps may add to
/// one block, and blocks that are not in the table stay as they were.
fn in_place_by_table() -> Batch {
    let (y, x) = (whole_numbers(&[48, 128]), whole_numbers(&[40, 128]));
    let (old, add) = (y.to_f64(), x.to_f64());
    let blocks = [5usize, 1, 1, 1, 0];
    let expected = build(DType::F32, &[48, 128], |i| {
        let steps = (0..5).filter(|&step| blocks[step] == i[0] / 8);
        old[i[0] * 128 + i[1]] + steps.map(|s| add[(8 * s + i[0] % 8) * 128 + i[1]]).sum::<f64>()
    });
    let mut s = Sketch::new("in_place_by_table");
    s.arbitrary(5);
    s.prefetch(DType::I32, &[5]);
    let block = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let y_ref = s.param(ParamKind::InOut, DType::F32, &[48, 128], &block, |s, g| {
        let block = s.load_at(g[1], access(&[dim(None, 1, 1, false)]), &[g[0]]);
        vec![block, s.int(0)]
    });
    let x_ref = s.param(ParamKind::In, DType::F32, &[40, 128], &block, |s, g| vec![g[0], s.int(0)]);
    let (tile, add) = (s.load(y_ref), s.load(x_ref));
    let sum = s.binary(Binary::Add, tile, add);
    s.store(y_ref, sum);
    let table = array(DType::I32, &[5], &blocks.map(|block| block as f64));
    let inputs = vec![table, y, x];
    kernel_batch("in_place_by_table::f32".into(), s.valid(), inputs, expected, Tolerance::exact())
}

/// A table of two axes, indexed by an entry of another, which the body multiplies with as well.
fn table_of_tables() -> Batch {
    let x = whole_numbers(&[6, 8, 128]);
    let values = x.to_f64();
    let (rows, pages) = ([2usize, 0, 1], [[1, 5], [0, 3], [4, 4]]);
    let expected = build(DType::F32, &[3, 2, 8, 128], |i| {
        let page = pages[rows[i[0]]][i[1]];
        (page + 1) as f64 * values[(page * 8 + i[2]) * 128 + i[3]]
    });
    let mut s = Sketch::new("table_of_tables");
    let (b, p) = (s.parallel(3), s.arbitrary(2));
    let row_table = s.prefetch(DType::I32, &[3]);
    let page_table = s.prefetch(DType::I32, &[3, 2]);
    let one = || dim(None, 1, 1, false);
    let page = |s: &mut Sketch, tables: [Value; 2], b: Value, p: Value| {
        let row = s.load_at(tables[0], access(&[one()]), &[b]);
        s.load_at(tables[1], access(&[one(), one()]), &[row, p])
    };
    let block = [BlockDim::Squeezed, BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let x_ref = s.param(ParamKind::In, DType::F32, &[6, 8, 128], &block, |s, g| {
        vec![page(s, [g[2], g[3]], g[0], g[1]), s.int(0), s.int(0)]
    });
    let block =
        [BlockDim::Squeezed, BlockDim::Squeezed, BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let y = s.param(ParamKind::Out, DType::F32, &[3, 2, 8, 128], &block, |s, g| {
        vec![g[0], g[1], s.int(0), s.int(0)]
    });
    let page = page(&mut s, [row_table, page_table], b, p);
    let one = s.int(1);
    let weight = s.binary(Binary::Add, page, one);
    let weight = s.cast(weight, DType::F32);
    let weight =
        s.shape(systole::ir::ops::ShapeOp::Splat([8, 128].into_iter().collect()), &[weight]);
    let tile = s.load(x_ref);
    let product = s.binary(Binary::Mul, tile, weight);
    s.store(y, product);
    let ints = |shape: &[usize], values: Vec<f64>| array(DType::I32, shape, &values);
    let inputs = vec![
        ints(&[3], rows.iter().map(|&row| row as f64).collect()),
        ints(&[3, 2], pages.iter().flatten().map(|&page| page as f64).collect()),
        x,
    ];
    kernel_batch("table_of_tables::f32".into(), s.valid(), inputs, expected, Tolerance::exact())
}

/// Two axes whose extents are arguments, which index map and body compute with: the blocks of an
/// `m` by `n` grid, numbered row by row, are summed with their weights.
fn dynamic_grid(m: usize, n: usize) -> Batch {
    let x = whole_numbers(&[64, 128]);
    let values = x.to_f64();
    let weight = (m * 10 + n) as f64;
    let expected = build(DType::F32, &[8, 128], |i| {
        (0..m * n).map(|step| weight * values[(8 * step + i[0]) * 128 + i[1]]).sum()
    });
    let mut s = Sketch::new("dynamic_grid");
    let (i, j) = (s.arbitrary(1), s.arbitrary(1));
    for axis in 0..2 {
        s.b.kernel_mut().grid[axis].extent = Extent::Dynamic { operand: 1 - axis };
    }
    let block = [BlockDim::Blocked(8), BlockDim::Blocked(128)];
    let x_ref = s.param(ParamKind::In, DType::F32, &[64, 128], &block, |s, g| {
        let n = s.grid_extent(1);
        let first = s.binary(Binary::Mul, g[0], n);
        vec![s.binary(Binary::Add, first, g[1]), s.int(0)]
    });
    let y = s.output(DType::F32, &[8, 128]);
    let (zero, ten) = (s.int(0), s.int(10));
    let step = s.binary(Binary::Add, i, j);
    let first = s.compare(Compare::Eq, step, zero);
    let (m_value, n_value) = (s.grid_extent(0), s.grid_extent(1));
    let weight = s.binary(Binary::Mul, m_value, ten);
    let weight = s.binary(Binary::Add, weight, n_value);
    let weight = s.cast(weight, DType::F32);
    let weight =
        s.shape(systole::ir::ops::ShapeOp::Splat([8, 128].into_iter().collect()), &[weight]);
    let x_tile = s.load(x_ref);
    let x_tile = s.binary(Binary::Mul, x_tile, weight);
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
    let extents = [n, m].map(|extent| array(DType::I32, &[], &[extent as f64]));
    let [first, second] = extents;
    let name = format!("dynamic_grid_{m}x{n}::f32");
    kernel_batch(name, s.valid(), vec![first, second, x], expected, Tolerance::exact())
}
