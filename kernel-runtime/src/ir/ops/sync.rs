//! Semaphores: signal, wait, read.

use super::dma::Peer;
use super::{Access, InferError, Results, expect_operands};
use crate::ir::dtype::DType;
use crate::ir::ty::{SemaphoreKind, Type};
use smallvec::smallvec;

/// An op on one semaphore of an array. A semaphore is an `i32` that starts at zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SyncOp {
    /// Operands: the semaphores, an `i32` scalar, the index, the ids of the peer. Adds the number
    /// to the semaphore of the peer; it is not negative.
    Signal {
        /// Which semaphore.
        semaphore: Access,
        /// Whose.
        peer: Peer,
    },
    /// Operands: the semaphores, an `i32` scalar, the index. Waits until the semaphore is at least
    /// the number, and takes it off; it is not negative.
    Wait {
        /// Which semaphore.
        semaphore: Access,
    },
    /// Operands: the semaphores, the index. What the semaphore is, which may have changed already.
    /// One for copies may count in other units than bytes, but is zero if nothing has arrived.
    Read {
        /// Which semaphore.
        semaphore: Access,
    },
}

impl SyncOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            SyncOp::Signal { .. } => "sem_signal",
            SyncOp::Wait { .. } => "sem_wait",
            SyncOp::Read { .. } => "sem_read",
        }
    }

    /// Which semaphore.
    pub fn semaphore(&self) -> &Access {
        match self {
            SyncOp::Signal { semaphore, .. }
            | SyncOp::Wait { semaphore }
            | SyncOp::Read { semaphore } => semaphore,
        }
    }

    /// Whose semaphore.
    pub fn peer(&self) -> Peer {
        match self {
            SyncOp::Signal { peer, .. } => *peer,
            SyncOp::Wait { .. } | SyncOp::Read { .. } => Peer::SELF,
        }
    }

    /// The number of operands before the index.
    pub fn n_before_index(&self) -> usize {
        match self {
            SyncOp::Signal { .. } | SyncOp::Wait { .. } => 2,
            SyncOp::Read { .. } => 1,
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let (first, n_index) = (self.n_before_index(), self.semaphore().n_dynamic());
        expect_operands(name, operands, first + n_index + self.peer().n_operands())?;
        let Type::Semaphore { kind, .. } = operands[0] else {
            return Err(InferError::ty(format!(
                "`{name}` takes semaphores, not `{}`",
                operands[0]
            )));
        };
        check_index(name, self.semaphore(), operands[0], &operands[first..first + n_index])?;
        let numbers = operands[1..first].iter().chain(&operands[first + n_index..]);
        if let Some(bad) = numbers.copied().find(|ty| **ty != Type::Scalar(DType::I32)) {
            return Err(InferError::ty(format!("`{name}` takes `i32` scalars, not `{bad}`")));
        }
        match self {
            SyncOp::Read { .. } => Ok(smallvec![Type::Scalar(DType::I32)]),
            SyncOp::Signal { .. } | SyncOp::Wait { .. } if *kind == SemaphoreKind::Dma => Err(
                InferError::ty(format!("`{name}` takes a regular semaphore, not one for copies"))
                    .help("copies signal their semaphore themselves; wait for the copy"),
            ),
            SyncOp::Signal { .. } | SyncOp::Wait { .. } => Ok(Results::new()),
        }
    }
}

/// The index names one semaphore of the array.
pub(super) fn check_index(
    name: &str,
    access: &Access,
    ty: &Type,
    index: &[&Type],
) -> Result<(), InferError> {
    access.check(name, ty, index)?;
    if access.is_element() {
        return Ok(());
    }
    Err(InferError::index(format!("`{name}` takes one semaphore, but the index names several"))
        .help("give one index per axis"))
}
