//! Parts of memory that copies read and write, and semaphores by their index.

use super::context::{At, Handle, Tracer, with};
use super::index::{Parts, RefIndex, Taken};
use super::refs::{
    Hbm, HbmInOut, HbmOut, In, InOut, Out, Smem, SmemIn, SmemInOut, SmemOut, Spmem, Vmem,
};
use crate::ir::ops::Access;
use crate::ir::{Element, Value};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::panic::Location;

/// A part of memory, or one semaphore of an array.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The memory.
    pub(crate) memory: Handle,
    /// What is taken of each axis.
    pub(crate) taken: SmallVec<[Taken; 4]>,
}

/// Memory that the kernel only reads: a copy may read it at any time.
#[derive(Clone, Copy, Debug)]
pub enum ReadOnly {}

/// An output array in HBM, or scratch in Spmem, which copies alone reach.
#[derive(Clone, Copy, Debug)]
pub enum Far {}

/// Memory that loads and stores reach as well. Copies of it are started with
/// [`start_copy`](super::start_copy), and nothing keeps the kernel from touching it meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Near {}

/// A part of a reference, for copies: `h.rows(8, 8)`, `h.at((ds(i * 8, 8), ..))`, `h[(.., 0..128)]`.
///
/// `M` says who may touch the memory: [`ReadOnly`], [`Far`] or [`Near`].
pub struct View<T, M> {
    /// Its number among the places of the trace; `None` if it could not be made.
    place: Option<u32>,
    memory: Handle,
    kind: PhantomData<fn() -> (T, M)>,
}

impl<T, M> Clone for View<T, M> {
    fn clone(&self) -> View<T, M> {
        *self
    }
}

impl<T, M> Copy for View<T, M> {}

impl<T, M> std::fmt::Debug for View<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl<T, M> View<T, M> {
    pub(crate) fn new(memory: Handle, index: &dyn RefIndex, at: At) -> View<T, M> {
        let parts = index.parts();
        let place = with(|t| {
            let place = t.place(memory, &[], &parts, at)?;
            t.places.push(place);
            u32::try_from(t.places.len() - 1).ok()
        });
        View { place: place.flatten(), memory, kind: PhantomData }
    }

    /// The place in the trace that is under way.
    pub(crate) fn place(self, at: At) -> Option<Place> {
        with(|t| {
            t.operand(self.memory, at)?;
            t.places.get(self.place? as usize).cloned()
        })
        .flatten()
    }
}

impl Tracer {
    /// The part of memory that an index names, behind axes that are taken already.
    pub(crate) fn place(
        &mut self,
        memory: Handle,
        before: &[Taken],
        parts: &Parts,
        at: At,
    ) -> Option<Place> {
        self.operand(memory, at)?;
        let shape = self.shape(memory);
        let rest = self.resolve(parts, shape.get(before.len()..)?, at)?;
        Some(Place { memory, taken: before.iter().copied().chain(rest).collect() })
    }

    /// The operands for a place that is used here.
    pub(crate) fn use_place(
        &mut self,
        place: &Place,
        at: At,
    ) -> Option<(Value, Access, SmallVec<[Value; 4]>)> {
        let memory = self.operand(place.memory, at)?;
        let (access, starts) = self.known_access(&place.taken);
        let mut here = SmallVec::new();
        for start in starts {
            // It may have been made in a region that has ended.
            let start = self.handle(start);
            here.push(self.operand(start, at)?);
        }
        Some((memory, access, here))
    }
}

macro_rules! views {
    ($($name:ident $kind:ident,)*) => {$(
        impl<T: Element> $name<T> {
            /// A part of it, for a copy.
            #[track_caller]
            pub fn at(self, index: impl RefIndex) -> View<T, $kind> {
                View::new(self.handle(), &index, Location::caller())
            }
        }
    )*};
}
views! {
    In ReadOnly,
    Hbm ReadOnly,
    HbmOut Far,
    HbmInOut Far,
    Spmem Far,
    Out Near,
    InOut Near,
    Vmem Near,
    Smem Near,
    SmemIn ReadOnly,
    SmemOut Near,
    SmemInOut Near,
}
