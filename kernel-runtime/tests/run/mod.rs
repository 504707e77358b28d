//! The runtime: tensors, ops on them, and what is made of both.

mod aot;
mod bounded;
mod control;
mod convert;
mod endurance;
mod gradient;
mod kernel;
mod mesh;
mod ops;
mod program_cache;
mod recompile;
mod tables;
mod tensor;
mod tensor_file;

use systole::diag::Diagnostics;
use systole::run::{Kind, Mode, Tensor};

const MODES: [Mode; 3] = [Mode::Strict, Mode::Debug, Mode::DeferAndFuse];

fn tensor(values: &[f32], shape: &[usize]) -> Tensor<f32> {
    Tensor::from_slice(values, shape).unwrap()
}

fn error_of<T: Kind>(tensor: &Tensor<T>) -> Diagnostics {
    tensor.to_array().unwrap_err()
}

/// The code of the first diagnostic.
fn code(error: &Diagnostics) -> &'static str {
    error.0[0].code.as_str()
}
