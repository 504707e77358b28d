//! What an agent knows to have happened, and what a wait on a semaphore tells it.

use smallvec::SmallVec;

/// A vector clock: per agent, up to which of its times everything is known to have happened. An
/// agent's own time goes on when it tells others of it: with a signal or the start of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Clock(SmallVec<[u32; 8]>);

impl Clock {
    /// The clock of an agent that has begun, and knows of nobody else that has.
    pub(in super::super) fn new(n_agents: usize, me: usize) -> Clock {
        let mut clock = Clock(SmallVec::from_elem(0, n_agents));
        clock.tick(me);
        clock
    }

    /// The time of an agent that is known; 0 if it may not even have begun.
    pub(in super::super) fn time(&self, agent: usize) -> u32 {
        self.0.get(agent).copied().unwrap_or(0)
    }

    /// Begins the agent's next time.
    pub(in super::super) fn tick(&mut self, me: usize) {
        if let Some(time) = self.0.get_mut(me) {
            *time += 1;
        }
    }

    /// Adds what another clock knows.
    pub(in super::super) fn join(&mut self, other: &Clock) {
        for (mine, &other) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(other);
        }
    }
}

/// Which ends of a copy are done when its contribution has been counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Ends {
    /// The source has been read.
    From,
    /// The target has been written.
    To,
    /// Both.
    Both,
}

/// Something that adds to a semaphore.
#[derive(Clone, Debug)]
pub(in super::super) struct Contribution {
    /// The agent that signals, or that started the copy.
    pub(in super::super) agent: usize,
    /// Its clock then.
    pub(in super::super) clock: Clock,
    /// How much is added.
    pub(in super::super) weight: i64,
    /// The copy, by its number, whose bytes are counted as they move.
    pub(in super::super) copy: Option<(u64, Ends)>,
    /// Whether it is counted bit by bit.
    pub(in super::super) in_parts: bool,
}

impl Contribution {
    /// Whether `self` is counted before `other` begins, in any schedule. A copy that is still among
    /// the contributions is not known to be done, so nothing is known to follow it.
    fn precedes(&self, other: &Contribution) -> bool {
        self.copy.is_none() && other.clock.time(self.agent) >= self.clock.time(self.agent)
    }
}

/// Takes out the contributions that must be among the `taken` that waits have taken off, whatever
/// the order in which they were counted; what they gave is taken out of `taken`.
///
/// A semaphore does not tell whom it counts: two signals of 1 and one wait for 1 say nothing about
/// either. A contribution is certain if all others that may come before it do not suffice.
pub(in super::super) fn take_certain(
    contributions: &mut Vec<Contribution>,
    taken: &mut i64,
) -> Vec<Contribution> {
    let total: i64 = contributions.iter().map(|contribution| contribution.weight).sum();
    if total == *taken {
        *taken = 0;
        return std::mem::take(contributions);
    }
    let mut certain = Vec::new();
    while let Some(idx) =
        (0..contributions.len()).find(|&idx| is_certain(contributions, idx, *taken))
    {
        let contribution = contributions.remove(idx);
        *taken -= contribution.weight;
        certain.push(contribution);
    }
    certain
}

fn is_certain(contributions: &[Contribution], idx: usize, taken: i64) -> bool {
    let it = &contributions[idx];
    let others = contributions
        .iter()
        .enumerate()
        .filter(|&(other, contribution)| other != idx && !it.precedes(contribution))
        .map(|(_, contribution)| contribution.weight);
    let others: i64 = others.sum();
    match it.in_parts {
        true => others + it.weight <= taken,
        false => others < taken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(agent: usize, clock: &[u32], weight: i64) -> Contribution {
        let clock = Clock(SmallVec::from_slice(clock));
        Contribution { agent, clock, weight, copy: None, in_parts: false }
    }

    fn certain(mut all: Vec<Contribution>, mut taken: i64) -> (Vec<usize>, i64) {
        let found = take_certain(&mut all, &mut taken);
        (found.into_iter().map(|contribution| contribution.agent).collect(), taken)
    }

    #[test]
    fn all_are_certain_when_all_is_taken() {
        let both = vec![signal(1, &[0, 1, 0], 1), signal(2, &[0, 0, 1], 2)];
        assert_eq!(certain(both.clone(), 3), (vec![1, 2], 0));
        // Without the signal of 2, a wait for 2 does not return.
        assert_eq!(certain(both.clone(), 2), (vec![2], 0));
        assert_eq!(certain(both, 1), (vec![], 1));
    }

    #[test]
    fn a_signal_that_follows_another_is_counted_after_it() {
        // Agent 2 signals after it has heard of agent 1's signal.
        let ordered = vec![signal(1, &[0, 1, 0], 1), signal(2, &[0, 1, 1], 1)];
        assert_eq!(certain(ordered, 1), (vec![1], 0));
    }

    #[test]
    fn copies_on_one_semaphore_are_certain_together() {
        let copy = |id| Contribution {
            copy: Some((id, Ends::Both)),
            in_parts: true,
            ..signal(0, &[id as u32 + 1], 64)
        };
        assert_eq!(certain(vec![copy(0), copy(1)], 64), (vec![], 64));
        assert_eq!(certain(vec![copy(0), copy(1)], 128), (vec![0, 0], 0));
    }
}
