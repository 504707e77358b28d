//! Copies within one step: waits that are missing, early, wrong or too many, and buffers touched in
//! flight.

use super::case::{Case, Family, Tried, counting, on_v5e, table};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("early_read", Code::INTERP_IN_FLIGHT, |bug| on_v5e(&early_read(bug), &x())),
        case("early_store_to_target", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&early_store_to_target(bug), &x())
        }),
        case("source_overwritten", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&source_overwritten(bug), &x())
        }),
        case("two_copies_one_target", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&two_copies_one_target(bug), &x())
        }),
        case("copied_out_early", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&copied_out_early(bug), &x())
        }),
        case("one_wait_for_two", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&one_wait_for_two(bug), &[counting::<f32>(&[16, 128])])
        }),
        case("wait_forgotten", Code::INTERP_NEVER_WAITED, |bug| on_v5e(&wait_forgotten(bug), &x())),
        case("wait_of_another_size", Code::INTERP_NEVER_WAITED, |bug| {
            on_v5e(&wait_of_another_size(bug), &[counting::<f32>(&[16, 128])])
        }),
        case("wait_on_wrong_semaphore", Code::INTERP_DEADLOCK, |bug| {
            on_v5e(&wait_on_wrong_semaphore(bug), &x())
        }),
        case("waited_twice", Code::INTERP_DEADLOCK, |bug| on_v5e(&waited_twice(bug), &x())),
        case("wait_before_start", Code::INTERP_DEADLOCK, |bug| {
            on_v5e(&wait_before_start(bug), &x())
        }),
        case("stale_after_copy_out", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&stale_after_copy_out(bug), &[counting::<f32>(&[16, 128])])
        }),
        case("add_meets_plain_copy", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&add_meets_plain_copy(bug), &x())
        }),
        case("semaphore_out_of_range", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            let ids = table(if bug { &[2] } else { &[1] });
            on_v5e(&semaphore_out_of_range(), &[ids, counting::<f32>(&[8, 128])])
        }),
    ];
    Family { name: "copies in flight", file: file!(), source: include_str!("copies.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[8, 128])]
}

/// Reads the target before the copy is waited for.
#[tpu_kernel]
fn early_read(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done);
    if comptime!(bug) {
        y[..] = buf[..]; //~ early_read
    }
    wait_copy(x.whole(), buf.at(..), done);
    if comptime!(!bug) {
        y[..] = buf[..];
    }
}

/// Writes the target while the copy may still write it.
#[tpu_kernel]
fn early_store_to_target(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done);
    if comptime!(bug) {
        buf[(0..1, ..)] = 0.0; //~ early_store_to_target
    }
    wait_copy(x.whole(), buf.at(..), done);
    buf[(0..1, ..)] = 0.0;
    y[..] = buf[..];
}

/// Makes the next result in the buffer that is still copied out.
#[tpu_kernel]
fn source_overwritten(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[block(m, n)] z: HbmOut<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    buf[..] = x[..];
    start_copy(buf.at(..), y.whole(), done);
    if comptime!(!bug) {
        wait_copy(buf.at(..), y.whole(), done);
    }
    buf[..] = x[..] * 2.0; //~ source_overwritten
    if comptime!(bug) {
        wait_copy(buf.at(..), y.whole(), done);
    }
    start_copy(buf.at(..), z.whole(), done);
    wait_copy(buf.at(..), z.whole(), done);
}

/// Starts a second copy into a buffer that the first may still write.
#[tpu_kernel]
fn two_copies_one_target(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done.at(0));
    if comptime!(!bug) {
        wait_copy(x.whole(), buf.at(..), done.at(0));
    }
    start_copy(x.whole(), buf.at(..), done.at(1)); //~ two_copies_one_target
    if comptime!(bug) {
        wait_copy(x.whole(), buf.at(..), done.at(0));
    }
    wait_copy(x.whole(), buf.at(..), done.at(1));
    y[..] = buf[..];
}

/// Copies a buffer on before what it waits for has come in.
#[tpu_kernel]
fn copied_out_early(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done.at(0));
    if comptime!(!bug) {
        wait_copy(x.whole(), buf.at(..), done.at(0));
    }
    start_copy(buf.at(..), y.whole(), done.at(1)); //~ copied_out_early
    if comptime!(bug) {
        wait_copy(x.whole(), buf.at(..), done.at(0));
    }
    wait_copy(buf.at(..), y.whole(), done.at(1));
}

/// Takes the first of two waits on one semaphore as proof that the first copy is done.
#[tpu_kernel]
fn one_wait_for_two(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let second = if comptime!(bug) { 0usize } else { 1 };
    start_copy(x.rows(0, 8), buf.at((0, .., ..)), done.at(0));
    start_copy(x.rows(8, 8), buf.at((1, .., ..)), done.at(second));
    wait_copy(x.rows(0, 8), buf.at((0, .., ..)), done.at(0));
    y[(0..8, ..)] = buf[(0, .., ..)]; //~ one_wait_for_two
    wait_copy(x.rows(8, 8), buf.at((1, .., ..)), done.at(second));
    y[(8..16, ..)] = buf[(1, .., ..)];
}

/// Leaves a copy in flight at the end.
#[tpu_kernel]
fn wait_forgotten(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    buf[..] = x[..] + 1.0;
    start_copy(buf.at(..), y.whole(), done); //~ wait_forgotten
    if comptime!(!bug) {
        wait_copy(buf.at(..), y.whole(), done);
    }
}

/// Waits for half of the bytes that the copy brings.
#[tpu_kernel]
fn wait_of_another_size(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    buf[..] = x[..] + 1.0;
    start_copy(buf.at(..), y.whole(), done); //~ wait_of_another_size
    let rows = if comptime!(bug) { m / 2 } else { m };
    wait_copy(buf.at((0..rows, ..)), y.rows(0, rows), done);
}

/// Waits on the semaphore of another slot.
#[tpu_kernel]
fn wait_on_wrong_semaphore(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done.at(0));
    let waited = if comptime!(bug) { 1usize } else { 0 };
    wait_copy(x.whole(), buf.at(..), done.at(waited)); //~ wait_on_wrong_semaphore
    y[..] = buf[..];
}

/// Waits for one copy twice.
#[tpu_kernel]
fn waited_twice(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done);
    wait_copy(x.whole(), buf.at(..), done);
    if comptime!(bug) {
        wait_copy(x.whole(), buf.at(..), done); //~ waited_twice
    }
    y[..] = buf[..];
}

/// Waits for a copy that is started later.
#[tpu_kernel]
fn wait_before_start(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    if comptime!(!bug) {
        start_copy(x.whole(), buf.at(..), done);
    }
    wait_copy(x.whole(), buf.at(..), done); //~ wait_before_start
    if comptime!(bug) {
        start_copy(x.whole(), buf.at(..), done);
    }
    y[..] = buf[..];
}

/// Reads an array in HBM back before what was written to it has arrived.
#[tpu_kernel]
fn stale_after_copy_out(
    #[comptime] bug: bool,
    #[block(m, n)] x: HbmInOut<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    buf[(0, .., ..)] = 1.0;
    let (first, one, other) = (x.rows(0, 8), buf.at((0, .., ..)), buf.at((1, .., ..)));
    start_copy(one, first, done.at(0));
    if comptime!(!bug) {
        wait_copy(one, first, done.at(0));
    }
    start_copy(first, other, done.at(1)); //~ stale_after_copy_out
    if comptime!(bug) {
        wait_copy(one, first, done.at(0));
    }
    wait_copy(first, other, done.at(1));
    start_copy(other, x.rows(8, 8), done.at(1));
    wait_copy(other, x.rows(8, 8), done.at(1));
}

/// Sums in flight have no order among each other, but a plain copy must be done before them.
#[tpu_kernel]
fn add_meets_plain_copy(
    #[comptime] bug: bool,
    #[block(m, n)] x: HbmInOut<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    a[..] = 1.0;
    b[..] = 2.0;
    let plain = copy_into(a, x.rows(0, 8));
    if comptime!(bug) {
        let sum = copy(b, x.rows(0, 8)).accumulate().start(); //~ add_meets_plain_copy
        let _ = (plain.wait(), sum.wait());
    } else {
        let _ = plain.wait();
        let _ = copy(b, x.rows(0, 8)).accumulate().start().wait();
    }
}

/// The number of the semaphore comes from a table.
#[tpu_kernel]
fn semaphore_out_of_range(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let slot = ids[0];
    start_copy(x.whole(), buf.at(..), done.at(slot)); //~ semaphore_out_of_range
    wait_copy(x.whole(), buf.at(..), done.at(slot));
    y[..] = buf[..];
}
