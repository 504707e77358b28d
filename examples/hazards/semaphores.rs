//! Semaphores that the kernel signals itself.

use super::case::{Case, Family, Tried, counting, on_v5e, table};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("signal_left", Code::INTERP_SEMAPHORE_LEFT, |bug| on_v5e(&signal_left(bug), &x())),
        case("signal_left_in_one_step", Code::INTERP_SEMAPHORE_LEFT, |bug| {
            on_v5e(&signal_left_in_one_step(bug), &[counting::<f32>(&[32, 128])])
        }),
        case("waits_for_more", Code::INTERP_DEADLOCK, |bug| on_v5e(&waits_for_more(bug), &x())),
        case("waits_before_it_signals", Code::INTERP_DEADLOCK, |bug| {
            on_v5e(&waits_before_it_signals(bug), &x())
        }),
        case("crossed_waits", Code::INTERP_DEADLOCK, |bug| on_v5e(&crossed_waits(bug), &x())),
        case("signals_another", Code::INTERP_DEADLOCK, |bug| on_v5e(&signals_another(bug), &x())),
        case("signals_next_parallel_step", Code::INTERP_SEMAPHORE_LEFT, |bug| match bug {
            true => on_v5e(&parallel_turns(), &[counting::<f32>(&[32, 128])]),
            false => on_v5e(&turns(), &[counting::<f32>(&[32, 128])]),
        }),
        case("signal_by_less_than_nothing", Code::INTERP_NEGATIVE_SIGNAL, |bug| {
            let amounts = table(if bug { &[-1] } else { &[1] });
            on_v5e(&signal_by_table(), &[amounts, counting::<f32>(&[8, 128])])
        }),
        case("polls_what_nobody_signals", Code::INTERP_OUT_OF_FUEL, |bug| {
            on_v5e(&polls(bug), &x())
        }),
        case("no_semaphores", Code::VALID_SEMAPHORES, |bug| {
            on_v5e(&many(if bug { 0 } else { 2 }), &x())
        }),
        case("too_many_semaphores", Code::VALID_SEMAPHORES, |bug| {
            on_v5e(&too_many(if bug { 2000 } else { 2 }), &x())
        }),
    ];
    Family { name: "semaphores", file: file!(), source: include_str!("semaphores.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[8, 128])]
}

/// Signals twice and waits once.
#[tpu_kernel]
fn signal_left(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    s.signal(2); //~ signal_left
    y[..] = x[..];
    s.wait(1);
    if comptime!(!bug) {
        s.wait(1);
    }
}

/// Waits in all steps but the last.
#[tpu_kernel(grid(i))]
fn signal_left_in_one_step(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    s.signal(1); //~ signal_left_in_one_step
    y[..] = x[..];
    let waits = if comptime!(bug) { i < i.last() } else { i >= 0 };
    if waits {
        s.wait(1);
    }
}

/// Waits for one more than is signalled.
#[tpu_kernel]
fn waits_for_more(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    s.signal(1);
    y[..] = x[..];
    s.wait(if comptime!(bug) { 2 } else { 1 }); //~ waits_for_more
}

/// Waits for a signal that comes after the wait.
#[tpu_kernel]
fn waits_before_it_signals(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    if comptime!(!bug) {
        s.signal(1);
    }
    s.wait(1); //~ waits_before_it_signals
    if comptime!(bug) {
        s.signal(1);
    }
    y[..] = x[..];
}

/// Each of two signals waits for the other.
#[tpu_kernel]
fn crossed_waits(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2])] s: Semaphore,
) {
    if comptime!(!bug) {
        s.at(0).signal(1);
    }
    s.at(0).wait(1); //~ crossed_waits
    s.at(1).signal(1);
    s.at(1).wait(1);
    if comptime!(bug) {
        s.at(0).signal(1);
    }
    y[..] = x[..];
}

/// Signals one of two and waits for the other.
#[tpu_kernel]
fn signals_another(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2])] s: Semaphore,
) {
    s.at(0).signal(1);
    y[..] = x[..];
    let waited = if comptime!(bug) { 1usize } else { 0 };
    s.at(waited).wait(1); //~ signals_another
}

/// Each step signals the one after it; parallel steps have none after them.
#[tpu_kernel(grid(i: parallel))]
fn parallel_turns(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    if i > 0 {
        s.wait(1);
    }
    y[..] = x[..];
    if i < i.last() {
        s.signal(1); //~ signals_next_parallel_step
    }
}

/// The same with steps in order.
#[tpu_kernel(grid(i))]
fn turns(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    if i > 0 {
        s.wait(1);
    }
    y[..] = x[..];
    if i < i.last() {
        s.signal(1);
    }
}

/// Signals by what a table says.
#[tpu_kernel]
fn signal_by_table(
    #[prefetch] amounts: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] s: Semaphore,
) {
    let n = amounts[0];
    s.signal(n); //~ signal_by_less_than_nothing
    y[..] = x[..];
    s.wait(n);
}

/// Looks at a semaphore until it is signalled.
#[tpu_kernel]
fn polls(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2])] s: Semaphore,
) {
    let polled = if comptime!(bug) { 1usize } else { 0 };
    s.at(0).signal(1);
    let mut turns = scalar::<i32>(0);
    //~v polls_what_nobody_signals
    while s.at(polled).read() < 1 {
        turns += 1;
    }
    s.at(0).wait(1);
    y[..] = x[..] + turns.cast::<f32>();
}

/// As many semaphores as the host says.
#[tpu_kernel]
fn many(
    #[comptime] k: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([k])] s: Semaphore, //~ no_semaphores
) {
    y[..] = x[..];
    let _ = s;
}

/// More semaphores than a core has.
#[tpu_kernel]
fn too_many(
    #[comptime] k: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([k])] s: DmaSemaphore, //~ too_many_semaphores
) {
    y[..] = x[..];
    let _ = s;
}
