//! Memory that copies own: slots of a ring, and permits.

use super::carried::{Carried, Leaves};
use super::context::{self, At, Handle, make, with};
use super::convert::IntoTile;
use super::copy::End;
use super::handle::Tile;
use super::index::{Parts, RefIndex, Taken};
use super::place::Place;
use super::refs::{Memory, load, store, update};
use crate::ir::ops::{Binary, Literal};
use crate::ir::{DType, Element, Int, Num, Shape};
use smallvec::{SmallVec, smallvec};
use std::marker::PhantomData;
use std::panic::Location;

/// `N` buffers in vector memory that copies fill and empty: `#[scratch([8, 128])] x: Buffers<f32, 2>`
/// is twice 8 x 128 elements.
///
/// Its slots are owned: while a copy of one is in flight, only the copy has it.
pub struct Buffers<T, const N: usize> {
    memory: Handle,
    semaphores: Handle,
    element: PhantomData<fn() -> T>,
}

impl<T, const N: usize> std::fmt::Debug for Buffers<T, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffers<{N}>")
    }
}

impl<T, const N: usize> Buffers<T, N> {
    pub(super) fn new(memory: Handle, semaphores: Handle) -> Buffers<T, N> {
        Buffers { memory, semaphores, element: PhantomData }
    }

    /// The same buffers for another pass over the body.
    #[doc(hidden)]
    pub fn __again(&self) -> Buffers<T, N> {
        Buffers::new(self.memory, self.semaphores)
    }

    /// The buffers, each of which one owner has.
    #[track_caller]
    pub fn slots(self) -> [Slot<T>; N] {
        let at = Location::caller();
        std::array::from_fn(|idx| Slot {
            memory: self.memory,
            semaphores: self.semaphores,
            slot: number(idx, at),
            element: PhantomData,
        })
    }
}

/// `N` permits for copies between arrays in HBM, each of which counts one copy at a time.
#[derive(Debug)]
pub struct Permits<const N: usize> {
    semaphores: Handle,
}

impl<const N: usize> Permits<N> {
    pub(super) fn new(semaphores: Handle) -> Permits<N> {
        Permits { semaphores }
    }

    /// The same permits for another pass over the body.
    #[doc(hidden)]
    pub fn __again(&self) -> Permits<N> {
        Permits { semaphores: self.semaphores }
    }

    /// The permits, each of which one owner has.
    #[track_caller]
    pub fn slots(self) -> [Permit; N] {
        let at = Location::caller();
        std::array::from_fn(|idx| Permit { semaphores: self.semaphores, slot: number(idx, at) })
    }
}

fn number(idx: usize, at: At) -> Handle {
    make(|t| {
        let value = t.constant(Literal::int(DType::I32, idx as i64), at);
        t.handle(value)
    })
}

/// A permit for one copy between arrays in HBM: see [`Permit::to`].
#[derive(Debug)]
pub struct Permit {
    semaphores: Handle,
    slot: Handle,
}

impl Permit {
    pub(super) fn semaphore(&self, at: At) -> Option<Place> {
        semaphore(self.semaphores, self.slot, at)
    }
}

fn semaphore(semaphores: Handle, slot: Handle, at: At) -> Option<Place> {
    let slot = with(|t| t.operand(slot, at)).flatten()?;
    Some(Place { memory: semaphores, taken: smallvec![Taken::index(slot)] })
}

/// One of the buffers of [`Buffers`], which is read and written like scratch: `slot[..]`.
pub struct Slot<T> {
    memory: Handle,
    semaphores: Handle,
    slot: Handle,
    element: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slot")
    }
}

impl<T> Slot<T> {
    /// A part of it as an end of a copy, which keeps all of the slot.
    #[track_caller]
    pub fn part(self, index: impl RefIndex) -> SlotPart<T> {
        SlotPart { slot: self, parts: index.parts() }
    }

    /// The sizes, outermost first.
    pub fn shape(&self) -> Shape {
        let shape = context::with(|t| t.shape(self.memory)).unwrap_or_default();
        shape.iter().skip(1).copied().collect()
    }

    pub(super) fn end(&self, at: At) -> Option<End> {
        self.end_of(&(..).parts(), at)
    }

    fn end_of(&self, parts: &Parts, at: At) -> Option<End> {
        let place = with(|t| {
            let slot = t.operand(self.slot, at)?;
            t.place(self.memory, &[Taken::index(slot)], parts, at)
        });
        let semaphore = Some(semaphore(self.semaphores, self.slot, at)?);
        Some(End { place: place.flatten()?, semaphore, n_slot_axes: 1 })
    }

    pub(super) fn memory(&self) -> Memory {
        Memory { reference: self.memory, slot: Some(self.slot) }
    }
}

impl<T: Element> Slot<T> {
    #[doc(hidden)]
    #[track_caller]
    pub fn __dsl_store<I: RefIndex, V: IntoTile<T>>(&self, index: I, value: V) {
        store(self.memory(), &index, value.operand(), None, T::DTYPE, Location::caller());
    }

    /// Reads a part. Where the mask is false, the element is undefined and memory is not touched.
    #[track_caller]
    pub fn load_masked(&self, index: impl RefIndex, mask: Tile<bool>) -> Tile<T> {
        Tile::new(load(self.memory(), &index, Some(mask), Location::caller()))
    }

    /// Writes a part. Where the mask is false, memory stays as it is.
    #[track_caller]
    pub fn store_masked(&self, index: impl RefIndex, value: impl IntoTile<T>, mask: Tile<bool>) {
        let at = Location::caller();
        store(self.memory(), &index, value.operand(), Some(mask), T::DTYPE, at);
    }
}

macro_rules! updates {
    ($($class:ident [$($method:ident $op:ident,)*])*) => {$(
        impl<T: $class> Slot<T> {$(
            #[doc(hidden)]
            #[track_caller]
            pub fn $method<I: RefIndex, V: IntoTile<T>>(&self, index: I, value: V) {
                let at = Location::caller();
                update(self.memory(), &index, value.operand(), Binary::$op, T::DTYPE, at);
            }
        )*}
    )*};
}
use super::arith::Bits;
updates! {
    Num [
        __dsl_add_assign Add, __dsl_sub_assign Sub, __dsl_mul_assign Mul, __dsl_div_assign Div,
        __dsl_rem_assign Rem,
    ]
    Int [__dsl_shl_assign Shl, __dsl_shr_assign Shr,]
    Bits [__dsl_bitand_assign And, __dsl_bitor_assign Or, __dsl_bitxor_assign Xor,]
}

impl<T: Element, I: RefIndex> std::ops::Index<I> for Slot<T> {
    type Output = Tile<T>;

    #[track_caller]
    fn index(&self, index: I) -> &Tile<T> {
        let handle = load(self.memory(), &index, None, Location::caller());
        // As for other references: `Index` must give a place.
        Box::leak(Box::new(Tile::new(handle)))
    }
}

/// A part of a slot as an end of a copy.
#[derive(Debug)]
pub struct SlotPart<T> {
    slot: Slot<T>,
    parts: Parts,
}

impl<T> SlotPart<T> {
    pub(super) fn end(&self, at: At) -> Option<End> {
        self.slot.end_of(&self.parts, at)
    }

    pub(super) fn into_slot(self) -> Slot<T> {
        self.slot
    }
}

/// A slot or permit, as a wait for its copy sees it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub(super) semaphores: Handle,
    pub(super) slot: Handle,
}

/// What a copy keeps and its wait gives back.
pub trait Owned: Carried {
    /// The slots, the source's first.
    #[doc(hidden)]
    fn slots(&self) -> SmallVec<[Held; 2]>;
}

impl<T: Element> Owned for Slot<T> {
    fn slots(&self) -> SmallVec<[Held; 2]> {
        smallvec![Held { semaphores: self.semaphores, slot: self.slot }]
    }
}

impl Owned for Permit {
    fn slots(&self) -> SmallVec<[Held; 2]> {
        smallvec![Held { semaphores: self.semaphores, slot: self.slot }]
    }
}

impl<A: Owned, B: Owned> Owned for (A, B) {
    fn slots(&self) -> SmallVec<[Held; 2]> {
        self.0.slots().into_iter().chain(self.1.slots()).collect()
    }
}

impl<T: Element> Carried for Slot<T> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.host("ring of buffers", self.memory);
        leaves.value(&mut self.slot);
    }
}

impl Carried for Permit {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.host("set of permits", self.semaphores);
        leaves.value(&mut self.slot);
    }
}
