//! Copies.

use super::super::agents::SemaphoreId;
use super::super::exec::{Executor, Stop};
use super::super::flight::{End, Flight, Rect};
use super::super::memory::{Copy, Strides, dense_strides};
use super::super::plan::Inst;
use super::super::report::{Cause, memory_name};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Access, DmaOp, DmaScalars, Length, Peer, Start, Transfer};
use crate::ir::{LocId, Shape};
use smallvec::SmallVec;

impl Executor<'_> {
    /// Starts a copy or waits for one.
    pub(in super::super) fn dma(&mut self, inst: &Inst<'_>, op: &DmaOp) -> Result<(), Stop> {
        let places: SmallVec<[usize; 8]> = (0..inst.uses.len()).collect();
        let (Some(scalars), &[from, to, semaphore, ..]) =
            (op.split_scalars(&places), inst.refs.as_slice())
        else {
            return Ok(());
        };
        let transfer = op.transfer();
        let sizes = self.lengths(inst, transfer, &scalars)?;
        let semaphore = self.semaphore(inst, semaphore, op.semaphore(), scalars.semaphore)?;
        let dtype = self.memories[to].dtype;
        let bytes = (sizes.iter().product::<usize>() * dtype.size_bytes()) as i64;
        let weight = if self.counts_bytes(semaphore) { bytes } else { 1 };
        match op {
            DmaOp::Start(start) => {
                self.yield_point()?;
                let from = self.end(inst, from, &transfer.from, scalars.from, &sizes)?;
                let mut to = self.end(inst, to, &transfer.to, scalars.to, &sizes)?;
                let agent = self.peer(inst, start.peer, scalars.peer)?;
                to.owner = self.layout.owner(agent, to.rect.memory);
                if start.fresh {
                    self.clear_target(&to.rect, &start.transfer.to, inst.loc)?;
                }
                let source_semaphore = match (&start.source_semaphore, inst.refs.get(3)) {
                    (Some(access), Some(&array)) => {
                        Some(self.semaphore(inst, array, access, scalars.source_semaphore)?)
                    }
                    _ => None,
                };
                let source_weight = match source_semaphore {
                    Some(semaphore) if !self.counts_bytes(semaphore) => 1,
                    _ => bytes,
                };
                self.start_flight(Flight {
                    id: 0,
                    from,
                    to,
                    sizes,
                    dtype,
                    add: start.add,
                    also_reads: None,
                    semaphore: SemaphoreId { agent, ..semaphore },
                    source_semaphore,
                    weight,
                    source_weight,
                    loc: inst.loc,
                    agent: self.me,
                    time: 0,
                    cargo: None,
                    n_moved: 0,
                    step: self.step_number,
                    done: [false; 2],
                })
            }
            DmaOp::Wait(_) => self.wait(semaphore, weight, inst.loc),
        }
    }

    /// Makes the target of a copy undefined along all of its kept axes: what the copy leaves of it
    /// stays so.
    fn clear_target(&mut self, rect: &Rect, access: &Access, loc: LocId) -> Result<(), Stop> {
        let shape = self.memories[rect.memory].shape.clone();
        let mut all = rect.clone();
        for (axis, _) in access.dims.iter().enumerate().filter(|(_, dim)| dim.keep) {
            (all.starts[axis], all.sizes[axis], all.strides[axis]) = (0, shape[axis], 1);
        }
        self.check_in_flight(&all, true, loc)?;
        let strides = dense_strides(&shape);
        let base = all.starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
        let store = Copy::new(&all.sizes, (0, &dense_strides(&all.sizes)), (base, &strides));
        let id = self.origin_id(Cause::Padding, rect.memory, None);
        let n_elems = all.sizes.iter().product();
        self.memories[rect.memory].set_poison(&store, None, Some(vec![id; n_elems]));
        Ok(())
    }

    /// The sizes of what is copied, with the dynamic lengths as they are now.
    fn lengths(
        &mut self,
        inst: &Inst<'_>,
        transfer: &Transfer,
        scalars: &DmaScalars<'_, usize>,
    ) -> Result<Shape, Stop> {
        let mut sizes = transfer.shape();
        let mut operands = scalars.lengths.iter();
        for (axis, length) in transfer.lengths.iter().enumerate() {
            let Length::Dynamic { multiple_of } = length else { continue };
            let Some(&operand) = operands.next() else { continue };
            let scalar = self.scalar(inst, operand)?;
            let what = format!("the length of this copy along axis {axis}");
            let length = self.index(scalar, &what, inst.loc)?;
            let most = sizes[axis];
            let wrong = match length {
                0 => "which copies nothing".to_owned(),
                n if n < 0 => "which is negative".to_owned(),
                n if n > most as i64 => format!("more than {most}"),
                n if n % *multiple_of as i64 != 0 => {
                    format!("which is no multiple of {multiple_of} as promised")
                }
                _ => {
                    sizes[axis] = length as usize;
                    continue;
                }
            };
            let diagnostic =
                Diagnostic::error(Code::INTERP_COPY_LENGTH, format!("{what} is {length}, {wrong}"))
                    .at_opt(self.run.kernel().span(inst.loc), "copied here")
                    .help("start the copy only if there is something to copy: `start_if(n > 0)`");
            return Err(self.report(inst.loc, diagnostic));
        }
        Ok(sizes)
    }

    /// An end of a copy; `places` are those of the operands for its dynamic starts.
    pub(super) fn end(
        &mut self,
        inst: &Inst<'_>,
        memory: usize,
        access: &Access,
        places: &[usize],
        sizes: &[usize],
    ) -> Result<End, Stop> {
        let name = memory_name(self.run.kernel(), memory);
        let mut places = places.iter();
        let mut kept_sizes = sizes.iter();
        let strides = dense_strides(&self.memories[memory].shape);
        let mut base = 0;
        let mut steps = Strides::new();
        let mut rect = Rect {
            memory,
            starts: SmallVec::new(),
            sizes: SmallVec::new(),
            strides: SmallVec::new(),
        };
        for (axis, dim) in access.dims.iter().enumerate() {
            let size = if dim.keep { kept_sizes.next().copied().unwrap_or(1) } else { 1 };
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { multiple_of } => {
                    let Some(&place) = places.next() else { continue };
                    let scalar = self.scalar(inst, place)?;
                    let what = format!("the index of `{name}` along axis {axis}");
                    let start = self.index(scalar, &what, inst.loc)?;
                    self.check_start(inst, (memory, axis), start, (size, dim.stride, multiple_of))?
                }
            };
            base += start * strides[axis];
            if dim.keep {
                steps.push(dim.stride * strides[axis]);
            }
            rect.starts.push(start);
            rect.sizes.push(size);
            rect.strides.push(dim.stride);
        }
        Ok(End { owner: self.owner(memory), rect, base, steps, rows: None })
    }

    /// The agent that a peer's ids name; `places` are those of the operands for them.
    pub(in super::super) fn peer(
        &mut self,
        inst: &Inst<'_>,
        peer: Peer,
        places: &[usize],
    ) -> Result<usize, Stop> {
        if peer.is_self() {
            return Ok(self.me);
        }
        let mut ids = [None; 3];
        let mut places = places.iter();
        let given = [(peer.device, "device"), (peer.core, "core"), (peer.subcore, "subcore")];
        for (id, (is_given, what)) in ids.iter_mut().zip(given) {
            if let (true, Some(&place)) = (is_given, if is_given { places.next() } else { None }) {
                let scalar = self.scalar(inst, place)?;
                *id = Some(self.index(scalar, &format!("the number of the {what}"), inst.loc)?);
            }
        }
        self.layout.find(self.me, ids).map_err(|(what, id, n)| {
            let message = match n {
                1 => format!("there is no {what} {id}: the kernel runs on one"),
                _ => format!("there is no {what} {id}: they are numbered 0 to {}", n - 1),
            };
            let diagnostic = Diagnostic::error(Code::INTERP_NO_PEER, message)
                .at_opt(self.run.kernel().span(inst.loc), "addressed here")
                .help("wrap the number around: `(id + 1) % n`, and add `n` before `%` if it may be negative");
            self.report(inst.loc, diagnostic)
        })
    }

    /// The semaphore that an access names.
    pub(in super::super) fn semaphore(
        &mut self,
        inst: &Inst<'_>,
        array: usize,
        access: &Access,
        places: &[usize],
    ) -> Result<SemaphoreId, Stop> {
        let shape = &self.run.plan.semaphores[array].shape;
        let strides = dense_strides(shape);
        let mut places = places.iter();
        let mut element = 0;
        for (axis, dim) in access.dims.iter().enumerate() {
            let start = match dim.start {
                Start::Static(start) => start,
                Start::Dynamic { .. } => {
                    let Some(&place) = places.next() else { continue };
                    let scalar = self.scalar(inst, place)?;
                    let name = &self.run.plan.semaphores[array].name;
                    let what = format!("the index of `{name}` along axis {axis}");
                    let start = self.index(scalar, &what, inst.loc)?;
                    match usize::try_from(start).ok().filter(|&start| start < shape[axis]) {
                        Some(start) => start,
                        None => {
                            return Err(self.report_no_semaphore(inst, &what, start, shape[axis]));
                        }
                    }
                }
            };
            element += start * strides[axis];
        }
        Ok(SemaphoreId { agent: self.me, array, element })
    }

    fn report_no_semaphore(&mut self, inst: &Inst<'_>, what: &str, start: i64, n: usize) -> Stop {
        let diagnostic = Diagnostic::error(
            Code::INTERP_OUT_OF_BOUNDS,
            format!("{what} is {start}, but there are {n} semaphores"),
        )
        .at_opt(self.run.kernel().span(inst.loc), "out of bounds here");
        self.report(inst.loc, diagnostic)
    }
}
