//! Semaphores by hand, and the copies that ownership cannot describe.
//!
//! Nothing keeps a kernel from touching what such a copy has in flight but the interpreter, which
//! reports it.

use super::context::{At, Handle, make, with};
use super::convert::IntoScalar;
use super::copy::Manner;
use super::handle::Scalar;
use super::index::RefIndex;
use super::mesh::Remote;
use super::place::{Far, Near, Place, ReadOnly, View};
use crate::ir::ops::{Peer, SyncOp};
use crate::ir::{DType, Element, Op, Value};
use smallvec::SmallVec;
use std::panic::Location;

macro_rules! semaphores {
    ($($(#[$doc:meta])* $name:ident, $one:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            handle: Handle,
        }

        impl $name {
            pub(super) fn new(handle: Handle) -> $name {
                $name { handle }
            }

            /// One of them.
            #[track_caller]
            pub fn at(self, index: impl RefIndex) -> $one {
                let at = Location::caller();
                let parts = index.parts();
                let number = with(|t| {
                    let place = t.place(self.handle, &[], &parts, at)?;
                    t.places.push(place);
                    u32::try_from(t.places.len() - 1).ok()
                });
                $one { handle: self.handle, number: number.flatten() }
            }
        }

        #[doc = concat!("One semaphore of a [`", stringify!($name), "`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $one {
            handle: Handle,
            /// Its number among the places of the trace.
            number: Option<u32>,
        }

        impl From<$name> for $one {
            #[track_caller]
            fn from(all: $name) -> $one {
                all.at(())
            }
        }

        impl $one {
            pub(super) fn place(self, at: At) -> Option<Place> {
                with(|t| {
                    t.operand(self.handle, at)?;
                    t.places.get(self.number? as usize).cloned()
                })
                .flatten()
            }

            /// What it is; copies and other cores may have changed it by then.
            #[track_caller]
            pub fn read(self) -> Scalar<i32> {
                let at = Location::caller();
                let place = self.place(at);
                Scalar::new(make(|t| {
                    let used = place.and_then(|place| t.use_place(&place, at));
                    let Some((array, semaphore, index)) = used else { return Handle::POISON };
                    let operands: SmallVec<[Value; 4]> =
                        std::iter::once(array).chain(index).collect();
                    match t.push(Op::Sync(SyncOp::Read { semaphore }), &operands, at) {
                        Some(value) => t.handle(value),
                        None => Handle::POISON,
                    }
                }))
            }
        }
    )*};
}
semaphores! {
    /// Semaphores that the kernel signals itself: `#[scratch] s: Semaphore` is one,
    /// `#[scratch([4])] s: Semaphore` are four. They start at zero and end at zero.
    Semaphore, OneSemaphore;
    /// Semaphores that copies signal, for [`start_copy`] and [`wait_copy`].
    DmaSemaphore, OneDmaSemaphore;
}

macro_rules! regular {
    ($($name:ty),*) => {$(
        impl $name {
            /// Adds a number that is not negative.
            #[track_caller]
            pub fn signal(self, amount: impl IntoScalar<i32>) {
                let semaphore = OneSemaphore::from(self);
                let signal = |semaphore| SyncOp::Signal { semaphore, peer: Peer::SELF };
                semaphore.change(amount, signal, Location::caller());
            }

            /// Adds a number that is not negative to the same semaphore of another device or core.
            #[track_caller]
            pub fn signal_to(self, remote: Remote, amount: impl IntoScalar<i32>) {
                let semaphore = OneSemaphore::from(self);
                let peer = remote.peer();
                let signal = |semaphore| SyncOp::Signal { semaphore, peer };
                semaphore.change_at(amount, signal, remote, Location::caller());
            }

            /// Waits until it is at least a number that is not negative, and takes it off.
            #[track_caller]
            pub fn wait(self, amount: impl IntoScalar<i32>) {
                let semaphore = OneSemaphore::from(self);
                semaphore.change(amount, |semaphore| SyncOp::Wait { semaphore }, Location::caller());
            }
        }
    )*};
}
regular!(Semaphore, OneSemaphore);

impl Semaphore {
    /// What the only one is.
    #[track_caller]
    pub fn read(self) -> Scalar<i32> {
        OneSemaphore::from(self).read()
    }
}

impl OneSemaphore {
    fn change(
        self,
        amount: impl IntoScalar<i32>,
        op: impl FnOnce(crate::ir::ops::Access) -> SyncOp,
        at: At,
    ) {
        self.change_at(amount, op, Remote::SELF, at);
    }

    fn change_at(
        self,
        amount: impl IntoScalar<i32>,
        op: impl FnOnce(crate::ir::ops::Access) -> SyncOp,
        remote: Remote,
        at: At,
    ) {
        let amount = amount.operand();
        let Some(place) = self.place(at) else { return };
        with(|t| {
            let (array, semaphore, index) = t.use_place(&place, at)?;
            let amount = t.value(amount, DType::I32, at)?;
            let mut operands: SmallVec<[Value; 4]> =
                [array, amount].into_iter().chain(index).collect();
            operands.extend(remote.operands(t, at)?);
            t.push_all(Op::Sync(op(semaphore)), &operands, &[], at)
        });
    }
}

/// Memory that [`start_copy`] may write.
#[diagnostic::on_unimplemented(
    message = "a copy cannot write to `{Self}`",
    note = "inputs are read-only: declare the parameter as an output, or as scratch"
)]
pub trait WritableView {}

impl WritableView for Far {}
impl WritableView for Near {}

/// Memory that [`start_copy`] may read.
pub trait ReadableView {}

impl ReadableView for ReadOnly {}
impl ReadableView for Far {}
impl ReadableView for Near {}

/// Starts a copy that the semaphore counts. Until [`wait_copy`] the target must not be touched, nor
/// the source be written: the interpreter tells if they are.
///
/// Prefer [`copy_into`](super::copy_into), which rustc checks. This form says what ownership cannot:
/// copies that one grid step starts and the next waits for, or several on one semaphore.
#[track_caller]
pub fn start_copy<T: Element, R: ReadableView, W: WritableView>(
    from: View<T, R>,
    to: View<T, W>,
    semaphore: impl Into<OneDmaSemaphore>,
) {
    let at = Location::caller();
    let semaphore = semaphore.into();
    if let Some((from, to, semaphore)) = places(from, to, semaphore, at) {
        with(|t| t.start_copy(&from, &to, &semaphore, Manner::default(), at));
    }
}

/// Waits until the semaphore has counted as many bytes as the target takes, and takes them off.
#[track_caller]
pub fn wait_copy<T: Element, R: ReadableView, W: WritableView>(
    from: View<T, R>,
    to: View<T, W>,
    semaphore: impl Into<OneDmaSemaphore>,
) {
    let at = Location::caller();
    let semaphore = semaphore.into();
    if let Some((from, to, semaphore)) = places(from, to, semaphore, at) {
        with(|t| t.wait_copy(&from, &to, &semaphore, at));
    }
}

pub(super) fn places<T, R, W>(
    from: View<T, R>,
    to: View<T, W>,
    semaphore: OneDmaSemaphore,
    at: At,
) -> Option<(Place, Place, Place)> {
    Some((from.place(at)?, to.place(at)?, semaphore.place(at)?))
}
