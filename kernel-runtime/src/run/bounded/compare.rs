//! Whether a function does the same for two sizes.

use super::BoundDim;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::dispatch::trace::Traced;
use crate::run::graph::{Call, Graph, KeyWriter};
use crate::run::tensor::node::{Node, State};
use std::sync::Arc;

/// Refuses a function that applies other ops, or to other values, for the bucket (`base`) than for
/// another size of a dim (`other`).
pub(crate) fn check_ops(base: &Traced, other: &Traced, dim: &BoundDim) -> Result<(), Diagnostics> {
    for (mine, theirs) in base.graph.calls().iter().zip(other.graph.calls()) {
        if mine.op.name() != theirs.op.name()
            || mine.inputs != theirs.inputs
            || mine.first != theirs.first
        {
            return Err(differs(mine, dim, "the function does something else here for each size"));
        }
    }
    let n_calls = (base.graph.calls().len(), other.graph.calls().len());
    if n_calls.0 != n_calls.1 || base.graph.outputs() != other.graph.outputs() {
        let message = format!(
            "the function is {} ops for `{}` = {}, and {} for {}",
            n_calls.0, dim.name, dim.bucket, n_calls.1, dim.check
        );
        let error = Diagnostic::error(Code::TENSOR_BOUNDED, message);
        return Err(error.help("bound only what it treats as one axis of tensors").into());
    }
    for (mine, theirs) in base.captures.iter().zip(&other.captures) {
        if !is_same(mine, theirs) {
            let message =
                format!("the tensor {} is made from data that depends on `{}`", mine.ty, dim.name);
            let error = Diagnostic::error(Code::TENSOR_BOUNDED, message);
            let error = error.at(crate::diag::Span::from_location(mine.at), "made here");
            return Err(error.help("make it by ops, or give it as an argument").into());
        }
    }
    Ok(())
}

/// Refuses an op that is given other attributes for the bucket than for another size, where
/// [`check_ops`] has found the same ops.
pub(crate) fn check_attrs(base: &Graph, other: &Graph, dim: &BoundDim) -> Result<(), Diagnostics> {
    let differs = |(mine, theirs): &(&Call, &Call)| {
        !mine.op.has_shape_attrs() && attrs(mine) != attrs(theirs)
    };
    match base.calls().iter().zip(other.calls()).find(differs) {
        Some((call, _)) => {
            Err(self::differs(call, dim, "an argument of this op is computed from the size"))
        }
        None => Ok(()),
    }
}

fn differs(call: &Call, dim: &BoundDim, why: &str) -> Diagnostics {
    let message = format!(
        "`{}` is not the same for `{}` = {} and {}: {why}",
        call.op.name(),
        dim.name,
        dim.bucket,
        dim.check
    );
    let error = Diagnostic::error(Code::TENSOR_BOUNDED, message).at(call.span(), "");
    error.help("compute with the real size as a tensor: `x.axis_size(axis)`").into()
}

fn attrs(call: &Call) -> KeyWriter {
    let mut key = KeyWriter::default();
    call.op.write_attrs(&mut key);
    key
}

fn is_same(a: &Arc<Node>, b: &Arc<Node>) -> bool {
    if Arc::ptr_eq(a, b) {
        return true;
    }
    let (a, b) = (a.state().clone(), b.state().clone());
    matches!((a, b), (State::Host(a), State::Host(b)) if a == b)
}
