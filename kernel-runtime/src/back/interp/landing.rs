//! The end of a kernel, or of a part of it: nothing is in flight then, and semaphores are zero.

use super::agents::SemaphoreId;
use super::exec::{Executor, Stop};
use super::flight::Flight;
use super::report::{Report, memory_name, step_text};
use crate::diag::{Code, Diagnostic};
use crate::ir::{LocId, SemaphoreKind};

impl Executor<'_> {
    /// Checks at the end of a segment that nothing is in flight and all semaphores are zero. With
    /// several agents others may be at work here still, and the end of all tells.
    pub(super) fn land_all(&mut self) -> Result<(), Stop> {
        if self.is_ghost() {
            return Ok(());
        }
        if !self.is_alone() {
            let me = self.me;
            let is_own = |flight: &Flight| flight.agent == me && flight.source_semaphore.is_none();
            return self.land(is_own, "the kernel");
        }
        let landed = self.land(|_| true, "the kernel");
        (0..self.run.plan.semaphores.len())
            .fold(landed, |landed, array| landed.and(self.check_all_zero(array, "the kernel")))
    }

    /// Checks at the end of a `scope` that nothing is in flight in its memory, and that its
    /// semaphores are zero.
    pub(super) fn land_scope(&mut self, memories: &[usize], arrays: &[usize]) -> Result<(), Stop> {
        if self.is_ghost() {
            return Ok(());
        }
        let me = self.me;
        let is_in = |flight: &Flight| {
            let own =
                |semaphore: SemaphoreId| semaphore.agent == me && arrays.contains(&semaphore.array);
            let touches = flight.ends().into_iter().zip(flight.done).any(|((end, _), done)| {
                !done && end.owner == me && memories.contains(&end.rect.memory)
            });
            touches || own(flight.semaphore) || flight.source_semaphore.is_some_and(own)
        };
        let landed = self.land(is_in, "the scope of its memory");
        arrays
            .iter()
            .fold(landed, |landed, &array| landed.and(self.check_all_zero(array, "its scope")))
    }

    /// Reports these copies as never waited for, if there are any.
    fn land(&mut self, is_over: impl Fn(&Flight) -> bool, what: &str) -> Result<(), Stop> {
        let flights = self.world.flights.iter().filter(|flight| is_over(flight)).cloned();
        let reports: Vec<Report> = flights
            .collect::<Vec<_>>()
            .iter()
            .map(|flight| self.never_waited(flight, what))
            .collect();
        let landed = if reports.is_empty() { Ok(()) } else { Err(Stop) };
        for report in reports {
            self.found.reports.add(report);
        }
        landed
    }

    /// A copy that nobody waited for, or of which one end was not waited for.
    fn never_waited(&self, flight: &Flight, what: &str) -> Report {
        let kernel = self.run.kernel();
        let [from, to] = [&flight.from, &flight.to].map(|end| self.end_text(end));
        let name = |agent: usize| self.world.layout.name(agent);
        let semaphore = if flight.done[1] {
            flight.source_semaphore.unwrap_or(flight.semaphore)
        } else {
            flight.semaphore
        };
        let which = match (flight.source_semaphore, flight.done) {
            (None, _) => String::new(),
            (Some(_), [false, false]) => ", neither when it leaves nor when it arrives,".to_owned(),
            (Some(_), [true, _]) => {
                format!(", when it arrives, by {},", name(flight.semaphore.agent))
            }
            (Some(_), [false, true]) => ", when it leaves,".to_owned(),
        };
        let by = match self.is_alone() {
            true => String::new(),
            false => format!(" by {}", name(flight.agent)),
        };
        let mut diagnostic = Diagnostic::error(
            Code::INTERP_NEVER_WAITED,
            format!("the copy of {from} into {to}{which} is not waited for before {what} ends"),
        )
        .at_opt(kernel.span(flight.loc), format!("started here{by}"));
        let taken = self.world.counter(semaphore).taken;
        if taken > 0 {
            diagnostic = diagnostic.note(format!(
                "{} bytes were waited for on {}, where copies of {} bytes were started",
                taken,
                self.semaphore_text(semaphore),
                self.world.added(semaphore)
            ));
        }
        let help = match flight.source_semaphore {
            None => "wait for it where its target is needed, or at the latest at the end",
            Some(_) => {
                "the device that starts it waits until it has left, the one that gets it until it has arrived"
            }
        };
        let diagnostic = diagnostic.note(step_text(kernel, &self.run.step(flight.step))).help(help);
        Report { diagnostic, loc: flight.loc, step: flight.step, n_steps: 1 }
    }

    fn check_all_zero(&mut self, array: usize, what: &str) -> Result<(), Stop> {
        let n = self.world.n_semaphores(array);
        let me = self.me;
        (0..n).try_for_each(|element| {
            let semaphore = SemaphoreId { agent: me, array, element };
            match self.not_zero(semaphore, what) {
                None => Ok(()),
                Some((loc, diagnostic)) => Err(self.report(loc, diagnostic)),
            }
        })
    }

    /// A semaphore that is left at something.
    fn not_zero(&self, semaphore: SemaphoreId, what: &str) -> Option<(LocId, Diagnostic)> {
        let kernel = self.run.kernel();
        let array = &self.run.plan.semaphores[semaphore.array];
        let counter = self.world.counter(semaphore);
        if counter.count == 0 || array.kind == SemaphoreKind::Dma {
            return None;
        }
        let loc = counter.signalled_at.unwrap_or(array.loc);
        let whose = match self.is_alone() {
            true => String::new(),
            false => format!(" of {}", self.world.layout.name(semaphore.agent)),
        };
        let diagnostic = Diagnostic::error(
            Code::INTERP_SEMAPHORE_LEFT,
            format!(
                "{}{whose} is {} when {what} ends: whoever has it next would start with that",
                self.semaphore_text(semaphore),
                counter.count
            ),
        )
        .at_opt(kernel.span(loc), "signalled here last")
        .help("wait for as much as is signalled");
        Some((loc, diagnostic))
    }

    /// What is left when all agents have come to their end.
    pub(super) fn left_behind(&self) -> Vec<Report> {
        let flights = self.world.flights.iter();
        let mut reports: Vec<Report> =
            flights.map(|flight| self.never_waited(flight, "the kernel")).collect();
        for agent in 0..self.world.layout.n_agents() {
            for array in 0..self.run.plan.semaphores.len() {
                for element in 0..self.world.n_semaphores(array) {
                    let semaphore = SemaphoreId { agent, array, element };
                    if let Some((loc, diagnostic)) = self.not_zero(semaphore, "the kernel") {
                        reports.push(Report { diagnostic, loc, step: 0, n_steps: 1 });
                    }
                }
            }
        }
        reports
    }

    /// Forgets what is in flight, and the semaphores, at the end of a segment of the only agent.
    pub(super) fn forget_flights(&mut self) {
        if !self.is_alone() {
            return;
        }
        for flight in self.world.flights.drain(..) {
            for (end, _) in flight.ends() {
                self.memories[end.rect.memory].in_flight -= 1;
            }
        }
        for counter in self.world.counters_mut() {
            *counter = Default::default();
        }
    }

    /// Checks that the block of a parameter may be replaced.
    pub(super) fn check_block_is_free(&mut self, idx: usize, loc: LocId) -> Result<(), Stop> {
        if self.memories[idx].in_flight == 0 || self.is_ghost() {
            return Ok(());
        }
        let owner = self.owner(idx);
        let touches = |flight: &&Flight| {
            flight.ends().into_iter().any(|(end, _)| end.owner == owner && end.rect.memory == idx)
        };
        let Some(flight) = self.world.flights.iter().find(touches).cloned() else {
            return Ok(());
        };
        let kernel = self.run.kernel();
        let name = memory_name(kernel, idx);
        let diagnostic = Diagnostic::error(
            Code::INTERP_IN_FLIGHT,
            format!(
                "the next block of `{name}` comes in while a copy of the last one is in flight"
            ),
        )
        .at_opt(kernel.span(flight.loc), "the copy starts here, and is not known to be done")
        .at_opt(kernel.span(loc), format!("`{name}` is declared here"))
        .help("wait for the copy in the step that starts it");
        Err(self.report(flight.loc, diagnostic))
    }
}
