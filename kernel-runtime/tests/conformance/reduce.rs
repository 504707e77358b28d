//! Reductions along one axis.

use crate::batch::{Batch, array};
use crate::shape::{at, build};
use systole::ir::ops::ReduceKind;
use systole::ir::{Array, DType};
use systole::run::{Sampler, Tolerance};

const SIZES: [usize; 3] = [4, 16, 128];

pub(crate) fn batches() -> Vec<Batch> {
    DType::COMPUTED
        .iter()
        .filter(|dtype| **dtype != DType::Bool)
        .map(|&dtype| batch(dtype))
        .collect()
}

/// Whole numbers, so that every sum is exact in `f32` and equals turn up; some rows with NaN.
fn sample(dtype: DType) -> Array {
    let small = Sampler::new(1).uniform(DType::I32, &SIZES, -9.0, 10.0).to_f64();
    let mut values = array(dtype, &SIZES, &small).to_f64();
    if dtype.is_float() {
        values[17] = f64::NAN;
        values[40] = f64::NAN;
        values[2100] = f64::INFINITY;
        values[2101] = f64::NEG_INFINITY;
    }
    array(dtype, &SIZES, &values)
}

fn batch(dtype: DType) -> Batch {
    let mut batch = Batch::new("reduce", format!("reduce_{dtype}"));
    let x = sample(dtype);
    let values = x.to_f64();
    let input = batch.input(x);
    for &kind in ReduceKind::ALL {
        for axis in 0..3 {
            let mut sizes = SIZES;
            sizes[axis] = 1;
            let to = match kind {
                ReduceKind::ArgMax | ReduceKind::ArgMin => DType::I32,
                ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => dtype,
            };
            let expected = build(to, &sizes, |index| {
                let row = (0..SIZES[axis]).map(|i| {
                    let mut index = [index[0], index[1], index[2]];
                    index[axis] = i;
                    at(&values, &SIZES, &index)
                });
                reduce(kind, dtype, &row.collect::<Vec<_>>())
            });
            let name = format!("{}_{axis}::{dtype}", kind.name());
            batch.case(name, expected, Tolerance::exact(), move |s, refs| {
                let x = s.load(refs.inputs[input]);
                s.reduce(kind, x, axis)
            });
        }
    }
    if dtype.is_float() {
        inexact_sum(&mut batch, dtype);
    }
    batch
}

fn reduce(kind: ReduceKind, dtype: DType, row: &[f64]) -> f64 {
    let best = |better: fn(f64, f64) -> bool| {
        let first_nan = row.iter().position(|x| x.is_nan());
        first_nan.unwrap_or_else(|| {
            let best = (0..row.len()).reduce(|a, b| if better(row[b], row[a]) { b } else { a });
            best.unwrap()
        })
    };
    match kind {
        ReduceKind::Sum if dtype.is_float() => {
            f64::from(dtype.round_f32(row.iter().sum::<f64>() as f32))
        }
        ReduceKind::Sum => dtype.wrap_int(row.iter().sum::<f64>() as i64) as f64,
        ReduceKind::Max => row[best(|a, b| a > b)],
        ReduceKind::Min => row[best(|a, b| a < b)],
        ReduceKind::ArgMax => best(|a, b| a > b) as f64,
        ReduceKind::ArgMin => best(|a, b| a < b) as f64,
    }
}

/// A sum that rounds: in `f32` whatever the type, so that only the order may show.
fn inexact_sum(batch: &mut Batch, dtype: DType) {
    let x = Sampler::new(2).uniform(dtype, &[8, 1024], 0.5, 1.5);
    let values = x.to_f64();
    let expected = build(dtype, &[8, 1], |i| values[i[0] * 1024..][..1024].iter().sum());
    let x = batch.input(x);
    let ulp = if dtype == DType::F32 { 32 } else { 1 };
    let name = format!("reduce_sum_long::{dtype}");
    batch.inexact_case(name, expected, Tolerance::ulp(ulp), move |s, refs| {
        let x = s.load(refs.inputs[x]);
        s.reduce(ReduceKind::Sum, x, 1)
    });
}
