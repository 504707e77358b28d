//! Updates: one step of an optimizer on the rows that a batch names.
//!
//! A list of an [`UpdatePlan`](super::super::UpdatePlan) is a subcore's. It sums the gradients of
//! its rows in its own part of Spmem, where copies add, and then fetches, changes and writes its
//! rows, which are nobody else's.

use super::lookup::{clear, scale};
use systole::prelude::*;
use systole::target::SparseCores;

/// How the lists of a plan are worked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lists {
    pub(super) cores: SparseCores,
    /// Rows of a list.
    pub(super) n_rows: usize,
    /// Entries of a list.
    pub(super) n_entries: usize,
    /// Rows, or entries, at a time.
    pub(super) chunk: usize,
}

/// The arrays of a plan, list after list.
#[derive(Clone, Copy)]
struct Entries {
    /// The gradient of what the lookup gave.
    gradient: Hbm<f32>,
    /// Sample of each entry.
    samples: Hbm<i32>,
    /// Row of each entry, counted over the lists of its core.
    places: Hbm<i32>,
    /// Factor of each entry.
    gains: Hbm<f32>,
}

/// What a subcore works with; the slots come back.
struct Work {
    ids: Slot<i32>,
    places: Slot<i32>,
    factors: Slot<f32>,
    rows: Slot<f32>,
}

/// Sums the gradients of a list's rows in its part of `sums`, from row `own` on.
#[tpu_fn]
fn sum_gradients(
    lists: Lists,
    list: Scalar<i32>,
    own: Scalar<i32>,
    entries: Entries,
    sums: Spmem<f32>,
    work: Work,
) -> Work {
    let Lists { cores, n_rows, n_entries, chunk } = lists;
    let Work { mut ids, mut places, mut factors, mut rows } = work;
    let width = rows.shape()[1];
    clear(&rows, chunk, width, cores.lanes);
    for i in 0..n_rows / chunk {
        rows = copy_into(rows, sums.rows(own + i * chunk, chunk)).wait();
    }
    for i in 0..n_entries / chunk {
        let base = list * n_entries + i * chunk;
        let samples = copy_into(entries.samples.rows(base, chunk), ids);
        let next = copy_into(entries.places.rows(base, chunk), places);
        factors = copy_into(entries.gains.rows(base, chunk), factors).wait();
        (rows, ids) = entries.gradient.gather(samples.wait(), rows).wait();
        places = next.wait();
        scale(&rows, &factors, chunk, width, cores.lanes);
        let add = scatter(rows, places, sums.whole()).accumulate();
        (rows, places) = add.start().wait();
    }
    Work { ids, places, factors, rows }
}

/// `w -= rate g` for each row of each list.
#[tpu_kernel(
    core(sparse),
    grid(c = lists.cores.n_cores, s = lists.cores.n_subcores),
    name = "embedding_sgd"
)]
pub(super) fn sgd(
    #[comptime] lists: Lists,
    #[comptime] rate: f32,
    #[block(v, d)] table: HbmInOut<f32>,
    #[block(b, d)] gradient: Hbm<f32>,
    #[block(r)] rows: Hbm<i32>,
    #[block(e)] samples: Hbm<i32>,
    #[block(e)] places: Hbm<i32>,
    #[block(e)] gains: Hbm<f32>,
    #[scratch([lists.chunk])] idx: Buffers<i32, 2>,
    #[scratch([lists.chunk])] factors: Buffers<f32, 1>,
    #[scratch([lists.chunk, d])] bufs: Buffers<f32, 2>,
    #[scratch([lists.cores.n_subcores * lists.n_rows, d])] sums: Spmem<f32>,
) {
    let Lists { cores, n_rows, chunk, .. } = lists;
    let (list, own) = (c * cores.n_subcores + s, s * n_rows);
    let ([ids, places_buf], [factors], [g, mut w]) = (idx.slots(), factors.slots(), bufs.slots());
    let entries = Entries { gradient, samples, places, gains };
    let work = Work { ids, places: places_buf, factors, rows: g };
    let Work { mut ids, rows: mut g, .. } = sum_gradients(lists, list, own, entries, sums, work);
    for i in 0..n_rows / chunk {
        ids = copy_into(rows.rows(list * n_rows + i * chunk, chunk), ids).wait();
        let sum = copy_into(sums.rows(own + i * chunk, chunk), g);
        (w, ids) = table.gather(ids, w).wait();
        g = sum.wait();
        for row in 0..chunk {
            for k in 0..d / cores.lanes {
                let at = (row, ds(k * cores.lanes, cores.lanes));
                w[at] -= g[at] * rate;
            }
        }
        (w, ids) = table.scatter(ids, w).wait();
    }
    let _ = (ids, g, w);
}

/// `a += g^2; w -= rate g / (sqrt(a) + eps)` for each row of each list.
#[tpu_kernel(
    core(sparse),
    grid(c = lists.cores.n_cores, s = lists.cores.n_subcores),
    name = "embedding_adagrad"
)]
pub(super) fn adagrad(
    #[comptime] lists: Lists,
    #[comptime] rate: f32,
    #[comptime] eps: f32,
    #[block(v, d)] table: HbmInOut<f32>,
    #[block(v, d)] accumulator: HbmInOut<f32>,
    #[block(b, d)] gradient: Hbm<f32>,
    #[block(r)] rows: Hbm<i32>,
    #[block(e)] samples: Hbm<i32>,
    #[block(e)] places: Hbm<i32>,
    #[block(e)] gains: Hbm<f32>,
    #[scratch([lists.chunk])] idx: Buffers<i32, 2>,
    #[scratch([lists.chunk])] factors: Buffers<f32, 1>,
    #[scratch([lists.chunk, d])] bufs: Buffers<f32, 3>,
    #[scratch([lists.cores.n_subcores * lists.n_rows, d])] sums: Spmem<f32>,
) {
    let Lists { cores, n_rows, chunk, .. } = lists;
    let (list, own) = (c * cores.n_subcores + s, s * n_rows);
    let ([ids, places_buf], [factors], [g, mut w, mut a]) =
        (idx.slots(), factors.slots(), bufs.slots());
    let entries = Entries { gradient, samples, places, gains };
    let work = Work { ids, places: places_buf, factors, rows: g };
    let Work { mut ids, rows: mut g, .. } = sum_gradients(lists, list, own, entries, sums, work);
    for i in 0..n_rows / chunk {
        ids = copy_into(rows.rows(list * n_rows + i * chunk, chunk), ids).wait();
        let sum = copy_into(sums.rows(own + i * chunk, chunk), g);
        (w, ids) = table.gather(ids, w).wait();
        (a, ids) = accumulator.gather(ids, a).wait();
        g = sum.wait();
        for row in 0..chunk {
            for k in 0..d / cores.lanes {
                let at = (row, ds(k * cores.lanes, cores.lanes));
                let (g, sum) = (g[at], a[at] + g[at] * g[at]);
                a[at] = sum;
                w[at] -= g * rate / (sum.sqrt() + eps);
            }
        }
        (w, ids) = table.scatter(ids, w).wait();
        (a, ids) = accumulator.scatter(ids, a).wait();
    }
    let _ = (ids, g, w, a);
}

/// `a += mean(g^2); w -= rate g / (sqrt(a) + eps)` for each row of each list; row `r` of the
/// accumulator has the value of row `r` in each of its elements.
#[tpu_kernel(
    core(sparse),
    grid(c = lists.cores.n_cores, s = lists.cores.n_subcores),
    name = "embedding_row_adagrad"
)]
pub(super) fn row_adagrad(
    #[comptime] lists: Lists,
    #[comptime] rate: f32,
    #[comptime] eps: f32,
    #[block(v, d)] table: HbmInOut<f32>,
    #[block(v, a)] accumulator: HbmInOut<f32>,
    #[block(b, d)] gradient: Hbm<f32>,
    #[block(r)] rows: Hbm<i32>,
    #[block(e)] samples: Hbm<i32>,
    #[block(e)] places: Hbm<i32>,
    #[block(e)] gains: Hbm<f32>,
    #[scratch([lists.chunk])] idx: Buffers<i32, 2>,
    #[scratch([lists.chunk])] factors: Buffers<f32, 1>,
    #[scratch([lists.chunk, d])] bufs: Buffers<f32, 2>,
    #[scratch([lists.chunk, a])] squares: Buffers<f32, 1>,
    #[scratch([lists.cores.n_subcores * lists.n_rows, d])] sums: Spmem<f32>,
) {
    let Lists { cores, n_rows, chunk, .. } = lists;
    let lanes = cores.lanes;
    let (list, own) = (c * cores.n_subcores + s, s * n_rows);
    let ([ids, places_buf], [factors], [g, mut w], [mut square]) =
        (idx.slots(), factors.slots(), bufs.slots(), squares.slots());
    let entries = Entries { gradient, samples, places, gains };
    let work = Work { ids, places: places_buf, factors, rows: g };
    let Work { mut ids, rows: mut g, .. } = sum_gradients(lists, list, own, entries, sums, work);
    for i in 0..n_rows / chunk {
        ids = copy_into(rows.rows(list * n_rows + i * chunk, chunk), ids).wait();
        let sum = copy_into(sums.rows(own + i * chunk, chunk), g);
        (w, ids) = table.gather(ids, w).wait();
        (square, ids) = accumulator.gather(ids, square).wait();
        g = sum.wait();
        for row in 0..chunk {
            let mut total = zeros::<f32>([lanes]);
            for k in 0..d / lanes {
                let g = g[(row, ds(k * lanes, lanes))];
                total += g * g;
            }
            let mean = total.sum_all() * (1.0 / d as f32);
            let after = square[(row, 0..lanes)] + mean;
            for k in 0..a / lanes {
                square[(row, ds(k * lanes, lanes))] = after;
            }
            for k in 0..d / lanes {
                let at = (row, ds(k * lanes, lanes));
                w[at] -= g[at] * rate / (after.sqrt() + eps);
            }
        }
        (w, ids) = table.scatter(ids, w).wait();
        (square, ids) = accumulator.scatter(ids, square).wait();
    }
    let _ = (ids, g, w, square);
}
