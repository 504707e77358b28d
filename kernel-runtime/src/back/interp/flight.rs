//! Copies in flight.
//!
//! A copy moves its elements some time between its start and the wait for it: the seed says when,
//! and in how many parts. What a chip would leave undefined meanwhile must not be seen, so memory
//! that a copy in flight reads or writes is marked, and touching it is an error whatever the time.
//!
//! A semaphore does not know which copy it counts. A copy is therefore known to be done only when
//! waits have taken off all that copies (and signals) have added or will add to its semaphore.

use super::agents::SemaphoreId;
use super::agents::clock::{Clock, Contribution, Ends};
use super::agents::history::{Event, Touch};
use super::exec::{Executor, Stop};
use super::memory::{Copy, Memory, Strides, dense_strides};
use super::plan::MemoryIdx;
use super::report::memory_name;
use super::tile::{Data, PoisonId, Storage, slice_mut};
use crate::diag::{Code, Diagnostic};
use crate::ir::{DType, LocId, Shape};
use smallvec::SmallVec;
use std::sync::Arc;

/// A rectangle of a memory, dropped axes included.
#[derive(Clone, Debug)]
pub(super) struct Rect {
    /// Which memory.
    pub(super) memory: usize,
    /// First element per axis.
    pub(super) starts: SmallVec<[usize; 4]>,
    /// Elements per axis, at least 1.
    pub(super) sizes: SmallVec<[usize; 4]>,
    /// Distance of elements per axis.
    pub(super) strides: SmallVec<[usize; 4]>,
}

impl Rect {
    /// The first element of both, if there is one.
    pub(super) fn overlap(&self, other: &Rect) -> Option<SmallVec<[usize; 4]>> {
        if self.memory != other.memory {
            return None;
        }
        (0..self.starts.len())
            .map(|axis| {
                let [a, b] = [self, other]
                    .map(|rect| (rect.starts[axis], rect.sizes[axis], rect.strides[axis]));
                let last =
                    |(start, size, stride): (usize, usize, usize)| start + (size - 1) * stride;
                let in_both = |x: usize| {
                    [a, b]
                        .iter()
                        .all(|&(start, _, stride)| x >= start && (x - start).is_multiple_of(stride))
                };
                (a.0.max(b.0)..=last(a).min(last(b))).find(|&x| in_both(x))
            })
            .collect()
    }

    /// What it names, as in the source: `x[0..8, 3]`.
    pub(super) fn text(&self, name: &str) -> String {
        let axes: Vec<String> = (0..self.starts.len())
            .map(|axis| {
                let (start, size, stride) =
                    (self.starts[axis], self.sizes[axis], self.strides[axis]);
                match (size, stride) {
                    (1, _) => start.to_string(),
                    (_, 1) => format!("{start}..{}", start + size),
                    _ => {
                        format!("{start}..{} in steps of {stride}", start + (size - 1) * stride + 1)
                    }
                }
            })
            .collect();
        format!("`{name}[{}]`", axes.join(", "))
    }
}

/// One end of a copy.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The agent that has the memory.
    pub(super) owner: usize,
    /// What it touches.
    pub(super) rect: Rect,
    /// The place of its first element.
    pub(super) base: usize,
    /// Distances of places along the axes that are copied.
    pub(super) steps: Strides,
    /// The rows of an indirect copy, in their order; else all that `rect` says.
    pub(super) rows: Option<Rows>,
}

/// Rows along an axis.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Which axis of the memory; it is the first that is copied.
    pub(super) axis: usize,
    /// Which rows of it.
    pub(super) list: Arc<[usize]>,
}

impl End {
    /// All of a rectangle.
    pub(super) fn of(owner: usize, rect: &Rect) -> End {
        End { owner, rect: rect.clone(), base: 0, steps: Strides::new(), rows: None }
    }

    /// The first element that is in both, if there is one.
    fn overlap(&self, other: &End) -> Option<SmallVec<[usize; 4]>> {
        if self.owner != other.owner {
            return None;
        }
        let mut at = self.rect.overlap(&other.rect)?;
        for (end, opposite) in [(self, other), (other, self)] {
            let Some(rows) = &end.rows else { continue };
            at[rows.axis] = *rows.list.iter().find(|&&row| opposite.has(rows.axis, row))?;
        }
        Some(at)
    }

    /// Whether a row of an axis is among those that it touches.
    fn has(&self, axis: usize, row: usize) -> bool {
        match &self.rows {
            Some(rows) if rows.axis == axis => rows.list.contains(&row),
            _ => {
                let start = self.rect.starts[axis];
                let last = start + (self.rect.sizes[axis] - 1) * self.rect.strides[axis];
                let stride = self.rect.strides[axis];
                (start..=last).contains(&row) && (row - start).is_multiple_of(stride)
            }
        }
    }

    /// The place of index `idx` along the first copied axis.
    pub(super) fn place(&self, idx: usize) -> usize {
        let row = match &self.rows {
            Some(rows) => rows.list[idx] - self.rect.starts[rows.axis],
            None => idx,
        };
        self.base + row * self.steps.first().copied().unwrap_or(0)
    }
}

/// A copy that has been started and is not known to be done.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// Its number among all copies.
    pub(super) id: u64,
    pub(super) from: End,
    pub(super) to: End,
    /// Sizes of the axes that are copied.
    pub(super) sizes: Shape,
    pub(super) dtype: DType,
    pub(super) add: bool,
    /// What it reads beside: the list of ids.
    pub(super) also_reads: Option<End>,
    /// What counts what arrives.
    pub(super) semaphore: SemaphoreId,
    /// What counts what leaves, of a copy to a peer.
    pub(super) source_semaphore: Option<SemaphoreId>,
    /// What it adds to its semaphore: bytes, or 1 if that counts signals.
    pub(super) weight: i64,
    /// What it adds to that of the sender.
    pub(super) source_weight: i64,
    pub(super) loc: LocId,
    /// Who started it, and at which time of its own.
    pub(super) agent: usize,
    pub(super) time: u32,
    /// On its way to a peer: what has left the source.
    pub(super) cargo: Option<Cargo>,
    /// Indices along the first axis that have arrived.
    pub(super) n_moved: usize,
    pub(super) step: u64,
    /// Which ends are known to be done.
    pub(super) done: [bool; 2],
}

/// Elements on their way.
#[derive(Clone, Debug)]
pub(super) struct Cargo {
    data: Data,
    poison: Option<Vec<PoisonId>>,
}

impl Flight {
    /// Indices along its first axis.
    fn n_first(&self) -> usize {
        self.sizes.first().copied().unwrap_or(1)
    }

    /// Whether something has not arrived yet.
    fn is_under_way(&self) -> bool {
        self.n_moved < self.n_first()
    }

    /// What it adds to a semaphore.
    pub(super) fn adds_to(&self, semaphore: SemaphoreId) -> i64 {
        let arrives = if self.semaphore == semaphore { self.weight } else { 0 };
        let leaves = if self.source_semaphore == Some(semaphore) { self.source_weight } else { 0 };
        arrives + leaves
    }

    /// How it touches its target, or what it reads.
    fn touch(&self, is_target: bool) -> Touch {
        match (is_target, self.add) {
            (false, _) => Touch::Read,
            (true, false) => Touch::Write,
            (true, true) => Touch::Add,
        }
    }

    /// The ends, each with whether it is the target.
    pub(super) fn ends(&self) -> SmallVec<[(&End, bool); 3]> {
        let read = std::iter::once(&self.from).chain(&self.also_reads).map(|end| (end, false));
        read.chain([(&self.to, true)]).collect()
    }
}

impl Executor<'_> {
    /// Who has a memory of this agent.
    pub(super) fn owner(&self, memory: MemoryIdx) -> usize {
        self.world.layout.owner(self.me, memory)
    }

    /// A memory, whoever has it.
    pub(super) fn memory_of(&self, owner: usize, memory: MemoryIdx) -> &Memory {
        match owner == self.owner(memory) {
            true => &self.memories[memory],
            false => self.world.parked(owner, memory),
        }
    }

    /// A memory, whoever has it, to change it.
    pub(super) fn memory_of_mut(&mut self, owner: usize, memory: MemoryIdx) -> &mut Memory {
        match owner == self.owner(memory) {
            true => &mut self.memories[memory],
            false => self.world.parked_mut(owner, memory),
        }
    }

    /// All of a memory of this agent.
    pub(super) fn whole(&self, memory: MemoryIdx) -> Rect {
        let sizes: SmallVec<[usize; 4]> = self.memories[memory].shape.iter().copied().collect();
        let starts = SmallVec::from_elem(0, sizes.len());
        let strides = SmallVec::from_elem(1, sizes.len());
        Rect { memory, starts, sizes, strides }
    }

    /// The memory of an end.
    fn memory_at(&self, end: &End) -> &Memory {
        self.memory_of(end.owner, end.rect.memory)
    }

    /// What an end touches, and whose it is if not this agent's: `` `x[0..8]` of device 1 ``.
    pub(super) fn end_text(&self, end: &End) -> String {
        let name = memory_name(self.run.kernel(), end.rect.memory);
        let text = end.rect.text(name);
        match end.owner == self.owner(end.rect.memory) {
            true => text,
            false => format!("{text} of {}", self.world.layout.name(end.owner)),
        }
    }

    /// Checks an access to memory of this agent against the copies in flight.
    pub(super) fn check_in_flight(
        &mut self,
        rect: &Rect,
        writes: bool,
        loc: LocId,
    ) -> Result<(), Stop> {
        self.check_end_in_flight(&End::of(self.owner(rect.memory), rect), writes, loc)
    }

    fn check_end_in_flight(&mut self, end: &End, writes: bool, loc: LocId) -> Result<(), Stop> {
        if self.is_ghost() {
            return Ok(());
        }
        let found = self.world.flights.iter().find_map(|flight| {
            let meets = |other: &'_ End| other.overlap(end);
            let target = if flight.done[1] { None } else { meets(&flight.to) };
            let target = target.map(|at| (flight, &flight.to, true, at));
            let source = || {
                if flight.done[0] || !writes {
                    return None;
                }
                let read = std::iter::once(&flight.from).chain(&flight.also_reads);
                read.into_iter().find_map(|from| Some((flight, from, false, meets(from)?)))
            };
            target.or_else(source)
        });
        let Some((flight, met, is_target, at)) = found else { return Ok(()) };
        let (flight, met) = (flight.clone(), met.clone());
        if self.world.clock(self.me).time(flight.agent) < flight.time {
            // Nothing says that the copy starts first.
            let other = Event {
                agent: flight.agent,
                time: flight.time,
                touch: flight.touch(is_target),
                loc: flight.loc,
                step: flight.step,
            };
            let own = if writes { Touch::Write } else { Touch::Read };
            return Err(self.report_agents_race((end.owner, &end.rect), &at, (own, loc), other));
        }
        let at = super::report::index_text(&at);
        Err(self.report_in_flight(&flight, (&met, is_target), &at, writes, loc))
    }

    fn report_in_flight(
        &mut self,
        flight: &Flight,
        (end, is_target): (&End, bool),
        at: &str,
        writes: bool,
        loc: LocId,
    ) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, end.rect.memory);
        let verb = if writes { "written" } else { "read" };
        let what = if is_target { "into" } else { "out of" };
        let by = match flight.agent == self.me {
            true => String::new(),
            false => format!(" that {} started", self.world.layout.name(flight.agent)),
        };
        let diagnostic = Diagnostic::error(
            Code::INTERP_IN_FLIGHT,
            format!(
                "`{name}{at}` is {verb} while the copy {what} {}{by} is in flight",
                self.end_text(end)
            ),
        )
        .at_opt(kernel.span(loc), format!("{verb} here"))
        .at_opt(kernel.span(flight.loc), "the copy starts here, and is not known to be done")
        .help(match is_target {
            true => "wait for the copy before its target is touched",
            false => "wait for the copy before its source is overwritten, or use another buffer",
        });
        let semaphore = flight.semaphore;
        let flights = self.world.flights.iter();
        let n_sharing = flights.filter(|other| other.semaphore == semaphore).count();
        let diagnostic = match n_sharing {
            0 | 1 => diagnostic,
            n => diagnostic.note(format!(
                "{n} copies share {}: none is known to be done before all are waited for",
                self.semaphore_text(semaphore)
            )),
        };
        self.report(loc, diagnostic)
    }

    /// Starts a copy, whose ends are in bounds.
    pub(super) fn start_flight(&mut self, mut flight: Flight) -> Result<(), Stop> {
        let loc = flight.loc;
        if self.is_ghost() {
            self.ghost_signals(flight.semaphore, loc);
            if let Some(semaphore) = flight.source_semaphore {
                self.ghost_signals(semaphore, loc);
            }
            return Ok(());
        }
        if let Some(at) = flight.from.overlap(&flight.to) {
            return Err(self.report_copy_overlap(&flight, &at));
        }
        self.check_begun(flight.semaphore, Some(&flight.to), loc)?;
        let (from, to) = (flight.from.clone(), flight.to.clone());
        for read in std::iter::once(&from).chain(&flight.also_reads) {
            self.check_end_in_flight(read, false, loc)?;
        }
        if !flight.add || self.touches_other_than_sums(&to) {
            self.check_end_in_flight(&to, true, loc)?;
        }
        for read in std::iter::once(&from).chain(&flight.also_reads) {
            self.check_history(read, Touch::Read, loc)?;
        }
        self.check_history(&to, flight.touch(true), loc)?;
        self.stamp(&flight)?;
        for end in [&from, &to].into_iter().chain(&flight.also_reads) {
            self.memory_of_mut(end.owner, end.rect.memory).in_flight += 1;
        }
        if flight.n_first() == 0 {
            // All rows are left out.
            self.world.counter_mut(flight.semaphore).count += flight.weight;
        }
        flight.id = self.world.n_started;
        flight.time = self.world.clock(self.me).time(self.me);
        self.world.n_started += 1;
        if self.is_alone() {
            let n_first = flight.n_first();
            let n_now = match self.world.random.below(3) {
                0 => n_first,
                1 => n_first / 2,
                _ => 0,
            };
            self.move_to(&mut flight, n_now);
        } else {
            self.contribute_copy(&flight);
        }
        self.world.flights.push(flight);
        Ok(())
    }

    /// Tells the semaphores of a copy what they will count.
    fn contribute_copy(&mut self, flight: &Flight) {
        let me = self.me;
        let clock: Clock = self.world.clock(me).clone();
        self.world.clock_mut(me).tick(me);
        let both = if flight.source_semaphore.is_none() { Ends::Both } else { Ends::To };
        let arrives = (Some(flight.semaphore), flight.weight, both);
        let leaves = (flight.source_semaphore, flight.source_weight, Ends::From);
        for (semaphore, weight, ends) in [arrives, leaves] {
            let Some(semaphore) = semaphore else { continue };
            let in_parts = self.counts_bytes(semaphore);
            let copy = Some((flight.id, ends));
            let clock = clock.clone();
            let contribution = Contribution { agent: me, clock, weight, copy, in_parts };
            self.world.counter_mut(semaphore).contributions.push(contribution);
        }
    }

    fn report_copy_overlap(&mut self, flight: &Flight, at: &[usize]) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, flight.to.rect.memory);
        let at = super::report::index_text(at);
        let diagnostic = Diagnostic::error(
            Code::INTERP_COPY_OVERLAP,
            format!(
                "this copy reads {} and writes {}: both hold `{name}{at}`",
                flight.from.rect.text(name),
                flight.to.rect.text(name)
            ),
        )
        .at_opt(kernel.span(flight.loc), "the source and the target overlap")
        .help("copy by way of another buffer");
        self.report(flight.loc, diagnostic)
    }

    /// Whether a copy in flight that touches the place does not add to it. Sums have no order.
    fn touches_other_than_sums(&self, end: &End) -> bool {
        self.world.flights.iter().any(|flight| {
            let mut read = std::iter::once(&flight.from).chain(&flight.also_reads);
            !flight.done[1] && !flight.add && flight.to.overlap(end).is_some()
                || !flight.done[0] && read.any(|from| from.overlap(end).is_some())
        })
    }

    /// Moves elements until `n` indices along the first axis are done, and counts them.
    fn move_to(&mut self, flight: &mut Flight, n: usize) {
        let n_first = flight.n_first();
        let n = n.min(n_first);
        if n <= flight.n_moved {
            return;
        }
        if flight.source_semaphore.is_some() && flight.cargo.is_none() {
            self.depart(flight);
        }
        let done = |n: usize| flight.weight * n as i64 / n_first as i64;
        self.world.counter_mut(flight.semaphore).count += done(n) - done(flight.n_moved);
        if flight.from.rows.is_some() || flight.to.rows.is_some() {
            self.move_rows(flight, n);
            flight.n_moved = n;
            return;
        }
        let mut sizes = flight.sizes.clone();
        if let Some(first) = sizes.first_mut() {
            *first = n - flight.n_moved;
        }
        let place = |end: &End| end.base + flight.n_moved * end.steps.first().copied().unwrap_or(0);
        let dense = dense_strides(&sizes);
        let out = match &flight.cargo {
            None => Copy::new(&sizes, (place(&flight.from), &flight.from.steps), (0, &dense)),
            Some(_) => {
                let from = flight.n_moved * dense.first().copied().unwrap_or(0);
                Copy::new(&sizes, (from, &dense), (0, &dense))
            }
        };
        let into = Copy::new(&sizes, (0, &dense), (place(&flight.to), &flight.to.steps));
        self.move_elements(flight, &sizes, &out, &into);
        flight.n_moved = n;
    }

    /// Moves the rows of an indirect copy one by one.
    fn move_rows(&mut self, flight: &Flight, n: usize) {
        let sizes = Shape::from_slice(&flight.sizes[1..]);
        let dense = dense_strides(&sizes);
        for idx in flight.n_moved..n {
            let [from, to] = [&flight.from, &flight.to];
            let out = Copy::new(&sizes, (from.place(idx), &from.steps[1..]), (0, &dense));
            let into = Copy::new(&sizes, (0, &dense), (to.place(idx), &to.steps[1..]));
            self.move_elements(flight, &sizes, &out, &into);
        }
    }

    /// Lets all elements leave the source of a copy to a peer.
    fn depart(&mut self, flight: &mut Flight) {
        let n = flight.sizes.iter().product();
        let dense = dense_strides(&flight.sizes);
        let out = Copy::new(&flight.sizes, (flight.from.base, &flight.from.steps), (0, &dense));
        let (data, poison) = self.read_elements(&flight.from, flight.dtype, n, &out);
        flight.cargo = Some(Cargo { data, poison });
        if let Some(semaphore) = flight.source_semaphore {
            self.world.counter_mut(semaphore).count += flight.source_weight;
        }
    }

    fn read_elements(
        &mut self,
        end: &End,
        dtype: DType,
        n: usize,
        out: &Copy,
    ) -> (Data, Option<Vec<PoisonId>>) {
        let mut part = self.pool.data(Storage::of(dtype), n);
        let memory = self.memory_at(end);
        part.copy_from(&memory.data, out);
        let poison = memory.poison.as_ref().and_then(|poison| poison.copied(n, out));
        (part, poison.map(|poison| poison.to_ids(n)))
    }

    /// Moves elements by way of a buffer: both ends may be in one memory.
    fn move_elements(&mut self, flight: &Flight, sizes: &[usize], out: &Copy, into: &Copy) {
        let n = sizes.iter().product();
        let (mut part, mut ids) = match &flight.cargo {
            None => self.read_elements(&flight.from, flight.dtype, n, out),
            Some(cargo) => {
                let mut part = self.pool.data(Storage::of(flight.dtype), n);
                part.copy_from(&cargo.data, out);
                let ids = cargo.poison.as_ref().map(|ids| {
                    let mut part = vec![0; n];
                    out.run(ids, &mut part);
                    part
                });
                (part, ids)
            }
        };
        if flight.add {
            let back = into.reversed();
            let (old, old_ids) = self.read_elements(&flight.to, flight.dtype, n, &back);
            add_to(&mut part, &old, flight.dtype);
            self.pool.give(old);
            if let Some(old_ids) = old_ids {
                let ids = ids.get_or_insert_with(|| vec![0; n]);
                for (idx, id) in ids.iter_mut().enumerate().filter(|(_, id)| **id == 0) {
                    *id = old_ids[idx];
                }
            }
        }
        let memory = self.memory_of_mut(flight.to.owner, flight.to.rect.memory);
        memory.data.copy_from(&part, into);
        memory.set_poison(into, None, ids);
        memory.stored_at = Some(flight.loc);
        self.pool.give(part);
    }

    /// Lets a copy on a semaphore come further; `false` if all are done.
    pub(super) fn advance(&mut self, semaphore: SemaphoreId) -> bool {
        self.advance_one(|flight| flight.semaphore == semaphore)
    }

    /// Lets a copy come further; `false` if all have.
    pub(super) fn move_any(&mut self) -> bool {
        self.advance_one(|_| true)
    }

    fn advance_one(&mut self, is_meant: impl Fn(&Flight) -> bool) -> bool {
        let flights = self.world.flights.iter().enumerate();
        let under_way: SmallVec<[usize; 8]> = flights
            .filter(|(_, flight)| flight.is_under_way() && is_meant(flight))
            .map(|(idx, _)| idx)
            .collect();
        if under_way.is_empty() {
            return false;
        }
        let idx = under_way[self.world.random.below(under_way.len() as u64) as usize];
        let mut flight = self.world.flights[idx].clone();
        if self.is_alone() {
            self.move_to(&mut flight, usize::MAX);
        } else {
            self.move_further(&mut flight);
        }
        self.world.flights[idx] = flight;
        true
    }

    /// Lets a copy leave its source, or arrive in parts or as a whole.
    fn move_further(&mut self, flight: &mut Flight) {
        if flight.source_semaphore.is_some() && flight.cargo.is_none() {
            self.depart(flight);
            return;
        }
        let left = flight.n_first() - flight.n_moved;
        let part = match self.world.random.below(4) {
            0 => left.div_ceil(2),
            _ => left,
        };
        self.move_to(flight, flight.n_moved + part);
    }

    /// Notes that ends of copies are done: this agent knows it from a wait.
    pub(super) fn ends_done(&mut self, id: u64, ends: Ends) {
        let Some(idx) = self.world.flights.iter().position(|flight| flight.id == id) else {
            return;
        };
        let is_meant = [ends != Ends::To, ends != Ends::From];
        let flight = self.world.flights[idx].clone();
        for (end, is_target) in flight.ends() {
            let which = usize::from(is_target);
            if !is_meant[which] || flight.done[which] {
                continue;
            }
            self.world.flights[idx].done[which] = true;
            self.memory_of_mut(end.owner, end.rect.memory).in_flight -= 1;
            self.record_touch(end, flight.touch(is_target), (flight.loc, flight.step));
        }
        if self.world.flights[idx].done == [true; 2] {
            let flight = self.world.flights.remove(idx);
            if let Some(cargo) = flight.cargo {
                self.pool.give(cargo.data);
            }
        }
    }
}

/// Adds elements at the same place, rounded to the type.
fn add_to(to: &mut Data, other: &Data, dtype: DType) {
    match (to, other) {
        (Data::F32(to), Data::F32(other)) => {
            for (to, &other) in slice_mut(to).iter_mut().zip(other.iter()) {
                *to = dtype.round_f32(*to + other);
            }
        }
        (Data::I32(to), Data::I32(other)) => {
            for (to, &other) in slice_mut(to).iter_mut().zip(other.iter()) {
                *to = super::tile::encode_int(dtype, i64::from(to.wrapping_add(other)));
            }
        }
        _ => {}
    }
}
