//! Every op of tensors: against NumPy, in every mode, its gradient against finite differences, and
//! with bounded dims against exact shapes.
//!
//! `table` lists the ops, each with a function and sample inputs; the other files go through it.

mod bounded;
mod coverage;
mod debug;
mod gradient;
mod modes;
mod numpy;
mod random;
mod table;

use systole::prelude::*;
use systole::run::{DynTensor, Tensor};

type Function = dyn Fn(&[DynTensor]) -> Vec<DynTensor>;

/// A function of tensors that is mostly one op.
struct Case {
    /// As in the fixtures.
    name: &'static str,
    inputs: Vec<DynTensor>,
    f: Box<Function>,
}

impl Case {
    fn run(&self, inputs: &[DynTensor]) -> Vec<DynTensor> {
        (self.f)(inputs)
    }
}

/// A tensor of any type from numbers.
fn tensor(dtype: DType, shape: &[usize], values: &[f64]) -> DynTensor {
    fn of<T: Element>(shape: &[usize], values: &[f64]) -> DynTensor {
        let values: Vec<T> = values.iter().map(|&value| T::from_f64(value)).collect();
        Tensor::from_slice(&values, shape).unwrap().to_dyn()
    }
    match dtype {
        DType::Bool => of::<bool>(shape, values),
        DType::I4 => of::<i4>(shape, values),
        DType::I8 => of::<i8>(shape, values),
        DType::I16 => of::<i16>(shape, values),
        DType::I32 => of::<i32>(shape, values),
        DType::U8 => of::<u8>(shape, values),
        DType::U16 => of::<u16>(shape, values),
        DType::U32 => of::<u32>(shape, values),
        DType::F8E4M3FN => of::<f8e4m3fn>(shape, values),
        DType::F8E5M2 => of::<f8e5m2>(shape, values),
        DType::BF16 => of::<bf16>(shape, values),
        DType::F16 => of::<f16>(shape, values),
        DType::F32 => of::<f32>(shape, values),
    }
}

/// Distinct numbers of a range in no order, none near an integer or half of one, where ops have
/// steps.
fn floats(shape: &[usize], range: std::ops::Range<f64>) -> DynTensor {
    let n: usize = shape.iter().product();
    let step = (range.end - range.start) / n as f64;
    let stride = (1..).map(|k| k * 2 + 5).find(|k| gcd(*k, n) == 1).unwrap_or(1);
    let value = |idx: usize| {
        let x = range.start + step * ((idx * stride % n) as f64 + 0.37);
        let from_half = (2.0 * x).fract().abs();
        if from_half < 0.1 {
            x + 0.07
        } else if from_half > 0.9 {
            x - 0.07
        } else {
            x
        }
    };
    let values: Vec<f64> = (0..n).map(value).collect();
    tensor(DType::F32, shape, &values)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn ints(shape: &[usize], values: &[i32]) -> DynTensor {
    Tensor::from_slice(values, shape).unwrap().to_dyn()
}
