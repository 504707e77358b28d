//! The kernel: a ring of chunks in VMEM that copies fill ahead of the work, across sequences.

use super::PagedAttention;
use super::plan::{Plan, Sizes};
use crate::lanes::{LANES, MASKED, by_lane, to_width};
use std::f32::consts::LOG2_E;
use std::ops::Range;
use systole::prelude::*;

/// Attention of one token per sequence over keys and values in pages: see [`PagedAttention`].
///
/// A grid step works on some sequences, chunk by chunk, by the online softmax of Dao et al.
/// ("FlashAttention", 2022). While it works on one chunk, copies fill the ring's other buffers with
/// the next ones, be they of this sequence or of a later one. Each page has its own semaphore: in
/// libtpu's model, copies that share one wait for each other.
#[tpu_kernel(grid(g: parallel), vmem_limit(plan.blocks.vmem_limit_bytes))]
pub fn paged_attention<T: Float>(
    #[comptime] config: PagedAttention,
    #[comptime] plan: Plan,
    #[prefetch(b)] lengths: Smem<i32>,
    #[prefetch(b, entries)] pages: Smem<i32>,
    #[block(b: plan.blocks.sequences @ g, h, d)] q: In<T>,
    #[block(pool, kinds, kv_h, page, d)] kv: Hbm<T>,
    #[block(b: plan.blocks.sequences @ g, h, d)] o: Out<T>,
    #[scratch(plan.ring_shape())] ring: Vmem<T>,
    #[scratch([plan.blocks.buffers, plan.blocks.pages])] arrived: DmaSemaphore,
    #[scratch([h, LANES])] max: Vmem<f32>,
    #[scratch([h, LANES])] sum: Vmem<f32>,
    #[scratch([h, d])] acc: Vmem<f32>,
) {
    let buffers = plan.blocks.buffers as i32;
    let chunks = Chunks { plan: plan.clone(), lengths, pages, first: g * plan.blocks.sequences };
    let refs = Refs { kv, ring, arrived, q, max, sum, acc };
    let n = chunks.n();
    // What is fetched next: chunk `ahead` of sequence `fetched`.
    let (mut fetched, mut ahead) = (scalar(0), chunks.of(scalar(0)).0);
    #[unroll]
    for slot in 0..plan.blocks.buffers - 1 {
        if chunks.is_fetched(fetched, n) {
            chunks.fetch(refs, fetched, ahead, scalar(slot as i32));
        }
        (fetched, ahead) = chunks.after(fetched, ahead);
    }
    let mut slot = scalar(0);
    for i in 0..n {
        let length = chunks.length(i);
        let (from, to) = chunks.of(i);
        max[..] = MASKED;
        sum[..] = 0.0;
        acc[..] = 0.0;
        for c in from..to {
            if chunks.is_fetched(fetched, n) {
                // The buffer that the turn before has worked on.
                let free = slot.eq(0).select(buffers, slot) - 1;
                chunks.fetch(refs, fetched, ahead, free);
            }
            (fetched, ahead) = chunks.after(fetched, ahead);
            if length > 0 {
                chunks.wait(refs, slot);
                let work = Work { config: &config, plan: &plan, i, c, slot, length };
                if work.is_edge() {
                    work.run(refs, true);
                } else {
                    work.run(refs, false);
                }
            }
            slot = slot.eq(buffers - 1).select(0, slot + 1);
        }
        // Without any token, the sum is 0.
        let total = sum[..].row_sum().broadcast_to([h, d]);
        let out = select(total.gt(0.0), acc[..] * total.reciprocal(), 0.0);
        o[(i, .., ..)] = out.cast();
    }
}

/// The references that are read and written.
struct Refs<T: Float> {
    kv: Hbm<T>,
    ring: Vmem<T>,
    arrived: DmaSemaphore,
    q: In<T>,
    max: Vmem<f32>,
    sum: Vmem<f32>,
    acc: Vmem<f32>,
}

impl<T: Float> Clone for Refs<T> {
    fn clone(&self) -> Refs<T> {
        *self
    }
}

impl<T: Float> Copy for Refs<T> {}

/// The chunks of a grid step, in order: those of its sequences, one after the other.
struct Chunks {
    plan: Plan,
    lengths: Smem<i32>,
    pages: Smem<i32>,
    /// The first sequence of the grid step.
    first: Scalar<i32>,
}

impl Chunks {
    /// How many sequences there are: fewer in the last step.
    fn n(&self) -> Scalar<i32> {
        let (b, sequences) = (self.plan.sizes.b, self.plan.blocks.sequences);
        if b.is_multiple_of(sequences) {
            return scalar(sequences as i32);
        }
        (scalar(b as i32) - self.first).min(sequences)
    }

    /// The length of a sequence, or of the last one if it is none of the step's.
    fn length(&self, i: Scalar<i32>) -> Scalar<i32> {
        self.lengths[(self.first + i).min(self.plan.sizes.b - 1)]
    }

    /// Whether there is such a sequence, with anything to fetch.
    fn is_fetched(&self, i: Scalar<i32>, n: Scalar<i32>) -> Scalar<bool> {
        i.lt(n) & self.length(i).gt(0)
    }

    /// The chunks of a sequence.
    fn of(&self, i: Scalar<i32>) -> (Scalar<i32>, Scalar<i32>) {
        self.plan.chunks(self.length(i))
    }

    /// The chunk after this one.
    fn after(&self, i: Scalar<i32>, c: Scalar<i32>) -> (Scalar<i32>, Scalar<i32>) {
        let is_last = (c + 1).ge(self.of(i).1);
        let next = self.of(i + 1).0;
        (is_last.select(i + 1, i), is_last.select(next, c + 1))
    }

    /// Starts the copies of a chunk's pages. What is before the first page that is seen, or behind
    /// the last one, is that page once more: the table may say anything there.
    fn fetch<T: Float>(&self, refs: Refs<T>, i: Scalar<i32>, c: Scalar<i32>, slot: Scalar<i32>) {
        let length = self.length(i);
        let last = self.plan.entry_of(length - 1);
        let n_pages = self.plan.blocks.pages;
        for p in 0..n_pages {
            let mut entry = (c * n_pages + p).min(last);
            if self.plan.window.is_some() {
                entry = entry.max(self.plan.entry_of(self.plan.first_seen(length)));
            }
            let id = self.pages[(self.first + i, entry)];
            let to = refs.ring.at((slot, p, .., .., .., ..));
            start_copy(refs.kv.at((id, .., .., .., ..)), to, refs.arrived.at((slot, p)));
        }
    }

    /// Waits for a chunk's pages.
    fn wait<T: Float>(&self, refs: Refs<T>, slot: Scalar<i32>) {
        for p in 0..self.plan.blocks.pages {
            let to = refs.ring.at((slot, p, .., .., .., ..));
            // A wait looks at sizes alone.
            wait_copy(refs.kv.at((0, .., .., .., ..)), to, refs.arrived.at((slot, p)));
        }
    }
}

/// The work on a chunk.
struct Work<'a> {
    config: &'a PagedAttention,
    plan: &'a Plan,
    /// Sequence of the grid step.
    i: Scalar<i32>,
    /// Chunk of the sequence.
    c: Scalar<i32>,
    slot: Scalar<i32>,
    length: Scalar<i32>,
}

impl Work<'_> {
    /// Whether some tokens of the chunk are not seen.
    fn is_edge(&self) -> Scalar<bool> {
        let chunk = self.plan.chunk();
        let is_cut = ((self.c + 1) * chunk).gt(self.length);
        match self.plan.window {
            Some(_) => is_cut | (self.c * chunk).lt(self.plan.first_seen(self.length)),
            None => is_cut,
        }
    }

    /// Which tokens along an axis of a tile are seen.
    fn seen(&self, shape: [usize; 2], axis: usize) -> Tile<bool> {
        let token = iota(shape, axis) + self.c * self.plan.chunk();
        let seen = token.lt(self.length);
        match self.plan.window {
            Some(_) => seen & token.ge(self.plan.first_seen(self.length)),
            None => seen,
        }
    }

    /// Adds the chunk to the rows of every head.
    fn run<T: Float>(&self, refs: Refs<T>, is_edge: bool) {
        let Sizes { h, .. } = self.plan.sizes;
        let n_rows = self.plan.sizes.rows();
        for first in (0..h).step_by(n_rows) {
            self.rows(refs, first..first + n_rows, is_edge);
        }
    }

    /// Adds the chunk to the rows of some heads, which share no key head with others.
    #[tpu_fn]
    fn rows<T: Float>(&self, refs: Refs<T>, rows: Range<usize>, is_edge: bool) {
        let (n, d, chunk) = (rows.len(), self.plan.sizes.d, self.plan.chunk());
        let group = self.plan.sizes.group();
        let kv_heads = rows.start / group..rows.end / group;
        // Without a cap the scale is applied for free, where the exponent is made.
        let scale = self.config.scale_for(d);
        let to_exp2 = if self.config.soft_cap.is_some() { LOG2_E } else { scale * LOG2_E };
        let q_rows = refs.q[(self.i, rows.clone(), ..)];
        let by_head =
            |kv_head: usize| dot_with(q_rows, self.loaded(refs, 0, kv_head), self.dot(true));
        let mut scores = own_rows(group, kv_heads.clone(), by_head); // [n, chunk]
        if let Some(cap) = self.config.soft_cap {
            scores = (scores * (scale / cap)).tanh() * cap;
        }
        if is_edge {
            scores = select(self.seen([n, chunk], 1), scores, MASKED);
        }
        let here = by_lane(scores, |x, y| x.max(y)).row_max().broadcast_to([n, LANES]);
        let before = refs.max[(rows.clone(), ..)];
        let max = before.max(here);
        let fade = ((before - max) * to_exp2).exp2();
        let weights = ((scores - to_width(max, chunk)) * to_exp2).exp2(); // [n, chunk]
        let sum = refs.sum[(rows.clone(), ..)] * fade + by_lane(weights, |x, y| x + y);
        let weights = weights.cast::<T>();
        let by_head = |kv_head: usize| {
            let values = self.loaded(refs, 1, kv_head);
            let values = if is_edge { self.only_seen(values) } else { values };
            dot_with(weights, values, self.dot(false))
        };
        let values = own_rows(group, kv_heads, by_head); // [n, d]
        refs.max[(rows.clone(), ..)] = max;
        refs.sum[(rows.clone(), ..)] = sum;
        refs.acc[(rows.clone(), ..)] = refs.acc[(rows.clone(), ..)] * to_width(fade, d) + values;
    }

    /// The keys (0) or values (1) of a head in the chunk, `[chunk, d]`.
    fn loaded<T: Float>(&self, refs: Refs<T>, kind: usize, kv_head: usize) -> Tile<T> {
        let (chunk, d) = (self.plan.chunk(), self.plan.sizes.d);
        refs.ring[(self.slot, .., kind, kv_head, .., ..)].reshape([chunk, d])
    }

    /// Values with zeros for tokens that are not seen, which may hold anything, even NaN, which a
    /// weight of 0 would not silence.
    fn only_seen<T: Float>(&self, values: Tile<T>) -> Tile<T> {
        let seen = self.seen([self.plan.chunk(), self.plan.sizes.d], 0);
        // In f32: libtpu turns a select before a product into a masked product, which v5e has for
        // f32 alone.
        select(seen, values.cast::<f32>(), 0.0).cast()
    }

    fn dot(&self, transpose_rhs: bool) -> DotOp {
        DotOp { transpose_lhs: false, transpose_rhs, precision: self.config.precision }
    }
}

/// What each row has of its own key head: `group` rows to a head, the products of all rows with
/// each.
fn own_rows(
    group: usize,
    kv_heads: Range<usize>,
    product: impl Fn(usize) -> Tile<f32>,
) -> Tile<f32> {
    let first = kv_heads.start;
    let mut own = product(first);
    for kv_head in kv_heads.skip(1) {
        let is_behind = iota(own.shape(), 0).ge(((kv_head - first) * group) as i32);
        own = select(is_behind, product(kv_head), own);
    }
    own
}
