//! Who touched memory that several agents reach: per stretch of elements the last write, and the
//! reads since then that are not ordered before another.

use super::clock::Clock;
use crate::ir::LocId;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Range;

/// How elements are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Touch {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Added to, in no defined order: sums do not disturb each other.
    Add,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Event {
    /// Who.
    pub(in super::super) agent: usize,
    /// When: an access of agent `a` at time `t` is known to whose clock has `t` for `a`.
    pub(in super::super) time: u32,
    /// How.
    pub(in super::super) touch: Touch,
    /// The line.
    pub(in super::super) loc: LocId,
    /// The grid step.
    pub(in super::super) step: u64,
}

impl Event {
    fn is_known(&self, clock: &Clock) -> bool {
        clock.time(self.agent) >= self.time
    }

    /// Whether two accesses of this kind may not happen at the same time.
    fn disturbs(&self, touch: Touch) -> bool {
        match (self.touch, touch) {
            (Touch::Read, Touch::Read) | (Touch::Add, Touch::Add) => false,
            (Touch::Read | Touch::Write | Touch::Add, _) => true,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    end: usize,
    /// The last write, or the sums since then.
    writes: SmallVec<[Event; 1]>,
    reads: SmallVec<[Event; 1]>,
}

/// The accesses to one memory.
#[derive(Clone, Debug)]
pub(in super::super) struct History {
    /// By their first element.
    stretches: BTreeMap<usize, Stretch>,
}

impl History {
    /// Nobody has touched any of `n` elements.
    pub(in super::super) fn new(n: usize) -> History {
        let nothing = Stretch { end: n, writes: SmallVec::new(), reads: SmallVec::new() };
        History { stretches: BTreeMap::from([(0, nothing)]) }
    }

    /// The first access to these elements that an agent with this clock does not know of and that
    /// its own disturbs, with the element.
    pub(in super::super) fn conflict(
        &self,
        elements: Range<usize>,
        touch: Touch,
        clock: &Clock,
    ) -> Option<(usize, Event)> {
        let first = self.stretches.range(..=elements.start).next_back()?;
        let later = self.stretches.range(elements.start + 1..elements.end.max(elements.start + 1));
        std::iter::once(first).chain(later).find_map(|(&start, stretch)| {
            let mut events = stretch.writes.iter().chain(&stretch.reads);
            let event = events.find(|event| event.disturbs(touch) && !event.is_known(clock))?;
            Some((start.max(elements.start), *event))
        })
    }

    /// Records an access that disturbs none.
    pub(in super::super) fn record(&mut self, elements: Range<usize>, event: Event, clock: &Clock) {
        if elements.is_empty() {
            return;
        }
        self.split(elements.start);
        self.split(elements.end);
        for (_, stretch) in self.stretches.range_mut(elements.clone()) {
            let events = match event.touch {
                Touch::Read => &mut stretch.reads,
                Touch::Write | Touch::Add => {
                    stretch.reads.retain(|read| !read.is_known(clock));
                    &mut stretch.writes
                }
            };
            events.retain(|known| !known.is_known(clock));
            events.push(event);
        }
        self.join(elements);
    }

    /// Makes a stretch begin at an element.
    fn split(&mut self, at: usize) {
        let Some((&start, stretch)) = self.stretches.range_mut(..at).next_back() else { return };
        if start < at && at < stretch.end {
            let rest = stretch.clone();
            stretch.end = at;
            self.stretches.insert(at, rest);
        }
    }

    /// Joins equal neighbours around these elements.
    fn join(&mut self, elements: Range<usize>) {
        let mut start = match self.stretches.range(..elements.start).next_back() {
            Some((&start, _)) => start,
            None => elements.start,
        };
        while start <= elements.end {
            let Some(stretch) = self.stretches.get(&start) else { return };
            let end = stretch.end;
            let equal = self
                .stretches
                .get(&end)
                .is_some_and(|next| next.writes == stretch.writes && next.reads == stretch.reads);
            if !equal {
                start = end;
                continue;
            }
            if let Some(next) = self.stretches.remove(&end)
                && let Some(stretch) = self.stretches.get_mut(&start)
            {
                stretch.end = next.end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(agent: usize, time: u32, touch: Touch) -> Event {
        Event { agent, time, touch, loc: LocId::UNKNOWN, step: 0 }
    }

    #[test]
    fn accesses_disturb_where_they_meet_unless_they_are_known() {
        let (mine, other) = (Clock::new(2, 0), Clock::new(2, 1));
        let mut history = History::new(100);
        history.record(10..20, event(1, 1, Touch::Write), &other);
        history.record(30..40, event(1, 1, Touch::Read), &other);
        let conflict = |range, touch| history.conflict(range, touch, &mine).map(|(at, _)| at);
        assert_eq!(conflict(0..10, Touch::Write), None);
        assert_eq!(conflict(0..11, Touch::Read), Some(10));
        assert_eq!(conflict(15..90, Touch::Read), Some(15));
        assert_eq!(conflict(20..90, Touch::Read), None);
        assert_eq!(conflict(20..90, Touch::Write), Some(30));
        let mut told = mine.clone();
        told.join(&other);
        assert_eq!(history.conflict(0..100, Touch::Write, &told), None);
    }

    #[test]
    fn sums_do_not_disturb_each_other() {
        let clocks = [Clock::new(2, 0), Clock::new(2, 1)];
        let mut history = History::new(8);
        history.record(0..8, event(0, 1, Touch::Add), &clocks[0]);
        assert_eq!(history.conflict(0..8, Touch::Add, &clocks[1]), None);
        history.record(4..8, event(1, 1, Touch::Add), &clocks[1]);
        assert!(history.conflict(0..8, Touch::Read, &clocks[1]).is_some());
        assert!(history.conflict(4..8, Touch::Read, &clocks[0]).is_some());
        assert!(history.conflict(0..4, Touch::Read, &clocks[0]).is_none());
    }

    #[test]
    fn equal_stretches_become_one() {
        let clock = Clock::new(1, 0);
        let mut history = History::new(64);
        for start in (0..64).step_by(8) {
            history.record(start..start + 8, event(0, 1, Touch::Write), &clock);
        }
        assert_eq!(history.stretches.len(), 1);
    }
}
