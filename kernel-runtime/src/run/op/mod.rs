//! Ops on tensors: each is one struct with its shape rule, its StableHLO and its gradient.
//!
//! Eager, deferred and compiled code all go through [`super::dispatch`] with these, so an op means
//! the same everywhere. The methods that users call stand beside the structs, by family.

mod arith;
mod bounded;
mod control;
mod create;
mod cumulate;
mod dot;
mod einsum;
mod elementwise;
mod index;
mod join;
mod kernel;
mod mesh;
mod nn;
mod normal;
mod random;
mod reduce;
mod shape;
mod slice;
mod sort;

use super::bounded::{Bounded, Bounds};
use super::graph::emit::Emit;
use super::graph::{At, Attrs, Ty};
use super::tensor::DynTensor;
pub(crate) use crate::back::stablehlo::text::Tensor as Value;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::Array;
use smallvec::SmallVec;
use std::fmt::Debug;

pub(crate) use bounded::FillPadding;
pub(crate) use control::failed_gradients;
pub use control::{cond, fori_loop, scan, while_loop};
pub(crate) use elementwise::Constant;
pub use join::Padding;
pub(crate) use kernel::is_interpreted;
pub use kernel::{
    DebugKernels, KernelOp, KernelState, TensorCaller, debug_kernels, with_debug_kernels,
};
pub(crate) use mesh::Constrain;
pub use mesh::{ShardMap, axis_index};
pub(crate) use random::Random;
pub use slice::{Pick, Picks};
pub use sort::Order;

/// Types of an op's results.
pub(crate) type Types = SmallVec<[Ty; 1]>;

/// Why an op cannot be applied: the caller's line is added by whoever records it.
#[derive(Clone, Debug)]
pub(crate) struct OpError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl OpError {
    /// Shapes that do not fit.
    pub(crate) fn shape(message: impl Into<String>) -> OpError {
        OpError { code: Code::TENSOR_SHAPE, message: message.into(), help: None }
    }

    /// Element types that do not fit.
    pub(crate) fn dtype(message: impl Into<String>) -> OpError {
        OpError { code: Code::TENSOR_DTYPE, message: message.into(), help: None }
    }

    /// An attribute that makes no sense.
    pub(crate) fn argument(message: impl Into<String>) -> OpError {
        OpError { code: Code::TENSOR_ARGUMENT, message: message.into(), help: None }
    }

    /// An index outside of an axis.
    pub(crate) fn index(message: impl Into<String>) -> OpError {
        OpError { code: Code::TENSOR_INDEX, message: message.into(), help: None }
    }

    /// What cannot be done for every size up to a bound.
    pub(crate) fn bounded(message: impl Into<String>) -> OpError {
        OpError { code: Code::TENSOR_BOUNDED, message: message.into(), help: None }
    }

    /// Says what to write instead.
    pub(crate) fn help(mut self, help: impl Into<String>) -> OpError {
        self.help = Some(help.into());
        self
    }
}

impl From<OpError> for Diagnostic {
    fn from(error: OpError) -> Diagnostic {
        let diagnostic = Diagnostic::error(error.code, error.message);
        match error.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// Refuses inputs of different element types.
pub(crate) fn expect_same_dtype(name: &str, inputs: &[&Ty]) -> Result<(), OpError> {
    match inputs.iter().find(|ty| ty.dtype != inputs[0].dtype) {
        Some(other) => Err(OpError::dtype(format!(
            "`{name}` mixes {} with {other}: element types never convert silently",
            inputs[0]
        ))
        .help("convert one: `.cast::<T>()`")),
        None => Ok(()),
    }
}

/// Refuses what is no integer, where places are asked for.
pub(crate) fn expect_int(name: &str, what: &str, ty: &Ty) -> Result<(), OpError> {
    if ty.dtype.is_int() {
        return Ok(());
    }
    let message = format!("`{name}`: {what} are integers, not {ty}");
    Err(OpError::dtype(message).help("convert them: `.cast::<i32>()`"))
}

/// Refuses what is no float.
pub(crate) fn expect_float(name: &str, ty: &Ty) -> Result<(), OpError> {
    if ty.dtype.is_float() {
        return Ok(());
    }
    let message = format!("`{name}` takes floats, not {ty}");
    Err(OpError::dtype(message).help("convert first: `.cast::<f32>()`"))
}

/// Gives the elements of an input of a call.
pub(crate) type ReadInput<'a> = &'a dyn Fn(usize) -> Result<Array, Diagnostics>;

/// Tensors of one call, for its gradient.
pub(crate) struct Vjp<'a> {
    /// What the call was given.
    pub(crate) inputs: &'a [DynTensor],
    /// By input: whether its gradient is needed; the others are floats that depend on nothing, or
    /// no floats.
    pub(crate) wanted: &'a [bool],
    /// What it gave.
    pub(crate) outputs: &'a [DynTensor],
    /// What [`Op::forward`] kept for it.
    pub(crate) residuals: &'a [DynTensor],
    /// The gradient of each output; none where nothing depends on it.
    pub(crate) cotangents: &'a [Option<DynTensor>],
}

impl Vjp<'_> {
    /// The gradient of the only output.
    pub(crate) fn cotangent(&self) -> Option<&DynTensor> {
        self.cotangents.first().and_then(Option::as_ref)
    }
}

/// What an op gave where its gradient will be asked for.
pub(crate) struct Forward {
    /// Its results.
    pub(crate) outputs: Vec<DynTensor>,
    /// What its gradient needs besides inputs and outputs.
    pub(crate) residuals: Vec<DynTensor>,
}

/// The gradient of each input; none where there is none, as for indices.
pub(crate) type Gradients = SmallVec<[Option<DynTensor>; 4]>;

/// An op: its attributes are the struct's fields, and derive `Hash`, which puts them into keys.
pub(crate) trait Op: Attrs + Debug + Send + Sync + 'static {
    /// The name, as in keys and messages.
    fn name(&self) -> &'static str;

    /// How many results there are.
    fn n_outputs(&self) -> usize {
        1
    }

    /// The type rule: types of the results for inputs of these types.
    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError>;

    /// Writes it as StableHLO; inputs are those that [`Op::infer`] accepted.
    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics>;

    /// Looks at elements of its inputs before it runs, in debug mode: for indices out of range.
    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        let _ = (inputs, read);
        Ok(())
    }

    /// Whether it must run although nobody reads its results.
    fn has_side_effects(&self) -> bool {
        false
    }

    /// Applies it where its gradient will be asked for, if that differs from applying it.
    fn forward(&self, inputs: &[DynTensor], at: At) -> Option<Result<Forward, Diagnostics>> {
        let _ = (inputs, at);
        None
    }

    /// Whether its program means nothing to another process, as one that calls a
    /// [`HostCall`](crate::pjrt::HostCall) by number: it is kept in no cache but that of this
    /// process. An op with programs inside asks them.
    fn is_bound_to_process(&self) -> bool {
        false
    }

    /// Whether its attributes are shapes, which differ where the function that applies it is traced
    /// for another size of a bounded dim. [`Op::bounded`] tells what becomes of them.
    fn has_shape_attrs(&self) -> bool {
        false
    }

    /// What it does with padding: what it needs in the padding of its inputs so that the real
    /// elements of its results are those it would give without padding, and where the padding of
    /// its results is. Asked only if an input has padding or a result's shape depends on a bounded
    /// dim; refuses unless an op knows better.
    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let _ = bounds;
        Err(OpError::bounded(format!("`{}` is not told what padding does to it", self.name()))
            .help("apply it to tensors whose shapes do not depend on a bounded dim"))
    }

    /// The gradients of its inputs, in terms of ops.
    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let _ = vjp;
        Err(OpError {
            code: Code::TENSOR_GRADIENT,
            message: format!("`{}` has no gradient", self.name()),
            help: None,
        })
    }
}
