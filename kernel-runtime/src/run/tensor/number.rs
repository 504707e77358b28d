//! Kinds of elements, and what stands beside a tensor in arithmetic.

use super::{Any, Tensor};
use crate::ir::{Array, DType, Element};
use crate::run::dispatch;
use half::{bf16, f16};
use std::panic::Location;

/// The element type of a tensor: an [`Element`], or [`Any`] if it is known only while running.
pub trait Kind: 'static {
    /// The element type, if it is known while compiling.
    const DTYPE: Option<DType>;
}

impl<T: Element> Kind for T {
    const DTYPE: Option<DType> = Some(T::DTYPE);
}

impl Kind for Any {
    const DTYPE: Option<DType> = None;
}

/// A kind with arithmetic: everything but `bool`. For [`Any`] the op itself checks.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` have no arithmetic",
    note = "convert them: `.cast::<i32>()`"
)]
pub trait NumKind: Kind {
    /// The kind of the sums of products of such elements: `i32` for integers, else itself.
    type Product: NumKind;
}

/// A kind with the functions of analysis: floats. For [`Any`] the op itself checks.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` are not floats",
    note = "convert them: `.cast::<f32>()`"
)]
pub trait FloatKind: NumKind<Product = Self> {}

/// A kind that indices can have: integers. For [`Any`] the op itself checks.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` are not integers",
    note = "convert them: `.cast::<i32>()`"
)]
pub trait IntKind: NumKind {}

macro_rules! kinds {
    ($trait:ident: $($ty:ty)*) => {$(impl $trait for $ty {})*};
}
macro_rules! num_kinds {
    ($($ty:ty => $product:ty;)*) => {$(
        impl NumKind for $ty {
            type Product = $product;
        }
    )*};
}
num_kinds! {
    Any => Any;
    f32 => f32;
    bf16 => bf16;
    f16 => f16;
    i8 => i32;
    i16 => i32;
    i32 => i32;
    u8 => i32;
    u16 => i32;
    u32 => i32;
}
kinds!(FloatKind: Any f32 bf16 f16);
kinds!(IntKind: Any i8 i16 i32 u8 u16 u32);

/// What can stand beside a `Tensor<T>` in an op: a tensor, a reference to one, or a number.
///
/// A number becomes an argument of the program, so that another number does not compile anew;
/// inside [`jit`](crate::run::jit) it is a constant.
pub trait Operand<T: Kind> {
    /// As a tensor, beside `other`.
    #[doc(hidden)]
    fn beside(self, other: &Tensor<T>) -> Tensor<T>;
}

impl<T: Kind> Operand<T> for Tensor<T> {
    fn beside(self, _other: &Tensor<T>) -> Tensor<T> {
        self
    }
}

impl<T: Kind> Operand<T> for &Tensor<T> {
    fn beside(self, _other: &Tensor<T>) -> Tensor<T> {
        self.clone()
    }
}

macro_rules! numbers {
    ($($ty:ty: $to_f64:expr;)*) => {$(
        impl Operand<$ty> for $ty {
            #[track_caller]
            fn beside(self, other: &Tensor<$ty>) -> Tensor<$ty> {
                let value: fn($ty) -> f64 = $to_f64;
                dispatch::scalar(<$ty as Element>::DTYPE, value(self), other.device(), Location::caller())
            }
        }
    )*};
}
numbers! {
    f32: f64::from;
    bf16: f64::from;
    f16: f64::from;
    i8: f64::from;
    i16: f64::from;
    i32: f64::from;
    u8: f64::from;
    u16: f64::from;
    u32: f64::from;
    bool: |x| f64::from(u8::from(x));
}

impl Operand<Any> for f64 {
    #[track_caller]
    fn beside(self, other: &Tensor<Any>) -> Tensor<Any> {
        dispatch::scalar(other.dtype(), self, other.device(), Location::caller())
    }
}

impl<T: Element> Tensor<T> {
    /// A scalar.
    #[track_caller]
    pub fn scalar(value: T) -> Tensor<T> {
        let device = crate::run::device::Device::current();
        dispatch::scalar(T::DTYPE, value.to_f64(), &device, Location::caller())
    }
}

/// An array of one element.
pub(crate) fn scalar_array(dtype: DType, value: f64) -> Array {
    Array::from_f64(dtype, &[], &[value]).unwrap_or_else(|_| Array::zeros(dtype, &[]))
}
