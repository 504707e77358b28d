//! What all agents of a run share.

use super::super::Random;
use super::super::flight::Flight;
use super::super::memory::Memory;
use super::super::plan::Plan;
use super::super::report::Origins;
use super::clock::{Clock, Contribution};
use super::deadlock::Ghosts;
use super::layout::{Group, Layout};
use crate::ir::LocId;
use std::sync::Arc;

/// A semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct SemaphoreId {
    /// Whose.
    pub(in super::super) agent: usize,
    /// The number of its array.
    pub(in super::super) array: usize,
    /// Its number in the array.
    pub(in super::super) element: usize,
}

/// The value of a semaphore.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Counter {
    /// What has arrived and not been taken off.
    pub(in super::super) count: i64,
    /// What has been signalled since the semaphore was last settled.
    pub(in super::super) signalled: i64,
    /// What has been taken off since then.
    pub(in super::super) taken: i64,
    /// The last op that signalled it.
    pub(in super::super) signalled_at: Option<LocId>,
    /// With several agents: what is not known to be among `taken`.
    pub(in super::super) contributions: Vec<Contribution>,
}

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing yet: its memory is not there.
    Nothing,
    /// It runs, or could.
    Running,
    /// It waits until a semaphore of its own has so much.
    Waiting { semaphore: SemaphoreId, amount: i64, loc: LocId },
    /// It waits for the others of its group.
    AtBarrier { group: Group, loc: LocId },
    /// It has come to its end.
    Done,
}

/// An agent, as the others see it.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    pub(super) doing: Doing,
    pub(super) clock: Clock,
    /// Its memories while it does not run. Those that it shares are with the first of the group.
    pub(super) parked: Vec<Memory>,
}

/// How a schedule goes about things, each out of 8.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    /// How often an agent makes room for another where it need not.
    pub(super) switches: u64,
    /// How often a copy moves before it has to.
    pub(super) moves: u64,
}

/// What all agents of a run share: who has it runs.
#[derive(Debug, Default)]
pub(in super::super) struct World {
    pub(in super::super) layout: Arc<Layout>,
    /// Copies that are not known to be done.
    pub(in super::super) flights: Vec<Flight>,
    /// How many copies have been started.
    pub(in super::super) n_started: u64,
    pub(in super::super) random: Random,
    counters: Vec<Vec<Vec<Counter>>>,
    pub(super) agents: Vec<Agent>,
    /// The origins of undefined elements, while nobody runs.
    pub(super) origins: Origins,
    pub(super) style: Style,
    /// Whether all are to stop: one has found a mistake.
    pub(super) is_over: bool,
    /// Whether the agent that had the world has panicked.
    pub(super) is_lost: bool,
    /// What the agents would do after a deadlock.
    pub(super) ghosts: Option<Ghosts>,
}

impl World {
    /// A world before anything has happened.
    pub(in super::super) fn new(layout: Arc<Layout>, plan: &Plan<'_>, seed: u64) -> World {
        let n_agents = layout.n_agents();
        let counters = plan.semaphores.iter();
        let counters: Vec<Vec<Counter>> =
            counters.map(|array| vec![Counter::default(); array.shape.iter().product()]).collect();
        let agent = |agent| Agent {
            doing: Doing::Nothing,
            clock: Clock::new(n_agents, agent),
            parked: Vec::new(),
        };
        let mut random = Random(seed);
        // Some schedules keep to one agent as long as they can, some let copies move at once or
        // only when everybody waits: mistakes show at such borders.
        const OFTEN: [u64; 4] = [0, 1, 4, 8];
        let mut often = || OFTEN[random.below(4) as usize];
        let style = Style { switches: often(), moves: often() };
        World {
            layout,
            flights: Vec::new(),
            n_started: 0,
            random,
            counters: vec![counters; n_agents],
            agents: (0..n_agents).map(agent).collect(),
            origins: Origins::default(),
            style,
            is_over: false,
            is_lost: false,
            ghosts: None,
        }
    }

    /// A world whose agents stop at once.
    pub(super) fn over() -> World {
        World { is_over: true, ..World::default() }
    }

    /// A semaphore's value.
    pub(in super::super) fn counter(&self, semaphore: SemaphoreId) -> &Counter {
        &self.counters[semaphore.agent][semaphore.array][semaphore.element]
    }

    /// A semaphore's value, to change it.
    pub(in super::super) fn counter_mut(&mut self, semaphore: SemaphoreId) -> &mut Counter {
        &mut self.counters[semaphore.agent][semaphore.array][semaphore.element]
    }

    /// All semaphores.
    pub(in super::super) fn counters_mut(&mut self) -> impl Iterator<Item = &mut Counter> {
        self.counters.iter_mut().flatten().flatten()
    }

    /// How many semaphores an array has.
    pub(in super::super) fn n_semaphores(&self, array: usize) -> usize {
        self.counters.first().and_then(|arrays| arrays.get(array)).map_or(0, Vec::len)
    }

    /// All that has been or will be added to a semaphore since it was last settled.
    pub(in super::super) fn added(&self, semaphore: SemaphoreId) -> i64 {
        let flights = self.flights.iter().map(|flight| flight.adds_to(semaphore));
        flights.sum::<i64>() + self.counter(semaphore).signalled
    }

    /// What an agent knows.
    pub(in super::super) fn clock(&self, agent: usize) -> &Clock {
        &self.agents[agent].clock
    }

    /// What an agent knows, to change it.
    pub(in super::super) fn clock_mut(&mut self, agent: usize) -> &mut Clock {
        &mut self.agents[agent].clock
    }

    /// A memory of an agent that does not run.
    pub(in super::super) fn parked(&self, owner: usize, memory: usize) -> &Memory {
        &self.agents[owner].parked[memory]
    }

    /// A memory of an agent that does not run, to change it.
    pub(in super::super) fn parked_mut(&mut self, owner: usize, memory: usize) -> &mut Memory {
        &mut self.agents[owner].parked[memory]
    }

    /// Whether an agent can go on.
    pub(super) fn is_ready(&self, agent: usize) -> bool {
        match self.agents[agent].doing {
            Doing::Running => true,
            Doing::Waiting { semaphore, amount, .. } => self.counter(semaphore).count >= amount,
            Doing::AtBarrier { group, .. } => {
                let mut members = self.layout.members(agent, group);
                members.all(|member| {
                    matches!(self.agents[member].doing,
                        Doing::AtBarrier { group: other, .. } if other == group)
                })
            }
            Doing::Nothing | Doing::Done => false,
        }
    }

    /// The first agent that has not come to its end.
    pub(super) fn first_left(&self) -> Option<usize> {
        self.agents.iter().position(|agent| agent.doing != Doing::Done)
    }
}
