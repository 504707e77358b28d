//! Control flow on tensors: branches and loops as ops whose attributes are programs.
//!
//! The functions that a branch or loop is given are traced, in every mode. What they use from
//! outside becomes further inputs of the op; so a loop is one op, whatever its body does and however
//! often it runs. Regions of the StableHLO that is written refer to these inputs directly.

mod cond;
mod scan;
mod while_loop;

pub use cond::cond;
pub use scan::{fori_loop, scan};
pub use while_loop::while_loop;

use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::run::device::Device;
use crate::run::dispatch::apply_all;
use crate::run::graph::{At, Graph};
use crate::run::jit::{Outcome, Tree, leaves, static_key, trace_fn};
use crate::run::op::Op;
use crate::run::tensor::{DynTensor, Tensor};
use std::sync::Arc;

/// A function that became a part of an op.
pub(super) struct Traced<R> {
    pub(super) graph: Graph,
    /// What it uses from outside: the last arguments of the program.
    pub(super) captures: Vec<DynTensor>,
    /// What it gave, as traced.
    pub(super) output: R,
}

/// Traces a function of tensors like these.
pub(super) fn trace<O: Outcome>(
    device: &Device,
    inputs: &[DynTensor],
    at: At,
    f: impl FnOnce(Vec<DynTensor>) -> O,
) -> Result<Traced<O::Tree>, Diagnostics> {
    let (traced, output) = trace_fn(device, inputs, at, |nodes| f(nodes).outcome())?;
    let captures = traced.captures.into_iter().map(Tensor::from_node).collect();
    Ok(Traced { graph: traced.graph, captures, output })
}

/// Applies an op; gives its results, none of which is known to have failed.
pub(super) fn results(
    op: impl Op,
    inputs: &[DynTensor],
    at: At,
) -> Result<Vec<DynTensor>, Diagnostics> {
    let nodes: Vec<_> = inputs.iter().map(Tensor::node).collect();
    let results = apply_all(Arc::new(op), &nodes, None, at);
    results.into_iter().map(|node| Tensor::from_node(node).check()).collect()
}

/// The first thing that is wrong with tensors, if one could not be made.
pub(super) fn check(tensors: &[DynTensor]) -> Result<(), Diagnostics> {
    match tensors.iter().find_map(|tensor| tensor.node().failure()) {
        Some(failure) => Err((*failure).clone()),
        None => Ok(()),
    }
}

/// Checks that two structures have the same leaves, and else nothing but the same. `was` and `is`
/// say where they come from, as in "`cond` gives {was}", "but {is}".
fn check_same<T: Tree, U: Tree>(
    (was, first): (&str, &T),
    (is, second): (&str, &U),
    help: &str,
    at: At,
) -> Result<(), Diagnostics> {
    let (first_leaves, second_leaves) = (leaves(first), leaves(second));
    let error = |message: String| {
        Diagnostic::error(Code::TENSOR_CONTROL, message).at(Span::from_location(at), "")
    };
    let mut found = Diagnostics::default();
    if first_leaves.len() != second_leaves.len() {
        let (n, m) = (first_leaves.len(), second_leaves.len());
        found.push(error(format!("{was} {n} tensors, but {is} {m}")).help(help));
    } else if static_key(first).bytes() != static_key(second).bytes() {
        let message = format!("{was} values that are no tensors, but {is} other ones");
        found
            .push(error(message).help("such values belong to the program, and never change in it"));
    }
    for (idx, (a, b)) in first_leaves.iter().zip(&second_leaves).enumerate() {
        let (before, after) = (&a.node().ty, &b.node().ty);
        if before != after {
            let message = format!("{was} {before} as tensor {idx}, but {is} {after}");
            let made = Span::from_location(b.node().at);
            found.push(error(message).at(made, format!("{after} is made here")).help(help));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Gradients that could not be computed: whoever adds them up tells why.
pub(crate) fn failed_gradients(error: Diagnostics, inputs: &[DynTensor]) -> super::Gradients {
    let failed = |x: &DynTensor| Tensor::failed(x.device(), error.clone(), x.node().at);
    inputs.iter().map(|x| Some(failed(x))).collect()
}

/// The positions of what is true.
fn places(flags: &[bool]) -> Vec<usize> {
    (0..flags.len()).filter(|&idx| flags[idx]).collect()
}
