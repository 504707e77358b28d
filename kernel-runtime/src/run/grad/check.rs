//! Gradients against finite differences.

use super::value_and_grad;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::Array;
use crate::run::graph::At;
use crate::run::jit::{Outcome, Tree, leaves, with_leaves};
use crate::run::tensor::{DynTensor, FloatKind, Tensor};
use std::panic::Location;

/// How [`check_gradient`] measures, and what it accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientCheck {
    /// How far an element is moved up and down, for elements up to 1; larger ones are moved in
    /// proportion.
    pub step: f64,
    /// How far a derivative may be from the slope, where both are up to 1; larger ones may be
    /// further off in proportion.
    pub tolerance: f64,
    /// How many elements of each tensor are moved: all of a small one, and so many of a large one,
    /// evenly spread.
    pub max_elems: usize,
}

impl Default for GradientCheck {
    fn default() -> GradientCheck {
        GradientCheck { step: 1e-2, tolerance: 1e-2, max_elems: 64 }
    }
}

/// What [`check_gradient`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientReport {
    /// How many elements were moved.
    pub n_elems: usize,
    /// The largest difference between derivative and slope, of their size if that is above 1.
    pub max_error: f64,
}

/// How many elements with a wrong derivative are told.
const MAX_TOLD: usize = 8;

/// Compares the gradient of a scalar function with its slopes: the function is called with one
/// element of one tensor moved up and then down, for tensors of floats.
///
/// Slopes are computed from results of the function, so they are no more exact than these: a
/// function that sums many numbers, or computes in bf16, needs a larger step and tolerance. Take
/// arguments away from kinks.
///
/// ```no_run
/// use systole::run::{GradientCheck, Tensor, check_gradient};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let loss = |(x, w): (Tensor<f32>, Tensor<f32>)| x.matmul(&w).tanh().sum(&[0, 1]);
/// let x = Tensor::from_slice(&[0.1, -0.4], [1, 2])?;
/// let w = Tensor::from_slice(&[0.5, 0.3], [2, 1])?;
/// check_gradient(loss, &(x, w), &GradientCheck::default())?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Derivatives that are further from the slope than the tolerance allows, with both numbers; and
/// whatever goes wrong in the function or its gradient.
#[track_caller]
pub fn check_gradient<A: Tree, T: FloatKind, R: Outcome<Tree = Tensor<T>>>(
    f: impl Fn(A) -> R,
    args: &A,
    options: &GradientCheck,
) -> Result<GradientReport, Diagnostics> {
    let at = Location::caller();
    let (_, gradient) = value_and_grad(&f)(args)?;
    let (inputs, gradients) = (leaves(args), leaves(&gradient));
    let mut report = GradientReport { n_elems: 0, max_error: 0.0 };
    let mut wrong = Diagnostics::default();
    for (leaf, (input, gradient)) in inputs.iter().zip(&gradients).enumerate() {
        if !input.dtype().is_float() {
            continue;
        }
        let values = input.to_array()?.to_f64();
        let derivatives = gradient.to_array()?.to_f64();
        let value_of = |idx: usize, value: f64| {
            let moved = moved(input, &values, idx, value)?;
            let mut args_moved = inputs.clone();
            // What the element became once it was rounded to its type.
            let rounded = moved.to_array()?.to_f64()[idx];
            args_moved[leaf] = moved;
            Ok::<_, Diagnostics>((rounded, f(with_leaves(args, args_moved)).outcome()?.item()?))
        };
        for idx in chosen(values.len(), options.max_elems) {
            let step = options.step * values[idx].abs().max(1.0);
            let (above, below) =
                (value_of(idx, values[idx] + step)?, value_of(idx, values[idx] - step)?);
            let slope = (above.1 - below.1) / (above.0 - below.0);
            let derivative = derivatives[idx];
            let size = slope.abs().max(derivative.abs()).max(1.0);
            let error = (slope - derivative).abs() / size;
            report.n_elems += 1;
            report.max_error = report.max_error.max(error);
            // Of NaN, nothing is within the tolerance.
            if (error.is_nan() || error > options.tolerance) && wrong.0.len() < MAX_TOLD {
                let place = place(idx, input.shape());
                let message = format!(
                    "the derivative by element {place} of tensor {leaf} is {derivative}, but the \
                     slope is {slope}"
                );
                let values = format!(
                    "the function is {} at {} and {} at {}",
                    below.1, below.0, above.1, above.0
                );
                wrong.push(mismatch(message, at).note(values));
            }
        }
    }
    if wrong.is_empty() { Ok(report) } else { Err(wrong) }
}

fn mismatch(message: String, at: At) -> Diagnostic {
    Diagnostic::error(Code::TENSOR_GRADIENT_WRONG, message).at(Span::from_location(at), "")
}

/// The tensor with one element replaced.
fn moved(
    input: &DynTensor,
    values: &[f64],
    idx: usize,
    value: f64,
) -> Result<DynTensor, Diagnostics> {
    let mut values = values.to_vec();
    values[idx] = value;
    let array = Array::from_f64(input.dtype(), input.shape(), &values)
        .map_err(|error| Diagnostic::error(Code::TENSOR_PROGRAM, error.to_string()))?;
    Ok(Tensor::host(array, input.device().clone(), input.node().at))
}

/// Positions of up to `max` of `n` elements, evenly spread.
fn chosen(n: usize, max: usize) -> impl Iterator<Item = usize> {
    let count = n.min(max);
    (0..count).map(move |k| k * n / count)
}

/// An index per axis.
fn place(mut idx: usize, shape: &[usize]) -> String {
    let mut indices: Vec<usize> = vec![0; shape.len()];
    for (axis, &size) in shape.iter().enumerate().rev() {
        indices[axis] = idx % size;
        idx /= size;
    }
    format!("{indices:?}")
}
