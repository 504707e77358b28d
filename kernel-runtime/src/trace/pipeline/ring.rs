//! The copies of a pipeline, into the slots of a ring and out of them.

use super::cut::Piece;
use super::math::Math;
use super::plan::{Axis, Ring, entries_of};
use super::spec::{AnySpec, Way};
use crate::trace::carried::{Carried, Leaves};
use crate::trace::context::{Handle, with};
use crate::trace::copy::{Manner, under};
use crate::trace::handle::Scalar;
use crate::trace::index::{Part, Taken};
use crate::trace::place::Place;
use smallvec::SmallVec;

/// What a ring hands from step to step.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The slot of the block that is worked on.
    pub(super) slot: Scalar<i32>,
    /// The block that is worked on.
    pub(super) block: Vec<Scalar<i32>>,
    /// The slot that was filled last.
    pub(super) filled: Scalar<i32>,
    /// The block that was fetched last.
    pub(super) last: Vec<Scalar<i32>>,
    /// The step whose block is fetched next.
    pub(super) next: Vec<Scalar<i32>>,
    /// The number of blocks that have been sent.
    pub(super) n_sent: Scalar<i32>,
}

impl Carried for State {
    fn visit(&mut self, leaves: &mut Leaves<'_>) {
        leaves.value(&mut self.slot.handle);
        leaves.value(&mut self.filled.handle);
        leaves.value(&mut self.n_sent.handle);
        for list in [&mut self.block, &mut self.last, &mut self.next] {
            leaves.form("the rank of a block", list.len());
            list.iter_mut().for_each(|scalar| leaves.value(&mut scalar.handle));
        }
    }
}

/// The copies of a ring.
pub(super) struct Copies<'a, const N: usize> {
    pub(super) ring: &'a Ring,
    pub(super) spec: &'a dyn AnySpec<N>,
    pub(super) axes: &'a [Axis; N],
    pub(super) math: Math,
}

impl<const N: usize> Copies<'_, N> {
    /// The block of a step.
    pub(super) fn block_of(&self, step: [Scalar<i32>; N]) -> Vec<Scalar<i32>> {
        entries_of(self.spec, step).into_iter().map(Scalar::new).collect()
    }

    /// The block of a step that may be beyond the last, where its index must not be computed.
    fn block_ahead(&self, step: &[Scalar<i32>]) -> Vec<Scalar<i32>> {
        match self.ring.simple {
            true => self.block_of(singled(step, self.axes, self.math)),
            false => self.block_of(self.inside(step)),
        }
    }

    /// The part of the array in HBM.
    fn part(&self, block: &[Scalar<i32>], piece: &Piece) -> Option<Place> {
        let about = &self.ring.about;
        let mut taken = SmallVec::new();
        for (axis, (&entry, &size)) in block.iter().zip(&about.sizes).enumerate() {
            let (keep, size) = (size.is_some(), size.unwrap_or(1));
            let (first, n) = piece.spans[axis];
            if let Some(known) = piece.blocks[axis] {
                let part = Part::Static { start: known * size + first, size: n, stride: 1 };
                taken.push(Taken { part, keep });
                continue;
            }
            let start = self.math.mul(entry, size);
            let (start, divisor) = with(|t| {
                let start = t.operand(start.handle, about.at)?;
                Some((start, t.divisor(start)))
            })
            .flatten()?;
            let part = Part::Dynamic { start, size: n, stride: 1, multiple_of: divisor };
            taken.push(Taken { part, keep });
        }
        Some(Place { memory: about.memory, taken })
    }

    /// Some part of the array, for a wait, which looks at sizes alone.
    fn any_part(&self, piece: &Piece) -> Place {
        let about = &self.ring.about;
        let part = |(size, &(_, n)): (&Option<usize>, &(usize, usize))| Taken {
            part: Part::Static { start: 0, size: n, stride: 1 },
            keep: size.is_some(),
        };
        let taken = about.sizes.iter().zip(&piece.spans).map(part).collect();
        Place { memory: about.memory, taken }
    }

    /// A slot, and the semaphore that counts for it.
    fn slot(&self, slot: Scalar<i32>, semaphores: Handle, piece: &Piece) -> Option<(Place, Place)> {
        let value = with(|t| t.operand(slot.handle, self.ring.about.at)).flatten()?;
        let index = Taken::index(value);
        let spans = self.ring.about.sizes.iter().zip(&piece.spans);
        let spans = spans.filter(|(size, _)| size.is_some()).map(|(_, &(start, size))| Taken {
            part: Part::Static { start, size, stride: 1 },
            keep: true,
        });
        let taken = std::iter::once(index).chain(spans).collect();
        let buffer = Place { memory: self.ring.memory, taken };
        Some((buffer, Place { memory: semaphores, taken: std::iter::once(index).collect() }))
    }

    pub(super) fn fetch(&self, block: &[Scalar<i32>], slot: Scalar<i32>) {
        let (ring, about) = (self.ring, &self.ring.about);
        self.pieces_of(block, slot, &|piece| {
            let Some(from) = self.part(block, piece) else { return };
            let Some((to, semaphore)) = self.slot(slot, ring.fetched, piece) else { return };
            let manner =
                Manner { priority: about.priority, fresh: piece.begins_cut, ..Manner::default() };
            with(|t| t.start_copy(&from, &to, &semaphore, manner, about.at));
        });
    }

    pub(super) fn wait_fetched(&self, slot: Scalar<i32>) {
        let ring = self.ring;
        self.pieces_in(slot, &|piece| {
            let Some((to, semaphore)) = self.slot(slot, ring.fetched, piece) else { return };
            with(|t| t.wait_copy(&self.any_part(piece), &to, &semaphore, ring.about.at));
        });
    }

    pub(super) fn send(&self, block: &[Scalar<i32>], slot: Scalar<i32>) {
        let (ring, about) = (self.ring, &self.ring.about);
        self.pieces_of(block, slot, &|piece| {
            let Some((from, semaphore)) = self.slot(slot, ring.sent, piece) else { return };
            let Some(to) = self.part(block, piece) else { return };
            let manner = Manner { priority: about.priority, ..Manner::default() };
            with(|t| t.start_copy(&from, &to, &semaphore, manner, about.at));
        });
    }

    pub(super) fn wait_sent(&self, slot: Scalar<i32>) {
        let ring = self.ring;
        self.pieces_in(slot, &|piece| {
            let Some((from, semaphore)) = self.slot(slot, ring.sent, piece) else { return };
            with(|t| t.wait_copy(&from, &self.any_part(piece), &semaphore, ring.about.at));
        });
    }

    /// The slot of the block that is worked on.
    pub(super) fn slot_of(&self, state: &State) -> Scalar<i32> {
        // A value that a loop carries and does not change is not known in it, and one that is not
        // carried is.
        if self.ring.n == 1 { self.math.int(0) } else { state.slot }
    }

    /// Runs `act` if the condition holds.
    pub(super) fn when(&self, condition: Scalar<bool>, act: impl FnOnce()) {
        under(Some(condition), self.ring.about.at, act);
    }

    /// The step after a step, of those that differ in the axes that move the block. That of the
    /// outermost such axis grows beyond its extent at the end.
    fn after(&self, step: &[Scalar<i32>]) -> Vec<Scalar<i32>> {
        after(step, self.axes, self.ring.depth, self.math)
    }

    /// The axis that [`Copies::after`] lets grow.
    fn outermost(&self) -> Option<usize> {
        (0..self.ring.depth).find(|&idx| !self.axes[idx].is_single())
    }

    /// Whether a step is one of the grid.
    fn is_step(&self, step: &[Scalar<i32>]) -> Scalar<bool> {
        match self.outermost() {
            Some(axis) => self.math.lt(step[axis], self.axes[axis].extent),
            None => self.math.bool(true),
        }
    }

    /// A step that is one of the grid: the same, or one near its end.
    fn inside(&self, step: &[Scalar<i32>]) -> [Scalar<i32>; N] {
        let mut inside = singled(step, self.axes, self.math);
        if let Some(axis) = self.outermost() {
            let last = self.math.add(self.axes[axis].extent, -1_i32);
            inside[axis] = self.math.min(step[axis], self.math.max(last, 0_i32));
        }
        inside
    }

    /// Whether a block is known to begin beyond the end of the array.
    fn is_outside(&self, block: &[Scalar<i32>]) -> bool {
        let about = &self.ring.about;
        let shape = with(|t| t.ty(about.memory).map(|ty| ty.shape().to_vec())).flatten();
        let axes = block.iter().zip(&about.sizes).zip(shape.unwrap_or_default());
        let mut begins = axes.map(|((&entry, &size), n)| {
            let entry = usize::try_from(self.math.known(entry)?).ok()?;
            Some(entry.saturating_mul(size.unwrap_or(1)) >= n)
        });
        begins.any(|beyond| beyond == Some(true))
    }

    /// The number of different blocks, if an index that is simple names them.
    fn n_blocks(&self) -> Scalar<i32> {
        let axes = self.axes[..self.ring.depth].iter();
        axes.fold(self.math.int(1), |n, axis| self.math.mul(n, axis.extent))
    }

    /// Starts the fetches that are ahead of the first step. `runs` says whether there is one.
    pub(super) fn begin(&self, runs: Scalar<bool>) -> State {
        let (math, ring) = (self.math, self.ring);
        let rank = ring.about.sizes.len();
        let mut state = State {
            slot: math.int(ring.n as i64 - 1),
            block: vec![math.int(-1); rank],
            filled: math.int(ring.n as i64 - 1),
            last: vec![math.int(-1); rank],
            next: vec![math.int(0); N],
            n_sent: math.int(0),
        };
        if ring.stays() {
            state.slot = math.int(0);
            self.when(runs, || {
                self.fetch(&self.block_ahead(&state.next), state.slot);
            });
        }
        for number in 0..ring.ahead {
            let there = math.lt(math.int(number as i64), self.n_blocks());
            let there = math.and(runs, there);
            let mut block = self.block_ahead(&state.next);
            if ring.simple && self.is_outside(&block) {
                // Known to be no block of the array, so none of the steps' either, of which there
                // are as many as is known while running.
                block = self.block_of(self.inside(&state.next));
            }
            let fetches = match ring.simple || number == 0 {
                true => there,
                false => math.and(there, math.differ(&block, &state.last)),
            };
            let slot = math.next_slot(state.filled, ring.n);
            self.fill(&mut state, (block, slot), fetches, there);
            state.next = self.after(&state.next);
        }
        state
    }

    /// Fetches a block into a slot if `fetches`; a slot of blocks whose index is simple is filled if
    /// `counts`.
    fn fill(
        &self,
        state: &mut State,
        (block, slot): (Vec<Scalar<i32>>, Scalar<i32>),
        fetches: Scalar<bool>,
        counts: Scalar<bool>,
    ) {
        let (math, ring) = (self.math, self.ring);
        let counts = if ring.simple { counts } else { fetches };
        let before = state.n_sent;
        self.when(fetches, || {
            if ring.about.way == Way::Both {
                // The slot may hold a block that is on its way back.
                let n = ring.n.saturating_sub(ring.ahead);
                self.when(math.ge(before, n), || {
                    self.wait_sent(slot);
                });
            }
            self.fetch(&block, slot);
        });
        if ring.n > 1 {
            state.filled = math.pick(counts, slot, state.filled);
        }
        if !ring.simple {
            let last = block.iter().zip(&state.last);
            state.last = last.map(|(&new, &old)| math.pick(fetches, new, old)).collect();
        }
    }

    /// Before the body: fetches ahead, and waits for the block of this step. `first` says whether
    /// the axes that move the block are at this place for the first time.
    pub(super) fn enter(&self, state: &mut State, step: [Scalar<i32>; N], first: Scalar<bool>) {
        let (math, ring) = (self.math, self.ring);
        if ring.stays() {
            return;
        }
        let block = self.block_of(step);
        let changes = match ring.simple {
            true => first,
            false => math.and(first, math.differ(&block, &state.block)),
        };
        if ring.about.way != Way::Out {
            self.fetch_ahead(state, &block, (first, changes));
        }
        if ring.n > 1 {
            state.slot = math.pick(changes, math.next_slot(state.slot, ring.n), state.slot);
        }
        let slot = self.slot_of(state);
        if ring.about.way == Way::Out {
            self.when(math.and(changes, math.ge(state.n_sent, ring.n)), || {
                self.wait_sent(slot);
            });
        } else {
            self.when(changes, || {
                self.wait_fetched(slot);
            });
        }
        if !ring.simple {
            state.block = block;
        }
    }

    fn fetch_ahead(
        &self,
        state: &mut State,
        block: &[Scalar<i32>],
        (first, changes): (Scalar<bool>, Scalar<bool>),
    ) {
        let (math, ring) = (self.math, self.ring);
        // A ring that is one block short of full is filled where the last block was.
        let slot = match ring.simple && ring.ahead > 0 && ring.ahead + 1 == ring.n {
            true => self.slot_of(state),
            false => math.next_slot(state.filled, ring.n),
        };
        if ring.ahead == 0 {
            return self.fill(state, (block.to_vec(), slot), changes, changes);
        }
        let there = math.and(first, self.is_step(&state.next));
        let block = self.block_ahead(&state.next);
        let fetches = match ring.simple {
            true => there,
            false => math.and(there, math.differ(&block, &state.last)),
        };
        self.fill(state, (block, slot), fetches, first);
        let after = self.after(&state.next).into_iter().zip(&state.next);
        state.next = after.map(|(new, &old)| math.pick(first, new, old)).collect();
    }

    /// After the body: sends the block of this step if the next step works on another.
    pub(super) fn leave(
        &self,
        state: &mut State,
        step: [Scalar<i32>; N],
        (last, ends, next): (Scalar<bool>, Scalar<bool>, &[Scalar<i32>; N]),
    ) {
        let (math, ring) = (self.math, self.ring);
        if ring.about.way == Way::In {
            return;
        }
        let block = if ring.simple { self.block_of(step) } else { state.block.clone() };
        let sends = match ring.simple {
            true => last,
            false => {
                let inside = std::array::from_fn(|idx| math.pick(ends, step[idx], next[idx]));
                let other = math.differ(&self.block_of(inside), &block);
                math.and(last, math.or(ends, other))
            }
        };
        let slot = self.slot_of(state);
        self.when(sends, || {
            self.send(&block, slot);
        });
        let more = math.pick(sends, math.int(1), math.int(0));
        state.n_sent = math.add(state.n_sent, more);
    }

    /// Waits for what has been sent last.
    pub(super) fn end(&self, state: &State) {
        if self.ring.about.way == Way::In {
            return;
        }
        let n_blocks = self.ring.simple.then(|| self.math.known(self.n_blocks())).flatten();
        // An inner axis may have no step, so that there is no block.
        let known = self.axes.iter().all(|axis| axis.known.is_some());
        for slot in 0..self.ring.n {
            let place = self.math.int(slot as i64);
            let filled = match n_blocks.filter(|_| known) {
                Some(n) => self.math.bool(n > slot as i64),
                None => self.math.lt(place, state.n_sent),
            };
            self.when(filled, || {
                self.wait_sent(place);
            });
        }
    }
}

/// A step, its indices along axes of one step as the constants that they are.
pub(super) fn singled<const N: usize>(
    step: &[Scalar<i32>],
    axes: &[Axis; N],
    math: Math,
) -> [Scalar<i32>; N] {
    std::array::from_fn(|idx| if axes[idx].is_single() { math.int(0) } else { step[idx] })
}

/// The step after a step, of those that differ in the first `depth` axes.
pub(super) fn after<const N: usize>(
    step: &[Scalar<i32>],
    axes: &[Axis; N],
    depth: usize,
    math: Math,
) -> Vec<Scalar<i32>> {
    let mut step = step.to_vec();
    let outermost = (0..depth).find(|&idx| !axes[idx].is_single());
    let mut carries = math.bool(true);
    for idx in (0..depth).rev().filter(|&idx| !axes[idx].is_single()) {
        let more = math.add(step[idx], 1_i32);
        if Some(idx) == outermost {
            step[idx] = math.pick(carries, more, step[idx]);
            break;
        }
        let wraps = math.and(carries, math.ge(more, axes[idx].extent));
        let counted = math.pick(carries, more, step[idx]);
        step[idx] = math.pick(wraps, math.int(0), counted);
        carries = wraps;
    }
    step
}
