//! Ops of SparseCores, and how ops that TensorCores have too are written for their registers.
//!
//! A register has one axis of as many elements as the chip has lanes. A tile of one element is
//! kept as a scalar, which is what reductions give and `item` takes.

mod memory;
mod register;

use super::dma::{Grouped, add_group};
use crate::back::mlir::Value;
use crate::back::mosaic::lower::{Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{Direction, IndirectRef, SparseOp};
use crate::ir::{self, OpData};
use smallvec::{SmallVec, smallvec};

pub(super) use register::{lower_reduce, lower_shape};

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    sparse: &SparseOp,
    op: &OpData,
) -> Lowering<'s> {
    if let Some(indirect) = sparse.indirect() {
        return lowerer.indirect(indirect, op);
    }
    match sparse {
        SparseOp::Start(_) | SparseOp::Wait(_) => Ok(SmallVec::new()),
        SparseOp::Barrier => {
            let number = lowerer.index_constant(0);
            lowerer.emit("tpu.barrier", &[number], &[], &[], &[]);
            Ok(SmallVec::new())
        }
        SparseOp::LoadIdx { masked } => Ok(smallvec![lowerer.load_idx(op, *masked)?]),
        SparseOp::StoreIdx { add, masked } => {
            lowerer.store_idx(op, *add, *masked)?;
            Ok(SmallVec::new())
        }
        SparseOp::LoadExpanded { access } => Ok(smallvec![lowerer.load_expanded(op, access)?]),
        SparseOp::StoreCompressed { access } => {
            lowerer.store_compressed(op, access)?;
            Ok(SmallVec::new())
        }
        SparseOp::Scan { kind, masked } => {
            let mask = lowerer.mask_of(op, *masked)?;
            let x = op.operands[0];
            let value = lowerer.value(x)?;
            let (dtype, form) = (lowerer.dtype(x), lowerer.form(x));
            Ok(smallvec![lowerer.scan(*kind, value, mask, dtype, &form)])
        }
        SparseOp::Sort { descending, masked } => lowerer.sort(op, *descending, *masked),
        SparseOp::ScanCount { masked } => lowerer.scan_count(op, *masked),
        SparseOp::MaskCount => lowerer.mask_reduce(op.operands[0], "sum"),
        SparseOp::MaskFirst => lowerer.mask_reduce(op.operands[0], "find_first_set"),
    }
}

impl<'s> Lowerer<'_, 's> {
    fn indirect(&mut self, indirect: IndirectRef<'_>, op: &OpData) -> Lowering<'s> {
        let Some(parts) = indirect.split(&op.operands) else {
            return Err(self.internal("an indirect copy has operands that do not fit it"));
        };
        let copy = indirect.copy();
        let table = self.view(parts.table, &copy.table, parts.values.table, &[])?;
        let rows = self.view(parts.rows, &copy.rows, parts.values.rows, &[])?;
        let semaphore = self.semaphore(parts.semaphore, &copy.semaphore, parts.values.semaphore)?;
        let (from, to) = match copy.direction {
            Direction::Gather => (table, rows),
            Direction::Scatter => (rows, table),
        };
        let IndirectRef::Start(start) = indirect else {
            self.emit("tpu.wait_indirect_dma", &[semaphore, from, to], &[], &[], &[]);
            return Ok(SmallVec::new());
        };
        let ids = match (parts.ids, &start.ids, parts.values.tile) {
            (Some(ids), Some(access), _) => self.view(ids, access, parts.values.ids, &[])?,
            (_, _, Some(tile)) => self.value(tile)?,
            _ => return Err(self.internal("an indirect copy without ids")),
        };
        let mut grouped: Grouped<'s> = Default::default();
        for value in [from, to, ids, semaphore] {
            add_group(&mut grouped, &[value]);
        }
        if let Some(skip) = parts.values.skip {
            let skip = self.value(skip)?;
            add_group(&mut grouped, &[skip]);
        }
        // The op has one optional operand, so that its groups need no sizes.
        let add = self.session.bool_attr(start.add);
        self.emit("tpu.enqueue_indirect_dma", &grouped.0, &[], &[("add", add)], &[]);
        Ok(SmallVec::new())
    }

    /// The mask of an op: its last operand, or true everywhere.
    fn mask_of(&mut self, op: &OpData, masked: bool) -> Result<Value<'s>, Diagnostic> {
        match op.operands.last() {
            Some(&mask) if masked => self.value(mask),
            _ => {
                let form = self.form(op.operands[0]);
                Ok(self.bool_constant(&form, true))
            }
        }
    }

    /// The memref behind a reference, which is not cut into parts.
    fn memref(&self, reference: ir::Value) -> Result<Value<'s>, Diagnostic> {
        let reference = self.reference(reference)?;
        match reference.parts[..] {
            [memref] => Ok(memref),
            _ => Err(self.internal("memory of a SparseCore in parts")),
        }
    }
}
