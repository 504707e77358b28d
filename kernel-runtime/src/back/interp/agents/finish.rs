//! The end of an agent, and of all.

use super::super::exec::{Executor, Found};
use super::super::report::Reports;
use super::world::Doing;

/// What the last agent leaves behind.
#[derive(Debug, Default)]
pub(in super::super) struct Last {
    /// What is found when all have come to their end.
    pub(in super::super) reports: Reports,
    /// Per device: the arrays that copies alone reach.
    pub(in super::super) whole: Vec<Found>,
}

impl Executor<'_> {
    /// Ends this agent: lets the others run, or if there are none looks at what is left.
    pub(super) fn finish(&mut self) -> Option<Last> {
        if self.world.is_lost {
            return None;
        }
        let me = self.me;
        self.world.agents[me].doing = Doing::Done;
        let next = match self.world.first_left() {
            None => return Some(self.end_all()),
            Some(left) if self.world.is_over || self.is_ghost() => left,
            Some(left) => self.next_agent().unwrap_or_else(|| {
                self.begin_ghosts();
                left
            }),
        };
        self.give_to(next);
        None
    }

    /// Stops all agents: this one has found a mistake.
    pub(super) fn stop_all(&mut self) {
        if !self.is_ghost() {
            self.world.is_over = true;
        }
    }

    fn end_all(&mut self) -> Last {
        let mut last = Last::default();
        if let Some(ghosts) = self.world.ghosts.take() {
            last.reports.add(self.deadlock(&ghosts));
            return last;
        }
        if self.world.is_over {
            return last;
        }
        while self.move_any() {}
        for report in self.left_behind() {
            last.reports.add(report);
        }
        if !last.reports.is_empty() {
            return last;
        }
        // The memories of all are in the world then.
        self.park();
        for device in 0..self.world.layout.n_devices() {
            self.me = self.world.layout.first_of_device(device);
            self.unpark();
            last.whole.push(self.write_back_whole_arrays());
            self.park();
        }
        last
    }
}
