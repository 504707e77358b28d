//! Conversion of operands: tiles, scalars and plain Rust numbers.

use super::context::{At, Handle, Tracer};
use super::handle::{Scalar, Tile};
use crate::diag::Code;
use crate::ir::ops::{Literal, ShapeOp};
use crate::ir::{DType, Element, Float, Int, Op, Shape, Type, Value};
use half::{bf16, f16};

/// An operand before it is known which shape it must take.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A tile or scalar of the trace.
    Handle(Handle),
    /// A float of the host.
    Float(f64),
    /// An integer or `bool` of the host.
    Int(i128),
}

/// What can stand where a `Tile<T>` is expected: a tile, a scalar or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not mix with a tile of `{T}`",
    label = "expected a `Tile<{T}>`, a `Scalar<{T}>` or a number",
    note = "element types never convert silently: use `.cast::<{T}>()`"
)]
pub trait IntoTile<T: Element>: Copy {
    /// The operand.
    #[doc(hidden)]
    fn operand(self) -> Operand;
}

/// What can stand where a `Scalar<T>` is expected: a scalar or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not mix with a scalar of `{T}`",
    label = "expected a `Scalar<{T}>` or a number",
    note = "element types never convert silently: use `.cast::<{T}>()`"
)]
pub trait IntoScalar<T: Element>: Copy {
    /// The operand.
    #[doc(hidden)]
    fn operand(self) -> Operand;
}

/// What can stand beside a scalar, of whatever element type: all but tiles.
///
/// It has no type parameter, so that no other crate can implement it for a tile: this is what
/// lets `Scalar` have operators with scalars and with tiles.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not mix with a scalar",
    label = "expected a `Scalar`, a `Tile` or a number"
)]
pub trait ScalarLike {}

impl<T> ScalarLike for Scalar<T> {}

impl<T: Element> IntoTile<T> for Tile<T> {
    fn operand(self) -> Operand {
        Operand::Handle(self.handle)
    }
}

impl<T: Element> IntoTile<T> for Scalar<T> {
    fn operand(self) -> Operand {
        Operand::Handle(self.handle)
    }
}

impl<T: Element> IntoScalar<T> for Scalar<T> {
    fn operand(self) -> Operand {
        Operand::Handle(self.handle)
    }
}

macro_rules! numbers {
    ($([$($generics:tt)*] $from:ty => $to:ty, |$x:ident| $operand:expr;)*) => {$(
        impl ScalarLike for $from {}

        impl<$($generics)*> IntoTile<$to> for $from {
            fn operand(self) -> Operand {
                let $x = self;
                $operand
            }
        }
        impl<$($generics)*> IntoScalar<$to> for $from {
            fn operand(self) -> Operand {
                let $x = self;
                $operand
            }
        }
    )*};
}

numbers! {
    [T: Float] f32 => T, |x| Operand::Float(f64::from(x));
    [T: Int] i32 => T, |x| Operand::Int(i128::from(x));
    [T: Int] usize => T, |x| Operand::Int(x as i128);
    [] bf16 => bf16, |x| Operand::Float(x.to_f64());
    [] f16 => f16, |x| Operand::Float(x.to_f64());
    [] i8 => i8, |x| Operand::Int(i128::from(x));
    [] i16 => i16, |x| Operand::Int(i128::from(x));
    [] u8 => u8, |x| Operand::Int(i128::from(x));
    [] u16 => u16, |x| Operand::Int(i128::from(x));
    [] u32 => u32, |x| Operand::Int(i128::from(x));
    [] bool => bool, |x| Operand::Int(i128::from(x));
}

impl Tracer {
    /// The value of an operand, a constant for a number.
    pub(crate) fn value(&mut self, operand: Operand, dtype: DType, at: At) -> Option<Value> {
        match operand {
            Operand::Handle(handle) => self.operand(handle, at),
            Operand::Float(_) | Operand::Int(_) => {
                let literal = self.literal(operand, dtype, at)?;
                Some(self.constant(literal, at))
            }
        }
    }

    /// The constant an operand stands for, if it is known while tracing.
    pub(crate) fn literal(&mut self, operand: Operand, dtype: DType, at: At) -> Option<Literal> {
        match operand {
            Operand::Handle(handle) => {
                let value = self.operand(handle, at)?;
                self.known(value)
            }
            Operand::Float(x) => Some(Literal::from_f64(dtype, x)),
            Operand::Int(x) => {
                let (lo, hi) = dtype.int_range().unwrap_or((0, 1));
                if !(i128::from(lo)..=i128::from(hi)).contains(&x) {
                    self.error(
                        Code::TRACE_NUMBER,
                        format!(
                            "the number {x} does not fit `{dtype}`, whose range is {lo} to {hi}"
                        ),
                        at,
                    );
                    return None;
                }
                Some(Literal::int(dtype, x as i64))
            }
        }
    }

    /// Repeats a scalar, or the axes of size 1 of a tile, to a shape. A value that cannot be
    /// repeated comes back as it is, for the op that takes it to complain about.
    pub(crate) fn fit(&mut self, value: Value, shape: &[usize], at: At) -> Option<Value> {
        let ty = self.builder.kernel().ty(value);
        let op = match ty {
            _ if ty.shape() == shape => return Some(value),
            Type::Scalar(_) => ShapeOp::Splat(Shape::from_slice(shape)),
            Type::Tile { shape: from, .. }
                if from.len() == shape.len()
                    && from.iter().zip(shape).all(|(a, b)| a == b || *a == 1) =>
            {
                ShapeOp::Broadcast(Shape::from_slice(shape))
            }
            Type::Tile { .. } | Type::Ref { .. } | Type::Semaphore { .. } => return Some(value),
        };
        self.push(Op::Shape(op), &[value], at)
    }

    /// The shape that tiles of these values are repeated to; empty if all are scalars.
    pub(crate) fn common_shape(&self, values: &[Value]) -> Shape {
        let kernel = self.builder.kernel();
        let mut common = Shape::new();
        for &value in values {
            let shape = kernel.ty(value).shape();
            if common.is_empty() {
                common = Shape::from_slice(shape);
            } else if common.len() == shape.len() {
                for (size, &other) in common.iter_mut().zip(shape) {
                    *size = if *size == 1 { other } else { *size };
                }
            }
        }
        common
    }
}
