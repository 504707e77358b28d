//! Asynchronous copies between memories.
//!
//! An op names the rectangles that it moves, so that who checks it or lowers it sees both ends: a
//! chain of slices of a reference is one [`Access`].

use super::{Access, InferError, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::{SemaphoreKind, Shape, Sizes, Type};
use smallvec::SmallVec;

/// How many elements a copy moves along an axis of its rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// As many as the accesses say.
    Full,
    /// The value of the next length operand (an `i32` scalar): at least 1, at most what the
    /// accesses say, and a multiple of `multiple_of` by the user's promise.
    Dynamic {
        /// A known divisor, from 1 to [`MAX_MULTIPLE`](super::MAX_MULTIPLE).
        multiple_of: usize,
    },
}

/// A rectangle of one reference that becomes one of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// What is read.
    pub from: Access,
    /// What is written: its kept axes have the sizes of those of `from`.
    pub to: Access,
    /// Per kept axis; empty if all are full.
    pub lengths: SmallVec<[Length; 4]>,
}

impl Transfer {
    /// A transfer of all that the accesses say.
    pub fn new(from: Access, to: Access) -> Transfer {
        Transfer { from, to, lengths: SmallVec::new() }
    }

    /// The shape of what is moved, or the largest if lengths are dynamic.
    pub fn shape(&self) -> Shape {
        self.to.tile_shape()
    }

    /// The number of dynamic lengths, each an operand.
    pub fn n_lengths(&self) -> usize {
        self.lengths.iter().filter(|length| matches!(length, Length::Dynamic { .. })).count()
    }
}

/// Which ids of another core or device are given, each an `i32` scalar operand, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Peer {
    /// A device, by its logical number.
    pub device: bool,
    /// A core of the device.
    pub core: bool,
    /// A subcore of a SparseCore.
    pub subcore: bool,
}

impl Peer {
    /// This core.
    pub const SELF: Peer = Peer { device: false, core: false, subcore: false };

    /// The number of operands.
    pub fn n_operands(self) -> usize {
        usize::from(self.device) + usize::from(self.core) + usize::from(self.subcore)
    }

    /// Whether it is this core.
    pub fn is_self(self) -> bool {
        self == Peer::SELF
    }
}

/// An op of asynchronous copies.
///
/// Operands: the references `from`, `to`, the semaphores and those of the sender if there are any;
/// then `i32` scalars: the dynamic starts of `from`, those of `to`, the dynamic lengths, the index
/// of the semaphore, that of the sender's, and the ids of the peer. See [`DmaOp::split`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DmaOp {
    /// Starts a copy.
    Start(Box<DmaStart>),
    /// Waits until a semaphore has counted the bytes of a copy like this one, and takes them off.
    Wait(Box<DmaWait>),
}

/// What is said of a copy where it starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DmaStart {
    /// What is moved.
    pub transfer: Transfer,
    /// The semaphore that counts what has arrived, where `to` is.
    pub semaphore: Access,
    /// The semaphore that counts what has left, of a copy to a peer.
    pub source_semaphore: Option<Access>,
    /// Where `to` and the semaphore are.
    pub peer: Peer,
    /// 0 is the most urgent.
    pub priority: u32,
    /// Whether what arrives is added to what is there.
    pub add: bool,
    /// Whether it is ordered after copies that were started before it.
    pub strict: bool,
    /// Whether what it leaves of the target becomes undefined: the whole of the kept axes, at the
    /// indices of the others. It serves the part of a block that an array has; nothing is done for
    /// it on a chip.
    pub fresh: bool,
}

impl DmaStart {
    /// A copy within this core, without anything unusual about it.
    pub fn new(transfer: Transfer, semaphore: Access) -> DmaStart {
        DmaStart {
            transfer,
            semaphore,
            source_semaphore: None,
            peer: Peer::SELF,
            priority: 0,
            add: false,
            strict: false,
            fresh: false,
        }
    }
}

/// What is said of a copy where it is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DmaWait {
    /// What is moved. Sizes matter and where the ends live; not from where in them it starts.
    pub transfer: Transfer,
    /// The semaphore.
    pub semaphore: Access,
    /// The other end of the copy.
    pub peer: Peer,
    /// Whether the copy is ordered.
    pub strict: bool,
}

impl DmaWait {
    /// A wait for a copy within this core.
    pub fn new(transfer: Transfer, semaphore: Access) -> DmaWait {
        DmaWait { transfer, semaphore, peer: Peer::SELF, strict: false }
    }
}

/// The operands of a [`DmaOp`] by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct DmaOperands<'a, V> {
    /// What is read.
    pub from: V,
    /// What is written.
    pub to: V,
    /// The semaphores.
    pub semaphore: V,
    /// The sender's semaphores.
    pub source_semaphore: Option<V>,
    /// The scalars.
    pub scalars: DmaScalars<'a, V>,
}

/// The scalar operands of a [`DmaOp`] by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct DmaScalars<'a, V> {
    /// Dynamic starts of `from`.
    pub from: &'a [V],
    /// Dynamic starts of `to`.
    pub to: &'a [V],
    /// Dynamic lengths.
    pub lengths: &'a [V],
    /// The index of the semaphore.
    pub semaphore: &'a [V],
    /// The index of the sender's semaphore.
    pub source_semaphore: &'a [V],
    /// Ids of the peer.
    pub peer: &'a [V],
}

impl DmaOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            DmaOp::Start(_) => "dma_start",
            DmaOp::Wait(_) => "dma_wait",
        }
    }

    /// What is moved.
    pub fn transfer(&self) -> &Transfer {
        match self {
            DmaOp::Start(start) => &start.transfer,
            DmaOp::Wait(wait) => &wait.transfer,
        }
    }

    /// Which semaphore counts.
    pub fn semaphore(&self) -> &Access {
        match self {
            DmaOp::Start(start) => &start.semaphore,
            DmaOp::Wait(wait) => &wait.semaphore,
        }
    }

    /// Which semaphore of the sender counts.
    pub fn source_semaphore(&self) -> Option<&Access> {
        match self {
            DmaOp::Start(start) => start.source_semaphore.as_ref(),
            DmaOp::Wait(_) => None,
        }
    }

    /// The other end.
    pub fn peer(&self) -> Peer {
        match self {
            DmaOp::Start(start) => start.peer,
            DmaOp::Wait(wait) => wait.peer,
        }
    }

    /// The number of references among the operands, which come first.
    pub fn n_refs(&self) -> usize {
        3 + usize::from(self.source_semaphore().is_some())
    }

    /// The operands by what they are for; `None` if there are more or fewer.
    pub fn split<'a, V: Copy>(&self, operands: &'a [V]) -> Option<DmaOperands<'a, V>> {
        let (refs, scalars) = operands.split_at_checked(self.n_refs())?;
        Some(DmaOperands {
            from: *refs.first()?,
            to: *refs.get(1)?,
            semaphore: *refs.get(2)?,
            source_semaphore: refs.get(3).copied(),
            scalars: self.split_scalars(scalars)?,
        })
    }

    /// The scalars among the operands by what they are for; `None` if there are more or fewer.
    pub fn split_scalars<'a, V>(&self, mut scalars: &'a [V]) -> Option<DmaScalars<'a, V>> {
        let mut take = |n: usize| {
            let (taken, rest) = scalars.split_at_checked(n)?;
            scalars = rest;
            Some(taken)
        };
        let transfer = self.transfer();
        let split = DmaScalars {
            from: take(transfer.from.n_dynamic())?,
            to: take(transfer.to.n_dynamic())?,
            lengths: take(transfer.n_lengths())?,
            semaphore: take(self.semaphore().n_dynamic())?,
            source_semaphore: take(self.source_semaphore().map_or(0, Access::n_dynamic))?,
            peer: take(self.peer().n_operands())?,
        };
        scalars.is_empty().then_some(split)
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let Some(parts) = self.split(operands) else {
            return Err(InferError::ty(format!(
                "`{name}` was given {} operands, which do not fit its index and attributes",
                operands.len()
            )));
        };
        self.check_ends(&parts)?;
        if let DmaOp::Start(start) = self
            && start.fresh
            && (start.add || !start.peer.is_self())
        {
            return Err(InferError::ty(format!(
                "a `{name}` that is `fresh` neither adds nor goes to a peer"
            )));
        }
        check_semaphore(name, self.semaphore(), parts.semaphore, parts.scalars.semaphore)?;
        if let (Some(access), Some(ty)) = (self.source_semaphore(), parts.source_semaphore) {
            check_semaphore(name, access, ty, parts.scalars.source_semaphore)?;
        }
        let mut counts = parts.scalars.lengths.iter().chain(parts.scalars.peer);
        if let Some(bad) = counts.find(|ty| ***ty != Type::Scalar(DType::I32)) {
            return Err(InferError::ty(format!(
                "the lengths and ids of `{name}` are `i32` scalars, not `{bad}`"
            )));
        }
        Ok(Results::new())
    }

    /// Both ends are memory of one element type, and the rectangles are equal.
    fn check_ends(&self, parts: &DmaOperands<'_, &Type>) -> Result<(), InferError> {
        let (name, transfer) = (self.mnemonic(), self.transfer());
        let (from, to) = (parts.from, parts.to);
        for end in [from, to] {
            if !matches!(end, Type::Ref { .. }) {
                return Err(InferError::ty(format!("`{name}` copies memory, not `{end}`")));
            }
        }
        if from.dtype() != to.dtype() {
            return Err(InferError::ty(format!(
                "`{name}` copies bytes as they are, but the source has elements of `{}` and the \
                 target of `{}`",
                from.dtype(),
                to.dtype()
            ))
            .help("copy into memory of the source's type, and convert what you load from there"));
        }
        transfer.from.check(name, from, parts.scalars.from)?;
        transfer.to.check(name, to, parts.scalars.to)?;
        let (from_shape, to_shape) = (transfer.from.tile_shape(), transfer.to.tile_shape());
        if from_shape != to_shape {
            return Err(InferError::shape(format!(
                "`{name}` copies {} into {}: the shapes differ",
                Sizes(&from_shape),
                Sizes(&to_shape)
            ))
            .help("take parts of equal size; a single index drops its axis"));
        }
        if !transfer.lengths.is_empty() && transfer.lengths.len() != to_shape.len() {
            return Err(InferError::shape(format!(
                "`{name}` has {} lengths, but copies {}",
                transfer.lengths.len(),
                Sizes(&to_shape)
            )));
        }
        for length in &transfer.lengths {
            if let Length::Dynamic { multiple_of } = *length {
                super::memory::check_promise(name, multiple_of)?;
            }
        }
        Ok(())
    }
}

/// One semaphore for bytes.
pub(super) fn check_semaphore(
    name: &str,
    access: &Access,
    ty: &Type,
    index: &[&Type],
) -> Result<(), InferError> {
    match ty {
        Type::Semaphore { kind: SemaphoreKind::Dma | SemaphoreKind::Regular, .. } => {}
        _ => {
            return Err(InferError::ty(format!("`{name}` counts in a DMA semaphore, not `{ty}`")));
        }
    }
    super::sync::check_index(name, access, ty, index)
}
