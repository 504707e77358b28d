//! Who runs when.

use super::super::exec::{Executor, Stop};
use super::layout::Group;
use super::world::{Doing, SemaphoreId, World};
use crate::ir::LocId;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// How an agent gives the world to others and gets it back.
#[derive(Debug)]
pub(in super::super) struct Link {
    /// Per agent: where it gets the world.
    pub(super) outs: Arc<Vec<Sender<Box<World>>>>,
    /// Where this agent gets it.
    pub(super) inbox: Receiver<Box<World>>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Somebody who panics has the world, and takes it along: the others must not wait for it.
        if std::thread::panicking() {
            for out in self.outs.iter() {
                // Whoever is gone does not wait.
                let _ = out.send(Box::new(World::over()));
            }
        }
    }
}

impl Executor<'_> {
    /// Whether no other agent takes part.
    pub(in super::super) fn is_alone(&self) -> bool {
        self.link.is_none()
    }

    /// A place where the seed may let other agents run, and copies move.
    pub(in super::super) fn yield_point(&mut self) -> Result<(), Stop> {
        if self.is_alone() || self.is_ghost() {
            return Ok(());
        }
        self.move_some();
        if self.world.random.below(8) < self.world.style.switches
            && let Some(other) = self.any_ready()
            && other != self.me
        {
            self.hand_to(other);
        }
        self.go_on()
    }

    /// Whether the agent may go on after others have run.
    fn go_on(&mut self) -> Result<(), Stop> {
        if self.world.is_over { Err(Stop) } else { Ok(()) }
    }

    /// Waits until a semaphore of the agent has so much. After a deadlock it returns as well, as a
    /// ghost: see [`super::deadlock`].
    pub(in super::super) fn wait_with_others(
        &mut self,
        semaphore: SemaphoreId,
        amount: i64,
        loc: LocId,
    ) -> Result<(), Stop> {
        self.yield_point()?;
        self.block(Doing::Waiting { semaphore, amount, loc })
    }

    /// Waits until all agents of the group have come to a barrier.
    pub(in super::super) fn barrier(&mut self, group: Group, loc: LocId) -> Result<(), Stop> {
        if self.is_alone() || self.is_ghost() {
            return Ok(());
        }
        self.yield_point()?;
        let me = self.me;
        self.world.agents[me].doing = Doing::AtBarrier { group, loc };
        if self.world.is_ready(me) {
            // The last one to come lets all go, with all that they know together.
            let members: Vec<usize> = self.world.layout.members(me, group).collect();
            let mut all = self.world.clock(me).clone();
            members.iter().for_each(|&member| all.join(self.world.clock(member)));
            for member in members {
                self.world.agents[member].doing = Doing::Running;
                self.world.agents[member].clock.clone_from(&all);
                self.world.agents[member].clock.tick(member);
            }
            return self.yield_point();
        }
        self.block(Doing::AtBarrier { group, loc })
    }

    fn block(&mut self, until: Doing) -> Result<(), Stop> {
        let me = self.me;
        self.world.agents[me].doing = until;
        while self.world.agents[me].doing != Doing::Running && !self.world.is_ready(me) {
            if self.world.is_over || self.is_ghost() {
                break;
            }
            match self.next_agent() {
                Some(next) if next == me => {}
                Some(next) => self.hand_to(next),
                None => self.begin_ghosts(),
            }
        }
        self.world.agents[me].doing = Doing::Running;
        if self.is_ghost() {
            self.become_ghost();
        }
        self.go_on()
    }

    /// Lets copies move as the style of the schedule has it.
    fn move_some(&mut self) {
        while self.world.random.below(8) < self.world.style.moves && self.move_any() {}
    }

    /// An agent that can go on, if any can.
    fn any_ready(&mut self) -> Option<usize> {
        let world = &mut self.world;
        let n = world.agents.len();
        let first = world.random.below(n as u64) as usize;
        (first..first + n).map(|agent| agent % n).find(|&agent| world.is_ready(agent))
    }

    /// Who goes on next; copies move for it if they must. `None` if nobody ever will.
    pub(super) fn next_agent(&mut self) -> Option<usize> {
        self.move_some();
        loop {
            if let Some(ready) = self.any_ready() {
                return Some(ready);
            }
            if !self.move_any() {
                return None;
            }
        }
    }

    /// Lets another agent run until the world comes back.
    pub(super) fn hand_to(&mut self, other: usize) {
        self.give_to(other);
        self.receive();
    }

    /// Gives the world to another agent, with the memories of this one in it.
    pub(super) fn give_to(&mut self, other: usize) {
        self.park();
        let world = std::mem::take(&mut self.world);
        if let Some(link) = &self.link {
            // Nobody who has not come to the end is gone; and if a panic took one, the others are
            // told by its link.
            let _ = link.outs[other].send(world);
        }
    }

    /// Waits for the world.
    pub(super) fn receive(&mut self) {
        let Some(link) = &self.link else { return };
        // Each agent has a sender to every other, so the channel is never closed.
        self.world = link.inbox.recv().unwrap_or_else(|_| Box::new(World::over()));
        if self.world.agents.is_empty() {
            // The end of the world: another agent has panicked.
            *self.world = World::new(self.layout.clone(), &self.run.plan, 0);
            (self.world.is_over, self.world.is_lost) = (true, true);
            return;
        }
        self.unpark();
    }

    /// Puts the memories of this agent into the world.
    pub(super) fn park(&mut self) {
        self.swap_memories();
        std::mem::swap(&mut self.origins, &mut self.world.origins);
    }

    /// Takes the memories of this agent out of the world.
    pub(super) fn unpark(&mut self) {
        self.swap_memories();
        std::mem::swap(&mut self.origins, &mut self.world.origins);
    }

    fn swap_memories(&mut self) {
        let world = &mut *self.world;
        for (idx, memory) in self.memories.iter_mut().enumerate() {
            let owner = world.layout.owner(self.me, idx);
            if let Some(parked) = world.agents[owner].parked.get_mut(idx) {
                std::mem::swap(memory, parked);
            }
        }
    }
}
