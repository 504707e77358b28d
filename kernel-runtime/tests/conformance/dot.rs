//! Matrix products: element types, transposes, and precision levels told apart.

use crate::batch::{Batch, array};
use half::bf16;
use systole::ir::ops::Precision;
use systole::ir::{Array, DType};
use systole::run::{Sampler, Tolerance};

const M: usize = 16;
const K: usize = 128;
const N: usize = 128;
/// For the order of a sum of `K` products: less than any pass is worth.
const ULP: u64 = 12;

pub(crate) fn batches() -> Vec<Batch> {
    let floats = [
        (DType::F32, DType::F32),
        (DType::BF16, DType::BF16),
        (DType::F16, DType::F16),
        (DType::F32, DType::BF16),
        (DType::BF16, DType::F32),
        (DType::F16, DType::F32),
        (DType::F8E4M3FN, DType::F8E4M3FN),
        (DType::F8E5M2, DType::F8E5M2),
        (DType::F8E4M3FN, DType::F8E5M2),
        (DType::BF16, DType::F8E4M3FN),
    ];
    let ints = [
        (DType::I8, DType::I8),
        (DType::I4, DType::I4),
        (DType::I8, DType::I4),
        (DType::U8, DType::U8),
        (DType::I8, DType::U8),
        (DType::I16, DType::I16),
        (DType::I32, DType::I32),
        (DType::U32, DType::I8),
    ];
    floats.into_iter().chain(ints).map(|(lhs, rhs)| batch(lhs, rhs)).collect()
}

fn batch(lhs: DType, rhs: DType) -> Batch {
    let mut batch = Batch::new("dot", format!("dot_{lhs}_{rhs}"));
    let exact = (integers(lhs, &[M, K], 1), integers(rhs, &[K, N], 2));
    add(&mut batch, "exact", (&exact.0, &exact.1), 0);
    if lhs.is_float() {
        let telling = (telling(lhs, &[M, K], 3), telling(rhs, &[K, N], 4));
        add(&mut batch, "rounded", (&telling.0, &telling.1), ULP);
        let infinite = (with_infinity(&telling.0), telling.1);
        add(&mut batch, "infinite", (&infinite.0, &infinite.1), ULP);
    }
    batch
}

/// Whole numbers whose products and sums are exact.
fn integers(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let (lo, hi) = match dtype.is_float() {
        true => (-9.0, 10.0),
        false => {
            let (lo, hi) = dtype.int_range().unwrap();
            (lo.max(-1000) as f64, hi.min(1000) as f64 + 1.0)
        }
    };
    let values = Sampler::new(seed).uniform(DType::I32, shape, lo, hi).to_f64();
    array(dtype, shape, &values)
}

/// Numbers in 1..2 whose bf16 parts are all positive, so that a pass that is left out shows: the
/// products `x2 * y2` alone are worth about 23 ULP of the sum.
fn telling(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut sampler = Sampler::new(seed);
    let coarse = sampler.uniform(DType::I32, shape, 0.0, 128.0).to_f64();
    let fine = sampler.uniform(DType::F32, shape, 0.2, 0.45).to_f64();
    let values = coarse.iter().zip(&fine).map(|(coarse, fine)| 1.0 + (coarse + fine) / 128.0);
    array(dtype, shape, &values.collect::<Vec<_>>())
}

/// The same with an infinity, which must not become NaN when it is split into parts.
fn with_infinity(x: &Array) -> Array {
    let mut values = x.to_f64();
    values[K + 5] = f64::INFINITY;
    values[2 * K + 9] = f64::NAN;
    array(x.dtype(), x.shape(), &values)
}

fn add(batch: &mut Batch, kind: &str, (lhs, rhs): (&Array, &Array), ulp: u64) {
    let precisions = match lhs.dtype() == DType::F32 || rhs.dtype() == DType::F32 {
        true => Precision::ALL,
        false => &[Precision::Medium],
    };
    for transpose in [(false, false), (false, true), (true, false), (true, true)] {
        let x = batch.input(if transpose.0 { transposed(lhs) } else { lhs.clone() });
        let y = batch.input(if transpose.1 { transposed(rhs) } else { rhs.clone() });
        for &precision in precisions {
            // The third part of a number has either sign: an infinity times it may cancel another.
            if kind == "infinite" && precision == Precision::Highest {
                continue;
            }
            let letter = |transposed| if transposed { "t" } else { "n" };
            let name = format!(
                "dot_{kind}_{}{}_{}::{}_{}",
                letter(transpose.0),
                letter(transpose.1),
                precision.name(),
                lhs.dtype(),
                rhs.dtype()
            );
            let expected = product(lhs, rhs, precision);
            batch.inexact_case(name, expected, Tolerance::ulp(ulp), move |s, refs| {
                let (x, y) = (s.load(refs.inputs[x]), s.load(refs.inputs[y]));
                s.dot(x, y, transpose, precision)
            });
        }
    }
}

fn transposed(x: &Array) -> Array {
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    let values = x.to_f64();
    let flipped = (0..rows * columns).map(|i| values[i % rows * columns + i / rows]);
    array(x.dtype(), &[columns, rows], &flipped.collect::<Vec<_>>())
}

/// The passes of the precision, in `f64`.
fn product(lhs: &Array, rhs: &Array, precision: Precision) -> Array {
    let (x, y) = (parts(lhs), parts(rhs));
    let max_order = match precision {
        Precision::Medium => 0,
        Precision::High => 1,
        Precision::Highest => 2,
    };
    let mut result = vec![0.0; M * N];
    for (i, x) in x.iter().enumerate() {
        for (j, y) in y.iter().enumerate() {
            if i + j <= max_order {
                accumulate(&mut result, x, y);
            }
        }
    }
    let is_float = lhs.dtype().is_float();
    let to = if is_float { DType::F32 } else { DType::I32 };
    let wrap = |&x: &f64| if is_float { x } else { DType::I32.wrap_int(x as i64) as f64 };
    array(to, &[M, N], &result.iter().map(wrap).collect::<Vec<_>>())
}

fn accumulate(result: &mut [f64], x: &[f64], y: &[f64]) {
    for i in 0..M {
        for l in 0..K {
            for j in 0..N {
                result[i * N + j] += x[i * K + l] * y[l * N + j];
            }
        }
    }
}

/// The bf16 parts of `f32` values; other types are whole.
fn parts(x: &Array) -> Vec<Vec<f64>> {
    if x.dtype() != DType::F32 {
        return vec![x.to_f64()];
    }
    let mut rest = x.to_f32();
    let part = |rest: &mut Vec<f32>| {
        let split = rest.iter_mut().map(|x| {
            let head = bf16::from_f32(*x).to_f32();
            *x = if head.is_finite() { *x - head } else { 0.0 };
            f64::from(head)
        });
        split.collect::<Vec<_>>()
    };
    (0..3).map(|_| part(&mut rest)).collect()
}
