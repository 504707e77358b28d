//! Lookups: rows by id, and sums of the rows of a bag.
//!
//! Ids are checked before the call ([`super::super::RawBags::check`]), so that the chip need not: its
//! checks are half of what a gather costs.

use super::super::sparse_core::BagForm;
use super::rows::{AHEAD, Ring, Rows, SLOTS, TILE, arrive, column, eight, fetch, packing, store};
use systole::prelude::*;

/// Row `ids[n]` of the table as row `n`.
#[tpu_kernel(
    grid(p: parallel = ring.n_cores, i = n / (ring.n_cores * ring.n_rows)),
    name = "embedding_gather",
    bounds_checks(off)
)]
pub(super) fn gather_rows<T: Float>(
    #[comptime] ring: Ring,
    #[prefetch(n)] ids: Smem<i32>,
    #[block(v, d)] table: Hbm<T>,
    #[block(n: ring.n_rows @ p * (n / (ring.n_cores * ring.n_rows)) + i, d)] out: Out<T>,
    #[scratch([SLOTS, ring.n_rows * packing::<T>(), d])] buf: Vmem<T>,
    #[scratch([SLOTS])] done: DmaSemaphore,
) {
    let rows = Rows { ids, table, buf, done };
    let n_units = n / (ring.n_cores * ring.n_rows);
    let first = p * n_units;
    // The first step begins with those that later ones find under way.
    let begin = (i == 0).select(i, i + AHEAD);
    for unit in begin..(i + SLOTS).min(n_units) {
        fetch(ring, rows, first + unit);
    }
    arrive(rows, first + i);
    store(out, ring.n_rows, |group| eight(ring, rows, first + i, group));
}

/// The sum of the rows of each bag of `hot` ids, times `scale`. Of each `n_rows` bags `ids` has the
/// first id of all, then the second, and so on.
#[tpu_kernel(
    grid(p: parallel = ring.n_cores, i = n / (ring.n_cores * ring.n_rows)),
    dims(n = m / hot),
    name = "embedding_bag",
    bounds_checks(off)
)]
pub(super) fn sum_bags<T: Float>(
    #[comptime] ring: Ring,
    #[comptime] hot: usize,
    #[comptime] scale: f32,
    #[prefetch(m)] ids: Smem<i32>,
    #[block(v, d)] table: Hbm<T>,
    #[block(n: ring.n_rows @ p * (n / (ring.n_cores * ring.n_rows)) + i, d)] out: Out<T>,
    #[scratch([SLOTS, ring.n_rows * packing::<T>(), d])] buf: Vmem<T>,
    #[scratch([SLOTS])] done: DmaSemaphore,
    #[scratch([ring.n_rows, d])] sums: Vmem<f32>,
) {
    let rows = Rows { ids, table, buf, done };
    let n_units = m / (ring.n_cores * ring.n_rows);
    let first = p * n_units;
    sums[..] = 0.0;
    for j in 0..hot {
        let unit = i * hot + j;
        let begin = (unit == 0).select(unit, unit + AHEAD);
        for next in begin..(unit + SLOTS).min(n_units) {
            fetch(ring, rows, first + next);
        }
        arrive(rows, first + unit);
        for group in 0..ring.n_rows / TILE {
            sums[(ds(group * TILE, TILE), ..)] += eight(ring, rows, first + unit, group);
        }
    }
    store(out, ring.n_rows, |group| sums[(ds(group * TILE, TILE), ..)] * scale);
}

/// The sum of the rows of each bag, `chunk` bags per step. Step `i` has the units from `starts[i]` on
/// and before `starts[i + 1]`; of its rows `places` says to which of its bags each belongs, or
/// `chunk` if to none. `factors` has one per row of a unit if the form is `Weighted`, one per bag if it
/// is `Scaled`.
#[tpu_kernel(
    grid(p: parallel = ring.n_cores, i = (s - 1) / ring.n_cores),
    dims(n = (s - 1) * chunk),
    name = "embedding_bag_ragged",
    bounds_checks(off)
)]
pub(super) fn sum_ragged_bags<T: Float>(
    #[comptime] ring: Ring,
    #[comptime] chunk: usize,
    #[comptime] form: BagForm,
    #[prefetch(s)] starts: Smem<i32>,
    #[prefetch(m)] ids: Smem<i32>,
    #[prefetch(m)] places: Smem<i32>,
    #[prefetch(f)] factors: Smem<f32>,
    #[block(v, d)] table: Hbm<T>,
    #[block(n: chunk @ p * ((s - 1) / ring.n_cores) + i, d)] out: Out<T>,
    #[scratch([SLOTS, ring.n_rows * packing::<T>(), d])] buf: Vmem<T>,
    #[scratch([SLOTS])] done: DmaSemaphore,
    #[scratch([chunk + TILE, d])] sums: Vmem<f32>,
) {
    let rows = Rows { ids, table, buf, done };
    let n_steps = (s - 1) / ring.n_cores;
    let step = p * n_steps + i;
    let (begin, end) = (starts[step], starts[step + 1]);
    let last = starts[(p + 1) * n_steps];
    if i == 0 {
        for unit in begin..(begin + AHEAD).min(last) {
            fetch(ring, rows, unit);
        }
    }
    sums[..] = 0.0;
    for unit in begin..end {
        if unit + AHEAD < last {
            fetch(ring, rows, unit + AHEAD);
        }
        arrive(rows, unit);
        for group in 0..ring.n_rows / TILE {
            let fetched = eight(ring, rows, unit, group);
            #[unroll]
            for k in 0..TILE {
                let at = unit * ring.n_rows + group * TILE + k;
                let mut row = fetched.slice((k..k + 1, ..));
                if comptime!(form == BagForm::Weighted) {
                    // A row that is out of its bag adds nothing, whatever is in it.
                    let by = factors[at];
                    row = select(by != 0.0, row * by, zeros([1, d]));
                }
                sums[(ds(places[at], 1), ..)] += row;
            }
        }
    }
    store(out, chunk, |group| {
        let sum = sums[(ds(group * TILE, TILE), ..)];
        if comptime!(form == BagForm::Scaled) {
            let first = step * chunk + group * TILE;
            sum * column(|k| factors[first + k], d)
        } else {
            sum
        }
    });
}
