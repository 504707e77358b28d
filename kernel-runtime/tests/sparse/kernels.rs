//! The kernels that the tests share.

use systole::prelude::*;

/// Rows of a table by id, with two buffers of each.
#[tpu_kernel(core(sparse), grid(c = cores, s = 16))]
pub(super) fn gather_rows(
    #[comptime] cores: usize,
    #[comptime] chunk: usize,
    #[block(v, d)] table: Hbm<f32>,
    #[block(n)] ids: Hbm<i32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([chunk])] idx: Buffers<i32, 2>,
    #[scratch([chunk, d])] rows: Buffers<f32, 2>,
) {
    let steps = n / (cores * 16 * chunk);
    let base = (c * 16 + s) * (steps * chunk);
    let ([i0, i1], [r0, r1]) = (idx.slots(), rows.slots());
    let first = copy_into(ids.rows(base, chunk), i0).wait();
    let mut next_ids = copy_into(ids.rows(base + chunk, chunk), i1);
    let (mut cur, mut free) = (table.gather(first, r0), r1);
    for j in 1..steps {
        let next = table.gather(next_ids.wait(), free);
        let (full, used) = cur.wait();
        let after = (j + 1).min(steps - 1) * chunk;
        next_ids = copy_into(ids.rows(base + after, chunk), used);
        free = copy_into(full, out.rows(base + (j - 1) * chunk, chunk)).wait();
        cur = next;
    }
    let _ = next_ids.wait();
    let (full, _) = cur.wait();
    let _ = copy_into(full, out.rows(base + (steps - 1) * chunk, chunk)).wait();
}

/// Sums of `p` rows each, added up by the copies; id -1 is no row.
#[tpu_kernel(core(sparse), grid(c = cores, s = 16))]
pub(super) fn bag_sums(
    #[comptime] cores: usize,
    #[comptime] chunk: usize,
    #[block(v, d)] table: Hbm<f32>,
    #[block(p, n)] ids: Hbm<i32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([p, chunk])] idx: Buffers<i32, 1>,
    #[scratch([chunk, d])] rows: Buffers<f32, 1>,
    #[comptime] lanes: usize,
) {
    let base = (c * 16 + s) * chunk;
    let ([mut list], [mut sums]) = (idx.slots(), rows.slots());
    for i in 0..chunk {
        for k in 0..d / lanes {
            sums[(i, ds(k * lanes, lanes))] = zeros([lanes]);
        }
    }
    list = copy_into(ids.at((.., ds(base, chunk))), list).wait();
    for j in 0..p {
        let part = list.part((j, ..));
        let add = gather(table.whole(), part, sums).accumulate().skipping(-1);
        (sums, list) = add.start().wait();
    }
    let _ = copy_into(sums, out.rows(base, chunk)).wait();
}

/// Sums of rows by segment, added up in the memory that the subcores of the core share.
#[tpu_kernel(core(sparse), grid(c = 1, s = 16), dims(b = n_segments))]
pub(super) fn segment_sums(
    #[comptime] n_segments: usize,
    #[comptime] lanes: usize,
    #[block(n, d)] x: Hbm<f32>,
    #[block(n)] segments: Hbm<i32>,
    #[block(b, d)] out: HbmOut<f32>,
    #[scratch([n / 16])] idx: Buffers<i32, 1>,
    #[scratch([n / 16, d])] rows: Buffers<f32, 1>,
    #[scratch([b, d])] sums: Spmem<f32>,
) {
    let (own, n_own) = (n / 16, b / 16);
    let ([list], [mut part]) = (idx.slots(), rows.slots());
    for i in 0..n_own {
        for k in 0..d / lanes {
            part[(i, ds(k * lanes, lanes))] = zeros([lanes]);
        }
    }
    part = copy_into(part.part((0..n_own, ..)), sums.rows(s * n_own, n_own)).wait();
    subcore_barrier();
    let list = copy_into(segments.rows((c * 16 + s) * own, own), list).wait();
    part = copy_into(x.rows((c * 16 + s) * own, own), part).wait();
    let (part, _) = scatter(part, list, sums.whole()).accumulate().start().wait();
    subcore_barrier();
    let part = copy_into(sums.rows(s * n_own, n_own), part.part((0..n_own, ..))).wait();
    let _ = copy_into(part.part((0..n_own, ..)), out.rows(s * n_own, n_own)).wait();
}

/// Rows of an array to the places that ids name, from registers of ids.
#[tpu_kernel(core(sparse), grid(c = 1, s = 16), dims(v = n))]
pub(super) fn scatter_rows(
    #[comptime] lanes: usize,
    #[block(n, d)] x: Hbm<f32>,
    #[block(n)] ids: Hbm<i32>,
    #[block(v, d)] out: HbmOut<f32>,
    #[scratch([lanes])] idx: Buffers<i32, 1>,
    #[scratch([lanes, d])] rows: Buffers<f32, 1>,
) {
    let steps = n / (16 * lanes);
    let ([mut list], [mut part]) = (idx.slots(), rows.slots());
    for j in 0..steps {
        let base = ((c * 16 + s) * steps + j) * lanes;
        list = copy_into(ids.rows(base, lanes), list).wait();
        part = copy_into(x.rows(base, lanes), part).wait();
        part = out.scatter(list[..], part).wait();
    }
    let _ = (list, part);
}

/// Sums of the elements of an array by the scalar subcore of each core, which writes its own.
#[tpu_kernel(core(sparse_scalar), grid(c = cores), dims(r = cores, w = 8))]
pub(super) fn scalar_sums(
    #[comptime] cores: usize,
    #[block(n)] x: Hbm<i32>,
    #[block(r, w)] out: HbmOut<i32>,
    #[scratch([n])] table: Smem<i32>,
    #[scratch([1, 8])] row: Smem<i32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), table.at(..), done);
    wait_copy(x.whole(), table.at(..), done);
    let mut sum = scalar::<i32>(0);
    for i in 0..n {
        sum += table[i] * (c + 1);
    }
    for i in 0..8 {
        row[(0, i)] = sum + i;
    }
    start_copy(row.at(..), out.rows(c, 1), done);
    wait_copy(row.at(..), out.rows(c, 1), done);
}
