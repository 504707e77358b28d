//! Kernels as ops: a `#[tpu_kernel]` called on tensors.

mod bounded;
mod call;
mod interp;

pub use call::{KernelState, TensorCaller};
pub(crate) use interp::is_interpreted;
pub use interp::{DebugKernels, debug_kernels, with_debug_kernels};

use super::{Gradients, Op, OpError, Types, Value, Vjp, failed_gradients};
use crate::back::stablehlo::{self, Dots};
use crate::diag::{Code, Diagnostics};
use crate::ir::kernel::Param;
use crate::ir::{DType, Extent, GridAxis, Kernel, ParamKind, Shape};
use crate::run::bounded::{Bounded, Bounds};
use crate::run::call::called_here;
use crate::run::dispatch::{apply_all, current_device};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::jit::Outcome;
use crate::run::numerics::Numerics;
use crate::run::tensor::{DynTensor, Tensor};
use crate::target::{GENERIC, Target};
use crate::trace::{ArgSpec, KernelFn};
use crate::valid;
use bounded::PaddedDim;
use interp::HostKernel;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

/// Builds the kernel for a chip: other chips like other blocks.
type Build = dyn Fn(&'static Target) -> Result<Kernel, Diagnostics> + Send + Sync;
/// Gives the gradients by the inputs: from inputs, outputs, and the gradients of the outputs.
type VjpFn = dyn Fn(&[DynTensor], &[DynTensor], &[DynTensor]) -> Result<Vec<Option<DynTensor>>, Diagnostics>
    + Send
    + Sync;

/// A kernel for arguments of given types, as an op.
///
/// On a TPU it becomes a Mosaic custom call, elsewhere the StableHLO of the kernel as a function of
/// the same program; see also [`DebugKernels`].
#[derive(Clone)]
pub struct KernelOp {
    inner: Arc<Inner>,
    vjp: Option<Arc<VjpFn>>,
    /// Runs it in the interpreter, if that is asked for.
    host: Option<Arc<HostKernel>>,
    /// The dims of its parameters that may be padded.
    padded: Vec<PaddedDim>,
}

struct Inner {
    /// As traced for no chip in particular; says what the results are.
    kernel: Kernel,
    /// Of its text: what the key of a program has of it.
    hash: blake3::Hash,
    build: Option<Box<Build>>,
    /// Names and types of what it takes: the extents of the grid, then arrays.
    inputs: Vec<(String, Ty)>,
    /// By input: whether it lends its memory to a result.
    donates: Vec<bool>,
    outputs: Types,
}

impl fmt::Debug for KernelOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelOp({})", self.inner.kernel.name)
    }
}

impl Hash for KernelOp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash.as_bytes().hash(state);
        self.host.as_ref().map(|host| host.id()).hash(state);
    }
}

impl KernelOp {
    /// A kernel that is the same on every target.
    pub fn new(kernel: Kernel) -> KernelOp {
        KernelOp::with_build(kernel, None)
    }

    /// A kernel for tensors of the types of these: one per dynamic extent, table, `In` and `InOut`
    /// parameter.
    ///
    /// # Errors
    /// Arguments that do not fit, and every mistake in the kernel's body.
    #[track_caller]
    pub fn of(kernel: &dyn KernelFn, inputs: &[&DynTensor]) -> Result<KernelOp, Diagnostics> {
        let at = Location::caller();
        KernelOp::traced(kernel, inputs).map_err(|errors| called_here(errors, at))
    }

    fn traced(kernel: &dyn KernelFn, inputs: &[&DynTensor]) -> Result<KernelOp, Diagnostics> {
        if let Some(failure) = inputs.iter().find_map(|input| input.node().failure()) {
            return Err((*failure).clone());
        }
        let specs: Vec<ArgSpec> =
            inputs.iter().map(|input| ArgSpec::new(input.dtype(), input.shape())).collect();
        let traced = kernel.trace(&specs)?;
        // What the kernel itself has wrong is told here and not by the program that has it.
        valid::check(traced.clone(), &GENERIC)?;
        Ok(KernelOp::new(traced))
    }

    fn with_build(kernel: Kernel, build: Option<Box<Build>>) -> KernelOp {
        // Locations are no part of what a kernel computes.
        let hash = blake3::hash(format!("{kernel:#}").as_bytes());
        let outputs = kernel.params.iter().filter(|param| param.kind.is_output());
        let (inputs, donates) = inputs(&kernel).unzip();
        let inner =
            Inner { hash, build, inputs, donates, outputs: outputs.map(ty).collect(), kernel };
        KernelOp { inner: Arc::new(inner), vjp: None, host: None, padded: Vec::new() }
    }

    /// A kernel that is built for each target: its outputs, and what it computes, must not depend
    /// on the target.
    ///
    /// # Errors
    /// What `build` says for no chip in particular.
    pub fn by_target(
        build: impl Fn(&'static Target) -> Result<Kernel, Diagnostics> + Send + Sync + 'static,
    ) -> Result<KernelOp, Diagnostics> {
        Ok(KernelOp::with_build(build(&GENERIC)?, Some(Box::new(build))))
    }

    /// Gives the op gradients: `vjp` takes the inputs, the outputs, and the gradient of each
    /// output, and gives the gradient of each input, or none where there is none; or an error.
    #[must_use]
    pub fn with_vjp<R: Outcome<Tree = Vec<Option<DynTensor>>>>(
        mut self,
        vjp: impl Fn(&[DynTensor], &[DynTensor], &[DynTensor]) -> R + Send + Sync + 'static,
    ) -> KernelOp {
        self.vjp = Some(Arc::new(move |inputs, outputs, cotangents| {
            vjp(inputs, outputs, cotangents).outcome()
        }));
        self
    }

    /// Applies it to tensors, one per dynamic extent, table, `In` and `InOut` parameter; gives one per
    /// `Out` and `InOut` parameter. An error goes into the results.
    #[track_caller]
    pub fn apply(self, inputs: &[&DynTensor]) -> Vec<DynTensor> {
        let at = Location::caller();
        let nodes: Vec<_> = inputs.iter().map(|tensor| tensor.node()).collect();
        let n_outputs = self.n_outputs();
        match self.debugged(nodes.first().map(|node| &node.device), at) {
            Ok(op) => {
                let results = apply_all(Arc::new(op), &nodes, None, at);
                results.into_iter().map(Tensor::from_node).collect()
            }
            Err(error) => {
                let device = nodes.first().map_or_else(current_device, |node| node.device.clone());
                (0..n_outputs).map(|_| Tensor::failed(&device, error.clone(), at)).collect()
            }
        }
    }

    fn for_target(&self, target: &'static Target) -> Result<valid::Valid, Diagnostics> {
        let kernel = match &self.inner.build {
            Some(build) => build(target)?,
            None => self.inner.kernel.clone(),
        };
        valid::check(kernel, target)
    }

    fn emit_call(
        &self,
        cx: &mut Emit,
        inputs: &[Value],
        make: impl FnOnce(&str) -> Result<String, Diagnostics>,
    ) -> Result<Vec<Value>, Diagnostics> {
        let key = self.inner.hash.as_bytes().to_vec();
        let name = cx.function(key, &format!("kernel_{}", self.inner.kernel.name), make)?;
        Ok(cx.out.call(&name, inputs, &self.results()))
    }

    /// A gradient has the type of its input.
    fn check_gradients(
        &self,
        gradients: &[Option<DynTensor>],
        inputs: &[DynTensor],
    ) -> Result<(), OpError> {
        let error = |message: String| OpError { code: Code::TENSOR_GRADIENT, message, help: None };
        let kernel = &self.inner.kernel;
        if gradients.len() != inputs.len() {
            let (n, m) = (gradients.len(), inputs.len());
            let name = &kernel.name;
            return Err(error(format!(
                "the gradient of kernel `{name}` gives {n} tensors for {m} inputs"
            )));
        }
        for (((name, _), gradient), input) in self.inner.inputs.iter().zip(gradients).zip(inputs) {
            let Some(gradient) = gradient else { continue };
            // One that could not be computed says why itself.
            let (found, expected) = (&gradient.node().ty, &input.node().ty);
            if gradient.node().failure().is_none() && found != expected {
                return Err(error(format!(
                    "the gradient of kernel `{}` gives {found} for `{name}`, which is {expected}",
                    kernel.name
                )));
            }
        }
        Ok(())
    }

    fn results(&self) -> Vec<(DType, Shape)> {
        self.inner.outputs.iter().map(|ty| (ty.dtype, ty.shape.clone())).collect()
    }
}

/// What a kernel takes, in order: names and types, and whether each lends its memory to a result.
fn inputs(kernel: &Kernel) -> impl Iterator<Item = ((String, Ty), bool)> + '_ {
    let operand = |axis: &GridAxis| match axis.extent {
        Extent::Static(_) => None,
        Extent::Dynamic { operand } => Some(operand),
    };
    let mut axes: Vec<&GridAxis> =
        kernel.grid.iter().filter(|axis| operand(axis).is_some()).collect();
    axes.sort_by_key(|axis| operand(axis));
    let scalar = || Ty { dtype: DType::I32, shape: Shape::new() };
    let extents = axes.into_iter().map(move |axis| ((axis.name.clone(), scalar()), false));
    let arrays = kernel.params.iter().filter(|param| param.kind.is_input());
    extents.chain(arrays.map(|param| {
        let is_lent = param.kind == ParamKind::InOut;
        ((param.name.clone(), ty(param)), is_lent)
    }))
}

/// The array of a parameter.
fn ty(param: &Param) -> Ty {
    Ty { dtype: param.dtype, shape: param.array_shape() }
}

impl Op for KernelOp {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn n_outputs(&self) -> usize {
        self.inner.outputs.len()
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let Inner { kernel, inputs: expected, outputs, .. } = &*self.inner;
        if expected.len() != inputs.len() {
            return Err(OpError::argument(format!(
                "kernel `{}` takes {} tensors, but {} were given",
                kernel.name,
                expected.len(),
                inputs.len()
            )));
        }
        for ((name, expected), &input) in expected.iter().zip(inputs) {
            if expected != input {
                return Err(OpError::shape(format!(
                    "`{name}` of kernel `{}` is {expected}, but {input} was given",
                    kernel.name
                )));
            }
        }
        Ok(outputs.clone())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let Some(target) = cx.options.chip else {
            if let Some(host) = &self.host {
                return Ok(host.emit(cx, inputs, &self.results()));
            }
            let valid = self.for_target(&GENERIC)?;
            let dots = match cx.options.numerics {
                Numerics::Device | Numerics::InOrder => Dots::Native,
                Numerics::Tpu => Dots::Passes,
            };
            let arithmetic = cx.options.arithmetic();
            let options = stablehlo::Options { dots, arithmetic, ..stablehlo::Options::default() };
            return self
                .emit_call(cx, inputs, |name| stablehlo::lower_function(&valid, name, &options));
        };
        #[cfg(feature = "mlir")]
        {
            use crate::back::mosaic;
            let valid = self.for_target(target)?;
            let options = mosaic::Options::default();
            self.emit_call(cx, inputs, |name| mosaic::call_function(&valid, name, &options))
        }
        #[cfg(not(feature = "mlir"))]
        {
            let message = format!(
                "kernel `{}` cannot be lowered for {}: this build has no Mosaic back end",
                self.inner.kernel.name, target.name
            );
            let error = crate::diag::Diagnostic::error(Code::RUN_DEVICE, message);
            Err(error.help("build with the feature `mlir`").into())
        }
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        self.padding(bounds)
    }

    fn has_side_effects(&self) -> bool {
        self.inner.kernel.compile.side_effects.keeps_call()
    }

    fn is_bound_to_process(&self) -> bool {
        self.host.is_some()
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let Some(f) = &self.vjp else {
            return Err(OpError {
                code: Code::TENSOR_GRADIENT,
                message: format!("kernel `{}` has no gradient", self.inner.kernel.name),
                help: Some("give it one: `.with_vjp(|inputs, outputs, gradients| ..)`".to_owned()),
            });
        };
        let cotangents: Vec<DynTensor> = vjp
            .cotangents
            .iter()
            .zip(vjp.outputs)
            .map(|(g, y)| g.clone().unwrap_or_else(|| y.zeros_like()))
            .collect();
        let gradients = match f(vjp.inputs, vjp.outputs, &cotangents) {
            Ok(gradients) => gradients,
            Err(error) => return Ok(failed_gradients(error, vjp.inputs)),
        };
        self.check_gradients(&gradients, vjp.inputs)?;
        Ok(gradients.into())
    }
}
