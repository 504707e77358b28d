//! The block of an array that a step of a pipeline works on.

use crate::ir::ops::Binary;
use crate::ir::{Element, Int, Num, Shape};
use crate::trace::arith::Bits;
use crate::trace::context::{self, Handle};
use crate::trace::convert::IntoTile;
use crate::trace::handle::Tile;
use crate::trace::index::RefIndex;
use crate::trace::place::{Near, ReadOnly};
use crate::trace::refs::{Memory, Writable, load, store, update};
use std::marker::PhantomData;
use std::panic::Location;

/// The block of an array that a step of a [`pipeline`](super::pipeline) works on: read as
/// `x[..]`, and, if `M` is [`Near`], written as `y[..] = ..`. Until it is written, the block of an
/// output is undefined.
pub struct Block<T, M> {
    ring: Handle,
    slot: Handle,
    kind: PhantomData<fn() -> (T, M)>,
}

impl<T, M> Clone for Block<T, M> {
    fn clone(&self) -> Block<T, M> {
        *self
    }
}

impl<T, M> Copy for Block<T, M> {}

impl<T, M> std::fmt::Debug for Block<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block")
    }
}

impl<T> Writable for Block<T, Near> {}

impl<T, M> Block<T, M> {
    pub(super) fn new(ring: Handle, slot: Handle) -> Block<T, M> {
        Block { ring, slot, kind: PhantomData }
    }

    fn memory(self) -> Memory {
        Memory { reference: self.ring, slot: Some(self.slot) }
    }

    /// The sizes, outermost first.
    pub fn shape(self) -> Shape {
        let shape = context::with(|t| t.shape(self.ring)).unwrap_or_default();
        shape.iter().skip(1).copied().collect()
    }
}

impl<T: Element, M> Block<T, M> {
    /// Reads a part. Where the mask is false, the element is undefined and memory is not touched.
    #[track_caller]
    pub fn load_masked(self, index: impl RefIndex, mask: Tile<bool>) -> Tile<T> {
        Tile::new(load(self.memory(), &index, Some(mask), Location::caller()))
    }

    /// Writes a part. Where the mask is false, memory stays as it is.
    #[track_caller]
    pub fn store_masked(self, index: impl RefIndex, value: impl IntoTile<T>, mask: Tile<bool>)
    where
        Self: Writable,
    {
        let at = Location::caller();
        store(self.memory(), &index, value.operand(), Some(mask), T::DTYPE, at);
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn __dsl_store<I: RefIndex, V: IntoTile<T>>(&self, index: I, value: V)
    where
        Self: Writable,
    {
        let at = Location::caller();
        store(self.memory(), &index, value.operand(), None, T::DTYPE, at);
    }
}

macro_rules! updates {
    ($($class:ident [$($method:ident $op:ident,)*])*) => {$(
        impl<T: $class, M> Block<T, M> {$(
            #[doc(hidden)]
            #[track_caller]
            pub fn $method<I: RefIndex, V: IntoTile<T>>(&self, index: I, value: V)
            where
                Self: Writable,
            {
                let at = Location::caller();
                update(self.memory(), &index, value.operand(), Binary::$op, T::DTYPE, at);
            }
        )*}
    )*};
}
updates! {
    Num [
        __dsl_add_assign Add, __dsl_sub_assign Sub, __dsl_mul_assign Mul, __dsl_div_assign Div,
        __dsl_rem_assign Rem,
    ]
    Int [__dsl_shl_assign Shl, __dsl_shr_assign Shr,]
    Bits [__dsl_bitand_assign And, __dsl_bitor_assign Or, __dsl_bitxor_assign Xor,]
}

impl<T: Element, M, I: RefIndex> std::ops::Index<I> for Block<T, M> {
    type Output = Tile<T>;

    #[track_caller]
    fn index(&self, index: I) -> &Tile<T> {
        let handle = load(self.memory(), &index, None, Location::caller());
        // As for other references: `Index` must give a place.
        Box::leak(Box::new(Tile::new(handle)))
    }
}

/// What the body of a pipeline may do with a block.
#[doc(hidden)]
pub trait Access {
    /// [`ReadOnly`] or [`Near`].
    type Kind;
}

impl Access for super::Fetched {
    type Kind = ReadOnly;
}

impl Access for super::Sent {
    type Kind = Near;
}

impl Access for super::Updated {
    type Kind = Near;
}
