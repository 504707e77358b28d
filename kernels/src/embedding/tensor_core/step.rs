//! Updates: one step of an optimizer on the rows that a batch names, which are all different.

use super::rows::{SLOTS, TILE};
use systole::prelude::*;

/// Units whose rows are fetched ahead. One slot less than there is keeps a step from waiting for
/// the rows that the step before it has sent back.
const AHEAD: usize = SLOTS - 2;

/// An array that is updated in place, and the buffers of its rows.
#[derive(Clone, Copy)]
struct Part {
    array: HbmInOut<f32>,
    buf: Vmem<f32>,
    arrived: DmaSemaphore,
    left: DmaSemaphore,
}

/// The rows that are updated.
#[derive(Clone, Copy)]
struct Named {
    ids: Smem<i32>,
    /// Rows of a unit.
    chunk: usize,
    n_units: usize,
}

/// Waits until the rows of a unit have been sent back.
#[tpu_fn]
fn sent(part: Part, unit: Scalar<i32>) {
    let slot = unit % SLOTS;
    let all = part.buf.at((slot, .., ..));
    wait_copy(all, all, part.left.at(slot));
}

/// Starts the copies of the rows of the units ahead, and waits for those of this one.
#[tpu_fn]
fn fetch(named: Named, part: Part, i: Scalar<i32>) {
    let Named { ids, chunk, n_units } = named;
    let begin = (i == 0).select(i, i + AHEAD);
    for unit in begin..(i + (AHEAD + 1)).min(n_units) {
        if unit >= SLOTS {
            sent(part, unit - SLOTS);
        }
        let slot = unit % SLOTS;
        for group in 0..chunk / TILE {
            #[unroll]
            for k in 0..TILE {
                let at = group * TILE + k;
                let row = part.array.rows(ids[unit * chunk + at], 1);
                start_copy(row, part.buf.at((slot, ds(at, 1), ..)), part.arrived.at(slot));
            }
        }
    }
    let slot = i % SLOTS;
    let all = part.buf.at((slot, .., ..));
    wait_copy(all, all, part.arrived.at(slot));
}

/// Sends the rows of a unit back; the last waits for all that is under way.
#[tpu_fn]
fn send(named: Named, part: Part, i: Scalar<i32>) {
    let Named { ids, chunk, n_units } = named;
    let slot = i % SLOTS;
    for group in 0..chunk / TILE {
        #[unroll]
        for k in 0..TILE {
            let at = group * TILE + k;
            let row = part.array.rows(ids[i * chunk + at], 1);
            start_copy(part.buf.at((slot, ds(at, 1), ..)), row, part.left.at(slot));
        }
    }
    if i == n_units - 1 {
        for unit in n_units.saturating_sub(SLOTS)..n_units {
            sent(part, unit);
        }
    }
}

/// `w -= rate g` for each row that `ids` names; row `k` of the gradient is that of `ids[k]`.
#[tpu_kernel(grid(i = n / chunk), name = "embedding_sgd")]
pub(super) fn sgd(
    #[comptime] chunk: usize,
    #[comptime] rate: f32,
    #[prefetch(n)] ids: Smem<i32>,
    #[block(v, d)] table: HbmInOut<f32>,
    #[block(n: chunk @ i, d)] gradient: In<f32>,
    #[scratch([SLOTS, chunk, d])] weights: Vmem<f32>,
    #[scratch([SLOTS])] arrived: DmaSemaphore,
    #[scratch([SLOTS])] left: DmaSemaphore,
) {
    let named = Named { ids, chunk, n_units: n / chunk };
    let part = Part { array: table, buf: weights, arrived, left };
    fetch(named, part, i);
    for group in 0..chunk / TILE {
        let rows = ds(group * TILE, TILE);
        weights[(i % SLOTS, rows, ..)] -= gradient[(rows, ..)] * rate;
    }
    send(named, part, i);
}

/// `a += g^2; w -= rate g / (sqrt(a) + eps)` for each row that `ids` names. `by_row`, it is the mean
/// of `g^2` that is added, and every element of a row of the accumulator is the same.
#[tpu_kernel(grid(i = n / chunk), name = "embedding_adagrad")]
pub(super) fn adagrad(
    #[comptime] chunk: usize,
    #[comptime] rate: f32,
    #[comptime] eps: f32,
    #[comptime] by_row: bool,
    #[prefetch(n)] ids: Smem<i32>,
    #[block(v, d)] table: HbmInOut<f32>,
    #[block(v, a)] accumulator: HbmInOut<f32>,
    #[block(n: chunk @ i, d)] gradient: In<f32>,
    #[scratch([SLOTS, chunk, d])] weights: Vmem<f32>,
    #[scratch([SLOTS, chunk, a])] sums: Vmem<f32>,
    #[scratch([SLOTS])] arrived: DmaSemaphore,
    #[scratch([SLOTS])] left: DmaSemaphore,
    #[scratch([SLOTS])] sums_arrived: DmaSemaphore,
    #[scratch([SLOTS])] sums_left: DmaSemaphore,
) {
    let named = Named { ids, chunk, n_units: n / chunk };
    let table = Part { array: table, buf: weights, arrived, left };
    let accumulator =
        Part { array: accumulator, buf: sums, arrived: sums_arrived, left: sums_left };
    fetch(named, table, i);
    fetch(named, accumulator, i);
    let slot = i % SLOTS;
    for group in 0..chunk / TILE {
        let rows = ds(group * TILE, TILE);
        let g = gradient[(rows, ..)];
        let mut square = g * g;
        if comptime!(by_row) {
            square = (square.row_sum() * (1.0 / d as f32)).broadcast_to([TILE, a]);
        }
        let sum = sums[(slot, rows, ..)] + square;
        sums[(slot, rows, ..)] = sum;
        let by = if comptime!(by_row) { sum.slice((.., 0..1)) } else { sum };
        weights[(slot, rows, ..)] -= g * rate / (by.sqrt() + eps);
    }
    send(named, table, i);
    send(named, accumulator, i);
}
