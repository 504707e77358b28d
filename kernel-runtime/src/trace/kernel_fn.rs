//! Kernels as values: what `#[tpu_kernel]` generates implements [`KernelFn`].

use super::key::KernelKey;
use crate::diag::Diagnostics;
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
/// `#[tpu_kernel] fn matmul(..)` generates a struct `MatmulKernel` that implements it.
pub trait KernelFn {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// Its parameters in source order, outputs included.
    fn params(&self) -> &'static [ParamSpec];

    /// The names of its grid extents that the call gives, in the order of the leading arguments.
    fn extents(&self) -> &'static [&'static str] {
        &[]
    }

    /// Traces it for these arguments: an `i32` scalar per entry of [`KernelFn::extents`], then one
    /// array per `Prefetch`, `In` and `InOut` parameter, in order.
    ///
    /// # Errors
    /// Arguments that do not fit, and every mistake in the kernel's body.
    fn trace(&self, args: &[ArgSpec]) -> Result<Kernel, Diagnostics>;

    /// What tells it from other kernels, its compile-time parameters included: none if one of them
    /// cannot be told from others, as a closure that captures something.
    fn key(&self) -> Option<KernelKey<'_>> {
        None
    }
}
