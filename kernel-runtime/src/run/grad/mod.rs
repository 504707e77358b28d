//! Gradients: reverse mode over graphs of ops.

mod check;
mod custom;
mod tape;

pub use check::{GradientCheck, GradientReport, check_gradient};
pub use custom::custom_vjp;
pub(crate) use tape::Tape;

use super::device::Device;
use super::graph::At;
use super::jit::{Outcome, Tree, check_failures, leaves, trace_fn, with_leaves};
use super::tensor::{DynTensor, FloatKind, Tensor};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use std::panic::Location;

/// The gradient of a scalar function: given arguments, a structure like theirs with the derivative
/// by each element; zero for what is no float.
///
/// # Errors
/// The function it gives fails if the function's result is no scalar, or an op has no gradient.
#[track_caller]
pub fn grad<A: Tree, T: FloatKind, R: Outcome<Tree = Tensor<T>>>(
    f: impl Fn(A) -> R,
) -> impl Fn(&A) -> Result<A, Diagnostics> {
    let with_value = value_and_grad(f);
    move |args| Ok(with_value(args)?.1)
}

/// As [`grad`], with the value of the function.
///
/// # Errors
/// As [`grad`].
#[track_caller]
pub fn value_and_grad<A: Tree, T: FloatKind, R: Outcome<Tree = Tensor<T>>>(
    f: impl Fn(A) -> R,
) -> impl Fn(&A) -> Result<(Tensor<T>, A), Diagnostics> {
    let at = Location::caller();
    move |args| {
        let inputs = leaves(args);
        check_failures(&inputs)?;
        let device = inputs.first().map_or_else(Device::current, |leaf| leaf.device().clone());
        let (traced, _) =
            trace_fn(&device, &inputs, at, |nodes| f(with_leaves(args, nodes)).outcome())?;
        let n_inputs = inputs.len();
        let captures = traced.captures.into_iter().map(Tensor::from_node);
        let given: Vec<DynTensor> = inputs.into_iter().chain(captures).collect();
        let tape = Tape::record(&traced.graph, &given, |idx| idx < n_inputs)?;
        let value = scalar(tape.outputs()?, at)?;
        let seed = value.zeros_like() + 1.0;
        let mut gradients = tape.pull_back(vec![Some(seed)])?.into_iter();
        let gradients = args.map_leaves(&mut |leaf| {
            gradients.next().flatten().unwrap_or_else(|| leaf.zeros_like())
        });
        Ok((Tensor::from_node(value.node().clone()), gradients))
    }
}

/// The only output, if it has a gradient.
fn scalar(outputs: Vec<DynTensor>, at: At) -> Result<DynTensor, Diagnostics> {
    let Some(value) = outputs.into_iter().next() else {
        return Err(Diagnostic::error(Code::TENSOR_PROGRAM, "the function gave nothing").into());
    };
    if value.rank() == 0 && value.dtype().is_float() {
        return Ok(value);
    }
    let error = Diagnostic::error(
        Code::TENSOR_GRADIENT,
        format!("the gradient is that of a scalar, but the function gave {}", value.node().ty),
    );
    let error = error.at(Span::from_location(at), "").help("reduce its result: `.sum(&[..])`");
    Err(error.into())
}
