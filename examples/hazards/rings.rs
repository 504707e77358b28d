//! Copies that one step starts and a later one waits for, and blocks that change meanwhile.

use super::case::{Case, Family, Tried, counting, on_v5e};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("wrong_slot", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&wrong_slot(bug), &[counting::<f32>(&[40, 128])])
        }),
        case("last_prefetch_wraps", Code::INTERP_NEVER_WAITED, |bug| {
            on_v5e(&last_prefetch_wraps(bug), &[counting::<f32>(&[40, 128])])
        }),
        case("carried_over_parallel_steps", Code::INTERP_NEVER_WAITED, |bug| match bug {
            true => on_v5e(&parallel_ring(), &[counting::<f32>(&[40, 128])]),
            false => on_v5e(&last_prefetch_wraps(false), &[counting::<f32>(&[40, 128])]),
        }),
        case("first_copy_not_started", Code::INTERP_DEADLOCK, |bug| {
            on_v5e(&first_copy_not_started(bug), &[counting::<f32>(&[40, 128])])
        }),
        case("started_on_condition_only", Code::INTERP_DEADLOCK, |bug| {
            on_v5e(&started_on_condition_only(bug), &[counting::<f32>(&[32, 128])])
        }),
        case("block_changes_under_copy", Code::INTERP_IN_FLIGHT, |bug| {
            on_v5e(&block_changes_under_copy(bug), &[counting::<f32>(&[32, 128])])
        }),
    ];
    Family { name: "copies across steps", file: file!(), source: include_str!("rings.rs"), cases }
}

/// Waits for one slot of two and reads the other.
#[tpu_kernel(grid(i = m / 8))]
fn wrong_slot(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let slot = i % 2;
    if i == 0 {
        start_copy(x.rows(0, 8), buf.at((0, .., ..)), done.at(0));
    }
    if i < i.last() {
        start_copy(x.rows((i + 1) * 8, 8), buf.at((1 - slot, .., ..)), done.at(1 - slot));
    }
    wait_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    let read = if comptime!(bug) { 1 - slot } else { slot };
    y[..] = buf[(read, .., ..)]; //~ wrong_slot
}

/// Each step copies ahead for the next; so does the last, for none.
#[tpu_kernel(grid(i = m / 8))]
fn last_prefetch_wraps(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let (slot, next) = (i % 2, (i + 1) % i.extent());
    let ahead = if comptime!(bug) { i >= 0 } else { i < i.last() };
    if i == 0 {
        start_copy(x.rows(0, 8), buf.at((0, .., ..)), done.at(0));
    }
    if ahead {
        let (from, to) = (x.rows(next * 8, 8), buf.at((1 - slot, .., ..)));
        start_copy(from, to, done.at(1 - slot)); //~ last_prefetch_wraps
    }
    wait_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    y[..] = buf[(slot, .., ..)];
}

/// Copies ahead for the next step, which may run first or on another core.
#[tpu_kernel(grid(i: parallel = m / 8))]
fn parallel_ring(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let slot = i % 2;
    start_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    wait_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    y[..] = buf[(slot, .., ..)];
    if i < i.last() {
        let (from, to) = (x.rows((i + 1) * 8, 8), buf.at((1 - slot, .., ..)));
        start_copy(from, to, done.at(1 - slot)); //~ carried_over_parallel_steps
    }
}

/// Copies ahead for the next step, but nobody does so for the first.
#[tpu_kernel(grid(i = m / 8))]
fn first_copy_not_started(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let slot = i % 2;
    let first = if comptime!(bug) { i == 1 } else { i == 0 };
    if first {
        start_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    }
    if i < i.last() {
        start_copy(x.rows((i + 1) * 8, 8), buf.at((1 - slot, .., ..)), done.at(1 - slot));
    }
    let from = x.rows(i * 8, 8);
    wait_copy(from, buf.at((slot, .., ..)), done.at(slot)); //~ first_copy_not_started
    y[..] = buf[(slot, .., ..)];
}

/// Starts a copy in some steps and waits for it in all.
#[tpu_kernel(grid(i = m / 8))]
fn started_on_condition_only(
    #[comptime] bug: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    buf[..] = 0.0;
    if i % 2 == 0 {
        start_copy(x.rows(i * 8, 8), buf.at(..), done);
    }
    let waited = if comptime!(bug) { i >= 0 } else { i % 2 == 0 };
    if waited {
        wait_copy(x.rows(i * 8, 8), buf.at(..), done); //~ started_on_condition_only
    }
    y[..] = buf[..];
}

/// Copies a block out that the pipeline replaces at the next step.
#[tpu_kernel(grid(i))]
fn block_changes_under_copy(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.at(..), y.rows(i * 8, 8), done); //~ block_changes_under_copy
    if comptime!(bug) {
        if i == i.last() {
            wait_copy(y.whole(), y.whole(), done);
        }
    } else {
        wait_copy(x.at(..), y.rows(i * 8, 8), done);
    }
}
