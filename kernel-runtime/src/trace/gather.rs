//! Indirect copies of a SparseCore, which own what they touch: the rows, and the list of ids.
//!
//! As for [`copy_into`](super::copy_into), [`Pending::wait`] gives back the slots.

use super::buffers::{Slot, SlotPart};
use super::context::{At, Handle, Tracer, with};
use super::convert::{IntoScalar, Operand};
use super::copy::{End, Flight, Join, Pending, under};
use super::handle::{Scalar, Tile};
use super::index::Taken;
use super::place::{Far, Place, ReadOnly, View};
use super::refs::{Hbm, HbmInOut, HbmOut, Spmem};
use super::semaphore::{ReadableView, WritableView};
use crate::ir::ops::{Access, AccessDim, Direction, Indirect, IndirectStart, Op, SparseOp, Start};
use crate::ir::{DType, Element, Value};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::panic::Location;

/// Where the ids of an indirect copy are.
#[doc(hidden)]
#[derive(Debug)]
pub struct IdList(IdPlace);

#[derive(Debug)]
enum IdPlace {
    Memory(Place),
    Register(Handle),
}

/// A list of ids: a slot of `i32`, a part of one, or a tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of ids",
    label = "expected a `Slot<i32>`, a part of one, or a `Tile<i32>`",
    note = "copy the ids into `Buffers<i32, N>` first"
)]
pub trait Ids {
    /// What comes back from the wait.
    type Owned;
    /// Where they are.
    #[doc(hidden)]
    fn list(&self, at: &'static Location<'static>) -> Option<IdList>;
    /// What the copy keeps.
    #[doc(hidden)]
    fn into_owned(self) -> Self::Owned;
}

impl Ids for Slot<i32> {
    type Owned = Slot<i32>;

    fn list(&self, at: At) -> Option<IdList> {
        Some(IdList(IdPlace::Memory(self.end(at)?.place)))
    }

    fn into_owned(self) -> Slot<i32> {
        self
    }
}

impl Ids for SlotPart<i32> {
    type Owned = Slot<i32>;

    fn list(&self, at: At) -> Option<IdList> {
        Some(IdList(IdPlace::Memory(self.end(at)?.place)))
    }

    fn into_owned(self) -> Slot<i32> {
        self.into_slot()
    }
}

impl Ids for Tile<i32> {
    type Owned = ();

    fn list(&self, _at: At) -> Option<IdList> {
        Some(IdList(IdPlace::Register(self.handle)))
    }

    fn into_owned(self) {}
}

/// The rows of an indirect copy: a slot, or a part of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not hold rows of an indirect copy",
    label = "expected a slot, or a part of one",
    note = "rows lie in `Buffers<T, N>`: `let [rows] = bufs.slots();`"
)]
pub trait Rows<T> {
    /// The place.
    #[doc(hidden)]
    fn rows(&self, at: &'static Location<'static>) -> Option<End>;
    /// The slot.
    #[doc(hidden)]
    fn into_slot(self) -> Slot<T>;
}

impl<T> Rows<T> for Slot<T> {
    fn rows(&self, at: At) -> Option<End> {
        self.end(at)
    }

    fn into_slot(self) -> Slot<T> {
        self
    }
}

impl<T> Rows<T> for SlotPart<T> {
    fn rows(&self, at: At) -> Option<End> {
        self.end(at)
    }

    fn into_slot(self) -> Slot<T> {
        SlotPart::into_slot(self)
    }
}

/// An indirect copy that has not been started.
#[must_use = "a copy moves nothing until it is started: `.start()`"]
#[derive(Debug)]
pub struct IndirectBuilder<T, R, I> {
    direction: Direction,
    table: Option<Place>,
    rows: R,
    ids: I,
    add: bool,
    skip: Option<Operand>,
    element: PhantomData<fn() -> T>,
}

/// Prepares to fetch rows of a table, in HBM or Spmem: row `n` of the slot becomes the row of the
/// table that id `n` names.
#[track_caller]
pub fn gather<T: Element, M: ReadableView, R: Rows<T>, I: Ids>(
    table: View<T, M>,
    ids: I,
    rows: R,
) -> IndirectBuilder<T, R, I> {
    let table = table.place(Location::caller());
    let element = PhantomData;
    IndirectBuilder {
        direction: Direction::Gather,
        table,
        rows,
        ids,
        add: false,
        skip: None,
        element,
    }
}

/// Prepares to write rows of a table, in HBM or Spmem: the row that id `n` names becomes row `n` of
/// the slot. No id is there twice, unless the rows are added.
#[track_caller]
pub fn scatter<T: Element, M: WritableView, R: Rows<T>, I: Ids>(
    rows: R,
    ids: I,
    table: View<T, M>,
) -> IndirectBuilder<T, R, I> {
    let table = table.place(Location::caller());
    let element = PhantomData;
    IndirectBuilder {
        direction: Direction::Scatter,
        table,
        rows,
        ids,
        add: false,
        skip: None,
        element,
    }
}

impl<T: Element, R: Rows<T>, I: Ids> IndirectBuilder<T, R, I> {
    /// Adds what is copied to what is there. A scatter adds to scratch in Spmem alone.
    pub fn accumulate(self) -> IndirectBuilder<T, R, I> {
        IndirectBuilder { add: true, ..self }
    }

    /// Leaves the rows of an id out: their places stay as they are.
    pub fn skipping(self, id: impl IntoScalar<i32>) -> IndirectBuilder<T, R, I> {
        IndirectBuilder { skip: Some(id.operand()), ..self }
    }

    /// Starts the copy. The wait for it gives back the slot of rows, and that of ids if there is one:
    /// `let (rows, ids) = pending.wait();`
    #[track_caller]
    pub fn start(self) -> Pending<<Slot<T> as Join<I::Owned>>::Both>
    where
        Slot<T>: Join<I::Owned>,
    {
        self.begin(None, Location::caller())
    }

    /// Starts the copy if the condition holds. The wait for it does nothing if it does not.
    #[track_caller]
    pub fn start_if(self, condition: Scalar<bool>) -> Pending<<Slot<T> as Join<I::Owned>>::Both>
    where
        Slot<T>: Join<I::Owned>,
    {
        self.begin(Some(condition), Location::caller())
    }

    fn begin(
        self,
        condition: Option<Scalar<bool>>,
        at: At,
    ) -> Pending<<Slot<T> as Join<I::Owned>>::Both>
    where
        Slot<T>: Join<I::Owned>,
    {
        let IndirectBuilder { direction, table, rows, ids, add, skip, .. } = self;
        let parts = table.zip(rows.rows(at)).zip(ids.list(at));
        let flight = parts.and_then(|((table, rows), ids)| {
            let how = How { direction, add, skip };
            under(condition, at, || {
                with(|t| t.start_indirect(&table, &rows, &ids, how, at));
            });
            Flight::indirect(direction, &table, &rows, condition, at)
        });
        Pending::new(rows.into_slot().join(ids.into_owned()), flight)
    }
}

#[derive(Clone, Copy)]
struct How {
    direction: Direction,
    add: bool,
    skip: Option<Operand>,
}

macro_rules! tables {
    ($($name:ident $method:ident $view:ident [$($doc:literal)*];)*) => {$(
        tables!(@ $method $name $view [$($doc)*]);
    )*};
    (@ gather $name:ident $view:ident [$($doc:literal)*]) => {
        impl<T: Element> $name<T> {
            $(#[doc = $doc])*
            #[track_caller]
            pub fn gather<R: Rows<T>, I: Ids>(
                self,
                ids: I,
                rows: R,
            ) -> Pending<<Slot<T> as Join<I::Owned>>::Both>
            where
                Slot<T>: Join<I::Owned>,
            {
                let at = Location::caller();
                gather::<T, $view, R, I>(View::new(self.handle(), &(..), at), ids, rows)
                    .begin(None, at)
            }
        }
    };
    (@ scatter $name:ident $view:ident [$($doc:literal)*]) => {
        impl<T: Element> $name<T> {
            $(#[doc = $doc])*
            #[track_caller]
            pub fn scatter<R: Rows<T>, I: Ids>(
                self,
                ids: I,
                rows: R,
            ) -> Pending<<Slot<T> as Join<I::Owned>>::Both>
            where
                Slot<T>: Join<I::Owned>,
            {
                let at = Location::caller();
                scatter::<T, $view, R, I>(rows, ids, View::new(self.handle(), &(..), at))
                    .begin(None, at)
            }
        }
    };
}
tables! {
    Hbm gather ReadOnly ["Starts to fetch the rows that ids name: see [`gather`](super::gather)."];
    HbmInOut gather Far ["Starts to fetch the rows that ids name: see [`gather`](super::gather)."];
    Spmem gather Far ["Starts to fetch the rows that ids name: see [`gather`](super::gather)."];
    HbmOut scatter Far ["Starts to write the rows that ids name: see [`scatter`](super::scatter)."];
    HbmInOut scatter Far ["Starts to write the rows that ids name: see [`scatter`](super::scatter)."];
    Spmem scatter Far ["Starts to write the rows that ids name: see [`scatter`](super::scatter)."];
}

impl Tracer {
    fn start_indirect(
        &mut self,
        table: &Place,
        rows: &End,
        ids: &IdList,
        how: How,
        at: At,
    ) -> Option<()> {
        let semaphore = rows.semaphore.as_ref()?;
        let (table, table_access, table_starts) = self.use_place(table, at)?;
        let (rows, rows_access, rows_starts) = self.use_place(&rows.place, at)?;
        let (semaphore, semaphore_access, index) = self.use_place(semaphore, at)?;
        let mut operands: SmallVec<[Value; 12]> = SmallVec::from_slice(&[table, rows]);
        let mut ids_access = None;
        let mut ids_starts = SmallVec::<[Value; 4]>::new();
        let mut tile = None;
        match &ids.0 {
            IdPlace::Memory(place) => {
                let (memory, access, starts) = self.use_place(place, at)?;
                operands.push(memory);
                ids_access = Some(access);
                ids_starts = starts;
            }
            IdPlace::Register(handle) => tile = Some(self.operand(*handle, at)?),
        }
        let skip = match how.skip {
            Some(skip) => Some(self.value(skip, DType::I32, at)?),
            None => None,
        };
        operands.push(semaphore);
        operands.extend(table_starts);
        operands.extend(rows_starts);
        operands.extend(ids_starts);
        operands.extend(index);
        operands.extend(tile);
        operands.extend(skip);
        let copy = Indirect {
            direction: how.direction,
            table: table_access,
            rows: rows_access,
            semaphore: semaphore_access,
        };
        let start = IndirectStart { copy, ids: ids_access, add: how.add, skip: skip.is_some() };
        let op = SparseOp::Start(Box::new(start));
        self.push_all(Op::Sparse(op), &operands, &[], at).map(|_| ())
    }

    /// Adds the wait for an indirect copy; `rows` is its slot now.
    pub(super) fn wait_indirect(
        &mut self,
        copy: &IndirectFlight,
        rows: (Handle, Handle),
        at: At,
    ) -> Option<()> {
        let (semaphores, slot) = rows;
        let mut taken: SmallVec<[Taken; 4]> = Taken::of_access(&copy.rows).collect();
        if let Some(first) = taken.first_mut() {
            *first = Taken::index(slot.value());
        }
        let rows = Place { memory: copy.rows_memory, taken };
        let table =
            Place { memory: copy.table_memory, taken: Taken::of_access(&copy.table).collect() };
        let semaphore =
            Place { memory: semaphores, taken: smallvec::smallvec![Taken::index(slot.value())] };
        let (table, table_access, table_starts) = self.use_place(&table, at)?;
        let (rows, rows_access, rows_starts) = self.use_place(&rows, at)?;
        let (semaphore, semaphore_access, index) = self.use_place(&semaphore, at)?;
        let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(&[table, rows, semaphore]);
        operands.extend(table_starts);
        operands.extend(rows_starts);
        operands.extend(index);
        let copy = Indirect {
            direction: copy.direction,
            table: table_access,
            rows: rows_access,
            semaphore: semaphore_access,
        };
        let op = SparseOp::Wait(Box::new(copy));
        self.push_all(Op::Sparse(op), &operands, &[], at).map(|_| ())
    }
}

/// What is known of an indirect copy in flight. Accesses start at 0: a wait looks at sizes alone.
#[derive(Clone, Debug, Hash)]
pub(super) struct IndirectFlight {
    direction: Direction,
    pub(super) table_memory: Handle,
    table: Access,
    rows_memory: Handle,
    rows: Access,
}

impl IndirectFlight {
    pub(super) fn new(direction: Direction, table: &Place, rows: &End) -> IndirectFlight {
        let at_zero = |taken: &[Taken]| {
            let (access, _) = Tracer::access(taken);
            let dims = access.dims.iter().map(|dim| AccessDim { start: Start::Static(0), ..*dim });
            Access { dims: dims.collect() }
        };
        IndirectFlight {
            direction,
            table_memory: table.memory,
            table: at_zero(&table.taken),
            rows_memory: rows.place.memory,
            rows: at_zero(&rows.place.taken),
        }
    }
}
