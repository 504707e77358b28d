//! The typed handles of a trace: [`Tile`] and [`Scalar`].

use super::context::{self, At, Handle};
use super::convert::{IntoScalar, IntoTile, Operand};
use crate::diag::Code;
use crate::ir::ops::{Binary, ControlOp, Elementwise, Literal};
use crate::ir::{DType, Element, Extent, Int, Op, Shape};
use std::marker::PhantomData;
use std::panic::Location;

/// An immutable array of one element type and a shape known while tracing.
pub struct Tile<T> {
    pub(crate) handle: Handle,
    element: PhantomData<fn() -> T>,
}

/// One element.
pub struct Scalar<T> {
    pub(crate) handle: Handle,
    element: PhantomData<fn() -> T>,
}

macro_rules! handle {
    ($name:ident) => {
        impl<T> Clone for $name<T> {
            fn clone(&self) -> $name<T> {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl<T> $name<T> {
            pub(crate) fn new(handle: Handle) -> $name<T> {
                $name { handle, element: PhantomData }
            }
        }

        impl<T: Element> $name<T> {
            /// Converts to another element type, by the rules of [`crate::ir`].
            #[track_caller]
            pub fn cast<U: Element>(self) -> $name<U> {
                if T::DTYPE == U::DTYPE {
                    return $name::new(self.handle);
                }
                self.convert(Elementwise::Cast(U::DTYPE), Location::caller())
            }

            /// Reads the bits as another element type of the same size.
            #[track_caller]
            pub fn bitcast<U: Element>(self) -> $name<U> {
                self.convert(Elementwise::Bitcast(U::DTYPE), Location::caller())
            }

            fn convert<U>(self, op: Elementwise, at: At) -> $name<U> {
                $name::new(context::make(|t| t.emit(Op::Elementwise(op), &[self.handle], at)))
            }
        }
    };
}
handle!(Tile);
handle!(Scalar);

impl<T: Element> Tile<T> {
    /// The sizes, outermost first; empty for a tile that could not be made.
    pub fn shape(self) -> Shape {
        context::with(|t| t.told_shape(self.handle)).unwrap_or_default()
    }

    /// The number of axes.
    pub fn rank(self) -> usize {
        self.shape().len()
    }

    /// The size of an axis.
    #[track_caller]
    pub fn size(self, axis: usize) -> usize {
        let at = Location::caller();
        let shape = self.shape();
        let size = shape.get(axis).copied();
        if size.is_none() && !shape.is_empty() {
            context::with(|t| {
                let rank = shape.len();
                t.error(Code::IR_SHAPE, format!("axis {axis} is not one of the {rank} axes"), at);
            });
        }
        size.unwrap_or(1)
    }
}

impl<T: Element> Scalar<T> {
    /// A tile of this shape with the scalar everywhere.
    #[track_caller]
    pub fn splat(self, shape: impl AsRef<[usize]>) -> Tile<T> {
        full(shape, self)
    }
}

impl<T: Int> Scalar<T> {
    /// Promises that the scalar is a multiple of `divisor`, which lets loads and stores at it be
    /// aligned. A promise that does not hold is an error in the interpreter.
    #[track_caller]
    pub fn multiple_of(self, divisor: usize) -> Scalar<T> {
        let at = Location::caller();
        context::with(|t| {
            if t.expect_multiple(divisor, at)
                && let Some(value) = t.operand(self.handle, at)
            {
                t.promise_divisor(value, divisor);
            }
        });
        self
    }
}

impl Scalar<i32> {
    /// The last index of the grid axis whose index this is: `if l == l.last() { .. }`.
    #[track_caller]
    pub fn last(self) -> Scalar<i32> {
        self.extent_less(1, Location::caller())
    }

    /// The number of steps along the grid axis whose index this is.
    #[track_caller]
    pub fn extent(self) -> Scalar<i32> {
        self.extent_less(0, Location::caller())
    }

    fn extent_less(self, less: i128, at: At) -> Scalar<i32> {
        Scalar::new(context::make(|t| {
            let Some(value) = t.operand(self.handle, at) else { return Handle::POISON };
            match t.grid_extent(value) {
                Some((_, Extent::Static(n))) => {
                    let value = t.value(Operand::Int(n as i128 - less), DType::I32, at);
                    value.map_or(Handle::POISON, |value| t.handle(value))
                }
                Some((axis, Extent::Dynamic { .. })) => {
                    let op = Op::Control(ControlOp::GridExtent { axis });
                    let extent = t.emit(op, &[], at);
                    let operands = [Operand::Handle(extent), Operand::Int(less)];
                    if less == 0 { extent } else { t.binary(Binary::Sub, operands, DType::I32, at) }
                }
                None => {
                    t.error_with_help(
                        Code::TRACE_GRID,
                        "only a grid index has a last step and an extent",
                        "compare a loop index with the bound of its loop",
                        at,
                    );
                    Handle::POISON
                }
            }
        }))
    }
}

impl Scalar<bool> {
    /// `a` if true, else `b`.
    #[track_caller]
    pub fn select<T: Element>(self, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<T> {
        let at = Location::caller();
        let (a, b) = (a.operand(), b.operand());
        Scalar::new(context::make(|t| t.select(Operand::Handle(self.handle), a, b, T::DTYPE, at)))
    }
}

/// A tile of this shape with one value everywhere.
#[track_caller]
pub fn full<T: Element>(shape: impl AsRef<[usize]>, value: impl IntoScalar<T>) -> Tile<T> {
    let at = Location::caller();
    let operand = value.operand();
    Tile::new(context::make(|t| t.splat(operand, T::DTYPE, shape.as_ref(), at)))
}

/// A tile of this shape with zero everywhere.
#[track_caller]
pub fn zeros<T: Element>(shape: impl AsRef<[usize]>) -> Tile<T> {
    let at = Location::caller();
    Tile::new(context::make(|t| {
        let zero = t.constant(Literal::from_f64(T::DTYPE, 0.0), at);
        let zero = t.handle(zero);
        t.splat(Operand::Handle(zero), T::DTYPE, shape.as_ref(), at)
    }))
}

/// A scalar of this value, where a plain number does not say its element type.
#[track_caller]
pub fn scalar<T: Element>(value: impl IntoScalar<T>) -> Scalar<T> {
    let at = Location::caller();
    let operand = value.operand();
    Scalar::new(context::make(|t| {
        let value = t.value(operand, T::DTYPE, at);
        value.map_or(Handle::POISON, |value| t.handle(value))
    }))
}

/// `a` where the condition is true, else `b`. A scalar condition chooses a whole tile.
#[track_caller]
pub fn select<T: Element>(
    condition: impl SelectCondition,
    a: impl IntoTile<T>,
    b: impl IntoTile<T>,
) -> Tile<T> {
    let at = Location::caller();
    let (a, b) = (a.operand(), b.operand());
    let condition = Operand::Handle(condition.condition());
    Tile::new(context::make(|t| t.select(condition, a, b, T::DTYPE, at)))
}

/// What [`select`] chooses by: a `Tile<bool>` or a `Scalar<bool>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition of `select`",
    note = "a condition is a `Tile<bool>` or a `Scalar<bool>`; for a host `bool` write `if`"
)]
pub trait SelectCondition: Copy {
    /// Its value.
    #[doc(hidden)]
    fn condition(self) -> Handle;
}

impl SelectCondition for Tile<bool> {
    fn condition(self) -> Handle {
        self.handle
    }
}

impl SelectCondition for Scalar<bool> {
    fn condition(self) -> Handle {
        self.handle
    }
}
