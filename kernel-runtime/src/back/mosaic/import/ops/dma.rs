//! Copies and semaphores.

use super::super::body::{Importer, Index, Outcome};
use super::super::read::ast::{Op, ValueId, find};
use super::view::Part;
use crate::ir::ops::{DmaOp, DmaStart, DmaWait, Length, Peer, SyncOp, Transfer};
use crate::ir::{self, SemaphoreArray, SemaphoreKind, Shape};
use std::ops::Range;

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "tpu.enqueue_dma" => importer.enqueue(op),
        "tpu.wait_dma2" => importer.wait_for_copy(op),
        "tpu.sem_signal" => importer.signal(op),
        "tpu.sem_wait" => importer.sem_wait(op),
        "tpu.sem_read" => importer.sem_read(op),
        "tpu.sem_barrier" => importer.sem_barrier(op),
        _ => return None,
    })
}

/// Both ends of a copy as operands.
struct Ends {
    transfer: Transfer,
    from: Part,
    to: Part,
    lengths: Vec<ir::Value>,
}

impl<'m> Importer<'m> {
    fn enqueue(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes", "priority", "strict_ordering"])?;
        let n = self.n_segments(op);
        let segments = self.segments(op, n.clamp(6, 7))?;
        let one = |idx: usize| op.operands[segments[idx].clone()].first().copied();
        let (Some(source), Some(target)) = (one(0), one(2)) else {
            return Err(self.wrong("a copy has no source or no target").into());
        };
        let Some(semaphore) = one(3) else {
            return Err(self.unsupported(op, "no semaphore at the target"));
        };
        let ends = self.ends(op, source, target)?;
        let semaphore = self.whole(op, semaphore)?;
        let source_semaphore = one(1).map(|value| self.whole(op, value)).transpose()?;
        let (peer, ids) = self.peer(op, &segments[4..])?;
        let priority = match find(&op.attrs, "priority") {
            None => 0,
            Some(_) => self.int_attr(op, "priority")?,
        };
        let Ok(priority) = u32::try_from(priority) else {
            return Err(self.wrong(format!("a copy has the priority {priority}")).into());
        };
        let start = DmaStart {
            transfer: ends.transfer.clone(),
            semaphore: semaphore.access.clone(),
            source_semaphore: source_semaphore.as_ref().map(|part| part.access.clone()),
            peer,
            priority,
            add: false,
            strict: self.flag(op, "strict_ordering")?,
            fresh: false,
        };
        self.copy(op, DmaOp::Start(Box::new(start)), ends, semaphore, source_semaphore, ids)
    }

    fn wait_for_copy(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes", "strict_ordering"])?;
        // Before version 7 there were three operands and no segments.
        let segments: Vec<Range<usize>> = match find(&op.attrs, "operandSegmentSizes") {
            Some(_) => self.segments(op, 5)?,
            None if op.operands.len() == 3 => vec![0..1, 1..2, 2..3, 3..3, 3..3],
            None => return Err(self.wrong("a wait has three operands").into()),
        };
        let one = |idx: usize| op.operands[segments[idx].clone()].first().copied();
        let (Some(semaphore), Some(source), Some(target)) = (one(0), one(1), one(2)) else {
            return Err(self.wrong("a wait lacks its semaphore, source or target").into());
        };
        let ends = self.ends(op, source, target)?;
        let semaphore = self.whole(op, semaphore)?;
        let (peer, ids) = self.peer(op, &segments[3..])?;
        let wait = DmaWait {
            transfer: ends.transfer.clone(),
            semaphore: semaphore.access.clone(),
            peer,
            strict: self.flag(op, "strict_ordering")?,
        };
        self.copy(op, DmaOp::Wait(Box::new(wait)), ends, semaphore, None, ids)
    }

    /// Adds an op on a copy, with its operands in their order.
    fn copy(
        &mut self,
        op: &Op,
        what: DmaOp,
        ends: Ends,
        semaphore: Part,
        source_semaphore: Option<Part>,
        ids: Vec<ir::Value>,
    ) -> Outcome<()> {
        let mut operands = vec![ends.from.base, ends.to.base, semaphore.base];
        operands.extend(source_semaphore.as_ref().map(|part| part.base));
        operands.extend(ends.from.starts);
        operands.extend(ends.to.starts);
        operands.extend(ends.lengths);
        operands.extend(semaphore.starts);
        operands.extend(source_semaphore.into_iter().flat_map(|part| part.starts));
        operands.extend(ids);
        self.push_all(op, ir::Op::Dma(what), &operands, &[])?;
        Ok(())
    }

    fn n_segments(&self, op: &Op) -> usize {
        self.ints(op, "operandSegmentSizes").map_or(0, |sizes| sizes.len())
    }

    /// A part that accesses name whole: no other shape or type.
    pub(super) fn whole(&mut self, op: &Op, value: ValueId) -> Outcome<Part> {
        let view = self.view(value)?;
        if !view.layers.is_empty() {
            return Err(self.unsupported(op, "a reference seen under another shape or type"));
        }
        self.part(op, &view)
    }

    fn ends(&mut self, op: &Op, source: ValueId, target: ValueId) -> Outcome<Ends> {
        let (mut from, mut to) = (self.whole(op, source)?, self.whole(op, target)?);
        if from.lengths.len() != to.lengths.len() {
            return Err(self.wrong("source and target of a copy have other axes").into());
        }
        let (mut lengths, mut values) = (Vec::new(), Vec::new());
        for axis in 0..to.lengths.len() {
            let (from_length, to_length) = (from.lengths[axis].clone(), to.lengths[axis].clone());
            match (from_length, to_length) {
                (None, None) => lengths.push(Length::Full),
                (
                    Some(Index::Dynamic { value: a, multiple: m }),
                    Some(Index::Dynamic { value: b, multiple: n }),
                ) if a == b => {
                    // At most as many as either end has.
                    let least = kept_size(&from, axis).min(kept_size(&to, axis));
                    set_kept_size(&mut from, axis, least);
                    set_kept_size(&mut to, axis, least);
                    lengths.push(Length::Dynamic { multiple_of: m.max(n) });
                    values.push(a);
                }
                _ => return Err(self.unsupported(op, "source and target of different lengths")),
            }
        }
        let mut transfer = Transfer::new(from.access.clone(), to.access.clone());
        if !values.is_empty() {
            transfer.lengths = lengths.into_iter().collect();
        }
        Ok(Ends { transfer, from, to, lengths: values })
    }

    /// Ids of another device, core and subcore.
    fn peer(&mut self, op: &Op, segments: &[Range<usize>]) -> Outcome<(Peer, Vec<ir::Value>)> {
        let mut ids = Vec::new();
        let mut given = [false; 3];
        for (given, segment) in given.iter_mut().zip(segments) {
            if let Some(&id) = op.operands[segment.clone()].first() {
                *given = true;
                ids.push(self.value(id)?);
            }
        }
        let [device, core, subcore] = given;
        Ok((Peer { device, core, subcore }, ids))
    }

    fn signal(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes"])?;
        let n = self.n_segments(op);
        let segments = self.segments(op, n.clamp(4, 5))?;
        let semaphore = self.operand(op, 0)?;
        let semaphore = self.whole(op, semaphore)?;
        let amount = self.operand(op, 1)?;
        let mut operands = vec![semaphore.base, self.value(amount)?];
        let (peer, ids) = self.peer(op, &segments[2..])?;
        operands.extend(semaphore.starts);
        operands.extend(ids);
        let signal = SyncOp::Signal { semaphore: semaphore.access, peer };
        self.push_all(op, ir::Op::Sync(signal), &operands, &[])?;
        Ok(())
    }

    fn sem_wait(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let [semaphore, amount] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let semaphore = self.whole(op, semaphore)?;
        let mut operands = vec![semaphore.base, self.value(amount)?];
        operands.extend(semaphore.starts);
        let wait = SyncOp::Wait { semaphore: semaphore.access };
        self.push_all(op, ir::Op::Sync(wait), &operands, &[])?;
        Ok(())
    }

    fn sem_read(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let semaphore = self.operand(op, 0)?;
        let semaphore = self.whole(op, semaphore)?;
        let mut operands = vec![semaphore.base];
        operands.extend(semaphore.starts);
        let read = SyncOp::Read { semaphore: semaphore.access };
        let value = self.push(op, ir::Op::Sync(read), &operands)?;
        self.result(op, value)
    }

    /// The kernel's barrier, the same one each time.
    fn sem_barrier(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let [result] = op.results[..] else {
            return Err(self.wrong("a barrier has one result").into());
        };
        let base = match self.barrier {
            Some(base) => base,
            None => self.builder.semaphores(SemaphoreArray {
                name: "barrier".into(),
                kind: SemaphoreKind::Barrier,
                shape: Shape::new(),
                loc: self.loc,
            }),
        };
        self.barrier = Some(base);
        self.bind_ref(result, base);
        Ok(())
    }
}

/// The number of elements along a kept axis.
fn kept_size(part: &Part, axis: usize) -> usize {
    part.access.dims.iter().filter(|dim| dim.keep).nth(axis).map_or(0, |dim| dim.size)
}

fn set_kept_size(part: &mut Part, axis: usize, size: usize) {
    if let Some(dim) = part.access.dims.iter_mut().filter(|dim| dim.keep).nth(axis) {
        dim.size = size;
    }
}
