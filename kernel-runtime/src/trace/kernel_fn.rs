//! Kernels as values: what `#[tpu_kernel]` generates implements [`KernelFn`].

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Element, Kernel, ParamKind, Shape};

/// A parameter of a kernel function, as its source says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Its name.
    pub name: &'static str,
    /// What the kernel does with it.
    pub kind: ParamKind,
    /// Its element type.
    pub dtype: DType,
    /// The names of its dimensions, outermost first.
    pub dims: &'static [&'static str],
}

/// The element type and shape of an argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgSpec {
    /// Element type.
    pub dtype: DType,
    /// Sizes, outermost first.
    pub shape: Shape,
}

impl ArgSpec {
    /// An argument of this element type and shape.
    pub fn new(dtype: DType, shape: &[usize]) -> ArgSpec {
        ArgSpec { dtype, shape: Shape::from_slice(shape) }
    }

    /// An argument with elements of `T`: `ArgSpec::of::<f32>(&[8, 128])`.
    pub fn of<T: Element>(shape: &[usize]) -> ArgSpec {
        ArgSpec::new(T::DTYPE, shape)
    }
}

impl From<&Array> for ArgSpec {
    fn from(array: &Array) -> ArgSpec {
        ArgSpec::new(array.dtype(), array.shape())
    }
}

/// A kernel with its compile-time parameters, ready to be traced for arguments of any shape.
///
/// `#[tpu_kernel] fn matmul(..)` generates a struct `Matmul` that implements it.
pub trait KernelFn {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// Its parameters in source order, outputs included.
    fn params(&self) -> &'static [ParamSpec];

    /// Traces it for these arguments: one per `In` and `InOut` parameter, in order.
    ///
    /// # Errors
    /// Arguments that do not fit, and every mistake in the kernel's body.
    fn trace(&self, args: &[ArgSpec]) -> Result<Kernel, Diagnostics>;
}

/// A way to run kernels, chosen by the type of the arguments.
pub trait Caller {
    /// An argument.
    type Arg<'a>;
    /// A result.
    type Output;

    /// Runs a kernel; gives one result per `Out` and `InOut` parameter, in order.
    ///
    /// # Errors
    /// Whatever keeps the kernel from running to its end.
    fn call(
        kernel: &dyn KernelFn,
        args: &[Self::Arg<'_>],
    ) -> Result<Vec<Self::Output>, Diagnostics>;
}

/// Something that a kernel can be called with.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot be called with a `{Self}`",
    note = "give it `&Array` arguments: `matmul::<f32, _>(tiles, |x| x).call(&a, &b)?`"
)]
pub trait CallArg<'a> {
    /// What runs the kernel.
    type Caller: Caller;

    /// The argument.
    fn into_arg(self) -> <Self::Caller as Caller>::Arg<'a>;
}

/// The results of a call, as many as the kernel has outputs.
///
/// # Errors
/// If there are more or fewer.
#[doc(hidden)]
pub fn take<T, const N: usize>(kernel: &str, outputs: Vec<T>) -> Result<[T; N], Diagnostics> {
    let n = outputs.len();
    outputs.try_into().map_err(|_| {
        let message = format!("kernel `{kernel}` has {N} outputs, but its run gave {n}");
        Diagnostics::from(Diagnostic::error(Code::TRACE_ARGUMENT, message))
    })
}
