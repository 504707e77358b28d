//! Prints ops of a SparseCore.

use super::print::Printer;
use crate::ir::ops::{Direction, IndirectRef, SparseOp};
use crate::ir::{OpData, Value};
use std::fmt;

impl Printer<'_> {
    pub(super) fn sparse_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        sparse: &SparseOp,
        op: &OpData,
    ) -> fmt::Result {
        if let Some(indirect) = sparse.indirect() {
            return self.indirect_operands(f, indirect, op);
        }
        let (operands, mask) = op.operands.split_at(match sparse.masked() {
            true => op.operands.len().saturating_sub(1),
            false => op.operands.len(),
        });
        match sparse.access() {
            Some(access) => {
                let n_starts = access.n_dynamic().min(operands.len());
                let (before, starts) = operands.split_at(operands.len() - n_starts);
                let (first, others) = before.split_at(before.len().min(1));
                self.values(f, first)?;
                self.access(f, access, first.first().copied(), starts)?;
                f.write_str(if others.is_empty() { "" } else { "," })?;
                self.values(f, others)?;
            }
            None => self.values(f, operands)?,
        }
        match sparse {
            SparseOp::StoreIdx { add: true, .. } => f.write_str(" accumulate")?,
            SparseOp::Sort { descending: true, .. } => f.write_str(" descending")?,
            SparseOp::Start(_)
            | SparseOp::Wait(_)
            | SparseOp::Barrier
            | SparseOp::LoadIdx { .. }
            | SparseOp::StoreIdx { add: false, .. }
            | SparseOp::LoadExpanded { .. }
            | SparseOp::StoreCompressed { .. }
            | SparseOp::Scan { .. }
            | SparseOp::Sort { descending: false, .. }
            | SparseOp::ScanCount { .. }
            | SparseOp::MaskCount
            | SparseOp::MaskFirst => {}
        }
        f.write_str(if mask.is_empty() { "" } else { " mask" })?;
        self.values(f, mask)
    }

    fn indirect_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        indirect: IndirectRef<'_>,
        op: &OpData,
    ) -> fmt::Result {
        // Operands that do not fit the op are shown as they are.
        let Some(parts) = indirect.split(&op.operands) else { return self.values(f, &op.operands) };
        let copy = indirect.copy();
        let table = (parts.table, &copy.table, parts.values.table);
        let rows = (parts.rows, &copy.rows, parts.values.rows);
        let (from, to) = match copy.direction {
            Direction::Gather => (table, rows),
            Direction::Scatter => (rows, table),
        };
        let end = |f: &mut fmt::Formatter<'_>, (of, access, starts): (Value, _, &[Value])| {
            self.values(f, &[of])?;
            self.access(f, access, Some(of), starts)
        };
        end(f, from)?;
        f.write_str(" to")?;
        end(f, to)?;
        if let (Some(of), Some(access)) = (parts.ids, indirect.ids()) {
            f.write_str(" ids")?;
            end(f, (of, access, parts.values.ids))?;
        }
        if let Some(tile) = parts.values.tile {
            f.write_str(" ids")?;
            self.values(f, &[tile])?;
        }
        f.write_str(" semaphore")?;
        end(f, (parts.semaphore, &copy.semaphore, parts.values.semaphore))?;
        if let IndirectRef::Start(start) = indirect {
            f.write_str(if start.add { " accumulate" } else { "" })?;
        }
        if let Some(skip) = parts.values.skip {
            f.write_str(" skip")?;
            self.values(f, &[skip])?;
        }
        Ok(())
    }
}
