//! The operators of Rust on tiles and scalars.
//!
//! A number may stand on either side. On the left of an integer it must be a `usize`, so that the
//! type of a literal is known at once and `(2 * i + 1).min(7)` needs no annotation.

use super::arith::{Bits, binary_handle, unary_handle};
use super::convert::{IntoScalar, IntoTile, ScalarLike};
use super::handle::{Scalar, Tile};
use crate::ir::ops::{Binary, Unary};
use crate::ir::{Element, Float, Int, Num};
use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign,
    Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};
use std::panic::Location;

macro_rules! operator {
    ($class:ident $op:ident: $trait:ident $method:ident, $assign:ident $assign_method:ident) => {
        impl<T: $class, B: IntoTile<T>> $trait<B> for Tile<T> {
            type Output = Tile<T>;
            #[track_caller]
            fn $method(self, rhs: B) -> Tile<T> {
                let operands = [IntoTile::<T>::operand(self), rhs.operand()];
                Tile::new(binary_handle(Binary::$op, operands, T::DTYPE, Location::caller()))
            }
        }

        impl<T: $class, B: IntoTile<T>> $assign<B> for Tile<T> {
            #[track_caller]
            fn $assign_method(&mut self, rhs: B) {
                let operands = [IntoTile::<T>::operand(*self), rhs.operand()];
                let at = Location::caller();
                *self = Tile::new(binary_handle(Binary::$op, operands, T::DTYPE, at));
            }
        }

        impl<T: $class, B: ScalarLike + IntoScalar<T>> $trait<B> for Scalar<T> {
            type Output = Scalar<T>;
            #[track_caller]
            fn $method(self, rhs: B) -> Scalar<T> {
                let operands = [IntoScalar::<T>::operand(self), rhs.operand()];
                Scalar::new(binary_handle(Binary::$op, operands, T::DTYPE, Location::caller()))
            }
        }

        impl<T: $class, B: ScalarLike + IntoScalar<T>> $assign<B> for Scalar<T> {
            #[track_caller]
            fn $assign_method(&mut self, rhs: B) {
                let operands = [IntoScalar::<T>::operand(*self), rhs.operand()];
                let at = Location::caller();
                *self = Scalar::new(binary_handle(Binary::$op, operands, T::DTYPE, at));
            }
        }

        impl<T: $class> $trait<Tile<T>> for Scalar<T> {
            type Output = Tile<T>;
            #[track_caller]
            fn $method(self, rhs: Tile<T>) -> Tile<T> {
                let operands = [IntoTile::<T>::operand(self), IntoTile::<T>::operand(rhs)];
                Tile::new(binary_handle(Binary::$op, operands, T::DTYPE, Location::caller()))
            }
        }
    };
}

operator!(Num Add: Add add, AddAssign add_assign);
operator!(Num Sub: Sub sub, SubAssign sub_assign);
operator!(Num Mul: Mul mul, MulAssign mul_assign);
operator!(Num Div: Div div, DivAssign div_assign);
operator!(Num Rem: Rem rem, RemAssign rem_assign);
operator!(Bits And: BitAnd bitand, BitAndAssign bitand_assign);
operator!(Bits Or: BitOr bitor, BitOrAssign bitor_assign);
operator!(Bits Xor: BitXor bitxor, BitXorAssign bitxor_assign);
operator!(Int Shl: Shl shl, ShlAssign shl_assign);
operator!(Int Shr: Shr shr, ShrAssign shr_assign);

macro_rules! number_on_the_left {
    ($generics:tt $number:ty, $element:ty: $($trait:ident $method:ident $op:ident,)*) => {$(
        number_on_the_left!(@impl Tile IntoTile $generics $number, $element, $trait $method $op);
        number_on_the_left!(@impl Scalar IntoScalar $generics $number, $element, $trait $method $op);
    )*};
    (@impl $handle:ident $into:ident [$($generics:tt)*] $number:ty, $element:ty,
        $trait:ident $method:ident $op:ident) => {
        impl<$($generics)*> $trait<$handle<$element>> for $number {
            type Output = $handle<$element>;
            #[track_caller]
            fn $method(self, rhs: $handle<$element>) -> $handle<$element> {
                let operands =
                    [$into::<$element>::operand(self), $into::<$element>::operand(rhs)];
                let dtype = <$element as Element>::DTYPE;
                $handle::new(binary_handle(Binary::$op, operands, dtype, Location::caller()))
            }
        }
    };
}

number_on_the_left!([T: Float] f32, T: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem,);
number_on_the_left!([T: Int] usize, T: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem,);
number_on_the_left!([] bool, bool: BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor,);

macro_rules! prefix {
    ($handle:ident $class:ident $trait:ident $method:ident $op:ident) => {
        impl<T: $class> $trait for $handle<T> {
            type Output = $handle<T>;
            #[track_caller]
            fn $method(self) -> $handle<T> {
                $handle::new(unary_handle(Unary::$op, self.handle, Location::caller()))
            }
        }
    };
}
prefix!(Tile Num Neg neg Neg);
prefix!(Scalar Num Neg neg Neg);
prefix!(Tile Bits Not not Not);
prefix!(Scalar Bits Not not Not);
