//! Element-wise ops: how operands are brought to one shape, folding of scalars, and the methods
//! of tiles and scalars, which expand from the table of ops.

use super::context::{self, At, Handle, Tracer};
use super::convert::{IntoScalar, IntoTile, Operand};
use super::handle::{Scalar, Tile};
use crate::diag::Code;
use crate::ir::ops::elementwise::elementwise_table;
use crate::ir::ops::{Binary, Compare, Elementwise, Literal, ShapeOp, Unary};
use crate::ir::{DType, Element, Float, Int, Num, Op, Shape, Value};
use smallvec::SmallVec;
use std::panic::Location;

mod sealed {
    pub trait Sealed {}
}

/// An element type with bitwise ops: an integer or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise ops",
    note = "bitwise ops take integers and `bool`; a comparison gives a `Tile<bool>`"
)]
pub trait Bits: Element + sealed::Sealed {}

macro_rules! bits {
    ($($ty:ty)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Bits for $ty {}
    )*};
}
bits!(bool i8 i16 i32 u8 u16 u32);

impl Tracer {
    /// An op of one operand.
    pub(crate) fn unary(&mut self, op: Unary, x: Handle, at: At) -> Handle {
        if let Some(value) = self.operand(x, at)
            && let Some(literal) = self.known(value)
            && op.accepts(literal.dtype())
        {
            let dtype = literal.dtype();
            let folded = match (literal.as_f32(), literal.as_int()) {
                (Some(x), _) => Some(Literal::float(dtype, op.eval_float(x))),
                (None, Some(x)) => Literal::folded_int(dtype, op.eval_int(x)),
                (None, None) => None,
            };
            if let Some(folded) = folded {
                let value = self.constant(folded, at);
                return self.handle(value);
            }
        }
        self.emit(Op::Elementwise(Elementwise::Unary(op)), &[x], at)
    }

    /// An op of two operands, brought to one shape.
    pub(crate) fn binary(
        &mut self,
        op: Binary,
        [lhs, rhs]: [Operand; 2],
        dtype: DType,
        at: At,
    ) -> Handle {
        if matches!(op, Binary::Div | Binary::Rem) && self.is_integer_zero(rhs, dtype) {
            self.error_with_help(
                Code::TRACE_NUMBER,
                format!("`{}` of `{dtype}` by 0", op.name()),
                "integers have no quotient by 0: take the divisor's `max(1)`, or leave the op out \
                 with `if comptime!(..)`",
                at,
            );
            return Handle::POISON;
        }
        if let Some(value) = self.fold_binary(op, [lhs, rhs], dtype, at) {
            return self.handle(value);
        }
        self.fitted(Op::Elementwise(Elementwise::Binary(op)), &[lhs, rhs], dtype, at)
    }

    /// Whether every element of an integer operand is known to be 0.
    fn is_integer_zero(&self, operand: Operand, dtype: DType) -> bool {
        let Operand::Handle(handle) = operand else {
            return dtype.is_int() && matches!(operand, Operand::Int(0));
        };
        let Some(ty) = self.ty(handle).filter(|ty| ty.dtype().is_int()) else { return false };
        let value = handle.value();
        let scalar = match self.builder.kernel().defining_op(value) {
            Some(op) if ty.is_tile() && matches!(op.op, Op::Shape(ShapeOp::Splat(_))) => {
                op.operands.first().copied().unwrap_or(value)
            }
            _ => value,
        };
        self.known(scalar).and_then(Literal::as_int) == Some(0)
    }

    /// A comparison of two operands, brought to one shape.
    pub(crate) fn compare(
        &mut self,
        op: Compare,
        [lhs, rhs]: [Operand; 2],
        dtype: DType,
        at: At,
    ) -> Handle {
        if let (Some(x), Some(y)) = self.literals([lhs, rhs], dtype, at) {
            let result = match (x.as_f32(), y.as_f32()) {
                (Some(x), Some(y)) => op.eval(x, y),
                _ => op.eval(x.as_int(), y.as_int()),
            };
            let value = self.constant(Literal::int(DType::Bool, i64::from(result)), at);
            return self.handle(value);
        }
        self.fitted(Op::Elementwise(Elementwise::Compare(op)), &[lhs, rhs], dtype, at)
    }

    /// `select`, with all three operands brought to one shape unless the condition is a scalar.
    pub(crate) fn select(
        &mut self,
        condition: Operand,
        a: Operand,
        b: Operand,
        dtype: DType,
        at: At,
    ) -> Handle {
        let condition = self.value(condition, DType::Bool, at);
        let (a, b) = (self.value(a, dtype, at), self.value(b, dtype, at));
        let (Some(condition), Some(a), Some(b)) = (condition, a, b) else {
            return Handle::POISON;
        };
        let scalar_condition = self.builder.kernel().ty(condition).is_scalar();
        let shape = match scalar_condition {
            true => self.common_shape(&[a, b]),
            false => self.common_shape(&[condition, a, b]),
        };
        let condition =
            if scalar_condition { Some(condition) } else { self.fit(condition, &shape, at) };
        let (a, b) = (self.fit(a, &shape, at), self.fit(b, &shape, at));
        let (Some(condition), Some(a), Some(b)) = (condition, a, b) else {
            return Handle::POISON;
        };
        match self.push(Op::Elementwise(Elementwise::Select), &[condition, a, b], at) {
            Some(value) => self.handle(value),
            None => Handle::POISON,
        }
    }

    /// A scalar repeated to a shape.
    pub(crate) fn splat(
        &mut self,
        operand: Operand,
        dtype: DType,
        shape: &[usize],
        at: At,
    ) -> Handle {
        let Some(value) = self.value(operand, dtype, at) else { return Handle::POISON };
        match self.push(Op::Shape(ShapeOp::Splat(Shape::from_slice(shape))), &[value], at) {
            Some(value) => self.handle(value),
            None => Handle::POISON,
        }
    }

    fn fitted(&mut self, op: Op, operands: &[Operand], dtype: DType, at: At) -> Handle {
        let mut values: SmallVec<[Value; 4]> = SmallVec::new();
        for &operand in operands {
            match self.value(operand, dtype, at) {
                Some(value) => values.push(value),
                None => return Handle::POISON,
            }
        }
        let shape = self.common_shape(&values);
        if !shape.is_empty() {
            for value in &mut values {
                match self.fit(*value, &shape, at) {
                    Some(fitted) => *value = fitted,
                    None => return Handle::POISON,
                }
            }
        }
        match self.push(op, &values, at) {
            Some(value) => self.handle(value),
            None => Handle::POISON,
        }
    }

    /// Both operands as constants, as far as they are known. Says nothing of those that are not.
    fn literals(
        &mut self,
        [lhs, rhs]: [Operand; 2],
        dtype: DType,
        at: At,
    ) -> (Option<Literal>, Option<Literal>) {
        // A number is looked at only if the other side is a known scalar: a tile keeps it anyway,
        // and its range is then checked there.
        let handle = |operand| match operand {
            Operand::Handle(handle) => Some(handle),
            Operand::Float(_) | Operand::Int(_) => None,
        };
        let is_scalar = |t: &Tracer, operand| {
            handle(operand).is_none_or(|h| t.ty(h).is_some_and(|ty| ty.is_scalar()))
        };
        if !is_scalar(self, lhs) || !is_scalar(self, rhs) {
            return (None, None);
        }
        (self.literal(lhs, dtype, at), self.literal(rhs, dtype, at))
    }

    fn fold_binary(
        &mut self,
        op: Binary,
        operands: [Operand; 2],
        dtype: DType,
        at: At,
    ) -> Option<Value> {
        let (x, y) = self.literals(operands, dtype, at);
        if let (Some(x), Some(y)) = (x, y) {
            if !op.accepts(dtype) {
                return None;
            }
            let folded = match (x.as_f32(), y.as_f32()) {
                (Some(x), Some(y)) => Literal::float(dtype, op.eval_float(x, y)),
                _ => Literal::folded_int(dtype, op.eval_int(x.as_int()?, y.as_int()?))?,
            };
            return Some(self.constant(folded, at));
        }
        // Identities hold for integers alone: `x + 0.0` changes the sign of -0.
        let (x, y) = (x.and_then(Literal::as_int), y.and_then(Literal::as_int));
        let kept = match (op, x, y) {
            (Binary::Add, Some(0), _) | (Binary::Mul, Some(1), _) => operands[1],
            (Binary::Add | Binary::Sub, _, Some(0)) | (Binary::Mul | Binary::Div, _, Some(1)) => {
                operands[0]
            }
            (Binary::Mul, Some(0), _) | (Binary::Mul, _, Some(0)) => {
                return Some(self.constant(Literal::int(dtype, 0), at));
            }
            _ => return None,
        };
        self.value(kept, dtype, at)
    }
}

pub(crate) fn unary_handle(op: Unary, x: Handle, at: At) -> Handle {
    context::make(|t| t.unary(op, x, at))
}

pub(crate) fn binary_handle(op: Binary, operands: [Operand; 2], dtype: DType, at: At) -> Handle {
    context::make(|t| t.binary(op, operands, dtype, at))
}

pub(crate) fn compare_handle(op: Compare, operands: [Operand; 2], dtype: DType, at: At) -> Handle {
    context::make(|t| t.compare(op, operands, dtype, at))
}

/// Methods of one row of the table for the element types that the row takes.
macro_rules! methods {
    (@class [$f:ident] [] [] $($rest:tt)*) => { methods!(@impl Float $($rest)*); };
    (@class [$f:ident] [$i:ident] [] $($rest:tt)*) => { methods!(@impl Num $($rest)*); };
    (@class [] [$i:ident] [] $($rest:tt)*) => { methods!(@impl Int $($rest)*); };
    (@class [] [$i:ident] [$b:literal] $($rest:tt)*) => { methods!(@impl Bits $($rest)*); };
    (@impl $class:ident unary [$($doc:tt)*] $var:ident $name:ident) => {
        methods!(@unary Tile $class [$($doc)*] $var $name);
        methods!(@unary Scalar $class [$($doc)*] $var $name);
    };
    (@impl $class:ident binary [$($doc:tt)*] $var:ident $name:ident) => {
        methods!(@binary Tile IntoTile $class [$($doc)*] $var $name);
        methods!(@binary Scalar IntoScalar $class [$($doc)*] $var $name);
    };
    (@unary $handle:ident $class:ident [$($doc:tt)*] $var:ident $name:ident) => {
        impl<T: $class> $handle<T> {
            $($doc)*
            #[allow(clippy::should_implement_trait, reason = "the operator is there as well")]
            #[track_caller]
            pub fn $name(self) -> $handle<T> {
                $handle::new(unary_handle(Unary::$var, self.handle, Location::caller()))
            }
        }
    };
    (@binary $handle:ident $into:ident $class:ident [$($doc:tt)*] $var:ident $name:ident) => {
        impl<T: $class> $handle<T> {
            $($doc)*
            #[allow(clippy::should_implement_trait, reason = "the operator is there as well")]
            #[track_caller]
            pub fn $name(self, other: impl $into<T>) -> $handle<T> {
                let operands = [$into::<T>::operand(self), other.operand()];
                $handle::new(binary_handle(Binary::$var, operands, T::DTYPE, Location::caller()))
            }
        }
    };
    (@compare $handle:ident $into:ident [$($doc:tt)*] $var:ident $name:ident) => {
        impl<T: Element> $handle<T> {
            $($doc)*
            #[allow(clippy::should_implement_trait, reason = "the trait gives a host `bool`")]
            #[track_caller]
            pub fn $name(self, other: impl $into<T>) -> $handle<bool> {
                let operands = [$into::<T>::operand(self), other.operand()];
                $handle::new(compare_handle(Compare::$var, operands, T::DTYPE, Location::caller()))
            }
        }
    };
}

/// Expands the methods from the table of element-wise ops.
macro_rules! all_methods {
    (
        unary { $(
            $(#[$udoc:meta])* $uvar:ident $uname:ident
            { $(float: |$ufx:ident| $uf:expr,)? $(int: |$uix:ident| $ui:expr,)? $(bool: $ubool:literal,)? }
            $udom:expr, ulp $uulp:literal;
        )* }
        binary { $(
            $(#[$bdoc:meta])* $bvar:ident $bname:ident
            { $(float: |$bfx:ident, $bfy:ident| $bf:expr,)? $(int: |$bix:ident, $biy:ident| $bi:expr,)? $(bool: $bbool:literal,)? }
            $bdom:expr, ulp $bulp:literal;
        )* }
        compare { $(
            $(#[$cdoc:meta])* $cvar:ident $cname:ident |$cx:ident, $cy:ident| $c:expr;
        )* }
    ) => {
        $(methods!(
            @class [$($ufx)?] [$($uix)?] [$($ubool)?] unary [$(#[$udoc])*] $uvar $uname
        );)*
        $(methods!(
            @class [$($bfx)?] [$($bix)?] [$($bbool)?] binary [$(#[$bdoc])*] $bvar $bname
        );)*
        $(
            methods!(@compare Tile IntoTile [$(#[$cdoc])*] $cvar $cname);
            methods!(@compare Scalar IntoScalar [$(#[$cdoc])*] $cvar $cname);
        )*
    };
}
elementwise_table!(all_methods);
