//! Semaphores that kernels signal, wait for and read.

use super::{Case, case, fill, ints, ramp, run};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = counts();
    cases.extend(mistakes());
    cases
}

fn counts() -> Vec<Case> {
    vec![
        case(
            "semaphores_of_both_kinds",
            "tpu_pallas_test::PallasCallDMATest::test_can_allocate_scratch_semaphore_array",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&declares(), [x.clone()]).gives([x])
            },
        ),
        case(
            "signal_and_wait",
            "tpu_pallas_test::PallasCallDMATest::test_can_wait_on_semaphore",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&signals_and_waits(3), [x.clone()]).gives([x])
            },
        ),
        case(
            "array_of_semaphores",
            "tpu_pallas_test::PallasCallDMATest::test_can_wait_on_semaphore_array",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&each_of_four(), [x.clone()]).gives([x])
            },
        ),
        case(
            "semaphore_by_index",
            "tpu_pallas_test::PallasCallDMATest::test_can_wait_on_semaphore_array_with_dynamic_index",
            || {
                let x = ramp::<f32>(&[32, 128]);
                run(&by_step(), [x.clone()]).gives([x])
            },
        ),
        case(
            "semaphore_is_read",
            "tpu_pallas_test::PallasCallDMATest::test_can_read_semaphore",
            || {
                let y = fill::<i32>(&[8, 128], |_| 1_234.0);
                run(&reads_four(8, 128), []).gives([y]).refused_by_stablehlo()
            },
        ),
        case(
            "copy_semaphore_is_read",
            "tpu_pallas_test::PallasCallDMATest::test_can_read_dma_semaphore",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&reads_after_copy(), [x.clone()]).gives([x]).refused_by_stablehlo()
            },
        ),
        case(
            "semaphore_beside_a_copy",
            "tpu_pallas_test::PallasCallDMATest::test_hoisted_semaphore",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&signal_then_copy(), [x.clone()]).gives([x])
            },
        ),
    ]
}

fn mistakes() -> Vec<Case> {
    vec![
        case(
            "semaphores_over_steps",
            "tpu_pallas_state_test::PallasCallStatefulTest::test_basic_stateful_kernel_with_scratch_sem",
            || {
                let x = ramp::<f32>(&[32, 128]);
                run(&hands_over(), [x.clone()]).gives([x])
            },
        ),
        case(
            "semaphore_by_table_outside",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_write_index",
            || {
                run(&by_table(), [ints(&[4]), ramp::<f32>(&[8, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
        case(
            "semaphore_left_signalled",
            "tpu_pallas_test::PallasCallDMAInterpretTest::test_interpreter_semaphore_counting",
            || {
                run(&signals_too_often(), [ramp::<f32>(&[8, 128])])
                    .told(Code::INTERP_SEMAPHORE_LEFT)
            },
        ),
        case(
            "wait_that_nothing_ends",
            "tpu_pallas_test::PallasCallDMAInterpretTest::test_interpreter_semaphore_counting",
            || run(&signals_and_waits(4), [ramp::<f32>(&[8, 128])]).told(Code::INTERP_DEADLOCK),
        ),
    ]
}

#[tpu_kernel]
fn declares(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([4])] copies: DmaSemaphore,
    #[scratch([3])] signals: Semaphore,
) {
    let _ = (copies, signals);
    y[..] = x[..];
}

#[tpu_kernel]
fn signals_and_waits(
    #[comptime] waits: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] signal: Semaphore,
) {
    signal.signal(1);
    signal.signal(2);
    #[unroll]
    for _ in 0..waits {
        signal.wait(1);
    }
    y[..] = x[..];
}

#[tpu_kernel]
fn each_of_four(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([2, 2])] signals: Semaphore,
) {
    #[unroll]
    for j in 0..4_usize {
        signals.at((j / 2, j % 2)).signal(j as i32 + 1);
    }
    #[unroll]
    for j in 0..4_usize {
        signals.at((j / 2, j % 2)).wait(j as i32 + 1);
    }
    y[..] = x[..];
}

#[tpu_kernel(grid(i))]
fn by_step(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([4])] signals: Semaphore,
) {
    signals.at(i).signal(i + 1);
    y[..] = x[..];
    signals.at(i).wait(i + 1);
}

/// The numbers of four semaphores as the digits of one.
#[tpu_kernel]
fn reads_four(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<i32>,
    #[scratch([4])] signals: Semaphore,
) {
    let mut digits = scalar::<i32>(0);
    for j in 0..4 {
        signals.at(j).signal(j + 1);
        digits = digits * 10 + signals.at(j).read();
        signals.at(j).wait(j + 1);
    }
    y[..] = full([m, n], digits);
}

/// After the wait a copy's semaphore is back at zero.
#[tpu_kernel]
fn reads_after_copy(
    #[block(m, n)] x: Hbm<i32>,
    #[block(m, n)] y: Out<i32>,
    #[scratch([m, n])] buf: Vmem<i32>,
    #[scratch([1])] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done.at(0));
    wait_copy(x.whole(), buf.at(..), done.at(0));
    y[..] = buf[..] + done.at(0).read();
}

#[tpu_kernel]
fn signal_then_copy(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 1>,
    #[scratch] signal: Semaphore,
) {
    let [buf] = bufs.slots();
    signal.signal(1);
    signal.wait(1);
    let buf = copy_into(x.whole(), buf).wait();
    y[..] = buf[..];
}

/// Each step but the first waits for what the step before it signalled.
#[tpu_kernel(grid(i))]
fn hands_over(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch] turn: Semaphore,
) {
    if i > 0 {
        turn.wait(1);
    }
    y[..] = x[..];
    if i < i.last() {
        turn.signal(1);
    }
}

#[tpu_kernel]
fn by_table(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([4])] signals: Semaphore,
) {
    signals.at(ids[0]).signal(1);
    y[..] = x[..];
    signals.at(ids[0]).wait(1);
}

#[tpu_kernel]
fn signals_too_often(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] signal: Semaphore,
) {
    signal.signal(3);
    signal.wait(2);
    y[..] = x[..];
}
