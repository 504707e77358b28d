//! Ops that make or rearrange tiles.

use crate::batch::{Batch, array};
use systole::ir::ops::{RollStride, ShapeOp};
use systole::ir::ty::Shape;
use systole::ir::{Array, DType};
use systole::run::{Sampler, Tolerance};

pub(crate) fn batches() -> Vec<Batch> {
    DType::COMPUTED.iter().map(|&dtype| batch(dtype)).collect()
}

fn shape(sizes: &[usize]) -> Shape {
    Shape::from_slice(sizes)
}

fn sample(dtype: DType, sizes: &[usize]) -> Array {
    let mut sampler = Sampler::new(sizes.len() as u64 * 100 + sizes[0] as u64);
    match dtype {
        DType::Bool => sampler.uniform(DType::I32, sizes, 0.0, 2.0),
        _ if dtype.is_float() => sampler.normal(dtype, sizes),
        _ => sampler.small_ints(dtype, sizes),
    }
}

/// The array whose element at an index is `value` of it.
pub(crate) fn build(dtype: DType, sizes: &[usize], value: impl Fn(&[usize]) -> f64) -> Array {
    let n: usize = sizes.iter().product();
    let values: Vec<f64> = (0..n).map(|flat| value(&unravel(flat, sizes))).collect();
    array(dtype, sizes, &values)
}

/// The index of element number `flat`.
pub(crate) fn unravel(mut flat: usize, sizes: &[usize]) -> Vec<usize> {
    let mut index = vec![0; sizes.len()];
    for (place, &size) in index.iter_mut().zip(sizes).rev() {
        *place = flat % size;
        flat /= size;
    }
    index
}

/// An element by its index.
pub(crate) fn at(values: &[f64], sizes: &[usize], index: &[usize]) -> f64 {
    values[index.iter().zip(sizes).fold(0, |flat, (&i, &size)| flat * size + i)]
}

fn batch(dtype: DType) -> Batch {
    let mut batch = Batch::new("shape", format!("shape_{dtype}"));
    let wide = sample(dtype, &[16, 256]);
    let values = wide.to_f64();
    let x = batch.input(wide);
    let get = |i: usize, j: usize| values[i * 256 + j];
    let mut add = |name: &str, expected: Array, op: ShapeOp| {
        let name = format!("{name}::{dtype}");
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let x = s.cast(x, dtype);
            s.shape(op.clone(), &[x])
        });
    };
    let reshaped = build(dtype, &[32, 128], |i| values[i[0] * 128 + i[1]]);
    add("reshape", reshaped, ShapeOp::Reshape(shape(&[32, 128])));
    let reshaped = build(dtype, &[2, 8, 256], |i| get(i[0] * 8 + i[1], i[2]));
    add("reshape_rank", reshaped, ShapeOp::Reshape(shape(&[2, 8, 256])));
    let transposed = build(dtype, &[256, 16], |i| get(i[1], i[0]));
    add("transpose", transposed, ShapeOp::Transpose([1, 0].into_iter().collect()));
    let part = ShapeOp::Slice {
        starts: shape(&[8, 128]),
        sizes: shape(&[8, 128]),
        strides: shape(&[1, 1]),
    };
    add("slice", build(dtype, &[8, 128], |i| get(8 + i[0], 128 + i[1])), part);
    let part =
        ShapeOp::Slice { starts: shape(&[1, 0]), sizes: shape(&[5, 128]), strides: shape(&[3, 2]) };
    add("slice_strided", build(dtype, &[5, 128], |i| get(1 + 3 * i[0], 2 * i[1])), part);
    two_operands(&mut batch, dtype, x, &values);
    rolls_by_rows(&mut batch, dtype, x, &values);
    takes(&mut batch, dtype, x, &values);
    let element = array(dtype, &[1, 1], &[get(9, 130)]);
    extract(&mut batch, dtype, x, element);
    broadcasts(&mut batch, dtype);
    if dtype.is_int() {
        for axis in 0..2 {
            let sizes = [16, 128];
            let name = format!("iota_{axis}::{dtype}");
            let expected = build(dtype, &sizes, |i| dtype.wrap_int(i[axis] as i64) as f64);
            batch.case(name, expected, Tolerance::exact(), move |s, _| {
                s.shape(ShapeOp::Iota { dtype, shape: shape(&sizes), axis }, &[])
            });
        }
    }
    batch
}

/// `concat` and `roll`.
fn two_operands(batch: &mut Batch, dtype: DType, x: usize, values: &[f64]) {
    for axis in 0..2 {
        let mut sizes = [16, 256];
        let period = sizes[axis];
        sizes[axis] *= 3;
        let expected = build(dtype, &sizes, |i| {
            let mut i = [i[0], i[1]];
            i[axis] %= period;
            values[i[0] * 256 + i[1]]
        });
        let name = format!("concat_{axis}::{dtype}");
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let x = s.cast(x, dtype);
            s.shape(ShapeOp::Concat { axis }, &[x, x, x])
        });
        for (shift, known) in [(3, true), (-5, true), (0, true), (7, false), (-300, false)] {
            let expected = build(dtype, &[16, 256], |i| {
                let mut from = [i[0], i[1]];
                from[axis] = (i[axis] as i64 - shift).rem_euclid(period as i64) as usize;
                values[from[0] * 256 + from[1]]
            });
            let known_name = if known { "known_" } else { "" };
            let name = format!("roll_{axis}_{known_name}{shift}::{dtype}");
            let scalar = batch.scalar(shift);
            batch.case(name, expected, Tolerance::exact(), move |s, refs| {
                let x = s.load(refs.inputs[x]);
                let x = s.cast(x, dtype);
                let shift = match known {
                    true => s.int(shift),
                    false => refs.scalar(s, scalar),
                };
                s.shape(ShapeOp::Roll { axis, stride: None }, &[x, shift])
            });
        }
    }
}

/// `roll` with a stride.
fn rolls_by_rows(batch: &mut Batch, dtype: DType, x: usize, values: &[f64]) {
    for (axis, by, shift, known) in [(1, 1, 3, true), (1, 300, -7, false), (0, 5, 2, false)] {
        let period = [16, 256][axis] as i64;
        let expected = build(dtype, &[16, 256], |i| {
            let mut from = [i[0], i[1]];
            let by = shift + (by * i[1 - axis]) as i64;
            from[axis] = (i[axis] as i64 - by).rem_euclid(period) as usize;
            values[from[0] * 256 + from[1]]
        });
        let name = format!("roll_strided_{axis}_{by}::{dtype}");
        let scalar = batch.scalar(shift);
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let x = s.cast(x, dtype);
            let shift = match known {
                true => s.int(shift),
                false => refs.scalar(s, scalar),
            };
            let stride = Some(RollStride { by, axis: 1 - axis });
            s.shape(ShapeOp::Roll { axis, stride }, &[x, shift])
        });
    }
}

/// `take_along_axis`, to the same size and to another.
fn takes(batch: &mut Batch, dtype: DType, x: usize, values: &[f64]) {
    for (axis, sizes) in [(0, [16, 256]), (1, [16, 256]), (0, [8, 256]), (1, [16, 384])] {
        let limit = [16, 256][axis];
        let place = move |i: &[usize]| (i[0] * 37 + i[1] * 11 + 5) % limit;
        let indices = build(DType::I32, &sizes, |i| place(i) as f64);
        let expected = build(dtype, &sizes, |i| {
            let mut from = [i[0], i[1]];
            from[axis] = place(i);
            values[from[0] * 256 + from[1]]
        });
        let indices = batch.input(indices);
        let name = format!("take_along_axis_{axis}_{}::{dtype}", sizes[axis]);
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let (x, indices) = (s.cast(x, dtype), s.load(refs.inputs[indices]));
            s.shape(ShapeOp::TakeAlongAxis { axis }, &[x, indices])
        });
    }
}

/// The only element of a part of `x`, as a scalar.
fn extract(batch: &mut Batch, dtype: DType, x: usize, element: Array) {
    let expected = build(dtype, &[8, 128], |_| element.to_f64()[0]);
    batch.case(format!("extract::{dtype}"), expected, Tolerance::exact(), move |s, refs| {
        let x = s.load(refs.inputs[x]);
        let x = s.cast(x, dtype);
        let (starts, sizes) = (shape(&[9, 130]), shape(&[1, 1]));
        let part = s.shape(ShapeOp::Slice { starts, sizes: sizes.clone(), strides: sizes }, &[x]);
        let scalar = s.shape(ShapeOp::Extract, &[part]);
        s.shape(ShapeOp::Splat(shape(&[8, 128])), &[scalar])
    });
}

fn broadcasts(batch: &mut Batch, dtype: DType) {
    for from in [[1, 1, 128], [1, 8, 1], [4, 1, 1], [4, 8, 1]] {
        let small = sample(dtype, &from);
        let values = small.to_f64();
        let to = [4, 8, 128];
        let expected = build(dtype, &to, |i| {
            let index: Vec<usize> =
                i.iter().zip(&from).map(|(&i, &size)| if size == 1 { 0 } else { i }).collect();
            at(&values, &from, &index)
        });
        let x = batch.input(small);
        let name = format!("broadcast_{}x{}x{}::{dtype}", from[0], from[1], from[2]);
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let x = s.cast(x, dtype);
            s.broadcast(x, &to)
        });
    }
    let solid = sample(dtype, &[4, 8, 128]);
    let values = solid.to_f64();
    let x = batch.input(solid);
    for perm in [[0, 2, 1], [1, 0, 2], [2, 0, 1]] {
        let from = [4, 8, 128];
        let to = perm.map(|axis| from[axis]);
        let expected = build(dtype, &to, |i| {
            let mut index = [0; 3];
            perm.iter().zip(i).for_each(|(&axis, &i)| index[axis] = i);
            at(&values, &from, &index)
        });
        let name = format!("transpose_{}{}{}::{dtype}", perm[0], perm[1], perm[2]);
        batch.case(name, expected, Tolerance::exact(), move |s, refs| {
            let x = s.load(refs.inputs[x]);
            let x = s.cast(x, dtype);
            s.shape(ShapeOp::Transpose(perm.into_iter().collect()), &[x])
        });
    }
}
