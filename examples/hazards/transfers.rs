//! What copies take and where to: shapes, places, alignment, and the handles that own them.

use super::case::{Case, Family, Tried, counting, on_any, on_v5e, table};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("copy_dropped", Code::TRACE_COPY_LOST, |bug| on_v5e(&copy_dropped(bug), &x())),
        case("waited_in_one_arm", Code::TRACE_COPY_REGION, |bug| {
            on_v5e(&waited_in_one_arm(bug), &x())
        }),
        case("rotated_in_one_arm", Code::TRACE_COPY_REGION, |bug| {
            on_v5e(&rotated_in_one_arm(bug), &x())
        }),
        case("copy_of_another_shape", Code::IR_SHAPE, |bug| {
            on_v5e(&copy_of_another_shape(bug), &x())
        }),
        case("copy_of_nothing", Code::IR_INDEX, |bug| {
            on_v5e(&copy_of_nothing(if bug { 0 } else { 8 }), &x())
        }),
        case("copy_past_the_end", Code::IR_INDEX, |bug| {
            on_v5e(&copy_past_the_end(if bug { 32 } else { 24 }), &x())
        }),
        case("copy_onto_itself", Code::VALID_COPY_OVERLAP, |bug| {
            on_any(&copy_onto_itself(if bug { 4 } else { 8 }), &x())
        }),
        case("copy_onto_itself_by_table", Code::INTERP_COPY_OVERLAP, |bug| {
            let ids = table(if bug { &[4] } else { &[8] });
            on_any(&copy_onto_itself_by_table(), &[ids, counting::<f32>(&[32, 128])])
        }),
        case("copy_from_unknown_row", Code::VALID_COPY_ALIGNMENT, |bug| {
            on_v5e(&copy_from_unknown_row(bug), &[table(&[1]), counting::<f32>(&[32, 256])])
        }),
        case("copy_cuts_a_tile", Code::VALID_COPY_ALIGNMENT, |bug| {
            let first = if bug { 2 } else { 4 };
            on_v5e(&copy_cuts_a_tile(first, 8), &[counting::<f32>(&[32, 256])])
        }),
        case("copy_breaks_its_promise", Code::INTERP_MISALIGNED, |bug| {
            let ids = table(if bug { &[12] } else { &[16] });
            on_v5e(&copy_promises(), &[ids, counting::<f32>(&[32, 128])])
        }),
        case("copy_out_of_bounds_by_table", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            let ids = table(if bug { &[0, 4] } else { &[0, 3] });
            on_v5e(&copy_by_table(), &[ids, counting::<f32>(&[32, 128])])
        }),
        case("copy_from_before_the_start", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            on_v5e(&copy_halo(bug), &x())
        }),
        case("copies_race_in_hbm", Code::INTERP_RACE, |bug| on_v5e(&copies_race(bug), &x())),
        case("owned_copies_clash_in_hbm", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&owned_copies_clash(if bug { 0 } else { 8 }), &x())
        }),
        case("half_of_hbm_never_written", Code::INTERP_OUTPUT_NEVER_WRITTEN, |bug| {
            on_v5e(&half_written(if bug { 16 } else { 32 }), &x())
        }),
        case("undefined_buffer_copied_out", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&undefined_copied_out(bug), &x())
        }),
        case("slot_not_filled_in_some_steps", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&not_filled_in_some_steps(bug), &x())
        }),
    ];
    Family { name: "what copies take", file: file!(), source: include_str!("transfers.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Drops the handle of a copy.
#[tpu_kernel]
fn copy_dropped(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let pending = copy_into(x.whole(), a); //~ copy_dropped
    if comptime!(bug) {
        y[..] = 0.0;
    } else {
        let a = pending.wait();
        y[..] = a[..];
    }
}

/// Waits for a copy in the first step alone, though each step starts one.
#[tpu_kernel(grid(i = m / 8))]
fn waited_in_one_arm(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let pending = copy_into(x.rows(i * 8, 8), a); //~ waited_in_one_arm
    y[..] = 0.0;
    if comptime!(bug) {
        if i == 0 {
            let a = pending.wait();
            y[..] = a[..];
        }
    } else {
        let a = pending.wait();
        if i == 0 {
            y[..] = a[..];
        }
    }
}

/// Goes on to the next buffer in one arm: afterwards nobody knows which copy is pending.
#[tpu_kernel]
fn rotated_in_one_arm(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let (mut free, mut acc) = (b, zeros([8, n]));
    let mut pending = copy_into(x.rows(0, 8), a); //~ rotated_in_one_arm
    for j in 0..m / 8 - 1 {
        let go = if comptime!(bug) { j > 0 } else { scalar(true) };
        if comptime!(bug) {
            if go {
                let next = copy_into(x.rows((j + 1) * 8, 8), free);
                let full = pending.wait();
                acc += full[..];
                (pending, free) = (next, full);
            }
        } else {
            let next = copy_into(x.rows((j + 1) * 8, 8), free);
            let full = pending.wait();
            acc += full[..];
            (pending, free) = (next, full);
        }
    }
    acc += pending.wait()[..];
    y[..] = concat(&[acc, acc, acc, acc], 0);
    let _ = free;
}

/// Copies four rows into a buffer of eight.
#[tpu_kernel]
fn copy_of_another_shape(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let rows = if comptime!(bug) { 16 } else { 8 };
    let a = copy_into(x.rows(0, rows), a).wait(); //~ copy_of_another_shape
    y[..] = concat(&[a[..], a[..], a[..], a[..]], 0);
}

/// Copies as many rows as the host says: none.
#[tpu_kernel]
fn copy_of_nothing(
    #[comptime] rows: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<2>,
) {
    let [a, b] = permits.slots();
    let first = copy_into(x.rows(0, rows), a.to(y.rows(0, rows))); //~ copy_of_nothing
    let rest = copy_into(x.rows(8, m - 8), b.to(y.rows(8, m - 8)));
    let _ = (first.wait(), rest.wait());
}

/// Copies eight rows from a row that the host says.
#[tpu_kernel]
fn copy_past_the_end(
    #[comptime] row: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let a = copy_into(x.rows(row, 8), a).wait(); //~ copy_past_the_end
    y[..] = concat(&[a[..], a[..], a[..], a[..]], 0);
}

/// Moves eight rows down within one array: by less than eight they overlap.
#[tpu_kernel]
fn copy_onto_itself(
    #[comptime] by: usize,
    #[block(m, n)] x: HbmInOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.rows(0, 8), permit.to(x.rows(by, 8))).wait(); //~ copy_onto_itself
}

/// Moves eight rows down by as many as a table says.
#[tpu_kernel]
fn copy_onto_itself_by_table(
    #[prefetch] by: Smem<i32>,
    #[block(m, n)] x: HbmInOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let to = x.rows(by[0], 8);
    let _ = copy_into(x.rows(0, 8), permit.to(to)).wait(); //~ copy_onto_itself_by_table
}

/// Copies from a row that a table gives, which may be any.
#[tpu_kernel]
fn copy_from_unknown_row(
    #[comptime] bug: bool,
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let row = if comptime!(bug) { ids[0] } else { ids[0] * 8 };
    let a = copy_into(x.rows(row, 8), a).wait(); //~ copy_from_unknown_row
    y[..] = concat(&[a[..], a[..], a[..], a[..]], 0);
}

/// Copies 8 rows that begin within a tile of 8 rows. Of rows 4..12 a chip takes half a tile twice;
/// rows 2..10 are no such halves.
#[tpu_kernel]
fn copy_cuts_a_tile(
    #[comptime] first: usize,
    #[comptime] k: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([k, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let a = copy_into(x.rows(first, k), a).wait(); //~ copy_cuts_a_tile
    y[..] = a[..];
}

/// Promises that the table holds multiples of eight.
#[tpu_kernel]
fn copy_promises(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let from = x.at((ds(ids[0], 8).multiple_of(8), ..));
    let a = copy_into(from, a).wait(); //~ copy_breaks_its_promise
    y[..] = concat(&[a[..], a[..], a[..], a[..]], 0);
}

/// A page table names a page that is not there.
#[tpu_kernel(grid(i))]
fn copy_by_table(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 16 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let a = copy_into(x.rows(ids[i] * 8, 8), a).wait(); //~ copy_out_of_bounds_by_table
    y[..] = concat(&[a[..], a[..]], 0);
}

/// The rows above the first block do not exist.
#[tpu_kernel(grid(i = m / 8))]
fn copy_halo(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let above = if comptime!(bug) { i - 1 } else { (i - 1).max(0) };
    let a = copy_into(x.rows(above * 8, 8), a).wait(); //~ copy_from_before_the_start
    y[..] = a[..];
}

/// Every step of a parallel axis copies its block to the same rows.
#[tpu_kernel(grid(i: parallel = m / 8))]
fn copies_race(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let row = if comptime!(bug) { scalar(0) } else { i * 8 };
    let _ = copy_into(x.rows(i * 8, 8), permit.to(y.rows(row, 8))).wait(); //~ copies_race_in_hbm
}

/// Two copies in flight write rows of one array, which no slot owns.
#[tpu_kernel]
fn owned_copies_clash(
    #[comptime] row: usize,
    #[block(m, n)] x: HbmInOut<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    a[..] = 1.0;
    b[..] = 2.0;
    let first = copy_into(a, x.rows(0, 8));
    let second = copy_into(b, x.rows(row, 8)); //~ owned_copies_clash_in_hbm
    let _ = (first.wait(), second.wait());
}

/// Copies some of the rows that the caller gets back.
#[tpu_kernel]
fn half_written(
    #[comptime] rows: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>, //~ half_of_hbm_never_written
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.rows(0, rows), permit.to(y.rows(0, rows))).wait();
}

/// Copies a buffer out of which only the first rows were written.
#[tpu_kernel]
fn undefined_copied_out(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let rows = if comptime!(bug) { m / 2 } else { m };
    a[(0..rows, ..)] = x[(0..rows, ..)];
    let _ = copy_into(a, y.whole()).wait(); //~ undefined_buffer_copied_out
}

/// Fills its buffer in even steps and reads it in all.
#[tpu_kernel(grid(i: parallel = m / 8))]
fn not_filled_in_some_steps(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    if comptime!(!bug) {
        a[..] = -1.0;
    }
    let a = copy(x.rows(i * 8, 8), a).start_if(i % 2 == 0).wait();
    y[..] = a[..]; //~ slot_not_filled_in_some_steps
}
