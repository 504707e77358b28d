//! Semaphores: what signals and copies add, what waits take off, and what a wait tells.

use super::agents::SemaphoreId;
use super::agents::clock::{Contribution, take_certain};
use super::agents::history::{Event, Touch};
use super::exec::{Executor, Stop};
use super::flight::{End, Rect};
use super::memory::{Copy, Strides, dense_strides};
use super::report::memory_name;
use crate::diag::{Code, Diagnostic};
use crate::ir::{LocId, SemaphoreKind, Shape};

impl Executor<'_> {
    /// Waits until a semaphore of this agent is at least `amount`, and takes it off.
    pub(super) fn wait(
        &mut self,
        semaphore: SemaphoreId,
        amount: i64,
        loc: LocId,
    ) -> Result<(), Stop> {
        if self.is_ghost() {
            return Ok(());
        }
        if self.is_alone() {
            while self.world.counter(semaphore).count < amount {
                if !self.advance(semaphore) {
                    return Err(self.report_deadlock(semaphore, amount, loc));
                }
            }
        } else {
            self.wait_with_others(semaphore, amount, loc)?;
            if self.is_ghost() {
                return Ok(());
            }
        }
        let alone = self.is_alone();
        let counter = self.world.counter_mut(semaphore);
        counter.count -= amount;
        counter.taken += amount;
        let taken = counter.taken;
        if !alone {
            self.learn(semaphore);
            return Ok(());
        }
        if taken == self.world.added(semaphore) {
            let counter = self.world.counter_mut(semaphore);
            (counter.taken, counter.signalled) = (0, 0);
            self.settle(semaphore);
        }
        Ok(())
    }

    /// Forgets the copies on a semaphore, which are done.
    fn settle(&mut self, semaphore: SemaphoreId) {
        let memories = &mut self.memories;
        self.world.flights.retain(|flight| {
            let settled = flight.semaphore == semaphore;
            if settled {
                for (end, _) in flight.ends() {
                    memories[end.rect.memory].in_flight -= 1;
                }
            }
            !settled
        });
    }

    /// Notes what the agent knows now that a wait of its has returned.
    fn learn(&mut self, semaphore: SemaphoreId) {
        let counter = self.world.counter_mut(semaphore);
        let certain = take_certain(&mut counter.contributions, &mut counter.taken);
        let me = self.me;
        for Contribution { clock, copy, weight, .. } in certain {
            self.world.clock_mut(me).join(&clock);
            match copy {
                Some((id, ends)) => self.ends_done(id, ends),
                None => self.world.counter_mut(semaphore).signalled -= weight,
            }
        }
    }

    /// Adds to a semaphore, of this agent or another.
    pub(super) fn signal(
        &mut self,
        semaphore: SemaphoreId,
        amount: i64,
        loc: LocId,
    ) -> Result<(), Stop> {
        if self.is_ghost() {
            self.ghost_signals(semaphore, loc);
            return Ok(());
        }
        self.yield_point()?;
        self.check_begun(semaphore, None, loc)?;
        let counter = self.world.counter_mut(semaphore);
        counter.count += amount;
        counter.signalled += amount;
        counter.signalled_at = Some(loc);
        if !self.is_alone() {
            let me = self.me;
            let clock = self.world.clock(me).clone();
            self.world.clock_mut(me).tick(me);
            let (copy, in_parts, weight) = (None, false, amount);
            let contribution = Contribution { agent: me, clock, weight, copy, in_parts };
            self.world.counter_mut(semaphore).contributions.push(contribution);
        }
        Ok(())
    }

    /// What a semaphore is; copies may come further before it is read.
    pub(super) fn read_semaphore(&mut self, semaphore: SemaphoreId) -> Result<i64, Stop> {
        if self.is_alone() {
            if self.world.random.below(2) == 0 {
                self.advance(semaphore);
            }
        } else {
            self.yield_point()?;
        }
        Ok(self.world.counter(semaphore).count)
    }

    /// Whether a semaphore counts bytes.
    pub(super) fn counts_bytes(&self, semaphore: SemaphoreId) -> bool {
        self.run.plan.semaphores[semaphore.array].kind == SemaphoreKind::Dma
    }

    /// Checks that the agent whose semaphore and memory are meant is known to have begun: before
    /// that they are not its own, but for the barrier semaphore.
    pub(super) fn check_begun(
        &mut self,
        semaphore: SemaphoreId,
        to: Option<&End>,
        loc: LocId,
    ) -> Result<(), Stop> {
        let peer = semaphore.agent;
        let kernel = self.run.kernel();
        let array = &self.run.plan.semaphores[semaphore.array];
        if self.is_alone() || peer == self.me || array.kind == SemaphoreKind::Barrier {
            return Ok(());
        }
        let layout = &self.world.layout;
        let same_device = layout.agent(peer).device == layout.agent(self.me).device;
        if same_device || self.world.clock(self.me).time(peer) > 0 {
            return Ok(());
        }
        let whose = layout.name(peer);
        let what = match to {
            Some(end) => format!("this copy goes into {}", self.end_text(end)),
            None => format!("this signals {} of {whose}", self.semaphore_text(semaphore)),
        };
        let message = format!("{what}, which may not have begun the kernel yet");
        let diagnostic = Diagnostic::error(Code::INTERP_NOT_BEGUN, message)
            .at_opt(kernel.span(loc), "here nothing has been heard of it")
            .help(format!(
                "let {whose} signal the barrier semaphore of this device first, and wait for that: `barrier([..])` with all devices that copy or signal to each other"
            ));
        Err(self.report(loc, diagnostic))
    }

    /// Checks that this agent may touch memory that several reach.
    pub(super) fn check_history(
        &mut self,
        end: &End,
        touch: Touch,
        loc: LocId,
    ) -> Result<(), Stop> {
        let (owner, rect) = (end.owner, &end.rect);
        let memory = self.memory_of(owner, rect.memory);
        let Some(history) = &memory.history else { return Ok(()) };
        let clock = self.world.clock(self.me);
        let mut found = None;
        each_run(end, &memory.shape, |elements| {
            if found.is_none() {
                found = history.conflict(elements, touch, clock);
            }
        });
        let Some((element, event)) = found else { return Ok(()) };
        let idx: Shape = dense_strides(&memory.shape)
            .iter()
            .zip(&memory.shape)
            .map(|(stride, size)| element / stride % size)
            .collect();
        Err(self.report_agents_race((owner, rect), &idx, (touch, loc), event))
    }

    /// Notes that this agent touches memory that several reach.
    pub(super) fn record_touch(&mut self, end: &End, touch: Touch, (loc, step): (LocId, u64)) {
        let (owner, rect) = (end.owner, &end.rect);
        if self.memory_of(owner, rect.memory).history.is_none() {
            return;
        }
        let agent = self.me;
        let clock = self.world.clock(agent).clone();
        let event = Event { agent, time: clock.time(agent), touch, loc, step };
        let memory = self.memory_of_mut(owner, rect.memory);
        let shape = memory.shape.clone();
        if let Some(history) = &mut memory.history {
            each_run(end, &shape, |elements| history.record(elements, event, &clock));
        }
    }

    /// Checks and notes a load or store of this agent in memory that several reach.
    pub(super) fn note_access(
        &mut self,
        rect: &Rect,
        writes: bool,
        loc: LocId,
    ) -> Result<(), Stop> {
        if self.memories[rect.memory].history.is_none() || self.is_ghost() {
            return Ok(());
        }
        let end = End::of(self.owner(rect.memory), rect);
        let touch = if writes { Touch::Write } else { Touch::Read };
        self.check_history(&end, touch, loc)?;
        self.record_touch(&end, touch, (loc, self.step_number));
        Ok(())
    }

    pub(super) fn report_agents_race(
        &mut self,
        (owner, rect): (usize, &Rect),
        idx: &[usize],
        (touch, loc): (Touch, LocId),
        other: Event,
    ) -> Stop {
        let kernel = self.run.kernel();
        let name = memory_name(kernel, rect.memory);
        let place = format!("`{name}{}`", super::report::index_text(idx));
        let place = match self.world.layout.n_agents() {
            1 => place,
            _ => format!("{place} of {}", self.world.layout.name(owner)),
        };
        let verb = |touch| match touch {
            Touch::Read => "reads",
            Touch::Write => "writes",
            Touch::Add => "adds to",
        };
        let (me, them) = (self.world.layout.name(self.me), self.world.layout.name(other.agent));
        let (my_verb, their_verb) = (verb(touch), verb(other.touch));
        let diagnostic = Diagnostic::error(
            Code::INTERP_RACE,
            format!("{me} {my_verb} {place}, which {them} {their_verb}, and nothing says which comes first"),
        )
        .at_opt(kernel.span(loc), format!("{me} {my_verb} it here"))
        .at_opt(kernel.span(other.loc), format!("{them} {their_verb} it here"))
        .help("let the one that comes first signal a semaphore that the other waits for; a copy tells who waits for its arrival, not who waits for its departure");
        self.report(loc, diagnostic)
    }

    fn report_deadlock(&mut self, semaphore: SemaphoreId, amount: i64, loc: LocId) -> Stop {
        let kernel = self.run.kernel();
        let kind = self.run.plan.semaphores[semaphore.array].kind;
        let (unit, source) = match kind {
            SemaphoreKind::Dma => (" bytes", "no copy is in flight that would bring more"),
            SemaphoreKind::Regular | SemaphoreKind::Barrier => {
                ("", "nothing runs that would signal it")
            }
        };
        let count = self.world.counter(semaphore).count;
        let name = self.semaphore_text(semaphore);
        let diagnostic = Diagnostic::error(
            Code::INTERP_DEADLOCK,
            format!("this wait never ends: it waits for {amount}{unit}, {name} has {count}, and {source}"),
        )
        .at_opt(kernel.span(loc), "waits here for ever");
        let diagnostic = match kind {
            SemaphoreKind::Dma => diagnostic.help(
                "each copy is waited for once, after it was started, with the sizes it was started with",
            ),
            SemaphoreKind::Regular | SemaphoreKind::Barrier => {
                diagnostic.help("signal the semaphore before waiting for it, by as much as is waited for")
            }
        };
        self.report(loc, diagnostic)
    }

    /// A semaphore by its name in the source: `` `ready[2]` ``.
    pub(super) fn semaphore_text(&self, semaphore: SemaphoreId) -> String {
        let array = &self.run.plan.semaphores[semaphore.array];
        let strides = dense_strides(&array.shape);
        let idx: Shape = (0..array.shape.len())
            .map(|axis| semaphore.element / strides[axis] % array.shape[axis])
            .collect();
        match idx.is_empty() {
            true => format!("`{}`", array.name),
            false => format!("`{}{}`", array.name, super::report::index_text(&idx)),
        }
    }
}

/// Calls `visit` with each run of neighbouring elements that an end touches.
fn each_run(end: &End, shape: &[usize], mut visit: impl FnMut(std::ops::Range<usize>)) {
    let Some(rows) = &end.rows else { return each_run_of(&end.rect, shape, &mut visit) };
    for &row in rows.list.iter() {
        let mut rect = end.rect.clone();
        (rect.starts[rows.axis], rect.sizes[rows.axis]) = (row, 1);
        each_run_of(&rect, shape, &mut visit);
    }
}

/// Calls `visit` with each run of neighbouring elements of a rectangle.
fn each_run_of(rect: &Rect, shape: &[usize], visit: &mut dyn FnMut(std::ops::Range<usize>)) {
    let strides = dense_strides(shape);
    let base = rect.starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
    let steps: Strides =
        rect.strides.iter().zip(&strides).map(|(step, stride)| step * stride).collect();
    Copy::new(&rect.sizes, (base, &steps), (0, &dense_strides(&rect.sizes))).rows(
        |at, _, n, step, _| match step {
            1 => visit(at..at + n),
            _ => (0..n).for_each(|idx| visit(at + idx * step..at + idx * step + 1)),
        },
    );
}
