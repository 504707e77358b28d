//! Copies that own what they touch.
//!
//! [`copy_into`] takes a [`Slot`] and gives a [`Pending`]; its `wait` gives the slot back. So a slot
//! cannot be touched while a copy of it is in flight: that would use a moved value, which rustc
//! refuses. What rustc cannot see, because the body of a kernel runs once while it is traced, is
//! found here: a copy that nobody waits for, and one that is waited for in one arm of an `if` alone.

use super::buffers::{Held, Owned, Permit, Slot, SlotPart};
use super::carried::{Carried, Leaves};
use super::context::{At, Handle, Tracer, with};
use super::control::begin_at;
use super::gather::IndirectFlight;
use super::handle::Scalar;
use super::index::{Part, Taken};
use super::place::{Far, Place, ReadOnly, View};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::ops::{Access, AccessDim, Direction, DmaOp, DmaStart, DmaWait, Start, Transfer};
use crate::ir::{BlockId, Element, Op, Value};
use smallvec::SmallVec;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;

/// What a copy may read: a part of an input or of an output in HBM, or a slot.
#[diagnostic::on_unimplemented(
    message = "a copy cannot read from `{Self}`",
    label = "expected a part of an array in HBM or of a read-only block, or a slot",
    note = "memory that the kernel may touch meanwhile is copied with `start_copy` and `wait_copy`"
)]
pub trait CopySource<T> {
    /// What comes back from the wait.
    type Owned;
    /// The place.
    #[doc(hidden)]
    fn end(&self, at: &'static Location<'static>) -> Option<End>;
    /// What the copy keeps.
    #[doc(hidden)]
    fn into_owned(self) -> Self::Owned;
}

/// What a copy may write: a slot, or a part of an output in HBM.
#[diagnostic::on_unimplemented(
    message = "a copy cannot write to `{Self}`",
    label = "expected a slot, or a part of an output in HBM",
    note = "outputs in HBM are `HbmOut<T>` and `HbmInOut<T>`; memory that the kernel may touch meanwhile is copied with `start_copy` and `wait_copy`"
)]
pub trait CopyTarget<T> {
    /// What comes back from the wait.
    type Owned;
    /// The place.
    #[doc(hidden)]
    fn end(&self, at: &'static Location<'static>) -> Option<End>;
    /// What the copy keeps.
    #[doc(hidden)]
    fn into_owned(self) -> Self::Owned;
}

/// An end of a copy: its place, and the semaphore that may count for it.
#[doc(hidden)]
#[derive(Debug)]
pub struct End {
    pub(super) place: Place,
    pub(super) semaphore: Option<Place>,
    /// How many leading axes name the slot.
    pub(super) n_slot_axes: usize,
}

impl<T> CopySource<T> for View<T, ReadOnly> {
    type Owned = ();

    fn end(&self, at: At) -> Option<End> {
        Some(End { place: self.place(at)?, semaphore: None, n_slot_axes: 0 })
    }

    fn into_owned(self) {}
}

macro_rules! ends {
    ($($ty:ty => $owned:ty, |$x:ident, $at:ident| $end:expr, $into:expr;)*) => {$(
        impl<T> CopySource<T> for $ty {
            type Owned = $owned;

            fn end(&self, $at: At) -> Option<End> {
                let $x = self;
                $end
            }

            fn into_owned(self) -> $owned {
                let $x = self;
                $into
            }
        }

        impl<T> CopyTarget<T> for $ty {
            type Owned = $owned;

            fn end(&self, $at: At) -> Option<End> {
                let $x = self;
                $end
            }

            fn into_owned(self) -> $owned {
                let $x = self;
                $into
            }
        }
    )*};
}
ends! {
    View<T, Far> => (),
        |x, at| Some(End { place: x.place(at)?, semaphore: None, n_slot_axes: 0 }), { let _ = x; };
    Slot<T> => Slot<T>, |x, at| x.end(at), x;
    SlotPart<T> => Slot<T>, |x, at| x.end(at), x.into_slot();
}

impl<T> CopyTarget<T> for Through<T> {
    type Owned = Permit;

    fn end(&self, at: At) -> Option<End> {
        let place = self.to.place(at)?;
        Some(End { place, semaphore: Some(self.permit.semaphore(at)?), n_slot_axes: 0 })
    }

    fn into_owned(self) -> Permit {
        self.permit
    }
}

/// A part of an output in HBM, and the permit for a copy into it: see [`Permit::to`].
#[derive(Debug)]
pub struct Through<T> {
    permit: Permit,
    to: View<T, Far>,
}

impl Permit {
    /// The target of a copy that this permit counts: `copy_into(x.at(..), permit.to(y.at(..)))`.
    pub fn to<T>(self, to: View<T, Far>) -> Through<T> {
        Through { permit: self, to }
    }
}

/// What comes back from the wait, of what both ends kept.
#[diagnostic::on_unimplemented(
    message = "a copy between two arrays in HBM has nothing that counts it",
    note = "take a permit: `#[scratch] permits: Permits<1>`, then `copy_into(x.at(..), permit.to(y.at(..)))`"
)]
pub trait Join<B> {
    /// Both.
    type Both: Owned;
    /// Puts them together.
    #[doc(hidden)]
    fn join(self, other: B) -> Self::Both;
}

macro_rules! joins {
    ($([$($generics:tt)*] $a:ty, $b:ty => $both:ty, |$x:pat_param, $y:pat_param| $join:expr;)*) => {$(
        impl<$($generics)*> Join<$b> for $a {
            type Both = $both;

            fn join(self, other: $b) -> $both {
                let ($x, $y) = (self, other);
                $join
            }
        }
    )*};
}
joins! {
    [T: Element] (), Slot<T> => Slot<T>, |(), slot| slot;
    [T: Element] Slot<T>, () => Slot<T>, |slot, ()| slot;
    [T: Element, U: Element] Slot<T>, Slot<U> => (Slot<T>, Slot<U>), |a, b| (a, b);
    [] (), Permit => Permit, |(), permit| permit;
    [T: Element] Slot<T>, Permit => (Slot<T>, Permit), |slot, permit| (slot, permit);
}

/// A copy that has not been started.
#[must_use = "a copy moves nothing until it is started: `.start()`"]
#[derive(Debug)]
pub struct CopyBuilder<S, D> {
    from: S,
    to: D,
    ends: Option<(End, End)>,
    priority: u32,
    add: bool,
}

/// Prepares a copy. Both parts have one shape and element type.
#[track_caller]
pub fn copy<T: Element, S: CopySource<T>, D: CopyTarget<T>>(from: S, to: D) -> CopyBuilder<S, D> {
    let at = Location::caller();
    let ends = from.end(at).zip(to.end(at));
    CopyBuilder { from, to, ends, priority: 0, add: false }
}

/// Starts a copy. What it touches belongs to it until it is waited for.
///
/// ```text
/// let [a, b] = bufs.slots();
/// let pending = copy_into(h.rows(0, 8), a);
/// // ..
/// let a = pending.wait();
/// y[..] = a[..] + 1.0;
/// ```
#[track_caller]
pub fn copy_into<T, S, D>(from: S, to: D) -> Pending<<S::Owned as Join<D::Owned>>::Both>
where
    T: Element,
    S: CopySource<T>,
    D: CopyTarget<T>,
    S::Owned: Join<D::Owned>,
{
    copy(from, to).start()
}

impl<S, D> CopyBuilder<S, D> {
    /// 0 is the most urgent, and the default.
    pub fn priority(self, priority: u32) -> CopyBuilder<S, D> {
        CopyBuilder { priority, ..self }
    }

    /// Adds what is copied to what is there.
    pub fn accumulate(self) -> CopyBuilder<S, D> {
        CopyBuilder { add: true, ..self }
    }

    /// Starts the copy.
    #[track_caller]
    pub fn start<T>(self) -> Pending<<S::Owned as Join<D::Owned>>::Both>
    where
        S: CopySource<T>,
        D: CopyTarget<T>,
        S::Owned: Join<D::Owned>,
    {
        self.begin(None, Location::caller())
    }

    /// Starts the copy if the condition holds. The wait for it does nothing if it does not.
    #[track_caller]
    pub fn start_if<T>(self, condition: Scalar<bool>) -> Pending<<S::Owned as Join<D::Owned>>::Both>
    where
        S: CopySource<T>,
        D: CopyTarget<T>,
        S::Owned: Join<D::Owned>,
    {
        self.begin(Some(condition), Location::caller())
    }

    fn begin<T>(
        self,
        condition: Option<Scalar<bool>>,
        at: At,
    ) -> Pending<<S::Owned as Join<D::Owned>>::Both>
    where
        S: CopySource<T>,
        D: CopyTarget<T>,
        S::Owned: Join<D::Owned>,
    {
        let CopyBuilder { from, to, ends, priority, add } = self;
        if let Some((from, to)) = &ends {
            under(condition, at, || {
                with(|t| t.start_owned_copy(from, to, priority, add, at));
            });
        }
        let flight = ends.and_then(|(from, to)| Flight::new(&from, &to, condition, at));
        Pending::new(from.into_owned().join(to.into_owned()), flight)
    }
}

/// Runs `act` under a condition of the kernel, if there is one.
pub(super) fn under(condition: Option<Scalar<bool>>, at: At, act: impl FnOnce()) {
    let Some(condition) = condition else { return act() };
    let mut branch = begin_at(condition, at);
    let then = branch.enter_then([]).then(|| {
        act();
        branch.leave_then([]);
    });
    let otherwise = branch.enter_else([]).then_some(());
    branch.finish(then, otherwise, []);
}

/// How a copy is made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// 0 is the most urgent.
    pub(super) priority: u32,
    /// Whether what arrives is added to what is there.
    pub(super) add: bool,
    /// Whether what it leaves of its target becomes undefined.
    pub(super) fresh: bool,
}

/// What is known of a copy in flight, to wait for it.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    kind: FlightKind,
    condition: Option<Handle>,
    /// The region whose end must not come before the wait.
    home: BlockId,
    at: At,
}

#[derive(Clone, Debug, Hash)]
enum FlightKind {
    /// A copy of a rectangle.
    Rectangle(Rectangle),
    /// A copy of rows by ids.
    Indirect(IndirectFlight),
}

/// Both ends of a copy: the memory, and how many leading axes name the slot.
#[derive(Clone, Debug, Hash)]
struct Rectangle {
    from: (Handle, usize),
    to: (Handle, usize),
    /// The accesses, each with its starts at 0: a wait looks at the sizes alone.
    transfer: Transfer,
}

impl Flight {
    fn of(kind: FlightKind, condition: Option<Scalar<bool>>, at: At) -> Option<Flight> {
        let home = with(|t| t.current_block())?;
        Some(Flight { kind, condition: condition.map(|condition| condition.handle), home, at })
    }

    pub(super) fn indirect(
        direction: Direction,
        table: &Place,
        rows: &End,
        condition: Option<Scalar<bool>>,
        at: At,
    ) -> Option<Flight> {
        let kind = FlightKind::Indirect(IndirectFlight::new(direction, table, rows));
        Flight::of(kind, condition, at)
    }

    /// A memory that it touches.
    fn memory(&self) -> Handle {
        match &self.kind {
            FlightKind::Rectangle(rectangle) => rectangle.to.0,
            FlightKind::Indirect(indirect) => indirect.table_memory,
        }
    }

    pub(super) fn new(
        from: &End,
        to: &End,
        condition: Option<Scalar<bool>>,
        at: At,
    ) -> Option<Flight> {
        let sizes_of = |end: &End| {
            let (access, _) = Tracer::access(&end.place.taken);
            let dims = access.dims.iter().map(|dim| AccessDim { start: Start::Static(0), ..*dim });
            Access { dims: dims.collect() }
        };
        let rectangle = Rectangle {
            from: (from.place.memory, from.n_slot_axes),
            to: (to.place.memory, to.n_slot_axes),
            transfer: Transfer::new(sizes_of(from), sizes_of(to)),
        };
        Flight::of(FlightKind::Rectangle(rectangle), condition, at)
    }

    /// Visits it as a part of a handle that a loop carries.
    pub(super) fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.host("copy", self.form());
        leaves.form("whether a copy is conditional", usize::from(self.condition.is_some()));
        if let Some(condition) = &mut self.condition {
            leaves.value(condition);
        }
        if leaves.is_writing() {
            self.home = with(|t| t.current_block()).unwrap_or(self.home);
        }
    }

    /// What must stay the same while a loop carries the copy.
    fn form(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.kind.hash(&mut hasher);
        hasher.finish()
    }
}

/// A copy in flight, with what it touches.
#[must_use = "a copy must be waited for: `.wait()`"]
#[derive(Debug)]
pub struct Pending<B> {
    back: Option<B>,
    /// `None` after the wait, and of a copy that could not be started.
    flight: Option<Flight>,
}

impl<B> Pending<B> {
    pub(super) fn new(back: B, flight: Option<Flight>) -> Pending<B> {
        Pending { back: Some(back), flight }
    }
}

impl<B: Owned> Pending<B> {
    /// Waits until the copy is done; gives back what it kept.
    #[track_caller]
    pub fn wait(mut self) -> B {
        let at = Location::caller();
        let Some(back) = self.back.take() else {
            unreachable!("what a copy keeps is taken by its wait alone, which ends it")
        };
        if let Some(flight) = self.flight.take() {
            with(|t| t.check_home(&flight, at));
            let condition = flight.condition.map(Scalar::new);
            under(condition, at, || {
                let slots = back.slots();
                with(|t| {
                    t.wait_for_owned_copy(&flight, (slots.first(), slots.last()), slots.last(), at)
                });
            });
        }
        back
    }
}

impl<B> Drop for Pending<B> {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take()
            && !std::thread::panicking()
        {
            with(|t| t.lose(&flight));
        }
    }
}

impl<B: Carried> Carried for Pending<B> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        if let Some(back) = &mut self.back {
            back.visit(leaves);
        }
        if let Some(flight) = &mut self.flight {
            flight.visit(leaves);
        }
    }
}

impl Tracer {
    fn start_owned_copy(&mut self, from: &End, to: &End, priority: u32, add: bool, at: At) {
        let Some(semaphore) = to.semaphore.as_ref().or(from.semaphore.as_ref()) else { return };
        let manner = Manner { priority, add, fresh: false };
        self.start_copy(&from.place, &to.place, semaphore, manner, at);
    }

    /// Adds the start of a copy.
    pub(super) fn start_copy(
        &mut self,
        from: &Place,
        to: &Place,
        semaphore: &Place,
        manner: Manner,
        at: At,
    ) -> Option<()> {
        let (transfer, operands, semaphore) = self.copy_operands(from, to, semaphore, at)?;
        let Manner { priority, add, fresh } = manner;
        let op = DmaStart { priority, add, fresh, ..DmaStart::new(transfer, semaphore) };
        let op = DmaOp::Start(Box::new(op));
        self.push_all(Op::Dma(op), &operands, &[], at).map(|_| ())
    }

    /// Adds a wait for a copy.
    pub(super) fn wait_copy(
        &mut self,
        from: &Place,
        to: &Place,
        semaphore: &Place,
        at: At,
    ) -> Option<()> {
        let (transfer, operands, semaphore) = self.copy_operands(from, to, semaphore, at)?;
        let op = DmaOp::Wait(Box::new(DmaWait::new(transfer, semaphore)));
        self.push_all(Op::Dma(op), &operands, &[], at).map(|_| ())
    }

    pub(super) fn copy_operands(
        &mut self,
        from: &Place,
        to: &Place,
        semaphore: &Place,
        at: At,
    ) -> Option<(Transfer, SmallVec<[Value; 8]>, Access)> {
        let (from, from_access, from_starts) = self.use_place(from, at)?;
        let (to, to_access, to_starts) = self.use_place(to, at)?;
        let (semaphore, semaphore_access, index) = self.use_place(semaphore, at)?;
        let mut operands = SmallVec::from_slice(&[from, to, semaphore]);
        operands.extend(from_starts);
        operands.extend(to_starts);
        operands.extend(index);
        Some((Transfer::new(from_access, to_access), operands, semaphore_access))
    }

    /// Adds a wait for a copy between these slots that the last of them counts.
    pub(super) fn wait_for_owned_copy(
        &mut self,
        flight: &Flight,
        (first, last): (Option<&Held>, Option<&Held>),
        counts: Option<&Held>,
        at: At,
    ) -> Option<()> {
        let (first, last, counts) = (first?, last?, counts?);
        let flight = match &flight.kind {
            FlightKind::Rectangle(rectangle) => rectangle,
            // The rows' semaphore counts.
            FlightKind::Indirect(indirect) => {
                return self.wait_indirect(indirect, (first.semaphores, first.slot), at);
            }
        };
        let whole = |(memory, n_slot_axes): (Handle, usize), access: &Access, slot: Handle| {
            let part =
                |dim: &AccessDim| Part::Static { start: 0, size: dim.size, stride: dim.stride };
            let taken = access.dims.iter().map(|dim| Taken { part: part(dim), keep: dim.keep });
            let mut place = Place { memory, taken: taken.collect() };
            if n_slot_axes > 0 {
                place.taken[0] = Taken::index(slot.value());
            }
            place
        };
        let from = whole(flight.from, &flight.transfer.from, first.slot);
        let to = whole(flight.to, &flight.transfer.to, last.slot);
        // The target's semaphore counts, or that of the source if the target has none.
        let index = smallvec::smallvec![Taken::index(counts.slot.value())];
        let semaphore = Place { memory: counts.semaphores, taken: index };
        self.wait_copy(&from, &to, &semaphore, at)
    }

    /// Checks that a copy is waited for where it was started, not in a region within.
    pub(super) fn check_home(&mut self, flight: &Flight, at: At) {
        if self.current_block() == flight.home {
            return;
        }
        let region = self.describe_region(self.current_block());
        let diagnostic = Diagnostic::error(
            Code::TRACE_COPY_REGION,
            format!("this copy is waited for only inside {region}, but it is started outside of it"),
        )
        .at(Span::from_location(flight.at), "started here")
        .at(Span::from_location(at), "waited for here")
        .help("wait before the branch or loop; what is in flight under a condition is started with `start_if`");
        self.report(diagnostic);
    }

    /// Reports a copy that nobody waits for.
    pub(super) fn lose(&mut self, flight: &Flight) {
        if self.has_errors() || self.ty(flight.memory()).is_none() {
            return;
        }
        self.report(
            Diagnostic::error(
                Code::TRACE_COPY_LOST,
                "this copy is started but never waited for",
            )
            .at(Span::from_location(flight.at), "started here")
            .help("keep the `Pending` and call `.wait()` before its memory is needed, or at the end"),
        );
    }
}
