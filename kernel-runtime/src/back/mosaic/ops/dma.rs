//! Copies and semaphores.

use crate::back::mlir::{Attr, Elem, Session, Type, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering, memory_space};
use crate::diag::Diagnostic;
use crate::ir::ops::{Access, DmaOp, DmaOperands, Length, Peer, Start, SyncOp, Transfer};
use crate::ir::{self, OpData, SemaphoreKind};
use smallvec::{SmallVec, smallvec};

/// What stands for a size that is known at run time alone.
const DYNAMIC: i64 = i64::MIN;

/// Operands of an MLIR op, and how many of them belong to each of its groups.
pub(super) type Grouped<'s> = (SmallVec<[Value<'s>; 8]>, SmallVec<[i32; 8]>);

pub(super) fn lower<'s>(lowerer: &mut Lowerer<'_, 's>, dma: &DmaOp, op: &OpData) -> Lowering<'s> {
    let Some(parts) = dma.split(&op.operands) else {
        return Err(lowerer.internal("a copy has operands that do not fit it"));
    };
    let (from, to) = lowerer.ends(dma.transfer(), &parts)?;
    let semaphore = lowerer.semaphore(parts.semaphore, dma.semaphore(), parts.scalars.semaphore)?;
    let peer = lowerer.peer(dma.peer(), parts.scalars.peer)?;
    match dma {
        DmaOp::Start(start) => {
            if start.add {
                return Err(lowerer
                    .unsupported("a copy that adds to its target does not exist")
                    .help("copy into scratch, and add what you load from there"));
            }
            let source = match (&start.source_semaphore, parts.source_semaphore) {
                (Some(access), Some(array)) => {
                    Some(lowerer.semaphore(array, access, parts.scalars.source_semaphore)?)
                }
                _ => None,
            };
            let mut grouped: Grouped<'s> = Default::default();
            add_group(&mut grouped, &[from]);
            add_group(&mut grouped, source.as_slice());
            add_group(&mut grouped, &[to]);
            add_group(&mut grouped, &[semaphore]);
            lowerer.add_peer(&mut grouped, dma.peer(), &peer, true);
            let priority = i64::from(start.priority);
            let priority = lowerer.session.int_attr(lowerer.session.elem(Elem::I32), priority);
            let strict = lowerer.session.bool_attr(start.strict);
            let attrs = [("priority", priority), ("strict_ordering", strict)];
            lowerer.emit_grouped("tpu.enqueue_dma", &grouped, &attrs);
        }
        DmaOp::Wait(wait) => {
            let mut grouped: Grouped<'s> = Default::default();
            for value in [semaphore, from, to] {
                add_group(&mut grouped, &[value]);
            }
            lowerer.add_peer(&mut grouped, dma.peer(), &peer, false);
            let strict = lowerer.session.bool_attr(wait.strict);
            lowerer.emit_grouped("tpu.wait_dma2", &grouped, &[("strict_ordering", strict)]);
        }
    }
    Ok(SmallVec::new())
}

pub(super) fn lower_sync<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    sync: &SyncOp,
    op: &OpData,
) -> Lowering<'s> {
    let first = sync.n_before_index();
    let n_index = sync.semaphore().n_dynamic();
    let index = &op.operands[first..first + n_index];
    let semaphore = lowerer.semaphore(op.operands[0], sync.semaphore(), index)?;
    match sync {
        SyncOp::Signal { peer, .. } => {
            let amount = lowerer.value(op.operands[1])?;
            let ids = lowerer.peer(*peer, &op.operands[first + n_index..])?;
            let mut grouped: Grouped<'s> = Default::default();
            add_group(&mut grouped, &[semaphore]);
            add_group(&mut grouped, &[amount]);
            lowerer.add_peer(&mut grouped, *peer, &ids, true);
            lowerer.emit_grouped("tpu.sem_signal", &grouped, &[]);
            Ok(SmallVec::new())
        }
        SyncOp::Wait { .. } => {
            let amount = lowerer.value(op.operands[1])?;
            lowerer.emit("tpu.sem_wait", &[semaphore, amount], &[], &[], &[]);
            Ok(SmallVec::new())
        }
        SyncOp::Read { .. } => {
            let i32_ty = lowerer.session.elem(Elem::I32);
            Ok(smallvec![lowerer.op("tpu.sem_read", &[semaphore], i32_ty, &[])])
        }
    }
}

pub(super) fn add_group<'s>(grouped: &mut Grouped<'s>, values: &[Value<'s>]) {
    grouped.0.extend_from_slice(values);
    grouped.1.push(values.len() as i32);
}

/// The type of an array of semaphores.
pub(in crate::back::mosaic) fn semaphores<'s>(
    session: &'s Session,
    kind: SemaphoreKind,
    shape: &[usize],
) -> Type<'s> {
    let sizes: SmallVec<[i64; 4]> = shape.iter().map(|&size| size as i64).collect();
    let elem = session.parsed_type(semaphore_text(kind));
    session.memref_of(&sizes, elem, session.parsed_attr("#tpu.memory_space<semaphore_mem>"))
}

fn semaphore_text(kind: SemaphoreKind) -> &'static str {
    match kind {
        SemaphoreKind::Dma => "!tpu.dma_semaphore",
        SemaphoreKind::Regular | SemaphoreKind::Barrier => "!tpu.semaphore",
    }
}

impl<'s> Lowerer<'_, 's> {
    fn emit_grouped(&mut self, name: &str, grouped: &Grouped<'s>, attrs: &[(&str, Attr<'s>)]) {
        let segments = self.session.i32_array_attr(&grouped.1);
        let mut attrs = attrs.to_vec();
        attrs.push(("operandSegmentSizes", segments));
        self.emit(name, &grouped.0, &[], &attrs, &[]);
    }

    /// The groups of a peer's ids; subcores are known from version 14 on.
    fn add_peer(&self, grouped: &mut Grouped<'s>, peer: Peer, ids: &[Value<'s>], subcores: bool) {
        let mut ids = ids.iter();
        let mut group = |given: bool| {
            let id = if given { ids.next().copied() } else { None };
            add_group(grouped, id.as_slice());
        };
        group(peer.device);
        group(peer.core);
        if subcores && self.options.version >= 14 {
            group(peer.subcore);
        }
    }

    fn peer(
        &mut self,
        peer: Peer,
        ids: &[ir::Value],
    ) -> Result<SmallVec<[Value<'s>; 4]>, Diagnostic> {
        if peer.subcore && self.options.version < 14 {
            let message =
                "copies and signals to a subcore do not exist before version 14 of the Mosaic form";
            return Err(self.unsupported(message).help("set `Options::version` to 14 or later"));
        }
        ids.iter().map(|&id| self.value(id)).collect()
    }

    /// Both ends of a copy, as references of their own.
    fn ends(
        &mut self,
        transfer: &Transfer,
        parts: &DmaOperands<'_, ir::Value>,
    ) -> Result<(Value<'s>, Value<'s>), Diagnostic> {
        let lengths = self.lengths(transfer, parts.scalars.lengths)?;
        let from = self.view(parts.from, &transfer.from, parts.scalars.from, &lengths)?;
        let to = self.view(parts.to, &transfer.to, parts.scalars.to, &lengths)?;
        Ok((from, to))
    }

    /// Per kept axis the length, if it is known at run time alone.
    fn lengths(
        &mut self,
        transfer: &Transfer,
        values: &[ir::Value],
    ) -> Result<SmallVec<[Option<Value<'s>>; 4]>, Diagnostic> {
        let mut values = values.iter();
        let lengths = transfer.lengths.iter().map(|length| match length {
            Length::Full => Ok(None),
            Length::Dynamic { multiple_of } => {
                values.next().map(|&value| self.promised(value, *multiple_of)).transpose()
            }
        });
        lengths.collect()
    }

    /// The part of a reference that an access names.
    pub(super) fn view(
        &mut self,
        reference: ir::Value,
        access: &Access,
        starts: &[ir::Value],
        lengths: &[Option<Value<'s>>],
    ) -> Result<Value<'s>, Diagnostic> {
        let kernel = self.kernel;
        let ir::Type::Ref { dtype, space, .. } = *kernel.ty(reference) else {
            return Err(self.internal("a copy of what is no memory"));
        };
        if dtype == ir::DType::Bool {
            return Err(self
                .unsupported("memory of `bool` cannot be copied")
                .help("keep it as i8 or i32, and compare with zero where it is used"));
        }
        let reference = self.reference(reference)?;
        let [memref] = reference.parts[..] else {
            return Err(self
                .unsupported("a block that is fetched in parts cannot be copied")
                .help("fetch the block as a whole"));
        };
        let mut dims = access.dims.iter();
        let mut starts = starts.iter();
        let mut lengths = lengths.iter();
        let mut slice = Slice::default();
        for (&kept, &size) in reference.kept.iter().zip(&reference.part_shape) {
            let Some(dim) = (if kept { dims.next() } else { None }) else {
                let zero = self.int_constant(&Form::SCALAR, Elem::I32, 0);
                slice.push(zero, 1, false);
                slice.is_whole &= size == 1;
                continue;
            };
            if dim.stride != 1 && dim.size > 1 {
                return Err(self
                    .unsupported("a copy in steps does not exist")
                    .help("copy all, and load in steps: `buf[(ds(0, n).stride(k), ..)]`"));
            }
            let start = match dim.start {
                Start::Static(start) => self.int_constant(&Form::SCALAR, Elem::I32, start as i64),
                Start::Dynamic { multiple_of } => match starts.next() {
                    Some(&start) => self.promised(start, multiple_of)?,
                    None => return Err(self.internal("an access lacks a start")),
                },
            };
            let length = if dim.keep { lengths.next().copied().flatten() } else { None };
            slice.is_whole &= dim.start == Start::Static(0) && dim.size == size;
            match length {
                Some(length) => slice.push_dynamic(start, length, dim.keep),
                None => slice.push(start, dim.size as i64, dim.keep),
            }
        }
        let space = memory_space(self.session, space);
        let elem = self.session.elem(Self::memory_elem(dtype));
        Ok(self.sliced(memref, &slice, elem, space))
    }

    /// One semaphore of an array.
    pub(super) fn semaphore(
        &mut self,
        array: ir::Value,
        access: &Access,
        index: &[ir::Value],
    ) -> Result<Value<'s>, Diagnostic> {
        let kernel = self.kernel;
        let ir::Type::Semaphore { kind, .. } = kernel.ty(array) else {
            return Err(self.internal("a semaphore that is none"));
        };
        let memref = self.value(array)?;
        let mut index = index.iter();
        let mut slice = Slice::default();
        for dim in &access.dims {
            let start = match dim.start {
                Start::Static(start) => self.int_constant(&Form::SCALAR, Elem::I32, start as i64),
                Start::Dynamic { multiple_of } => match index.next() {
                    Some(&start) => self.promised(start, multiple_of)?,
                    None => return Err(self.internal("an access lacks a start")),
                },
            };
            slice.push(start, 1, false);
        }
        slice.is_whole = access.dims.is_empty();
        let elem = self.session.parsed_type(semaphore_text(*kind));
        let space = self.session.parsed_attr("#tpu.memory_space<semaphore_mem>");
        Ok(self.sliced(memref, &slice, elem, space))
    }

    /// Emits a slice of a memref, and drops the axes that it does not keep.
    fn sliced(
        &mut self,
        memref: Value<'s>,
        slice: &Slice<'s>,
        elem: Type<'s>,
        space: Attr<'s>,
    ) -> Value<'s> {
        let mut value = memref;
        if !slice.is_whole {
            let mut grouped: Grouped<'s> = Default::default();
            add_group(&mut grouped, &[memref]);
            add_group(&mut grouped, &slice.starts);
            add_group(&mut grouped, &slice.lengths);
            let ty = self.session.memref_of(&slice.sizes, elem, space);
            let segments = self.session.i32_array_attr(&grouped.1);
            let attrs = [("operandSegmentSizes", segments)];
            value = self.op("tpu.memref_slice", &grouped.0, ty, &attrs);
        }
        let kept: SmallVec<[i64; 4]> = slice
            .sizes
            .iter()
            .zip(&slice.kept)
            .filter(|(_, kept)| **kept)
            .map(|(&n, _)| n)
            .collect();
        if kept.len() == slice.sizes.len() {
            return value;
        }
        let ty = self.session.memref_of(&kept, elem, space);
        self.op("tpu.memref_squeeze", &[value], ty, &[])
    }
}

/// A slice of a memref, axis by axis.
struct Slice<'s> {
    starts: SmallVec<[Value<'s>; 4]>,
    sizes: SmallVec<[i64; 4]>,
    lengths: SmallVec<[Value<'s>; 4]>,
    kept: SmallVec<[bool; 4]>,
    /// Whether it is all of the memref.
    is_whole: bool,
}

impl Default for Slice<'_> {
    fn default() -> Self {
        Slice {
            starts: SmallVec::new(),
            sizes: SmallVec::new(),
            lengths: SmallVec::new(),
            kept: SmallVec::new(),
            is_whole: true,
        }
    }
}

impl<'s> Slice<'s> {
    fn push(&mut self, start: Value<'s>, size: i64, kept: bool) {
        self.starts.push(start);
        self.sizes.push(size);
        self.kept.push(kept);
    }

    fn push_dynamic(&mut self, start: Value<'s>, length: Value<'s>, kept: bool) {
        self.push(start, DYNAMIC, kept);
        self.lengths.push(length);
        self.is_whole = false;
    }
}
