//! A loop that runs as long as a condition holds.

use super::{check, check_same, results, trace};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::run::device::Device;
use crate::run::graph::emit::Emit;
use crate::run::graph::{Graph, Ty};
use crate::run::jit::{Outcome, Tree, leaves, with_leaves};
use crate::run::op::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::run::tensor::Tensor;
use std::panic::Location;

/// Replaces the state by `body` of it as long as `condition` of it holds; gives the last state.
///
/// Both functions are traced once. The state keeps its types, and what they use from outside does
/// not change while the loop runs. How often it runs is known only at its end, so there is no
/// gradient through it: [`scan`](super::scan) and [`fori_loop`](super::fori_loop) have one.
///
/// ```no_run
/// use systole::run::{while_loop, Tensor};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// let x = Tensor::scalar(100.0_f32);
/// let halved = while_loop(|x: &Tensor<f32>| x.gt(1.0), |x| x * 0.5, x)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A condition that is no scalar of `bool`, a body that gives other types than those of the state,
/// and whatever goes wrong in them.
#[track_caller]
pub fn while_loop<S: Tree, C: Outcome<Tree = Tensor<bool>>, B: Outcome<Tree = S>>(
    condition: impl FnOnce(&S) -> C,
    body: impl FnOnce(S) -> B,
    state: S,
) -> Result<S, Diagnostics> {
    let at = Location::caller();
    let mut given = leaves(&state);
    check(&given)?;
    let n_state = given.len();
    let device = given.first().map_or_else(Device::current, |leaf| leaf.device().clone());
    let condition = trace(&device, &given, at, |nodes| condition(&with_leaves(&state, nodes)))?;
    let ty = &condition.output.node().ty;
    if !ty.shape.is_empty() {
        let message = format!("the condition of `while_loop` is a scalar of `bool`, not {ty}");
        let error = Diagnostic::error(Code::TENSOR_CONTROL, message);
        let error = error.at(Span::from_location(at), "");
        let made = Span::from_location(condition.output.node().at);
        return Err(error.at(made, "made here").help("reduce it: `.all(&[..])`").into());
    }
    let body = trace(&device, &given, at, |nodes| body(with_leaves(&state, nodes)))?;
    check_same(
        ("`while_loop` carries", &state),
        ("its body gives", &body.output),
        "the body gives the types of the state: convert, reshape or broadcast what it gives",
        at,
    )?;
    let op = WhileLoop {
        n_state,
        n_condition_captures: condition.captures.len(),
        condition: condition.graph,
        body: body.graph,
    };
    given.extend(condition.captures.into_iter().chain(body.captures));
    Ok(with_leaves(&state, results(op, &given, at)?))
}

/// Runs a program as long as another gives true. The inputs are the state, what the condition
/// captures, and what the body captures.
#[derive(Clone, Debug, Hash)]
struct WhileLoop {
    condition: Graph,
    body: Graph,
    n_state: usize,
    n_condition_captures: usize,
}

impl Op for WhileLoop {
    fn name(&self) -> &'static str {
        "while_loop"
    }

    fn n_outputs(&self) -> usize {
        self.n_state
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(inputs[..self.n_state].iter().map(|&ty| ty.clone()).collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (state, captures) = inputs.split_at(self.n_state);
        let (of_condition, of_body) = captures.split_at(self.n_condition_captures);
        let goes_on = |cx: &mut Emit, state: &[Value]| -> Result<Vec<Value>, Diagnostics> {
            let args = [state, of_condition].concat();
            let mut values = cx.graph(&self.condition, &args)?;
            values.extend_from_slice(state);
            Ok(values)
        };
        // What the condition gives is carried, and computed at the end of each turn: XLA counts
        // the turns of loops whose condition compares a counter, and miscounts some.
        let inits = goes_on(cx, state)?;
        let open = cx.out.begin_while(&inits);
        cx.out.while_body(&open.args[0]);
        let next = cx.graph(&self.body, &[&open.args[1..], of_body].concat())?;
        let next = goes_on(cx, &next)?;
        Ok(cx.out.end_while(&open, &next).split_off(1))
    }

    fn has_side_effects(&self) -> bool {
        self.condition.has_side_effects() || self.body.has_side_effects()
    }

    fn is_bound_to_process(&self) -> bool {
        self.condition.is_bound_to_process() || self.body.is_bound_to_process()
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let message = "`while_loop` has no gradient: how often it runs is known only at its end";
        let error = OpError { code: Code::TENSOR_GRADIENT, message: message.into(), help: None };
        Err(error.help("loop a known number of times: `fori_loop` and `scan` have gradients"))
    }
}
