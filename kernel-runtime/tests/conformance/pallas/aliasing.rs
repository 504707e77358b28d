//! Arrays that are updated in place, alone and beside tables and extents.

use super::{Case, at, both, case, each, fill, ints, ramp, run};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = whole_blocks();
    cases.extend(by_blocks());
    cases
}

fn whole_blocks() -> Vec<Case> {
    vec![
        case(
            "updated_in_place",
            "pallas_test::PallasCallInputOutputAliasingTest::test_vector_input_output_aliasing",
            || {
                let x = ramp::<f32>(&[4, 8, 128]);
                run(&matrix_by_matrix(), [x.clone()]).gives([each(&x, |x| x + 1.0)])
            },
        ),
        case(
            "updated_in_place_beside_a_table",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_input_output_aliasing_with_scalar_prefetch",
            || {
                let x = ramp::<f32>(&[24, 128]);
                let y = fill::<f32>(&[24, 128], |i| at(&x, i) + [5.0, 6.0, 7.0][i[0] / 8]);
                run(&adds_entries(), [ints(&[5, 6, 7]), x.clone()]).gives([y])
            },
        ),
        case(
            "two_updated_in_place",
            "pallas_test::PallasCallInputOutputAliasingTest::test_mixed_scalar_vector_input_output_aliasing",
            || {
                let (x, y) = (ramp::<f32>(&[8, 128]), ramp::<i32>(&[8, 128]));
                run(&two_of_two_types(), [x.clone(), y.clone()])
                    .gives([each(&x, |x| x + 1.0), each(&y, |y| y * 2.0)])
            },
        ),
        case("swapped_in_place", "ops_test::OpsTest::test_swap", || {
            let (x, y) = (ramp::<f32>(&[16, 128]), fill::<f32>(&[16, 128], |i| i[1] as f64));
            run(&swaps(), [x.clone(), y.clone()]).gives([y, x])
        }),
        case("some_elements_swapped_in_place", "ops_test::OpsTest::test_masked_swap", || {
            let (x, y) = (ramp::<f32>(&[16, 128]), fill::<f32>(&[16, 128], |i| i[1] as f64));
            let inside = |i: &[usize]| i[1].is_multiple_of(3);
            let a = fill::<f32>(&[16, 128], |i| if inside(i) { at(&y, i) } else { at(&x, i) });
            let b = fill::<f32>(&[16, 128], |i| if inside(i) { at(&x, i) } else { at(&y, i) });
            run(&swaps_some(), [x, y]).gives([a, b])
        }),
    ]
}

fn by_blocks() -> Vec<Case> {
    vec![
        case(
            "added_to_in_place",
            "tpu_pallas_state_test::PallasCallStatefulTest::test_basic_stateful_kernel_with_io_aliasing",
            || {
                let (x, y) = (ramp::<f32>(&[24, 128]), fill::<f32>(&[24, 128], |i| i[1] as f64));
                run(&adds_into(), [x.clone(), y.clone()]).gives([both(&y, &x, |y, x| y + x)])
            },
        ),
        case(
            "blocks_that_are_not_visited",
            "tpu_pallas_state_test::PallasCallStatefulTest::test_basic_stateful_kernel_with_scalar_prefetch",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = fill::<f32>(&[32, 128], |i| match i[0] / 8 {
                    1 | 3 => -at(&x, i),
                    _ => at(&x, i),
                });
                run(&negates_blocks(2), [ints(&[3, 1]), x.clone()]).gives([y])
            },
        ),
        case(
            "block_visited_several_times",
            "tpu_pallas_interpret_test::InterpretTest::test_dynamic_grid_and_aliasing",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let inputs = [Array::scalar(5_i32), x.clone()];
                run(&adds_one_each_step(), inputs).gives([each(&x, |x| x + 5.0)])
            },
        ),
        case(
            "block_left_and_visited_again",
            "tpu_pallas_interpret_test::InterpretTest::test_aliasing",
            || {
                run(&negates_blocks(3), [ints(&[3, 1, 3]), ramp::<f32>(&[32, 128])])
                    .told(Code::INTERP_OUTPUT_REVISITED)
            },
        ),
        case(
            "array_in_hbm_updated_in_place",
            "tpu_pallas_state_test::PinnedBufferTest::test_basic",
            || {
                let x = ramp::<f32>(&[24, 128]);
                let y = fill::<f32>(&[24, 128], |i| match i[0] {
                    row @ 8..16 => at(&x, &[row - 8, i[1]]) + 100.0,
                    _ => at(&x, i),
                });
                run(&rows_in_hbm(), [x.clone()]).gives([y])
            },
        ),
        case(
            "array_of_another_shape_in_place",
            "pallas_test::ApiErrorTest::test_pallas_call_input_output_aliases_errors",
            || {
                run(&adds_into(), [ramp::<f32>(&[24, 128]), ramp::<f32>(&[16, 128])])
                    .told(Code::TRACE_DIM)
            },
        ),
        case(
            "array_of_another_type_in_place",
            "pallas_test::ApiErrorTest::test_pallas_call_input_output_aliases_errors",
            || {
                run(&adds_into(), [ramp::<f32>(&[24, 128]), ramp::<i32>(&[24, 128])])
                    .told(Code::TRACE_ARGUMENT)
            },
        ),
    ]
}

#[tpu_kernel(grid(i))]
fn matrix_by_matrix(#[block(l: squeezed @ i, m, n)] x: InOut<f32>) {
    x[..] += 1.0;
}

#[tpu_kernel(grid(i))]
fn adds_entries(#[prefetch] table: Smem<i32>, #[block(m: 8 @ i, n)] x: InOut<f32>) {
    x[..] += table[i].cast::<f32>();
}

#[tpu_kernel]
fn two_of_two_types(#[block(m, n)] x: InOut<f32>, #[block(m, n)] y: InOut<i32>) {
    x[..] += 1.0;
    y[..] *= 2;
}

#[tpu_kernel]
fn swaps(#[block(m, n)] x: InOut<f32>, #[block(m, n)] y: InOut<f32>) {
    let (a, b) = (x[..], y[..]);
    x[..] = b;
    y[..] = a;
}

#[tpu_kernel]
fn swaps_some(#[block(m, n)] x: InOut<f32>, #[block(m, n)] y: InOut<f32>) {
    let inside = iota([m, n], 1) % 3 == 0;
    let (a, b) = (x[..], y[..]);
    x.store_masked(.., b, inside);
    y.store_masked(.., a, inside);
}

#[tpu_kernel(grid(i))]
fn adds_into(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: InOut<f32>) {
    y[..] += x[..];
}

#[tpu_kernel(grid(i = steps))]
fn negates_blocks(
    #[comptime] steps: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ ids[i], n)] x: InOut<f32>,
) {
    x[..] = -x[..];
}

#[tpu_kernel(grid(i = steps))]
fn adds_one_each_step(#[extent] steps: Scalar<i32>, #[block(m, n)] x: InOut<f32>) {
    let _ = steps;
    x[..] += 1.0;
}

#[tpu_kernel]
fn rows_in_hbm(#[block(m, n)] x: HbmInOut<f32>, #[scratch([8, n])] bufs: Buffers<f32, 2>) {
    let [a, b] = bufs.slots();
    let a = copy_into(x.rows(0, 8), a).wait();
    b[..] = a[..] + 100.0;
    let _ = copy_into(b, x.rows(8, 8)).wait();
}
