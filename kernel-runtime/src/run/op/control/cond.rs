//! One of two functions, as a condition says.

use super::{check, check_same, failed_gradients, places, results, trace};
use crate::diag::Diagnostics;
use crate::ir::DType;
use crate::run::grad::Tape;
use crate::run::graph::emit::Emit;
use crate::run::graph::{Graph, Ty};
use crate::run::jit::{Outcome, Tree, leaves, with_leaves};
use crate::run::op::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::run::tensor::{DynTensor, Tensor};
use std::panic::Location;

/// `then` of the arguments where the condition (a scalar) is true, else `otherwise` of them. Both
/// are traced, and one of them runs.
///
/// What they use from outside becomes inputs of the branch, and a number in them a constant.
///
/// ```no_run
/// use systole::run::{cond, Tensor};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let x = Tensor::from_slice(&[1.0, -2.0], [2])?;
/// let large = x.abs().sum(&[0]).gt(2.0);
/// let y = cond(&large, |x| x * 0.5, |x| x, x)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A condition that is no scalar of `bool`, branches that give other types, and whatever goes wrong
/// in them.
#[track_caller]
pub fn cond<A: Tree, T: Outcome, E: Outcome<Tree = T::Tree>>(
    condition: &Tensor<bool>,
    then: impl FnOnce(A) -> T,
    otherwise: impl FnOnce(A) -> E,
    args: A,
) -> Result<T::Tree, Diagnostics> {
    let at = Location::caller();
    let inputs = leaves(&args);
    let mut given = vec![condition.to_dyn()];
    given.extend(inputs.iter().cloned());
    check(&given)?;
    let device = condition.device();
    let then = trace(device, &inputs, at, |nodes| then(with_leaves(&args, nodes)))?;
    let otherwise = trace(device, &inputs, at, |nodes| otherwise(with_leaves(&args, nodes)))?;
    check_same(
        ("`cond`: the first branch gives", &then.output),
        ("the second gives", &otherwise.output),
        "both branches give the same types: convert, reshape or broadcast one",
        at,
    )?;
    given.extend(then.captures.iter().chain(&otherwise.captures).cloned());
    let op = Cond {
        n_args: inputs.len(),
        n_then_captures: then.captures.len(),
        then: then.graph,
        otherwise: otherwise.graph,
    };
    Ok(with_leaves(&then.output, results(op, &given, at)?))
}

/// Runs one of two programs. The inputs are the condition, the arguments, what the first captures,
/// and what the second captures.
#[derive(Clone, Debug, Hash)]
struct Cond {
    then: Graph,
    otherwise: Graph,
    n_args: usize,
    n_then_captures: usize,
}

impl Cond {
    /// The inputs of each branch.
    fn split<T: Clone>(&self, inputs: &[T]) -> [Vec<T>; 2] {
        let (args, captures) = inputs[1..].split_at(self.n_args);
        let (then, otherwise) = captures.split_at(self.n_then_captures);
        [then, otherwise].map(|captures| [args, captures].concat())
    }

    /// The place among the inputs without the condition of an argument of a branch.
    fn place(&self, is_then: bool, arg: usize) -> usize {
        if is_then || arg < self.n_args { arg } else { arg + self.n_then_captures }
    }

    /// Of a branch: the gradients of the inputs that are wanted, zero where there is none.
    fn branch_gradients(
        &self,
        is_then: bool,
        vjp: &Vjp<'_>,
        inputs: &[DynTensor],
        of_outputs: &[DynTensor],
    ) -> Result<Vec<DynTensor>, Diagnostics> {
        let graph = if is_then { &self.then } else { &self.otherwise };
        let wanted = |arg: usize| vjp.wanted[1 + self.place(is_then, arg)];
        let args: Vec<DynTensor> =
            (0..graph.args().len()).map(|arg| inputs[self.place(is_then, arg)].clone()).collect();
        let mut given = of_outputs.iter().cloned();
        let of_outputs = vjp.cotangents.iter().map(|g| g.as_ref().and_then(|_| given.next()));
        let of_args = Tape::record(graph, &args, wanted)?.pull_back(of_outputs.collect())?;
        let mut found: Vec<Option<DynTensor>> = vec![None; inputs.len()];
        for (arg, gradient) in of_args.into_iter().enumerate() {
            found[self.place(is_then, arg)] = gradient;
        }
        let full = |idx: usize| found[idx].clone().unwrap_or_else(|| inputs[idx].zeros_like());
        Ok(places(&vjp.wanted[1..]).into_iter().map(full).collect())
    }

    fn gradients(&self, vjp: &Vjp<'_>) -> Result<Gradients, Diagnostics> {
        let condition = &vjp.inputs[0];
        let at = vjp.outputs[0].node().at;
        // Both branches of the gradient take all inputs, then the cotangents that there are.
        let n_inputs = vjp.inputs.len() - 1;
        let mut args = vjp.inputs[1..].to_vec();
        args.extend(vjp.cotangents.iter().flatten().cloned());
        let branch = |is_then: bool| {
            trace(condition.device(), &args, at, |nodes| {
                let (inputs, of_outputs) = nodes.split_at(n_inputs);
                self.branch_gradients(is_then, vjp, inputs, of_outputs)
            })
        };
        let (then, otherwise) = (branch(true)?, branch(false)?);
        let op = Cond {
            n_args: args.len(),
            n_then_captures: then.captures.len(),
            then: then.graph,
            otherwise: otherwise.graph,
        };
        let captures = then.captures.into_iter().chain(otherwise.captures);
        let given: Vec<DynTensor> =
            std::iter::once(condition.clone()).chain(args).chain(captures).collect();
        let mut gradients: Gradients = smallvec::smallvec![None; vjp.inputs.len()];
        for (place, gradient) in places(&vjp.wanted[1..]).into_iter().zip(results(op, &given, at)?)
        {
            gradients[place + 1] = Some(gradient);
        }
        Ok(gradients)
    }
}

impl Op for Cond {
    fn name(&self) -> &'static str {
        "cond"
    }

    fn n_outputs(&self) -> usize {
        self.then.outputs().len()
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let condition = inputs[0];
        if condition.dtype != DType::Bool || !condition.shape.is_empty() {
            return Err(OpError::shape(format!(
                "the condition of `cond` is a scalar of `bool`, but {condition} was given"
            ))
            .help("choose element by element with `.select(..)`, or reduce it: `.all(&[..])`"));
        }
        Ok(self.then.output_types().cloned().collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let [then, otherwise] = self.split(inputs);
        let open = cx.out.begin_if(&inputs[0], self.n_outputs());
        let values = cx.graph(&self.then, &then)?;
        cx.out.if_else(&values);
        let values = cx.graph(&self.otherwise, &otherwise)?;
        Ok(cx.out.end_if(&open, &inputs[0], &values))
    }

    fn has_side_effects(&self) -> bool {
        self.then.has_side_effects() || self.otherwise.has_side_effects()
    }

    fn is_bound_to_process(&self) -> bool {
        self.then.is_bound_to_process() || self.otherwise.is_bound_to_process()
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(self.gradients(vjp).unwrap_or_else(|error| failed_gradients(error, vjp.inputs)))
    }
}
