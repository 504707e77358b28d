//! Ops that rearrange, reduce and multiply tiles.

use super::context::{self, At, Handle, Tracer};
use super::convert::{IntoScalar, Operand};
use super::handle::{Scalar, Tile};
use super::index::{Part, RefIndex};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::ops::{DotOp, ReduceKind, ReduceOp, RollStride, ShapeOp};
use crate::ir::{DType, Element, Factor, Num, Op, Shape, Type, Value};
use smallvec::SmallVec;
use std::panic::Location;

/// The index along `axis` at each place of a tile of this shape.
#[track_caller]
pub fn iota(shape: impl AsRef<[usize]>, axis: usize) -> Tile<i32> {
    let shape = Shape::from_slice(shape.as_ref());
    let op = ShapeOp::Iota { dtype: DType::I32, shape, axis };
    emit(Op::Shape(op), &[], Location::caller())
}

/// The tiles one after the other along an axis.
#[track_caller]
pub fn concat<T: Element>(tiles: &[Tile<T>], axis: usize) -> Tile<T> {
    let handles: SmallVec<[Handle; 8]> = tiles.iter().map(|tile| tile.handle).collect();
    emit(Op::Shape(ShapeOp::Concat { axis }), &handles, Location::caller())
}

/// The matrix product `[m, k] x [k, n] -> [m, n]`: in `f32` for floats, in `i32` for integers.
#[track_caller]
pub fn dot<T: Factor>(a: Tile<T>, b: Tile<T>) -> Tile<T::Acc> {
    emit(Op::Dot(DotOp::default()), &[a.handle, b.handle], Location::caller())
}

/// The matrix product with the second operand transposed: `[m, k] x [n, k] -> [m, n]`.
#[track_caller]
pub fn dot_t<T: Factor>(a: Tile<T>, b: Tile<T>) -> Tile<T::Acc> {
    let op = DotOp { transpose_rhs: true, ..DotOp::default() };
    emit(Op::Dot(op), &[a.handle, b.handle], Location::caller())
}

/// The matrix product with either operand transposed, at a precision of choice:
/// `dot_with(a, b, DotOp { precision: Precision::Highest, ..DotOp::default() })`.
#[track_caller]
pub fn dot_with<T: Factor>(a: Tile<T>, b: Tile<T>, op: DotOp) -> Tile<T::Acc> {
    emit(Op::Dot(op), &[a.handle, b.handle], Location::caller())
}

/// The matrix product of two element types: both floats, or both integers. It accumulates as the first
/// one does.
#[track_caller]
pub fn dot_mixed<T: Factor, U: Factor>(a: Tile<T>, b: Tile<U>, op: DotOp) -> Tile<T::Acc> {
    emit(Op::Dot(op), &[a.handle, b.handle], Location::caller())
}

pub(super) fn emit<T>(op: Op, operands: &[Handle], at: At) -> Tile<T> {
    Tile::new(context::make(|t| t.emit(op, operands, at)))
}

impl<T: Element> Tile<T> {
    /// The matrix transposed: its last two axes change places.
    #[track_caller]
    pub fn transpose(self) -> Tile<T> {
        let rank = context::with(|t| t.shape(self.handle).len()).unwrap_or_default();
        let mut order: SmallVec<[usize; 4]> = (0..rank).collect();
        if rank >= 2 {
            order.swap(rank - 1, rank - 2);
        }
        self.permute_at(&order, Location::caller())
    }

    /// The axes in another order: axis `i` of the result is axis `order[i]` of the tile.
    #[track_caller]
    pub fn permute(self, order: impl AsRef<[usize]>) -> Tile<T> {
        self.permute_at(order.as_ref(), Location::caller())
    }

    fn permute_at(self, order: &[usize], at: At) -> Tile<T> {
        let op = ShapeOp::Transpose(SmallVec::from_slice(order));
        emit(Op::Shape(op), &[self.handle], at)
    }

    /// The same elements in row-major order under another shape.
    #[track_caller]
    pub fn reshape(self, shape: impl AsRef<[usize]>) -> Tile<T> {
        let op = ShapeOp::Reshape(Shape::from_slice(shape.as_ref()));
        emit(Op::Shape(op), &[self.handle], Location::caller())
    }

    /// Axes of size 1 repeated to this shape.
    #[track_caller]
    pub fn broadcast_to(self, shape: impl AsRef<[usize]>) -> Tile<T> {
        let shape = Shape::from_slice(shape.as_ref());
        if context::with(|t| t.shape(self.handle) == shape) == Some(true) {
            return self;
        }
        emit(Op::Shape(ShapeOp::Broadcast(shape)), &[self.handle], Location::caller())
    }

    /// As [`Tile::broadcast_to`], for what a library is given by a function of its user's: `whose`
    /// names it, as in "the mask function", where its shape cannot be repeated to this one.
    #[track_caller]
    pub fn fit(self, shape: impl AsRef<[usize]>, whose: &str) -> Tile<T> {
        let (at, shape) = (Location::caller(), shape.as_ref());
        Tile::new(context::make(|t| {
            let Some(value) = t.operand(self.handle, at) else { return Handle::POISON };
            let found = t.shape(self.handle);
            let repeats = found.len() == shape.len()
                && found.iter().zip(shape).all(|(&from, &to)| from == to || from == 1);
            if !repeats {
                t.misfit(value, shape, whose, at);
                return Handle::POISON;
            }
            t.fit(value, shape, at).map_or(Handle::POISON, |value| t.handle(value))
        }))
    }

    /// Rotates along an axis: element `i` lands at `(i + shift) mod size`.
    #[track_caller]
    pub fn roll(self, shift: impl IntoScalar<i32>, axis: usize) -> Tile<T> {
        self.roll_at(shift.operand(), axis, None, Location::caller())
    }

    /// Rotates along an axis, each row along another axis by `stride` more than the one before.
    #[track_caller]
    pub fn roll_strided(
        self,
        shift: impl IntoScalar<i32>,
        axis: usize,
        stride: usize,
        stride_axis: usize,
    ) -> Tile<T> {
        let stride = RollStride { by: stride, axis: stride_axis };
        self.roll_at(shift.operand(), axis, Some(stride), Location::caller())
    }

    fn roll_at(self, shift: Operand, axis: usize, stride: Option<RollStride>, at: At) -> Tile<T> {
        Tile::new(context::make(|t| {
            let (Some(tile), Some(shift)) =
                (t.operand(self.handle, at), t.value(shift, DType::I32, at))
            else {
                return Handle::POISON;
            };
            match t.push(Op::Shape(ShapeOp::Roll { axis, stride }), &[tile, shift], at) {
                Some(value) => t.handle(value),
                None => Handle::POISON,
            }
        }))
    }

    /// The elements that indices choose along an axis: for `axis` 1, element `[i, j]` is
    /// `self[i, indices[i, j]]`. What an index outside of the axis gives is undefined.
    #[track_caller]
    pub fn take_along_axis(self, indices: Tile<i32>, axis: usize) -> Tile<T> {
        let op = Op::Shape(ShapeOp::TakeAlongAxis { axis });
        emit(op, &[self.handle, indices.handle], Location::caller())
    }

    /// The only element of a tile that has one.
    #[track_caller]
    pub fn item(self) -> Scalar<T> {
        let at = Location::caller();
        Scalar::new(context::make(|t| t.emit(Op::Shape(ShapeOp::Extract), &[self.handle], at)))
    }

    /// A part with bounds known while tracing: `x.slice((0..8, ..))`. A single index drops its
    /// axis.
    #[track_caller]
    pub fn slice(self, index: impl RefIndex) -> Tile<T> {
        let at = Location::caller();
        let parts = index.parts();
        if self.handle.is_poison() {
            return self;
        }
        let from = context::with(|t| t.shape(self.handle)).unwrap_or_default();
        let sliced = Tile::new(context::make(|t| {
            let Some(dims) = t.resolve(&parts, &from, at) else { return Handle::POISON };
            let mut op = (Shape::new(), Shape::new(), Shape::new());
            for dim in &dims {
                let Part::Static { start, size, stride, .. } = dim.part else {
                    t.error_with_help(
                        Code::IR_INDEX,
                        "a tile is sliced with bounds known while tracing",
                        "take the part from the reference, `x[(ds(start, n), ..)]`, or `roll` the tile",
                        at,
                    );
                    return Handle::POISON;
                };
                op.0.push(start);
                op.1.push(size);
                op.2.push(stride);
            }
            let op = ShapeOp::Slice { starts: op.0, sizes: op.1, strides: op.2 };
            t.emit(Op::Shape(op), &[self.handle], at)
        }));
        let kept = context::with(|t| {
            t.resolve(&parts, &from, at).map(|dims| {
                let kept = dims.iter().filter(|dim| dim.keep);
                kept.map(|dim| dim.size()).collect::<Shape>()
            })
        });
        match kept.flatten() {
            Some(kept) if kept.len() != from.len() => {
                emit(Op::Shape(ShapeOp::Reshape(kept)), &[sliced.handle], at)
            }
            _ => sliced,
        }
    }
}

impl Tracer {
    /// Reports a tile of a user's function that does not have the shape asked for.
    fn misfit(&mut self, value: Value, shape: &[usize], whose: &str, at: At) {
        let ty = self.builder.kernel().ty(value).clone();
        let wanted = Type::tile(ty.dtype(), shape);
        let made = self.span_of(value);
        let diagnostic = Diagnostic::error(
            Code::IR_SHAPE,
            format!("{whose} gives `{ty}`, but `{wanted}` is needed"),
        )
        .at_opt(made, format!("made `{ty}` here"))
        .at(Span::from_location(at), "needed here")
        .help("give that shape, or one with axes of size 1 in place of some of its axes");
        self.report(diagnostic);
    }
}

macro_rules! reductions {
    ($($kind:ident $result:ty, $by_axis:ident $by_row:ident $what:literal;)*) => {
        impl<T: Num> Tile<T> {$(
            #[doc = concat!($what, " along an axis, which stays with size 1.")]
            #[track_caller]
            pub fn $by_axis(self, axis: usize) -> Tile<$result> {
                let op = ReduceOp { kind: ReduceKind::$kind, axis };
                emit(Op::Reduce(op), &[self.handle], Location::caller())
            }

            #[doc = concat!($what, " of each row: along the last axis, which stays with size 1.")]
            #[track_caller]
            pub fn $by_row(self) -> Tile<$result> {
                let rank = context::with(|t| t.shape(self.handle).len()).unwrap_or_default();
                let op = ReduceOp { kind: ReduceKind::$kind, axis: rank.saturating_sub(1) };
                emit(Op::Reduce(op), &[self.handle], Location::caller())
            }
        )*}
    };
}
reductions! {
    Sum T, reduce_sum row_sum "The sum";
    Max T, reduce_max row_max "The largest element, NaN if any is NaN,";
    Min T, reduce_min row_min "The smallest element, NaN if any is NaN,";
    ArgMax i32, reduce_argmax row_argmax "The index of the first largest element";
    ArgMin i32, reduce_argmin row_argmin "The index of the first smallest element";
}

macro_rules! whole_reductions {
    ($($kind:ident $name:ident $what:literal;)*) => {
        impl<T: Num> Tile<T> {$(
            #[doc = concat!($what, " of the whole tile.")]
            #[track_caller]
            pub fn $name(self) -> Scalar<T> {
                let at = Location::caller();
                let rank = context::with(|t| t.shape(self.handle).len()).unwrap_or_default();
                let reduced = (0..rank).rev().fold(self.handle, |handle, axis| {
                    let op = ReduceOp { kind: ReduceKind::$kind, axis };
                    context::make(|t| t.emit(Op::Reduce(op), &[handle], at))
                });
                let op = Op::Shape(ShapeOp::Extract);
                Scalar::new(context::make(|t| t.emit(op, &[reduced], at)))
            }
        )*}
    };
}
whole_reductions! {
    Sum sum_all "The sum";
    Max max_all "The largest element, NaN if any is NaN,";
    Min min_all "The smallest element, NaN if any is NaN,";
}

impl Tile<bool> {
    /// Whether any element is true.
    #[track_caller]
    pub fn any(self) -> Scalar<bool> {
        self.cast::<i32>().max_all().ne(0)
    }

    /// Whether all elements are true.
    #[track_caller]
    pub fn all(self) -> Scalar<bool> {
        self.cast::<i32>().min_all().ne(0)
    }
}
