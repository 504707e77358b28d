//! Kernels written with the macros, traced.

mod control;
mod errors;
mod functions;
mod hidden;
mod host;
mod launch;
mod ops;
mod surface;
mod tables;

use systole::diag::{Diagnostic, Diagnostics};
use systole::prelude::*;

/// The one diagnostic of a trace that fails.
fn only(result: Result<systole::ir::Kernel, Diagnostics>) -> Diagnostic {
    let mut diagnostics = result.expect_err("the kernel has a mistake").0;
    assert_eq!(diagnostics.len(), 1, "{}", Diagnostics(diagnostics.clone()));
    diagnostics.remove(0)
}

/// Asserts the code, the start of the message and the line, counted from the line of `line!()`.
fn assert_error(error: &Diagnostic, code: systole::diag::Code, message: &str) {
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.starts_with(message), "{error}");
    assert!(!error.labels.is_empty(), "{error}");
}

/// An `f32` array of small numbers: 0, 1, 2, .. modulo 13, less 6.
fn ramp(shape: &[usize]) -> Array {
    let n = shape.iter().product::<usize>();
    Array::from_f32(shape, (0..n).map(|i| (i % 13) as f32 - 6.0).collect()).unwrap()
}

/// Every element of an array by a function of the other's.
fn map(array: &Array, f: impl Fn(f32) -> f32) -> Vec<f32> {
    array.to_f32().into_iter().map(f).collect()
}

fn f32s(shape: &[usize]) -> ArgSpec {
    ArgSpec::of::<f32>(shape)
}
