//! Prints copies and semaphores.

use super::print::Printer;
use crate::ir::ops::{DmaOp, Length, Peer, SyncOp};
use crate::ir::{OpData, Value};
use std::fmt;

impl Printer<'_> {
    pub(super) fn dma_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        dma: &DmaOp,
        op: &OpData,
    ) -> fmt::Result {
        // Operands that do not fit the op are shown as they are.
        let Some(parts) = dma.split(&op.operands) else { return self.values(f, &op.operands) };
        let (transfer, scalars) = (dma.transfer(), &parts.scalars);
        self.values(f, &[parts.from])?;
        self.access(f, &transfer.from, Some(parts.from), scalars.from)?;
        f.write_str(" to")?;
        self.values(f, &[parts.to])?;
        self.access(f, &transfer.to, Some(parts.to), scalars.to)?;
        if !transfer.lengths.is_empty() {
            self.lengths(f, &transfer.lengths, scalars.lengths)?;
        }
        f.write_str(" semaphore")?;
        self.values(f, &[parts.semaphore])?;
        self.access(f, dma.semaphore(), Some(parts.semaphore), scalars.semaphore)?;
        if let (Some(access), Some(of)) = (dma.source_semaphore(), parts.source_semaphore) {
            f.write_str(" source_semaphore")?;
            self.values(f, &[of])?;
            self.access(f, access, Some(of), scalars.source_semaphore)?;
        }
        self.peer(f, dma.peer(), scalars.peer)?;
        let strict = match dma {
            DmaOp::Start(start) => {
                if start.priority > 0 {
                    write!(f, " priority {}", start.priority)?;
                }
                f.write_str(if start.add { " accumulate" } else { "" })?;
                f.write_str(if start.fresh { " fresh" } else { "" })?;
                start.strict
            }
            DmaOp::Wait(wait) => wait.strict,
        };
        f.write_str(if strict { " strict" } else { "" })
    }

    fn lengths(
        &self,
        f: &mut fmt::Formatter<'_>,
        lengths: &[Length],
        values: &[Value],
    ) -> fmt::Result {
        let mut values = values.iter();
        for (idx, length) in lengths.iter().enumerate() {
            f.write_str(if idx > 0 { ", " } else { " lengths [" })?;
            let Length::Dynamic { multiple_of } = length else {
                f.write_str(":")?;
                continue;
            };
            let Some(&value) = values.next() else { continue };
            if *multiple_of == 1 {
                self.value(f, value)?;
            } else {
                f.write_str("multiple(")?;
                self.value(f, value)?;
                write!(f, ", {multiple_of})")?;
            }
        }
        f.write_str("]")
    }

    fn peer(&self, f: &mut fmt::Formatter<'_>, peer: Peer, ids: &[Value]) -> fmt::Result {
        let Peer { device, core, subcore } = peer;
        let named = [(device, " device"), (core, " core"), (subcore, " subcore")];
        let mut ids = ids.iter();
        for (_, word) in named.iter().filter(|(given, _)| *given) {
            f.write_str(word)?;
            self.values(f, ids.next().map(std::slice::from_ref).unwrap_or_default())?;
        }
        Ok(())
    }

    pub(super) fn sync_operands(
        &self,
        f: &mut fmt::Formatter<'_>,
        sync: &SyncOp,
        op: &OpData,
    ) -> fmt::Result {
        let first = sync.n_before_index();
        let n_index = sync.semaphore().n_dynamic();
        if op.operands.len() != first + n_index + sync.peer().n_operands() {
            return self.values(f, &op.operands);
        }
        let (before, rest) = op.operands.split_at(first);
        let (index, peer) = rest.split_at(n_index);
        self.values(f, &before[..1])?;
        self.access(f, sync.semaphore(), before.first().copied(), index)?;
        f.write_str(if first > 1 { "," } else { "" })?;
        self.values(f, &before[1..])?;
        self.peer(f, sync.peer(), peer)
    }
}
