//! Functions with a gradient of their own.

use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::run::device::Device;
use crate::run::dispatch::{apply_all, trace};
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Graph, Ty};
use crate::run::jit::{Outcome, Tree, leaves, trace_fn, with_leaves};
use crate::run::op::{Forward, Gradients, Op, OpError, Types, Value, Vjp, failed_gradients};
use crate::run::tensor::node::State;
use crate::run::tensor::{DynTensor, Tensor};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// Gives a function a gradient of its own, instead of that of the ops in it.
///
/// Where a gradient is asked for, `forward` runs instead of `f`: it gives the same result and what
/// the gradient needs besides. `backward` takes that and the gradient by the result, and gives the
/// gradient by the arguments, in their structure; what it gives for tensors that are no floats does
/// not matter. Tensors that belong to the differentiated program are arguments, never captured:
/// there is no gradient by what is captured.
///
/// ```no_run
/// use systole::run::{Tensor, custom_vjp, grad};
///
/// # fn main() -> Result<(), systole::diag::Diagnostics> {
/// // Rounds, and passes the gradient on as if it had not.
/// let round = custom_vjp(
///     |x: Tensor<f32>| x.round_even(),
///     |x: Tensor<f32>| (x.round_even(), ()),
///     |(), g: Tensor<f32>| g,
/// );
/// let slope = grad(move |x: Tensor<f32>| round(x * 3.0))(&Tensor::scalar(0.4))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The function it gives fails as `f` does, if `forward` gives other types than `f`, if `backward`
/// gives other types than those of the arguments, and if a function captures a tensor of the program
/// being traced.
#[track_caller]
pub fn custom_vjp<A, Y, R, F, W, B>(
    f: impl Fn(A) -> F + Send + Sync + 'static,
    forward: impl Fn(A) -> W + Send + Sync + 'static,
    backward: impl Fn(R, Y) -> B + Send + Sync + 'static,
) -> impl Fn(A) -> Result<Y, Diagnostics>
where
    A: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Outcome<Tree = Y>,
    W: Outcome<Tree = (Y, R)>,
    B: Outcome<Tree = A>,
{
    let at = Location::caller();
    let (forward, backward) = (Arc::new(forward), Arc::new(backward));
    move |args| {
        // Nothing is differentiated that is not traced first.
        if !trace::is_active() {
            return f(args).outcome();
        }
        let inputs = leaves(&args);
        let device = inputs.first().map_or_else(Device::current, |leaf| leaf.device().clone());
        let (traced, output) =
            trace_fn(&device, &inputs, at, |nodes| f(with_leaves(&args, nodes)).outcome())?;
        let captures: Vec<DynTensor> = traced.captures.into_iter().map(Tensor::from_node).collect();
        refuse_traced(&captures, at)?;
        let (given, gave) = (Arc::new(args), Arc::new(output));
        // Its structure is known once `forward` has run.
        let kept = Arc::new(OnceLock::new());
        let (forward, backward, n_args) = (forward.clone(), backward.clone(), inputs.len());
        let run_forward = {
            let (given, kept) = (given.clone(), kept.clone());
            move |inputs: &[DynTensor]| {
                let (output, residuals) =
                    forward(with_leaves(&*given, inputs[..n_args].to_vec())).outcome()?;
                let forward = Forward { outputs: leaves(&output), residuals: leaves(&residuals) };
                let _same = kept.set(residuals);
                Ok(forward)
            }
        };
        let run_backward = {
            let gave = gave.clone();
            move |residuals: &[DynTensor], cotangents: Vec<DynTensor>| {
                let Some(kept) = kept.get() else { return Err(program_error()) };
                let kept = with_leaves(kept, residuals.to_vec());
                Ok(leaves(&backward(kept, with_leaves(&*gave, cotangents)).outcome()?))
            }
        };
        let op = CustomVjp {
            body: traced.graph,
            n_args,
            at,
            forward: Box::new(run_forward),
            backward: Box::new(run_backward),
        };
        let given = [inputs, captures].concat();
        let nodes: Vec<_> = given.iter().map(Tensor::node).collect();
        let results = apply_all(Arc::new(op), &nodes, None, at);
        let results = results.into_iter().map(|node| Tensor::from_node(node).check());
        Ok(with_leaves(&*gave, results.collect::<Result<Vec<_>, _>>()?))
    }
}

/// A value of the traced program that is captured may depend on what is differentiated.
fn refuse_traced(captures: &[DynTensor], at: At) -> Result<(), Diagnostics> {
    let is_traced = |x: &&DynTensor| matches!(&*x.node().state(), State::Traced(..));
    let Some(capture) = captures.iter().find(is_traced) else { return Ok(()) };
    let message = format!(
        "a function given to `custom_vjp` captures the tensor {} of the program being traced",
        capture.node().ty
    );
    let error = Diagnostic::error(Code::TENSOR_GRADIENT, message).at(Span::from_location(at), "");
    let error = error.at(Span::from_location(capture.node().at), "it is made here");
    Err(error.help("make it an argument: there is no gradient by what is captured").into())
}

fn program_error() -> Diagnostics {
    Diagnostic::error(Code::TENSOR_PROGRAM, "`custom_vjp` goes backwards before forwards").into()
}

type RunForward = dyn Fn(&[DynTensor]) -> Result<Forward, Diagnostics> + Send + Sync;
type RunBackward =
    dyn Fn(&[DynTensor], Vec<DynTensor>) -> Result<Vec<DynTensor>, Diagnostics> + Send + Sync;

/// A program whose gradient is computed by a function. The inputs are the arguments and what the
/// program captures.
struct CustomVjp {
    body: Graph,
    n_args: usize,
    /// Where the function was given its gradient.
    at: At,
    forward: Box<RunForward>,
    backward: Box<RunBackward>,
}

impl Hash for CustomVjp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // What the program computes; its gradient becomes ops of its own.
        self.body.hash(state);
    }
}

impl fmt::Debug for CustomVjp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomVjp({}, {} ops)", self.at, self.body.calls().len())
    }
}

impl CustomVjp {
    fn check<'a>(
        &self,
        what: &str,
        expected: impl ExactSizeIterator<Item = &'a Ty>,
        found: &[DynTensor],
    ) -> Result<(), Diagnostics> {
        let error = |message: String| {
            let error = Diagnostic::error(Code::TENSOR_GRADIENT, message);
            Diagnostics::from(error.at(Span::from_location(self.at), ""))
        };
        if expected.len() != found.len() {
            let (n, m) = (expected.len(), found.len());
            return Err(error(format!("{what} gives {m} tensors where {n} are needed")));
        }
        for (idx, (expected, found)) in expected.zip(found).enumerate() {
            let found = &found.node().ty;
            if expected.dtype.is_float() && expected != found {
                return Err(error(format!(
                    "{what} gives {found} as tensor {idx}, where {expected} is needed"
                )));
            }
        }
        Ok(())
    }

    fn gradients(&self, vjp: &Vjp<'_>) -> Result<Gradients, Diagnostics> {
        let cotangents = vjp.cotangents.iter().zip(vjp.outputs);
        let cotangents = cotangents.map(|(g, y)| g.clone().unwrap_or_else(|| y.zeros_like()));
        let found = (self.backward)(vjp.residuals, cotangents.collect())?;
        let args = &vjp.inputs[..self.n_args];
        self.check("the backward function", args.iter().map(|arg| &arg.node().ty), &found)?;
        let mut gradients: Gradients = found
            .into_iter()
            .zip(args)
            .map(|(gradient, arg)| Some(gradient).filter(|_| arg.dtype().is_float()))
            .collect();
        gradients.resize(vjp.inputs.len(), None);
        Ok(gradients)
    }
}

impl Op for CustomVjp {
    fn name(&self) -> &'static str {
        "custom_vjp"
    }

    fn n_outputs(&self) -> usize {
        self.body.outputs().len()
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(self.body.output_types().cloned().collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        cx.graph(&self.body, inputs)
    }

    fn has_side_effects(&self) -> bool {
        self.body.has_side_effects()
    }

    fn is_bound_to_process(&self) -> bool {
        self.body.is_bound_to_process()
    }

    fn forward(&self, inputs: &[DynTensor], _at: At) -> Option<Result<Forward, Diagnostics>> {
        let forward = (self.forward)(inputs).and_then(|forward| {
            self.check("the forward function", self.body.output_types(), &forward.outputs)?;
            Ok(forward)
        });
        Some(forward)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(self.gradients(vjp).unwrap_or_else(|error| failed_gradients(error, vjp.inputs)))
    }
}
