//! Waits that never end, and who would have ended them.
//!
//! When no agent can go on, each goes on all the same, as a ghost: its waits return, what it
//! signals and copies is noted and not done, and it finds no mistakes. So it is known which agent
//! would have signalled what another waits for, and on which line, had it not waited itself.

use super::super::exec::Executor;
use super::super::report::Report;
use super::world::{Doing, SemaphoreId};
use crate::diag::{Code, Diagnostic};
use crate::ir::LocId;

/// What ghosts may still do in loops, in units of [`super::super::Options::fuel`].
const GHOST_FUEL: u64 = 1 << 18;

/// How many agents a report names one by one.
const MAX_NAMED: usize = 8;

/// What the agents would do after a deadlock.
#[derive(Debug, Default)]
pub(super) struct Ghosts {
    waits: Vec<(usize, Doing)>,
    /// Who would signal which semaphore, and where.
    signals: Vec<(usize, SemaphoreId, LocId)>,
}

impl Executor<'_> {
    /// Whether the run is stuck, and the agent only shows what it would do.
    pub(in super::super) fn is_ghost(&self) -> bool {
        self.world.ghosts.is_some()
    }

    /// Goes on although no agent can.
    pub(super) fn begin_ghosts(&mut self) {
        let agents = self.world.agents.iter().map(|agent| agent.doing).enumerate();
        let waits = agents
            .filter(|(_, doing)| matches!(doing, Doing::Waiting { .. } | Doing::AtBarrier { .. }));
        let waits = waits.collect();
        self.world.ghosts = Some(Ghosts { waits, signals: Vec::new() });
    }

    /// Limits what a ghost may do.
    pub(super) fn become_ghost(&mut self) {
        self.fuel = self.fuel.min(GHOST_FUEL);
    }

    /// Notes that a ghost would signal a semaphore.
    pub(in super::super) fn ghost_signals(&mut self, semaphore: SemaphoreId, loc: LocId) {
        let me = self.me;
        let Some(ghosts) = &mut self.world.ghosts else { return };
        let awaits = |doing: &Doing| matches!(doing, Doing::Waiting { semaphore: awaited, .. } if *awaited == semaphore);
        let is_new = !ghosts.signals.iter().any(|&(who, what, _)| who == me && what == semaphore);
        if is_new && ghosts.waits.iter().any(|(_, doing)| awaits(doing)) {
            ghosts.signals.push((me, semaphore, loc));
        }
    }

    /// Who waits for whom.
    pub(super) fn deadlock(&self, ghosts: &Ghosts) -> Report {
        let kernel = self.run.kernel();
        let cycle = ghosts.cycle();
        let named: Vec<&(usize, Doing)> = match cycle.is_empty() {
            true => ghosts.starved(),
            false => ghosts.waits.iter().filter(|(agent, _)| cycle.contains(agent)).collect(),
        };
        let name = |agent: usize| self.world.layout.name(agent);
        let message = match (&cycle[..], named.first()) {
            ([first, rest @ ..], _) => {
                let mut text = format!("{} waits for ", name(*first));
                for &agent in rest {
                    text.push_str(&format!("{}, which waits for ", name(agent)));
                }
                match rest.is_empty() {
                    true => text.push_str("what it would signal itself, later"),
                    false => text.push_str(&name(*first)),
                }
                format!("a wait that never ends: {text}")
            }
            ([], Some((agent, Doing::AtBarrier { .. }))) => format!(
                "{} waits at a barrier for ever: another agent of its group never comes there",
                name(*agent)
            ),
            ([], Some((agent, doing))) => {
                format!("{} waits for ever: {}", name(*agent), self.lack_text(doing))
            }
            ([], None) => "no agent can go on".to_owned(),
        };
        let at_barrier = matches!(named.first(), Some((_, Doing::AtBarrier { .. })));
        let code = if at_barrier { Code::INTERP_BARRIER } else { Code::INTERP_DEADLOCK };
        let mut diagnostic = Diagnostic::error(code, message);
        let mut loc = LocId::UNKNOWN;
        for (place, text) in self.wait_labels(&named) {
            if loc == LocId::UNKNOWN {
                loc = place;
            }
            diagnostic = diagnostic.at_opt(kernel.span(place), text);
        }
        for (place, text) in self.signal_labels(ghosts, &named) {
            diagnostic = diagnostic.at_opt(kernel.span(place), text);
        }
        for (agent, doing) in ghosts.waits.iter().take(MAX_NAMED) {
            let line = doing.loc().and_then(|loc| kernel.span(loc)).map_or(0, |span| span.line);
            let text = self.lack_text(doing);
            diagnostic = diagnostic.note(format!("{} at line {line}: {text}", name(*agent)));
        }
        if ghosts.waits.len() > MAX_NAMED {
            let n = ghosts.waits.len() - MAX_NAMED;
            diagnostic = diagnostic.note(format!("and {n} more"));
        }
        let diagnostic = diagnostic.help(match cycle.is_empty() {
            true if at_barrier => "let all pass every barrier: none stands in a branch or loop that depends on which of them runs",
            true => "signal the semaphore as often as it is waited for, and start each copy before the wait for it",
            false => "signal, or start the copy, before the wait in at least one of them",
        });
        Report { diagnostic, loc, step: 0, n_steps: 1 }
    }

    /// What a wait lacks.
    fn lack_text(&self, doing: &Doing) -> String {
        match *doing {
            Doing::Waiting { semaphore, amount, .. } => {
                let count = self.world.counter(semaphore).count;
                let name = self.semaphore_text(semaphore);
                format!("{name} has {count} of {amount}")
            }
            Doing::AtBarrier { .. } => "at a barrier".to_owned(),
            Doing::Nothing | Doing::Running | Doing::Done => String::new(),
        }
    }

    /// The lines where agents wait, each with who does.
    fn wait_labels(&self, named: &[&(usize, Doing)]) -> Vec<(LocId, String)> {
        let mut labels: Vec<(LocId, String)> = Vec::new();
        for (agent, doing) in named {
            let Some(loc) = doing.loc() else { continue };
            let name = self.world.layout.name(*agent);
            match labels.iter_mut().find(|(known, _)| *known == loc) {
                Some((_, text)) => text.push_str(&format!(", {name}")),
                None => labels.push((loc, format!("waits here for ever: {name}"))),
            }
        }
        labels
    }

    /// The lines where what they wait for would be signalled, each with who would.
    fn signal_labels(&self, ghosts: &Ghosts, named: &[&(usize, Doing)]) -> Vec<(LocId, String)> {
        let mut labels: Vec<(LocId, String)> = Vec::new();
        for &(who, semaphore, loc) in &ghosts.signals {
            let waits = |doing: &Doing| matches!(doing, Doing::Waiting { semaphore: awaited, .. } if *awaited == semaphore);
            let Some((waiting, _)) = named.iter().find(|(_, doing)| waits(doing)) else { continue };
            if labels.iter().any(|(known, _)| *known == loc) {
                continue;
            }
            let (who, waiting) = (self.world.layout.name(who), self.world.layout.name(*waiting));
            let text = format!("{who} would end the wait of {waiting} here, but does not get here");
            labels.push((loc, text));
        }
        labels
    }
}

impl Doing {
    /// The line of a wait.
    fn loc(self) -> Option<LocId> {
        match self {
            Doing::Waiting { loc, .. } | Doing::AtBarrier { loc, .. } => Some(loc),
            Doing::Nothing | Doing::Running | Doing::Done => None,
        }
    }
}

impl Ghosts {
    /// The agents that would signal what an agent waits for.
    fn waited_for(&self, agent: usize) -> impl Iterator<Item = usize> {
        let waits = self.waits.iter().find(|(waiting, _)| *waiting == agent);
        let awaited = waits.and_then(|(_, doing)| match doing {
            Doing::Waiting { semaphore, .. } => Some(*semaphore),
            Doing::AtBarrier { .. } | Doing::Nothing | Doing::Running | Doing::Done => None,
        });
        let signals = self.signals.iter();
        signals.filter(move |(_, what, _)| Some(*what) == awaited).map(|&(who, _, _)| who)
    }

    /// The shortest circle of agents that wait for each other, from its lowest on; empty if there
    /// is none.
    fn cycle(&self) -> Vec<usize> {
        let mut best: Vec<usize> = Vec::new();
        for &(start, _) in &self.waits {
            // Breadth first: paths from the start, until one comes back to it.
            let mut paths = vec![vec![start]];
            let mut seen = vec![start];
            while let Some(found) = self.lengthen(start, &mut paths, &mut seen) {
                if !found.is_empty() {
                    if best.is_empty() || found.len() < best.len() {
                        best = found;
                    }
                    break;
                }
            }
        }
        best
    }

    /// Takes every path one agent further; gives one that comes back to the start, or nothing yet.
    /// `None` if no path goes on.
    fn lengthen(
        &self,
        start: usize,
        paths: &mut Vec<Vec<usize>>,
        seen: &mut Vec<usize>,
    ) -> Option<Vec<usize>> {
        let mut longer = Vec::new();
        for path in paths.iter() {
            let &last = path.last()?;
            for next in self.waited_for(last) {
                if next == start {
                    return Some(path.clone());
                }
                if !seen.contains(&next) {
                    seen.push(next);
                    longer.push(path.iter().copied().chain([next]).collect());
                }
            }
        }
        *paths = longer;
        (!paths.is_empty()).then(Vec::new)
    }

    /// Those who wait for what nobody would signal; all if there are none.
    fn starved(&self) -> Vec<&(usize, Doing)> {
        let starved: Vec<&(usize, Doing)> = self
            .waits
            .iter()
            .filter(|(agent, _)| self.waited_for(*agent).next().is_none())
            .collect();
        if starved.is_empty() { self.waits.iter().collect() } else { starved }
    }
}
