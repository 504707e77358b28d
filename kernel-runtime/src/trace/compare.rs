//! `==`, `<` and their kin, which the macro rewrites to these functions.
//!
//! One function serves host values, scalars and tiles. The marker parameter of the traits keeps
//! the impls apart, and leaves one candidate, so that the type of the result is known at once.

use super::arith::compare_handle;
use super::convert::{IntoScalar, IntoTile};
use super::handle::{Scalar, Tile};
use crate::ir::ops::Compare;
use crate::ir::{Element, Float, Int};
use std::panic::Location;

/// Marks comparisons of host values.
#[derive(Debug)]
pub struct HostSide;
/// Marks comparisons with a scalar on the left.
#[derive(Debug)]
pub struct ScalarSide;
/// Marks comparisons with a tile on the left.
#[derive(Debug)]
pub struct TileSide;
/// Marks comparisons with a number on the left and a scalar or tile on the right.
#[derive(Debug)]
pub struct Reversed;

macro_rules! comparisons {
    ($trait:ident $host:ident [$($name:ident $op:ident $token:tt,)*]) => {
        #[doc = concat!("Operands that `", stringify!($trait), "` compares.")]
        #[diagnostic::on_unimplemented(
            message = "`{Self}` cannot be compared with `{B}`",
            note = "element types never convert silently: use `.cast::<T>()`"
        )]
        pub trait $trait<B: ?Sized, M> {
            /// `bool`, `Scalar<bool>` or `Tile<bool>`.
            type Output;
            $(
                #[doc = concat!("`", stringify!($token), "`.")]
                fn $name(&self, other: &B) -> Self::Output;
            )*
        }

        impl<A: ?Sized + $host<B>, B: ?Sized> $trait<B, HostSide> for A {
            type Output = bool;
            $(fn $name(&self, other: &B) -> bool {
                self $token other
            })*
        }

        impl<T: Element, B: IntoScalar<T>> $trait<B, ScalarSide> for Scalar<T> {
            type Output = Scalar<bool>;
            $(#[track_caller]
            fn $name(&self, other: &B) -> Scalar<bool> {
                let operands = [IntoScalar::<T>::operand(*self), other.operand()];
                Scalar::new(compare_handle(Compare::$op, operands, T::DTYPE, Location::caller()))
            })*
        }

        impl<T: Element, B: IntoTile<T>> $trait<B, TileSide> for Tile<T> {
            type Output = Tile<bool>;
            $(#[track_caller]
            fn $name(&self, other: &B) -> Tile<bool> {
                let operands = [IntoTile::<T>::operand(*self), other.operand()];
                Tile::new(compare_handle(Compare::$op, operands, T::DTYPE, Location::caller()))
            })*
        }

        comparisons!(@reversed $trait Scalar IntoScalar [T: Int] usize, T [$($name $op,)*]);
        comparisons!(@reversed $trait Tile IntoTile [T: Int] usize, T [$($name $op,)*]);
        comparisons!(@reversed $trait Scalar IntoScalar [T: Float] f32, T [$($name $op,)*]);
        comparisons!(@reversed $trait Tile IntoTile [T: Float] f32, T [$($name $op,)*]);
    };
    (@reversed $trait:ident $handle:ident $into:ident [$($generics:tt)*] $number:ty, $element:ty
        [$($name:ident $op:ident,)*]) => {
        impl<$($generics)*> $trait<$handle<$element>, Reversed> for $number {
            type Output = $handle<bool>;
            $(#[track_caller]
            fn $name(&self, other: &$handle<$element>) -> $handle<bool> {
                let operands = [
                    $into::<$element>::operand(*self),
                    $into::<$element>::operand(*other),
                ];
                let dtype = <$element as Element>::DTYPE;
                $handle::new(compare_handle(Compare::$op, operands, dtype, Location::caller()))
            })*
        }
    };
}

comparisons!(CompareEq PartialEq [eq Eq ==, ne Ne !=,]);
comparisons!(CompareOrd PartialOrd [lt Lt <, le Le <=, gt Gt >, ge Ge >=,]);

macro_rules! functions {
    ($($trait:ident $name:ident $token:tt)*) => {$(
        #[doc = concat!("`a ", stringify!($token), " b`.")]
        #[track_caller]
        pub fn $name<A: ?Sized + $trait<B, M>, B: ?Sized, M>(a: &A, b: &B) -> A::Output {
            <A as $trait<B, M>>::$name(a, b)
        }
    )*};
}
functions! {
    CompareEq eq ==
    CompareEq ne !=
    CompareOrd lt <
    CompareOrd le <=
    CompareOrd gt >
    CompareOrd ge >=
}
