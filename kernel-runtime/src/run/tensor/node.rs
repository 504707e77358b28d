//! What stands behind a tensor.

use crate::diag::Diagnostics;
use crate::ir::Array;
use crate::pjrt::Buffer;
use crate::run::bounded::corner::Padded;
use crate::run::device::Device;
use crate::run::dispatch::queue::Batch;
use crate::run::dispatch::trace::TraceId;
use crate::run::graph::{At, Ty, ValueId};
use crate::run::mesh::Shards;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A tensor's type, where it was made, and what is there of it.
#[derive(Debug)]
pub(crate) struct Node {
    /// Element type and shape; of no meaning once the state is `Failed`.
    pub(crate) ty: Ty,
    /// The line that recorded it.
    pub(crate) at: At,
    /// Where it lives.
    pub(crate) device: Device,
    state: Mutex<State>,
}

/// What there is of a tensor.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// Elements on the host, not on the device yet.
    Host(Arc<Array>),
    /// Recorded in a queue that has not been flushed.
    Deferred(Arc<Batch>, ValueId),
    /// On the device, or on its way: reading waits.
    Device(Buffer),
    /// On the devices of a mesh, or on its way there.
    Sharded(Arc<Shards>),
    /// On the device as a part of a larger array.
    Padded(Arc<Padded>),
    /// A value of a program that is being traced.
    Traced(TraceId, ValueId),
    /// Given away to an op that reused its memory.
    Donated(At),
    /// Could not be made.
    Failed(Arc<Diagnostics>),
}

impl Node {
    pub(crate) fn new(ty: Ty, at: At, device: Device, state: State) -> Arc<Node> {
        Arc::new(Node { ty, at, device, state: Mutex::new(state) })
    }

    /// The state; hold it briefly.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the state.
    pub(crate) fn set(&self, state: State) {
        *self.state() = state;
    }

    /// Why it could not be made, if it could not.
    pub(crate) fn failure(&self) -> Option<Arc<Diagnostics>> {
        match &*self.state() {
            State::Failed(failure) => Some(failure.clone()),
            _ => None,
        }
    }
}
