//! Grid extents that the call gives.

use super::{Case, at, case, fill, ints, pick, ramp, run};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = extents();
    cases.extend(in_indices());
    cases
}

fn extents() -> Vec<Case> {
    let n = |n: i32| Array::scalar(n);
    vec![
        case(
            "extent_of_the_call",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid",
            move || {
                let y = fill::<f32>(&[8, 128], |_| 7.0);
                run(&counts_up(8, 128), [n(7)]).gives([y])
            },
        ),
        case(
            "extents_of_the_call_by_three",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid_overflow",
            move || {
                let y = fill::<f32>(&[8, 128], |_| 24.0);
                run(&counts_up_along_three(8, 128), [n(2), n(4)]).gives([y])
            },
        ),
        case(
            "extent_beside_a_table",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid_scalar_input",
            move || {
                let y = fill::<f32>(&[8, 128], |_| 42.0 * 5.0);
                run(&adds_up_an_entry(8, 128), [n(5), ints(&[42])]).gives([y])
            },
        ),
        case(
            "extent_in_the_body",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_num_programs",
            move || {
                let y = fill::<i32>(&[8, 128], |_| 6.0);
                run(&shows_its_extent(8, 128), [n(6)]).gives([y])
            },
        ),
        case(
            "blocks_of_the_first_steps",
            "tpu_pallas_test::MiscellaneousTest::test_dynamic_grid_with_smem_output",
            move || {
                let (x, old) = (ramp::<f32>(&[32, 128]), fill::<f32>(&[32, 128], |_| -1.0));
                let y = fill::<f32>(&[32, 128], |i| if i[0] < 24 { at(&x, i) } else { -1.0 });
                run(&first_blocks(), [n(3), x.clone(), old]).gives([y])
            },
        ),
        case(
            "extent_of_no_step",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid_has_dynamic_size",
            move || run(&counts_up(8, 128), [n(0)]).told(Code::INTERP_INPUT),
        ),
        case(
            "parallel_extent_of_the_call",
            "tpu_pallas_interpret_test::InterpretTest::test_dynamic_parallel_dimension_raises",
            move || {
                let x = ramp::<f32>(&[32, 128]);
                let y = fill::<f32>(&[32, 128], |i| if i[0] < 16 { at(&x, i) } else { 0.5 });
                let old = fill::<f32>(&[32, 128], |_| 0.5);
                run(&first_blocks_in_parallel(), [n(2), x.clone(), old]).gives([y])
            },
        ),
    ]
}

fn in_indices() -> Vec<Case> {
    let n = |n: i32| Array::scalar(n);
    vec![
        case(
            "extent_in_an_index",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_num_programs_block_spec",
            move || {
                let x = ramp::<f32>(&[32, 128]);
                let y = pick(&x, &[8, 128], |i| vec![16 + i[0], i[1]]);
                run(&block_by_extent(8), [n(3), x]).gives([y])
            },
        ),
        case(
            "last_step_in_an_index",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_num_programs_block_spec",
            move || {
                let (x, old) = (ramp::<f32>(&[32, 128]), ramp::<f32>(&[32, 128]));
                // Three steps, from block 2 down to block 0.
                let y = fill::<f32>(&[32, 128], |i| match i[0] / 8 {
                    3 => at(&old, i),
                    block => at(&old, i) + at(&x, &[16 - block * 8 + i[0] % 8, i[1]]),
                });
                run(&first_blocks_backwards(), [n(3), x, old.clone()]).gives([y])
            },
        ),
        case(
            "extent_that_leads_outside",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_num_programs_block_spec",
            move || {
                run(&block_by_extent(8), [n(5), ramp::<f32>(&[32, 128])])
                    .told(Code::INTERP_BLOCK_OUT_OF_RANGE)
            },
        ),
    ]
}

#[tpu_kernel(grid(i = steps))]
fn counts_up(
    #[extent] steps: Scalar<i32>,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<f32>,
) {
    let _ = steps;
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += 1.0;
}

#[tpu_kernel(grid(i = a, j = 3, k = b))]
fn counts_up_along_three(
    #[extent] a: Scalar<i32>,
    #[extent] b: Scalar<i32>,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<f32>,
) {
    let _ = (a, b);
    if i + j + k == 0 {
        y[..] = 0.0;
    }
    y[..] += 1.0;
}

#[tpu_kernel(grid(i = steps))]
fn adds_up_an_entry(
    #[extent] steps: Scalar<i32>,
    #[prefetch] table: Smem<i32>,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<f32>,
) {
    let _ = steps;
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += table[0].cast::<f32>();
}

#[tpu_kernel(grid(i = steps))]
fn shows_its_extent(
    #[extent] steps: Scalar<i32>,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] y: Out<i32>,
) {
    let _ = steps;
    y[..] = full([m, n], i.extent());
}

/// Reads the block of the last step, whatever the step.
#[tpu_kernel(grid(i = steps))]
fn block_by_extent(
    #[extent] steps: Scalar<i32>,
    #[comptime] k: usize,
    #[block(m: 8 @ i.extent() - 1, n)] x: In<f32>,
    #[block(k, n)] y: Out<f32>,
) {
    let _ = steps;
    y[..] = x[..];
}

#[tpu_kernel(grid(i = steps))]
fn first_blocks(
    #[extent] steps: Scalar<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    let _ = steps;
    y[..] = x[..];
}

#[tpu_kernel(grid(i = steps))]
fn first_blocks_backwards(
    #[extent] steps: Scalar<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i.last() - i, n)] y: InOut<f32>,
) {
    let _ = steps;
    y[..] += x[..];
}

#[tpu_kernel(grid(i: parallel = steps))]
fn first_blocks_in_parallel(
    #[extent] steps: Scalar<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    let _ = steps;
    y[..] = x[..];
}
