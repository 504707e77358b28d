//! References to memory: the parameters and scratch of a kernel.
//!
//! Reads are `std::ops::Index`, so they work in any function; a store `x[i] = v` is rewritten by
//! the macro to the hooks at the end of this file.

use super::context::{self, At, Handle, Tracer};
use super::convert::{IntoScalar, IntoTile, Operand};
use super::handle::{Scalar, Tile};
use super::index::{Parts, RefIndex, Taken, ds};
use super::place::{Far, ReadOnly, View};
use crate::ir::ops::{Binary, MemoryOp};
use crate::ir::{DType, Element, Int, Num, Op, Shape, Value};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::ops::IndexMut;
use std::panic::Location;

/// References that can be stored to.
#[diagnostic::on_unimplemented(
    message = "cannot store into `{Self}`: input blocks are read-only",
    note = "declare the parameter as `Out<T>`, `InOut<T>` (in scalar memory `SmemOut<T>`, `SmemInOut<T>`), or as scratch, `Vmem<T>`"
)]
pub trait Writable {}

/// The type of a reference, of which there may be copies: its handle says what it refers to.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            handle: Handle,
            element: PhantomData<fn() -> T>,
        }

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

        impl<T: Element> $name<T> {
            pub(crate) fn new(handle: Handle) -> $name<T> {
                $name { handle, element: PhantomData }
            }

            pub(super) fn handle(self) -> Handle {
                self.handle
            }
        }
    };
}

macro_rules! reference {
    ($(#[$doc:meta])* $name:ident, $element:ident, $into:ident) => {
        handle!($(#[$doc])* $name);

        impl<T: Element> $name<T> {
            /// The sizes of what the kernel sees of it, outermost first.
            pub fn shape(self) -> Shape {
                context::with(|t| t.shape(self.handle)).unwrap_or_default()
            }

            #[doc(hidden)]
            #[track_caller]
            pub fn __dsl_store<I: RefIndex, V: $into<T>>(&self, index: I, value: V)
            where
                Self: Writable,
            {
                let at = Location::caller();
                store(self.memory(), &index, value.operand(), None, T::DTYPE, at);
            }

            pub(super) fn memory(self) -> Memory {
                Memory { reference: self.handle, slot: None }
            }
        }

        impl<T: Element, I: RefIndex> std::ops::Index<I> for $name<T> {
            type Output = $element<T>;

            #[track_caller]
            fn index(&self, index: I) -> &$element<T> {
                let handle = load(self.memory(), &index, None, Location::caller());
                // `Index` must give a place. A handle is 8 bytes and lives on: the price of
                // reads that need no macro.
                Box::leak(Box::new($element::new(handle)))
            }
        }

        reference!(@update $name $into Num [
            __dsl_add_assign Add, __dsl_sub_assign Sub, __dsl_mul_assign Mul, __dsl_div_assign Div,
            __dsl_rem_assign Rem,
        ]);
        reference!(@update $name $into Int [__dsl_shl_assign Shl, __dsl_shr_assign Shr,]);
        reference!(@update $name $into Bits [
            __dsl_bitand_assign And, __dsl_bitor_assign Or, __dsl_bitxor_assign Xor,
        ]);
    };
    (@update $name:ident $into:ident $class:ident [$($method:ident $op:ident,)*]) => {
        impl<T: $class> $name<T> {$(
            #[doc(hidden)]
            #[track_caller]
            pub fn $method<I: RefIndex, V: $into<T>>(&self, index: I, value: V)
            where
                Self: Writable,
            {
                let at = Location::caller();
                update(self.memory(), &index, value.operand(), Binary::$op, T::DTYPE, at);
            }
        )*}
    };
}
use super::arith::Bits;

reference! {
    /// The block of an input: read only.
    In, Tile, IntoTile
}
reference! {
    /// The block of an output. Its contents are undefined before the first store.
    Out, Tile, IntoTile
}
reference! {
    /// The block of an array that is updated in place.
    InOut, Tile, IntoTile
}
reference! {
    /// Scratch in vector memory, which keeps its contents from step to step.
    Vmem, Tile, IntoTile
}
reference! {
    /// Scalar memory: `table[i]` is a scalar.
    Smem, Scalar, IntoScalar
}

reference! {
    /// The block of an input in scalar memory, of 32-bit elements: `x[i]` is a scalar. Read only.
    SmemIn, Scalar, IntoScalar
}
reference! {
    /// The block of an output in scalar memory, of 32-bit elements: `y[i] = s` writes a scalar. Its
    /// contents are undefined before the first store.
    SmemOut, Scalar, IntoScalar
}
reference! {
    /// The block in scalar memory of an array that is updated in place, of 32-bit elements.
    SmemInOut, Scalar, IntoScalar
}

impl<T> Writable for Out<T> {}
impl<T> Writable for InOut<T> {}
impl<T> Writable for Vmem<T> {}
impl<T> Writable for Smem<T> {}
impl<T> Writable for SmemOut<T> {}
impl<T> Writable for SmemInOut<T> {}

macro_rules! far {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        handle!($(#[$doc])* $name);

        impl<T: Element> $name<T> {
            /// The sizes of the array, outermost first.
            pub fn shape(self) -> Shape {
                context::with(|t| t.shape(self.handle)).unwrap_or_default()
            }

            /// `n` rows from `start`, with all that the other axes have, for a copy.
            #[track_caller]
            pub fn rows(self, start: impl IntoScalar<i32>, n: usize) -> View<T, $kind> {
                View::new(self.handle, &ds(start, n), Location::caller())
            }

            /// The whole array, for a copy.
            #[track_caller]
            pub fn whole(self) -> View<T, $kind> {
                View::new(self.handle, &(..), Location::caller())
            }
        }

        impl<T: Element, I: RefIndex> std::ops::Index<I> for $name<T> {
            type Output = View<T, $kind>;

            #[track_caller]
            fn index(&self, index: I) -> &View<T, $kind> {
                // As for other references: `Index` must give a place.
                Box::leak(Box::new(View::new(self.handle, &index, Location::caller())))
            }
        }
    )*};
}
far! {
    /// An input in HBM, of which copies take parts: `copy_into(x.rows(8 * i, 8), slot)`.
    Hbm ReadOnly;
    /// An output in HBM, into which copies put parts. Its contents are undefined before.
    HbmOut Far;
    /// An array in HBM that copies read and update in place.
    HbmInOut Far;
    /// Scratch that the subcores of a SparseCore share. Copies alone reach it.
    Spmem Far;
}

macro_rules! masked {
    ($($name:ident)*) => {$(
        impl<T: Element> $name<T> {
            /// Reads a part. Where the mask is false, the element is undefined and memory is not
            /// touched.
            #[track_caller]
            pub fn load_masked(self, index: impl RefIndex, mask: Tile<bool>) -> Tile<T> {
                Tile::new(load(self.memory(), &index, Some(mask), Location::caller()))
            }

            /// Writes a part. Where the mask is false, memory stays as it is.
            #[track_caller]
            pub fn store_masked(
                self,
                index: impl RefIndex,
                value: impl IntoTile<T>,
                mask: Tile<bool>,
            ) where
                Self: Writable,
            {
                let at = Location::caller();
                store(self.memory(), &index, value.operand(), Some(mask), T::DTYPE, at);
            }
        }
    )*};
}
masked!(In Out InOut Vmem);

/// Memory that is loaded and stored: a reference, or one of the buffers that it names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) reference: Handle,
    /// The index along the first axis.
    pub(super) slot: Option<Handle>,
}

impl Memory {
    /// What an index takes of it.
    pub(super) fn taken(
        self,
        t: &mut Tracer,
        parts: &Parts,
        at: At,
    ) -> Option<SmallVec<[Taken; 4]>> {
        let slot = match self.slot {
            Some(slot) => Some(Taken::index(t.operand(slot, at)?)),
            None => None,
        };
        t.place(self.reference, slot.as_slice(), parts, at).map(|place| place.taken)
    }
}

/// Adds a load.
pub(super) fn load(
    memory: Memory,
    index: &dyn RefIndex,
    mask: Option<Tile<bool>>,
    at: At,
) -> Handle {
    let parts = index.parts();
    context::make(|t| {
        let Some(taken) = memory.taken(t, &parts, at) else { return Handle::POISON };
        let Some(memory) = t.operand(memory.reference, at) else { return Handle::POISON };
        let (access, starts) = t.known_access(&taken);
        let mut operands: SmallVec<[Value; 4]> = SmallVec::from_slice(&[memory]);
        operands.extend(starts);
        if let Some(mask) = mask {
            let Some(mask) = t.operand(mask.handle, at) else { return Handle::POISON };
            let Some(mask) = t.fit(mask, &access.tile_shape(), at) else { return Handle::POISON };
            operands.push(mask);
        }
        let op = MemoryOp::Load { access, masked: mask.is_some() };
        match t.push(Op::Memory(op), &operands, at) {
            Some(value) => t.handle(value),
            None => Handle::POISON,
        }
    })
}

/// Adds an op on what a place holds, and stores its result there.
pub(super) fn update(
    memory: Memory,
    index: &dyn RefIndex,
    value: Operand,
    op: Binary,
    dtype: DType,
    at: At,
) {
    let old = Operand::Handle(load(memory, index, None, at));
    let new = context::make(|t| t.binary(op, [old, value], dtype, at));
    store(memory, index, Operand::Handle(new), None, dtype, at);
}

/// Adds a store.
pub(super) fn store(
    memory: Memory,
    index: &dyn RefIndex,
    value: Operand,
    mask: Option<Tile<bool>>,
    dtype: DType,
    at: At,
) {
    let parts = index.parts();
    context::with(|t| {
        let taken = memory.taken(t, &parts, at)?;
        let memory = t.operand(memory.reference, at)?;
        let value = t.value(value, dtype, at)?;
        let (access, starts) = t.known_access(&taken);
        let place = access.tile_shape();
        // A store of a scalar with every axis dropped is one of SMEM.
        let value = if place.is_empty() { value } else { t.fit(value, &place, at)? };
        let mut operands: SmallVec<[Value; 4]> = SmallVec::from_slice(&[memory, value]);
        operands.extend(starts);
        if let Some(mask) = mask {
            let mask = t.operand(mask.handle, at)?;
            operands.push(t.fit(mask, &place, at)?);
        }
        let op = MemoryOp::Store { access, masked: mask.is_some() };
        t.push_all(Op::Memory(op), &operands, &[], at)
    });
}

macro_rules! host_stores {
    ($($method:ident $trait:ident $token:tt,)*) => {
        /// `x[i] = v` and its compound forms on host values, by `IndexMut`.
        #[doc(hidden)]
        pub trait HostStore<I> {
            /// What a place holds.
            type Place;
            fn __dsl_store(&mut self, index: I, value: Self::Place)
            where
                Self::Place: Sized;
            $(fn $method<V>(&mut self, index: I, value: V)
            where
                Self::Place: std::ops::$trait<V>;)*
        }

        impl<C: ?Sized + IndexMut<I>, I> HostStore<I> for C
        where
            C::Output: Sized,
        {
            type Place = C::Output;

            #[track_caller]
            fn __dsl_store(&mut self, index: I, value: C::Output) {
                self[index] = value;
            }

            $(#[track_caller]
            fn $method<V>(&mut self, index: I, value: V)
            where
                C::Output: std::ops::$trait<V>,
            {
                self[index] $token value;
            })*
        }
    };
}
host_stores! {
    __dsl_add_assign AddAssign +=,
    __dsl_sub_assign SubAssign -=,
    __dsl_mul_assign MulAssign *=,
    __dsl_div_assign DivAssign /=,
    __dsl_rem_assign RemAssign %=,
    __dsl_bitand_assign BitAndAssign &=,
    __dsl_bitor_assign BitOrAssign |=,
    __dsl_bitxor_assign BitXorAssign ^=,
    __dsl_shl_assign ShlAssign <<=,
    __dsl_shr_assign ShrAssign >>=,
}
