//! What a run tells: prints, assertions, marks, undefined memory, lines, costs and limits.

use super::{Case, at, case, each, fill, ints, ramp, run};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = prints_and_memory();
    cases.extend(limits_and_marks());
    cases
}

fn prints_and_memory() -> Vec<Case> {
    vec![
        case("prints", "ops_test::OpsInterpretTest::test_debug_print", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&prints(), [ints(&[3]), x.clone()]).gives([x]).refused_by_stablehlo()
        }),
        case(
            "assertion_that_holds",
            "pallas_test::PallasCheckifyTest::test_basic_runtime_assert",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&asserts(), [ints(&[3]), x.clone()]).gives([x]).refused_by_stablehlo()
            },
        ),
        case(
            "assertion_that_fails",
            "pallas_test::PallasCheckifyTest::test_basic_runtime_assert",
            || run(&asserts(), [ints(&[9]), ramp::<f32>(&[8, 128])]).told(Code::INTERP_ASSERTION),
        ),
        case(
            "scopes_and_a_delay",
            "tpu_pallas_test::PallasCallTraceTest::test_trace_start_stop_match",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&marks(), [x.clone()]).gives([each(&x, |x| x + 1.0)])
            },
        ),
        case("delay", "ops_test::OpsTest::test_delay", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&waits_a_while(), [x.clone()]).gives([x])
        }),
        case(
            "undefined_scratch",
            "tpu_pallas_test::PallasCallPoisonTest::test_poison_buffers",
            || run(&reads_scratch(8, 128), []).told(Code::INTERP_UNINITIALIZED),
        ),
        case(
            "undefined_output",
            "tpu_pallas_interpret_test::InterpretTest::test_uninitialized_memory",
            || {
                run(&writes_a_part(), [ramp::<f32>(&[16, 128])])
                    .told(Code::INTERP_OUTPUT_NEVER_WRITTEN)
            },
        ),
        case(
            "scratch_in_vmem_and_smem",
            "tpu_pallas_test::PallasCallDMATest::test_hoisted_smem_space",
            || {
                let x = ramp::<f32>(&[16, 128]);
                let y = fill::<f32>(&[16, 128], |i| at(&x, i) + (i[0] / 8) as f64);
                run(&scratch_of_both(), [x.clone()]).gives([y])
            },
        ),
        case(
            "scratch_outlives_steps",
            "tpu_pallas_test::PallasCallDMATest::test_hoisted_scratch_space",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&counts_in_scratch(), [x.clone()]).gives([each(&x, |x| x + 3.0)])
            },
        ),
    ]
}

fn limits_and_marks() -> Vec<Case> {
    vec![
        case(
            "several_scratch_arrays",
            "tpu_pallas_test::PallasCallDMATest::test_with_scoped_allocation",
            || {
                let y = fill::<f32>(&[8, 128], |_| 12.0);
                run(&two_scratch_arrays(8, 128), []).gives([y])
            },
        ),
        case(
            "vmem_limit_of_the_kernel",
            "tpu_pallas_test::PallasCallTest::test_vmem_limit",
            || run(&limited(1 << 20), [ramp::<f32>(&[1024, 512])]).told(Code::VALID_VMEM_OVERFLOW),
        ),
        case(
            "vmem_limit_that_suffices",
            "tpu_pallas_test::PallasCallTest::test_vmem_limit",
            || {
                let x = ramp::<f32>(&[256, 128]);
                run(&limited(8 << 20), [x.clone()]).gives([each(&x, |x| x * 2.0)])
            },
        ),
        case(
            "vmem_is_full",
            "tpu_pallas_test::PallasCallPoisonTest::test_vmem_oom_error_message_basics",
            || {
                run(&large_scratch(65_536), [ramp::<f32>(&[8, 1024])])
                    .told(Code::VALID_VMEM_OVERFLOW)
            },
        ),
        case(
            "side_effects_and_cost",
            "tpu_side_effects_test::SideEffectsTest::test_side_effects_enum",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&keeps_its_call(), [x.clone()]).gives([each(&x, |x| x - 1.0)])
            },
        ),
        case("cost_is_stated", "tpu_pallas_test::PallasCallTest::test_cost_analysis", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&states_its_cost(), [x.clone()]).gives([each(&x, |x| x - 1.0)])
        }),
        case(
            "input_pinned_to_vmem",
            "tpu_pallas_memory_space_test::TPUPallasCallMemorySpaceTest::test_basic_input_memory_space_constraint",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&pinned(), [x.clone()]).gives([each(&x, |x| x * 3.0)])
            },
        ),
    ]
}

#[tpu_kernel]
fn prints(#[prefetch] table: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    device_print("entry", table[0]);
    y[..] = x[..];
}

#[tpu_kernel]
fn asserts(#[prefetch] table: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    device_assert(table[0] < 8, "an entry below 8");
    y[..] = x[..];
}

#[tpu_kernel(grid(i))]
fn marks(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    let _whole = named_scope("whole");
    let sum = {
        let _part = named_scope("part");
        x[..] + 1.0
    };
    y[..] = sum;
}

#[tpu_kernel]
fn waits_a_while(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    delay(100_000);
    y[..] = x[..];
}

#[tpu_kernel]
fn reads_scratch(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
) {
    y[..] = buf[..];
}

#[tpu_kernel]
fn writes_a_part(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[(0..8, ..)] = x[(0..8, ..)];
}

#[tpu_kernel(grid(i))]
fn scratch_of_both(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] buf: Vmem<f32>,
    #[scratch([1])] number: Smem<i32>,
) {
    number[0] = i;
    buf[..] = x[..] + number[0].cast::<f32>();
    y[..] = buf[..];
}

#[tpu_kernel(grid(i = 3))]
fn counts_in_scratch(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
) {
    if i == 0 {
        buf[..] = x[..];
    }
    buf[..] += 1.0;
    if i == i.last() {
        y[..] = buf[..];
    }
}

#[tpu_kernel]
fn two_scratch_arrays(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] a: Vmem<f32>,
    #[scratch([m, n])] b: Vmem<f32>,
) {
    a[..] = 3.0;
    b[..] = 4.0;
    y[..] = a[..] * b[..];
}

#[tpu_kernel(vmem_limit(limit))]
fn limited(#[comptime] limit: u64, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] * 2.0;
}

#[tpu_kernel]
fn large_scratch(
    #[comptime] rows: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([rows, n])] buf: Vmem<f32>,
) {
    buf[(0..8, ..)] = x[..];
    y[..] = buf[(0..8, ..)];
}

#[tpu_kernel(side_effects(always))]
fn keeps_its_call(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] - 1.0;
}

#[tpu_kernel(cost(flops = 1234, transcendentals = 21, bytes = 12345))]
fn states_its_cost(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] - 1.0;
}

#[tpu_kernel]
fn pinned(
    #[pinned(vmem)]
    #[block(m, n)]
    x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = x[..] * 3.0;
}
