//! Copies to other devices and cores.
//!
//! Every device runs the same kernel, so while this device fills a slot of a peer, somebody fills
//! the same slot here. [`remote_copy`] therefore keeps both of them: the source until it has left,
//! and this device's own target until something has arrived there.

use super::buffers::{Held, Owned, Permit, Slot, SlotPart};
use super::carried::{Carried, Leaves};
use super::context::{At, Tracer, with};
use super::copy::{CopySource, CopyTarget, End, Flight, Through};
use super::mesh::Remote;
use super::place::{Place, View};
use super::semaphore::{OneDmaSemaphore, ReadableView, WritableView, places};
use crate::ir::ops::{DmaOp, DmaStart};
use crate::ir::{Element, Op};
use smallvec::SmallVec;
use std::panic::Location;

/// A part of an array in HBM that a copy to a peer reads, and the permit that counts its leaving:
/// see [`Permit::from`].
#[derive(Debug)]
pub struct Departing<T, M> {
    permit: Permit,
    from: View<T, M>,
}

impl Permit {
    /// The source of a copy to a peer that this permit counts:
    /// `remote_copy(permit.from(x.at(..)), slot, peer)`.
    pub fn from<T, M>(self, from: View<T, M>) -> Departing<T, M> {
        Departing { permit: self, from }
    }
}

impl<T, M> CopySource<T> for Departing<T, M> {
    type Owned = Permit;

    fn end(&self, at: At) -> Option<End> {
        let place = self.from.place(at)?;
        Some(End { place, semaphore: Some(self.permit.semaphore(at)?), n_slot_axes: 0 })
    }

    fn into_owned(self) -> Permit {
        self.permit
    }
}

/// What a copy to a peer may read: something with a semaphore that tells when it has left.
#[diagnostic::on_unimplemented(
    message = "a copy to another device cannot read from `{Self}`",
    label = "expected a slot, or a part of an array in HBM with a permit",
    note = "an array in HBM needs a permit: `permit.from(x.at(..))`"
)]
pub trait RemoteSource<T>: CopySource<T> {}

impl<T> RemoteSource<T> for Slot<T> {}
impl<T> RemoteSource<T> for SlotPart<T> {}
impl<T, M> RemoteSource<T> for Departing<T, M> {}

/// What a copy to a peer may write: something with a semaphore that tells when it has arrived.
#[diagnostic::on_unimplemented(
    message = "a copy to another device cannot write to `{Self}`",
    label = "expected a slot, or a part of an output in HBM with a permit",
    note = "an output in HBM needs a permit: `permit.to(y.at(..))`"
)]
pub trait RemoteTarget<T>: CopyTarget<T> {}

impl<T> RemoteTarget<T> for Slot<T> {}
impl<T> RemoteTarget<T> for SlotPart<T> {}
impl<T> RemoteTarget<T> for Through<T> {}

/// Starts a copy to another device or core: from here to the same place there as `to` is here.
///
/// What somebody else copies to `to` here meanwhile belongs to the handle as well. Its
/// [`wait`](RemotePending::wait) gives both back, when the one has left and the other has arrived.
/// The peer must have begun the kernel, and be done with the place: see
/// [`barrier`](super::barrier).
///
/// ```text
/// barrier([ring.previous(), ring.next()]);
/// let [mine, theirs] = bufs.slots();
/// mine[..] = x[..];
/// let (mine, theirs) = remote_copy(mine, theirs, ring.next()).wait();
/// y[..] = theirs[..];
/// ```
#[track_caller]
pub fn remote_copy<T, S, D>(from: S, to: D, peer: Remote) -> RemotePending<S::Owned, D::Owned>
where
    T: Element,
    S: RemoteSource<T>,
    D: RemoteTarget<T>,
    S::Owned: Owned,
    D::Owned: Owned,
{
    let at = Location::caller();
    let ends = from.end(at).zip(to.end(at));
    let flight = ends.and_then(|(from, to)| {
        let (leaves, arrives) = (from.semaphore.as_ref()?, to.semaphore.as_ref()?);
        with(|t| t.start_remote_copy((&from.place, &to.place), (leaves, arrives), peer, at))??;
        Flight::new(&from, &to, None, at)
    });
    RemotePending { back: Some((from.into_owned(), to.into_owned())), flight }
}

/// A copy to a peer that is under way, with what it reads here and what is written here.
#[must_use = "a copy must be waited for: `.wait()`"]
#[derive(Debug)]
pub struct RemotePending<A, B> {
    back: Option<(A, B)>,
    /// `None` after the wait, and of a copy that could not be started.
    flight: Option<Flight>,
}

impl<A: Owned, B: Owned> RemotePending<A, B> {
    /// Waits until the source has left and something has arrived in the target; gives both back.
    #[track_caller]
    pub fn wait(self) -> (A, B) {
        let (source, arriving) = self.wait_sent();
        (source, arriving.wait())
    }

    /// Waits until the source has left, and gives it back.
    #[track_caller]
    pub fn wait_sent(mut self) -> (A, Arriving<B>) {
        let at = Location::caller();
        let Some((source, target)) = self.back.take() else {
            unreachable!("what a copy keeps is taken by its wait alone, which ends it")
        };
        let flight = self.flight.take();
        if let Some(flight) = &flight {
            let (first, last) = (held(&source), held(&target));
            let ends = (first.as_ref(), last.as_ref());
            with(|t| {
                t.check_home(flight, at);
                t.wait_for_owned_copy(flight, ends, first.as_ref(), at);
            });
        }
        let source_held = held(&source);
        (source, Arriving { back: Some(target), source: source_held, flight })
    }
}

fn held(owned: &dyn Owned) -> Option<Held> {
    owned.slots().first().copied()
}

/// Something on its way to this device.
#[must_use = "a copy must be waited for: `.wait()`"]
#[derive(Debug)]
pub struct Arriving<B> {
    back: Option<B>,
    /// What was sent, for its size alone.
    source: Option<Held>,
    /// `None` after the wait, and of a copy that could not be started.
    flight: Option<Flight>,
}

impl<B: Owned> Arriving<B> {
    /// Waits until it is there; gives its place back.
    #[track_caller]
    pub fn wait(mut self) -> B {
        let at = Location::caller();
        let Some(back) = self.back.take() else {
            unreachable!("what a copy keeps is taken by its wait alone, which ends it")
        };
        if let Some(flight) = self.flight.take() {
            let target = held(&back);
            let ends = (self.source.as_ref(), target.as_ref());
            with(|t| {
                t.check_home(&flight, at);
                t.wait_for_owned_copy(&flight, ends, target.as_ref(), at);
            });
        }
        back
    }
}

macro_rules! handles {
    ($([$($generics:ident)*] $ty:ty;)*) => {$(
        impl<$($generics),*> Drop for $ty {
            fn drop(&mut self) {
                if let Some(flight) = self.flight.take()
                    && !std::thread::panicking()
                {
                    with(|t| t.lose(&flight));
                }
            }
        }
    )*};
}
handles! {
    [A B] RemotePending<A, B>;
    [B] Arriving<B>;
}

impl<A: Carried, B: Carried> Carried for RemotePending<A, B> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        if let Some((source, target)) = &mut self.back {
            source.visit(leaves);
            target.visit(leaves);
        }
        if let Some(flight) = &mut self.flight {
            flight.visit(leaves);
        }
    }
}

impl<B: Carried> Carried for Arriving<B> {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        if let Some(back) = &mut self.back {
            back.visit(leaves);
        }
        if let Some(source) = &mut self.source {
            leaves.value(&mut source.slot);
        }
        if let Some(flight) = &mut self.flight {
            flight.visit(leaves);
        }
    }
}

/// Starts a copy to another device or core, counted by semaphores: `sent` here when it has left,
/// `received` there when it has arrived. Both are waited for with
/// [`wait_copy`](super::wait_copy), each by whose it is.
///
/// Prefer [`remote_copy`], which rustc checks. This form says what ownership cannot; what goes
/// wrong the interpreter tells.
#[track_caller]
pub fn start_remote_copy<T: Element, R: ReadableView, W: WritableView>(
    from: View<T, R>,
    to: View<T, W>,
    sent: impl Into<OneDmaSemaphore>,
    received: impl Into<OneDmaSemaphore>,
    peer: Remote,
) {
    let at = Location::caller();
    let sent = sent.into().place(at);
    if let (Some((from, to, received)), Some(sent)) = (places(from, to, received.into(), at), sent)
    {
        with(|t| t.start_remote_copy((&from, &to), (&sent, &received), peer, at));
    }
}

impl Tracer {
    /// Adds the start of a copy to a peer.
    fn start_remote_copy(
        &mut self,
        (from, to): (&Place, &Place),
        (leaves, arrives): (&Place, &Place),
        peer: Remote,
        at: At,
    ) -> Option<()> {
        let (transfer, mut operands, semaphore) = self.copy_operands(from, to, arrives, at)?;
        let (array, source_semaphore, index) = self.use_place(leaves, at)?;
        operands.insert(3, array);
        operands.extend(index);
        operands.extend(peer.operands(self, at)?);
        let op = DmaStart {
            source_semaphore: Some(source_semaphore),
            peer: peer.peer(),
            ..DmaStart::new(transfer, semaphore)
        };
        let operands: SmallVec<[_; 8]> = operands;
        self.push_all(Op::Dma(DmaOp::Start(Box::new(op))), &operands, &[], at).map(|_| ())
    }
}
