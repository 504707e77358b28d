//! Lookups: rows by id, and sums of the rows of a bag.

use systole::prelude::*;
use systole::target::SparseCores;

/// Row `ids[n]` of the table as row `n`. Each subcore has an equal run of ids, and fetches the rows
/// of the next `chunk` while those before are written.
#[tpu_kernel(core(sparse), grid(c = cores.n_cores, s = cores.n_subcores), name = "embedding_gather")]
pub(super) fn gather_rows(
    #[comptime] cores: SparseCores,
    #[comptime] chunk: usize,
    #[block(v, d)] table: Hbm<f32>,
    #[block(n)] ids: Hbm<i32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([chunk])] idx: Buffers<i32, 2>,
    #[scratch([chunk, d])] rows: Buffers<f32, 2>,
) {
    let steps = n / (cores.n_cores * cores.n_subcores * chunk);
    let base = (c * cores.n_subcores + s) * (steps * chunk);
    let ([i0, i1], [r0, r1]) = (idx.slots(), rows.slots());
    let first = copy_into(ids.rows(base, chunk), i0).wait();
    if comptime!(steps == 1) {
        let (full, _) = table.gather(first, r0).wait();
        let _ = copy_into(full, out.rows(base, chunk)).wait();
    } else {
        let mut next_ids = copy_into(ids.rows(base + chunk, chunk), i1);
        let (mut current, mut free) = (table.gather(first, r0), r1);
        for j in 1..steps {
            let next = table.gather(next_ids.wait(), free);
            let (full, used) = current.wait();
            // The ids after the last are those of the last again.
            let after = (j + 1).min(steps - 1) * chunk;
            next_ids = copy_into(ids.rows(base + after, chunk), used);
            free = copy_into(full, out.rows(base + (j - 1) * chunk, chunk)).wait();
            current = next;
        }
        let _ = next_ids.wait();
        let (full, _) = current.wait();
        let _ = copy_into(full, out.rows(base + (steps - 1) * chunk, chunk)).wait();
    }
}

/// Fills the rows of a slot with zeros.
#[tpu_fn]
pub(super) fn clear(slot: &Slot<f32>, n_rows: usize, width: usize, lanes: usize) {
    for i in 0..n_rows {
        for k in 0..width / lanes {
            slot[(i, ds(k * lanes, lanes))] = zeros([lanes]);
        }
    }
}

/// The sum of the rows of each bag, added up by the copies that fetch them. Of each `chunk` bags
/// `ids` has the first id of all, then the second, and so on; -1 for none. With `scaled`, row `n` is
/// multiplied by `scales[n]` at the end.
#[tpu_kernel(core(sparse), grid(c = cores.n_cores, s = cores.n_subcores), name = "embedding_bag")]
pub(super) fn sum_bags(
    #[comptime] cores: SparseCores,
    #[comptime] hot: usize,
    #[comptime] chunk: usize,
    #[comptime] scaled: bool,
    #[block(v, d)] table: Hbm<f32>,
    #[block(m)] ids: Hbm<i32>,
    #[block(n)] scales: Hbm<f32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([hot * chunk])] idx: Buffers<i32, 2>,
    #[scratch([chunk])] factors: Buffers<f32, 1>,
    #[scratch([chunk, d])] sums: Buffers<f32, 2>,
) {
    let lanes = cores.lanes;
    let n_chunks = m / (cores.n_cores * cores.n_subcores * hot * chunk);
    let first = (c * cores.n_subcores + s) * n_chunks;
    let ([mut i0, mut i1], [mut factor], [mut s0, mut s1]) =
        (idx.slots(), factors.slots(), sums.slots());
    // Two chunks at a time, so that one is fetched while the other is waited for.
    for pair in 0..n_chunks / 2 {
        let (even, odd) = (first + pair * 2, first + pair * 2 + 1);
        let even_ids = copy_into(ids.rows(even * (hot * chunk), hot * chunk), i0);
        let odd_ids = copy_into(ids.rows(odd * (hot * chunk), hot * chunk), i1);
        clear(&s0, chunk, d, lanes);
        clear(&s1, chunk, d, lanes);
        (i0, i1) = (even_ids.wait(), odd_ids.wait());
        for j in 0..hot {
            let (rows, list) = (table.whole(), ds(j * chunk, chunk));
            let even = gather(rows, i0.part(list), s0).accumulate().skipping(-1).start();
            let odd = gather(rows, i1.part(list), s1).accumulate().skipping(-1).start();
            (s0, i0) = even.wait();
            (s1, i1) = odd.wait();
        }
        if comptime!(scaled) {
            factor = copy_into(scales.rows(even * chunk, chunk), factor).wait();
            scale(&s0, &factor, chunk, d, lanes);
            factor = copy_into(scales.rows(odd * chunk, chunk), factor).wait();
            scale(&s1, &factor, chunk, d, lanes);
        }
        let even = copy_into(s0, out.rows(even * chunk, chunk));
        let odd = copy_into(s1, out.rows(odd * chunk, chunk));
        (s0, s1) = (even.wait(), odd.wait());
    }
    let _ = (i0, i1, factor, s0, s1);
}

/// Multiplies row `i` of a slot by element `i` of another; rows whose factor is 0 become 0.
#[tpu_fn]
pub(super) fn scale(
    rows: &Slot<f32>,
    factors: &Slot<f32>,
    n_rows: usize,
    width: usize,
    lanes: usize,
) {
    for group in 0..n_rows / lanes {
        let factor = factors[ds(group * lanes, lanes)];
        #[unroll]
        for lane in 0..lanes {
            let by = factor.slice(lane..lane + 1).item();
            for k in 0..width / lanes {
                let at = (group * lanes + lane, ds(k * lanes, lanes));
                rows[at] = select(by != 0.0, rows[at] * by, zeros([lanes]));
            }
        }
    }
}

/// The weighted sum of the rows of each bag: `ids` as of [`sum_bags`], and `gains` the factor of each
/// id, 0 for none.
#[tpu_kernel(
    core(sparse),
    grid(c = cores.n_cores, s = cores.n_subcores),
    dims(n = m / hot),
    name = "embedding_bag_weighted"
)]
pub(super) fn weighted_bags(
    #[comptime] cores: SparseCores,
    #[comptime] hot: usize,
    #[comptime] chunk: usize,
    #[block(v, d)] table: Hbm<f32>,
    #[block(m)] ids: Hbm<i32>,
    #[block(m)] gains: Hbm<f32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([hot * chunk])] idx: Buffers<i32, 1>,
    #[scratch([hot * chunk])] factors: Buffers<f32, 1>,
    #[scratch([chunk, d])] fetched: Buffers<f32, 1>,
    #[scratch([chunk, d])] sums: Buffers<f32, 1>,
) {
    let lanes = cores.lanes;
    let n_chunks = m / (cores.n_cores * cores.n_subcores * hot * chunk);
    let first = (c * cores.n_subcores + s) * n_chunks;
    let ([mut list], [mut factor], [mut rows], [mut sum]) =
        (idx.slots(), factors.slots(), fetched.slots(), sums.slots());
    for step in 0..n_chunks {
        let at = first + step;
        let next = copy_into(ids.rows(at * (hot * chunk), hot * chunk), list);
        factor = copy_into(gains.rows(at * (hot * chunk), hot * chunk), factor).wait();
        clear(&sum, chunk, d, lanes);
        list = next.wait();
        for j in 0..hot {
            let ids = list.part(ds(j * chunk, chunk));
            (rows, list) = gather(table.whole(), ids, rows).skipping(-1).start().wait();
            for group in 0..chunk / lanes {
                let by = factor[ds(j * chunk + group * lanes, lanes)];
                #[unroll]
                for lane in 0..lanes {
                    let by = by.slice(lane..lane + 1).item();
                    for k in 0..d / lanes {
                        let at = (group * lanes + lane, ds(k * lanes, lanes));
                        sum[at] += select(by != 0.0, rows[at] * by, zeros([lanes]));
                    }
                }
            }
        }
        sum = copy_into(sum, out.rows(at * chunk, chunk)).wait();
    }
    let _ = (list, factor, rows, sum);
}
