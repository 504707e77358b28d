//! The two passes over one super tile.

use super::plan::{Case, Plan, Product};
use super::{At, Attention};
use crate::lanes::{LANES, MASKED, by_lane, to_width};
use std::f32::consts::{LN_2, LOG2_E};
use std::ops::Range;
use systole::prelude::*;

/// A super tile while it is traced.
pub(super) struct SuperTile<'a> {
    config: &'a Attention,
    plan: &'a Plan,
    case: &'a Case,
    at: [Scalar<i32>; 4],
    /// The factor that turns differences of scores into exponents of 2.
    to_exp2: f32,
    scale: f32,
}

/// The references that the passes read and write.
#[derive(Clone, Copy)]
pub(super) struct Refs<T: Float> {
    pub(super) q: In<T>,
    pub(super) k: In<T>,
    pub(super) v: In<T>,
    pub(super) o: Out<T>,
    pub(super) lse: Option<Out<f32>>,
    /// Scores of the query blocks, by turns.
    pub(super) scores: [Vmem<f32>; 2],
    /// Per row: the maximum and the sum so far, in every lane.
    pub(super) max: Vmem<f32>,
    pub(super) sum: Vmem<f32>,
    /// Per row: the weighted values so far.
    pub(super) acc: Vmem<f32>,
}

/// A query block between its passes: the maximum of each `dt` rows, `[dt, 128]`, or `None` where
/// the rows see nothing here.
struct Pending {
    block: (usize, usize),
    buffer: usize,
    max: Vec<Option<Tile<f32>>>,
}

impl<'a> SuperTile<'a> {
    pub(super) fn new(
        config: &'a Attention,
        plan: &'a Plan,
        case: &'a Case,
        at: [Scalar<i32>; 4],
        d: usize,
    ) -> SuperTile<'a> {
        let scale = config.scale_for(d);
        // A score function wants logits in their own unit; without one the scale is applied for
        // free, where the exponent is made.
        let to_exp2 = if config.score.is_some() { LOG2_E } else { scale * LOG2_E };
        SuperTile { config, plan, case, at, to_exp2, scale }
    }

    /// Traces both passes of every query block.
    pub(super) fn run<T: Float>(&self, refs: Refs<T>) {
        let mut pending: Option<Pending> = None;
        let blocks = self.plan.blocks.q_blocks.iter().filter(|(base, _)| *base < self.case.n_rows);
        for (turn, &block) in blocks.enumerate() {
            let scored = self.score_pass(refs, block, turn % 2);
            if self.plan.blocks.pipelined {
                // The products of the block before overlap with the scores just emitted.
                if let Some(before) = pending.replace(scored) {
                    self.value_pass(refs, before);
                }
            } else {
                self.value_pass(refs, scored);
            }
        }
        if let Some(last) = pending {
            self.value_pass(refs, last);
        }
    }

    fn dt(&self) -> usize {
        self.plan.blocks.dt
    }

    /// Pass 1: scores to VMEM, and their maximum.
    #[tpu_fn]
    fn score_pass<T: Float>(&self, refs: Refs<T>, block: (usize, usize), buffer: usize) -> Pending {
        let ((base, bq), dt) = (block, self.dt());
        let mut max: Vec<Option<Tile<f32>>> = vec![None; bq.div_ceil(dt)];
        for product in self.plan.tiles(self.case, block) {
            let (rows, cols) = (product.rows.clone(), product.cols.clone());
            let q_rows = refs.q[(base + rows.start..base + rows.end, ..)];
            let k_rows = refs.k[(cols.clone(), ..)];
            let scores = dot_with(q_rows, k_rows, self.dot(true)); // [rows, cols]
            let scores = self.mask(scores, base, &product);
            refs.scores[buffer][(rows.clone(), cols)] = scores;
            let lanes = by_lane(scores, |x, y| x.max(y)); // [rows, 128]
            for (idx, part) in parts(lanes, &rows, dt) {
                max[idx] = Some(max[idx].map_or(part, |before| before.max(part)));
            }
        }
        for (idx, max) in max.iter_mut().enumerate() {
            let at = base + idx * dt;
            *max = max.map(|part| {
                let whole = part.row_max().broadcast_to([dt, LANES]);
                if self.case.first { whole } else { whole.max(refs.max[(at..at + dt, ..)]) }
            });
        }
        Pending { block, buffer, max }
    }

    /// Masks what a product's rows do not see, after the score function.
    fn mask(&self, scores: Tile<f32>, base: usize, product: &Product) -> Tile<f32> {
        let (rows, cols) = (&product.rows, &product.cols);
        let mut scores = scores;
        if self.config.score.is_some() || self.config.mask.is_some() {
            let [bi, hi, i, j] = self.at;
            let at = At {
                batch: bi,
                head: hi,
                q: iota([rows.len(), 1], 0) + (i * self.plan.blocks.zq + (base + rows.start)),
                k: iota([1, cols.len()], 1) + (j * self.plan.blocks.zk + cols.start),
            };
            let shape = [rows.len(), cols.len()];
            if let Some(score) = &self.config.score {
                let scored = score(scores * self.scale, at);
                scores = scored.fit(shape, "the `score` function of the attention");
            }
            if let Some(mask) = &self.config.mask {
                let keep = mask(at).fit(shape, "the `mask` function of the attention");
                scores = select(keep, scores, MASKED);
            }
        }
        if !product.edges.is_empty() {
            scores = self.mask_edges(scores, base, product);
        }
        if product.ragged {
            let exists = iota([rows.len(), cols.len()], 1).lt(self.case.n_cols - cols.start);
            scores = select(exists, scores, MASKED);
        }
        scores
    }

    /// Masks the `dt` rows that the band's edge goes through, and leaves the others alone.
    fn mask_edges(&self, scores: Tile<f32>, base: usize, product: &Product) -> Tile<f32> {
        let (dt, cols) = (self.dt(), &product.cols);
        let delta = self.case.delta.unwrap_or(0) + cols.start as isize - base as isize;
        let (lowest, highest) = self.plan.band.limits();
        let mut masked = Vec::new();
        for row in product.rows.clone().step_by(dt) {
            let from = row - product.rows.start;
            let mut part = scores.slice((from..from + dt, ..));
            if product.edges.contains(&row) {
                // Element (r, c) of this part has `key - query = c - r + shift`.
                let shift = delta - row as isize;
                let ahead = iota([dt, cols.len()], 1) - iota([dt, cols.len()], 0);
                if let Some(highest) = highest {
                    part = select(ahead.le((highest - shift) as i32), part, MASKED);
                }
                if let Some(lowest) = lowest {
                    part = select(ahead.ge((lowest - shift) as i32), part, MASKED);
                }
            }
            masked.push(part);
        }
        concat(&masked, 0)
    }

    /// Pass 2: exponentials, their sum, and the weighted values; then the result or the state.
    #[tpu_fn]
    fn value_pass<T: Float>(&self, refs: Refs<T>, scored: Pending) {
        let (base, dt) = (scored.block.0, self.dt());
        let mut sums: Vec<Option<Tile<f32>>> = vec![None; scored.max.len()];
        let mut accs: Vec<Option<Tile<f32>>> = vec![None; scored.max.len()];
        for product in self.plan.tiles(self.case, scored.block) {
            let (rows, cols) = (product.rows.clone(), product.cols.clone());
            let seen = rows.start / dt..rows.end.div_ceil(dt);
            let maxima: Vec<Tile<f32>> = scored.max[seen].iter().copied().flatten().collect();
            let max = to_width(concat(&maxima, 0), cols.len());
            let scores = refs.scores[scored.buffer][(rows.clone(), cols.clone())];
            let weights = ((scores - max) * self.to_exp2).exp2(); // [rows, cols]
            let sum = by_lane(weights, |x, y| x + y);
            let values = self.values(refs.v[(cols, ..)], &product);
            let acc = dot_with(weights.cast::<T>(), values, self.dot(false)); // [rows, d]
            for (idx, part) in parts(sum, &rows, dt) {
                sums[idx] = Some(sums[idx].map_or(part, |before| before + part));
            }
            for (idx, part) in parts(acc, &rows, dt) {
                accs[idx] = Some(accs[idx].map_or(part, |before| before + part));
            }
        }
        let states = scored.max.iter().zip(sums).zip(accs);
        for (idx, ((max, sum), acc)) in states.enumerate() {
            let rows = base + idx * dt..base + (idx + 1) * dt;
            let state = match (*max, sum, acc) {
                (Some(max), Some(sum), Some(acc)) => Some((max, sum, acc)),
                _ => None,
            };
            if rows.start < self.case.n_rows {
                self.finish(refs, rows, state);
            }
        }
    }

    /// The values of a product; rows beyond the last key hold anything, even NaN, which a weight
    /// of 0 would not silence.
    fn values<T: Float>(&self, values: Tile<T>, product: &Product) -> Tile<T> {
        if !product.ragged {
            return values;
        }
        let exists = iota(values.shape(), 0).lt(self.case.n_cols - product.cols.start);
        // In f32: libtpu turns a select before a product into a masked product, which v5e has for
        // f32 alone.
        select(exists, values.cast::<f32>(), 0.0).cast()
    }

    /// Merges `dt` rows with the tiles before, and writes the result after the last tile.
    #[tpu_fn]
    fn finish<T: Float>(
        &self,
        refs: Refs<T>,
        rows: Range<usize>,
        state: Option<(Tile<f32>, Tile<f32>, Tile<f32>)>,
    ) {
        let (dt, d) = (rows.len(), refs.q.shape()[1]);
        let nothing = || (full([dt, LANES], MASKED), zeros([dt, LANES]), zeros([dt, d]));
        let (max, sum, acc) = match (self.case.first, state) {
            (true, state) => state.unwrap_or_else(nothing),
            (false, None) => {
                let at = (rows.clone(), ..);
                (refs.max[at.clone()], refs.sum[at.clone()], refs.acc[at])
            }
            (false, Some((max, sum, acc))) => {
                let fade = ((refs.max[(rows.clone(), ..)] - max) * self.to_exp2).exp2();
                let sum = sum + refs.sum[(rows.clone(), ..)] * fade;
                (max, sum, acc + refs.acc[(rows.clone(), ..)] * to_width(fade, d))
            }
        };
        if !self.case.last {
            refs.max[(rows.clone(), ..)] = max;
            refs.sum[(rows.clone(), ..)] = sum;
            refs.acc[(rows, ..)] = acc;
            return;
        }
        let sum = sum.row_sum(); // [dt, 1]
        // A row that saw nothing has weights of masked logits alone.
        let blind = self.may_be_blind().then(|| max.slice((.., 0..1)).le(MASKED / 2.0));
        let mut out = acc * sum.reciprocal();
        if let Some(blind) = blind {
            out = select(blind.broadcast_to([dt, d]), 0.0, out);
        }
        refs.o[(rows.clone(), ..)] = out.cast();
        if let Some(lse) = refs.lse {
            let value = max * (self.to_exp2 * LN_2) + sum.log().broadcast_to([dt, LANES]);
            let value = match blind {
                Some(blind) => select(blind.broadcast_to([dt, LANES]), f32::NEG_INFINITY, value),
                None => value,
            };
            // Rows become lanes: one row of the transposed tile holds all of them.
            lse[(.., rows)] = value.transpose().slice((0..1, ..));
        }
    }

    /// Whether some row may see no key.
    fn may_be_blind(&self) -> bool {
        self.config.mask.is_some() || self.plan.band.has_blind_rows(self.plan.sq, self.plan.sk)
    }

    fn dot(&self, transpose_rhs: bool) -> DotOp {
        DotOp { transpose_lhs: false, transpose_rhs, precision: self.config.precision }
    }
}

/// The parts of `dt` rows of a tile that holds `rows` of a block, each with its index there.
fn parts(tile: Tile<f32>, rows: &Range<usize>, dt: usize) -> Vec<(usize, Tile<f32>)> {
    let starts = rows.clone().step_by(dt);
    let part = |row: usize| tile.slice((row - rows.start..row - rows.start + dt, ..));
    starts.map(|row| (row / dt, part(row))).collect()
}
