//! Grids and blocks: which shapes are legal, what steps see, edges, windows, extents of the call.

use super::{Case, at, case, each, fill, ints, pick, ramp, run};
use systole::diag::Code;
use systole::prelude::*;
use systole::run::Tolerance;
use systole::target::Target;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = legal_blocks();
    cases.extend(steps());
    cases.extend(products());
    cases.extend(edges());
    cases.extend(fetches());
    cases.extend(windows());
    cases.extend(order());
    cases
}

#[tpu_kernel(grid(i))]
fn copy_1<T: Element>(
    #[comptime] b: [usize; 1],
    #[block(m: b[0] @ i)] x: In<T>,
    #[block(m: b[0] @ i)] y: Out<T>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i, j))]
fn copy_2<T: Element>(
    #[comptime] b: [usize; 2],
    #[block(m: b[0] @ i, n: b[1] @ j)] x: In<T>,
    #[block(m: b[0] @ i, n: b[1] @ j)] y: Out<T>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i, j, k))]
fn copy_3<T: Element>(
    #[comptime] b: [usize; 3],
    #[block(l: b[0] @ i, m: b[1] @ j, n: b[2] @ k)] x: In<T>,
    #[block(l: b[0] @ i, m: b[1] @ j, n: b[2] @ k)] y: Out<T>,
) {
    y[..] = x[..];
}

/// A copy in blocks: it works, or every TPU refuses the block's shape.
fn block<T: Element>(shape: &'static [usize], block: &'static [usize], legal: bool) -> Case {
    let join = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let name = format!("blocks_of_{}_in_{}_{}", join(block), join(shape), T::DTYPE);
    case(name, "pallas_test::PallasCallTest::test_block_spec_valid_block_shapes", move || {
        let x = ramp::<T>(shape);
        let probe = match *block {
            [b] => run(&copy_1::<T>([b]), [x.clone()]),
            [b, c] => run(&copy_2::<T>([b, c]), [x.clone()]),
            [b, c, d] => run(&copy_3::<T>([b, c, d]), [x.clone()]),
            _ => panic!("blocks here have up to three axes"),
        };
        let probe = probe.gives([x]);
        if legal { probe } else { probe.refused_by(Target::TPUS, Code::VALID_BLOCK_SHAPE) }
    })
}

fn legal_blocks() -> Vec<Case> {
    vec![
        block::<i32>(&[5], &[5], true),
        block::<i32>(&[256], &[128], true),
        block::<i32>(&[3072], &[1024], true),
        block::<i32>(&[640], &[320], false),
        block::<i16>(&[1024], &[256], true),
        block::<i16>(&[512], &[128], false),
        block::<i8>(&[1024], &[512], true),
        block::<i8>(&[1024], &[256], false),
        block::<i32>(&[3, 5], &[3, 5], true),
        block::<i32>(&[6, 3], &[2, 3], false),
        block::<i32>(&[24, 128], &[8, 128], true),
        block::<i32>(&[24, 72], &[8, 72], true),
        block::<i32>(&[24, 256], &[24, 64], false),
        block::<i32>(&[24, 256], &[4, 256], false),
        block::<i32>(&[24, 256], &[12, 128], false),
        block::<i32>(&[11, 130], &[11, 130], true),
        block::<i32>(&[11, 130], &[8, 130], true),
        block::<i32>(&[11, 256], &[11, 128], true),
        block::<i32>(&[5, 128], &[8, 128], true),
        block::<i32>(&[6, 4, 4], &[3, 4, 4], true),
        block::<i32>(&[6, 24, 128], &[2, 8, 128], true),
        block::<bf16>(&[32, 256], &[16, 128], true),
        block::<bf16>(&[32, 256], &[8, 128], true),
        block::<i8>(&[64, 128], &[32, 128], true),
    ]
}

fn steps() -> Vec<Case> {
    vec![
        case(
            "steps_know_their_number",
            "pallas_test::PallasTest::test_out_shape_no_block_spec",
            || {
                let y = fill::<i32>(&[32, 128], |i| (i[0] / 8) as f64);
                run(&numbers_of_steps(32, 128), []).gives([y])
            },
        ),
        case(
            "number_of_steps",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_can_query_grid_statically_via_num_programs",
            || {
                let y = fill::<i32>(&[32, 128], |i| (i[0] / 8 * 4) as f64);
                run(&numbers_and_extents(32, 128), []).gives([y])
            },
        ),
        case(
            "number_of_steps_in_an_index",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_can_query_grid_statically_via_num_programs_in_block_spec",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = pick(&x, &[32, 128], |i| vec![24 - i[0] / 8 * 8 + i[0] % 8, i[1]]);
                run(&backwards(), [x]).gives([y])
            },
        ),
        case(
            "index_of_an_output_by_the_number_of_steps",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_can_query_grid_statically_via_num_programs_in_block_spec",
            || {
                let (x, y) = (ramp::<f32>(&[32, 128]), ramp::<f32>(&[24, 128]));
                // Step i updates block 2 - i with block 3 of x.
                let z = fill::<f32>(&[24, 128], |i| {
                    at(&y, i) + at(&x, &[24 + i[0] % 8, i[1]]) + (2 - i[0] / 8) as f64
                });
                run(&updates_backwards(), [x, y]).gives([z])
            },
        ),
        case("axes_have_names", "pallas_test::PallasCallNamedGridTest::test_named_grid", || {
            let x = ramp::<i32>(&[4, 8, 128]);
            run(&one_matrix_a_step(), [x.clone()]).gives([x])
        }),
        case(
            "names_in_any_order",
            "pallas_test::PallasCallNamedGridTest::test_named_grid_reordered_names",
            || {
                let x = ramp::<i32>(&[4, 16, 128]);
                run(&named_axes(), [x.clone()]).gives([x])
            },
        ),
        case(
            "axis_index_by_name",
            "pallas_test::PallasCallNamedGridTest::test_can_query_named_grid_program_id_in_kernel_via_axis_index",
            || {
                let x = ramp::<i32>(&[4, 8, 128]);
                let y = fill::<i32>(&[4, 8, 128], |i| at(&x, i) + 10.0 * i[0] as f64);
                run(&adds_its_index(), [x.clone()]).gives([y])
            },
        ),
        case(
            "three_axes_last_one_fastest",
            "tpu_pallas_interpret_test::InterpretTest::test_parallel_dimension_and_multiple_cores",
            || {
                let y = fill::<i32>(&[2, 3, 32, 128], |i| (i[0] * 12 + i[1] * 4 + i[2] / 8) as f64);
                run(&counts_its_steps(2, 3, 32, 128), []).gives([y])
            },
        ),
    ]
}

fn products() -> Vec<Case> {
    vec![
        case(
            "product_in_blocks_f32",
            "pallas_test::PallasCallTest::test_matmul_block_spec",
            product::<f32>,
        ),
        case(
            "product_in_blocks_bf16",
            "pallas_test::PallasCallTest::test_matmul_block_spec",
            product::<bf16>,
        ),
        case(
            "product_of_whole_rows_and_columns",
            "tpu_pallas_interpret_test::InterpretTest::test_matmul_example",
            || {
                let (x, y) = (small::<f32>(&[16, 256]), small::<f32>(&[256, 256]));
                run(&rows_by_columns(), [x.clone(), y.clone()]).gives([product_of(&x, &y)])
            },
        ),
        case("constant_of_the_host", "pallas_test::PallasCallTest::test_const_args", || {
            let x = ramp::<f32>(&[16, 128]);
            let y = fill::<f32>(&[16, 128], |i| at(&x, i) * [2.0, 3.0][i[0] / 8]);
            run(&by_constants([2.0, 3.0]), [x.clone()]).gives([y])
        }),
    ]
}

#[tpu_kernel(grid(i))]
fn numbers_of_steps(#[comptime] m: usize, #[comptime] n: usize, #[block(m: 8 @ i, n)] y: Out<i32>) {
    y[..] = full([8, n], i);
}

#[tpu_kernel(grid(i))]
fn numbers_and_extents(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = full([8, n], i * i.extent());
}

#[tpu_kernel(grid(i = m / 8))]
fn backwards(#[block(m: 8 @ i.last() - i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i = k / 8))]
fn updates_backwards(
    #[block(m: 8 @ i.extent(), n)] x: In<f32>,
    #[block(k: 8 @ i.last() - i, n)] y: InOut<f32>,
) {
    y[..] += x[..] + i.cast::<f32>();
}

#[tpu_kernel(grid(i))]
fn one_matrix_a_step(
    #[block(l: squeezed @ i, m, n)] x: In<i32>,
    #[block(l: squeezed @ i, m, n)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(j, i))]
fn named_axes(
    #[block(l: squeezed @ j, m: 8 @ i, n)] x: In<i32>,
    #[block(l: squeezed @ j, m: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(matrix))]
fn adds_its_index(
    #[block(l: squeezed @ matrix, m, n)] x: In<i32>,
    #[block(l: squeezed @ matrix, m, n)] y: Out<i32>,
) {
    y[..] = x[..] + matrix * 10;
}

/// Each step is one after the step before it: the count is kept from step to step.
#[tpu_kernel(grid(i, j, k))]
fn counts_its_steps(
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(p: squeezed @ i, q: squeezed @ j, m: 8 @ k, n)] y: Out<i32>,
    #[scratch([1])] count: Smem<i32>,
) {
    if i + j + k == 0 {
        count[0] = 0;
    }
    y[..] = full([8, n], count[0]);
    count[0] += 1;
}

/// Whole numbers whose products are exact in bf16 and sums in f32.
fn small<T: Element>(shape: &[usize]) -> Array {
    fill::<T>(shape, |i| ((i.iter().fold(0, |sum, &i| sum * 5 + i * 3) % 11) as f64) - 5.0)
}

fn product_of(x: &Array, y: &Array) -> Array {
    let (m, k, n) = (x.shape()[0], x.shape()[1], y.shape()[1]);
    let (a, b) = (x.to_f64(), y.to_f64());
    fill::<f32>(&[m, n], |i| (0..k).map(|l| a[i[0] * k + l] * b[l * n + i[1]]).sum())
}

fn product<T: Float>() -> super::Probe {
    let (x, y) = (small::<T>(&[64, 256]), small::<T>(&[256, 256]));
    run(&blocked_product::<T>([32, 128, 128]), [x.clone(), y.clone()]).gives([product_of(&x, &y)])
}

#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
fn blocked_product<T: Float>(
    #[comptime] t: [usize; 3],
    #[block(m: t[0] @ i, k: t[1] @ l)] x: In<T>,
    #[block(k: t[1] @ l, n: t[2] @ j)] y: In<T>,
    #[block(m: t[0] @ i, n: t[2] @ j)] z: Out<f32>,
) {
    if l == 0 {
        z[..] = 0.0;
    }
    z[..] += dot(x[..].cast::<bf16>(), y[..].cast::<bf16>());
}

#[tpu_kernel(grid(i, j))]
fn rows_by_columns(
    #[block(m: 8 @ i, k)] x: In<f32>,
    #[block(k, n: 128 @ j)] y: In<f32>,
    #[block(m: 8 @ i, n: 128 @ j)] z: Out<f32>,
) {
    z[..] = dot(x[..], y[..]);
}

#[tpu_kernel(grid(i))]
fn by_constants(
    #[comptime] by: [f32; 2],
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * (i == 0).select(by[0], by[1]);
}

fn edges() -> Vec<Case> {
    vec![
        case(
            "edge_block_is_cut",
            "pallas_test::PallasCallTest::test_block_spec_with_padding",
            || {
                let y = fill::<i32>(&[20, 128], |i| (i[0] / 8) as f64);
                run(&numbers_of_steps(20, 128), []).gives([y])
            },
        ),
        case(
            "block_larger_than_its_array",
            "pallas_test::PallasCallTest::test_block_spec_with_padding",
            || {
                let y = fill::<i32>(&[3, 128], |_| 0.0);
                run(&numbers_of_steps(3, 128), []).gives([y])
            },
        ),
        case(
            "edges_along_all_axes",
            "tpu_pallas_interpret_test::InterpretTest::test_inputs_and_outputs_not_evenly_divisible_by_block_shape",
            || {
                let x = ramp::<f32>(&[5, 20, 200]);
                run(&copy_3::<f32>([2, 8, 128]), [x.clone()]).gives([x])
            },
        ),
        case(
            "padding_that_reaches_a_result",
            "pallas_test::PallasCallTest::test_block_spec_padding_is_nan",
            || run(&sums_in_blocks(false), [ramp::<f32>(&[20, 128])]).told(Code::INTERP_PADDING),
        ),
        case(
            "padding_that_is_masked",
            "pallas_test::PallasCallTest::test_block_spec_padding_is_nan",
            || {
                let x = ramp::<f32>(&[20, 128]);
                let y = fill::<f32>(&[1, 128], |i| (0..20).map(|row| at(&x, &[row, i[1]])).sum());
                run(&sums_in_blocks(true), [x.clone()]).gives([y])
            },
        ),
        case(
            "input_block_outside_of_its_array",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_block_spec",
            || run(&shifted(1, 0), [ramp::<f32>(&[32, 128])]).told(Code::VALID_BLOCK_INDEX),
        ),
        case(
            "output_block_outside_of_its_array",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_block_spec",
            || run(&shifted(0, 2), [ramp::<f32>(&[32, 128])]).told(Code::VALID_BLOCK_INDEX),
        ),
        case(
            "squeezed_axes",
            "pallas_test::PallasCallTest::test_block_spec_mapped_dimension",
            || {
                let x = ramp::<f32>(&[2, 8, 128]);
                let y =
                    fill::<f32>(&[8, 128], |i| at(&x, &[0, i[0], i[1]]) + at(&x, &[1, i[0], i[1]]));
                run(&adds_two_matrices(), [x.clone(), x.clone()]).gives([y])
            },
        ),
    ]
}

fn fetches() -> Vec<Case> {
    vec![
        case(
            "block_with_another_rank",
            "pallas_test::ApiErrorTest::test_pallas_call_block_shape_ndim_mismatch",
            || run(&shifted(0, 0), [ramp::<f32>(&[32, 1, 128])]).told(Code::TRACE_ARGUMENT),
        ),
        case(
            "too_few_arrays",
            "pallas_test::ApiErrorTest::test_pallas_call_in_specs_mismatch_inputs",
            || run(&adds_two_matrices(), [ramp::<f32>(&[2, 8, 128])]).told(Code::TRACE_ARGUMENT),
        ),
        case(
            "one_buffer_each",
            "tpu_pallas_test::TPUPipelineModeTest::test_two_input_vadd",
            || buffers(1, 1),
        ),
        case(
            "two_buffers_and_one",
            "tpu_pallas_test::TPUPipelineModeTest::test_two_input_vadd",
            || buffers(2, 1),
        ),
        case(
            "two_buffers_each",
            "tpu_pallas_test::TPUPipelineModeTest::test_two_input_vadd",
            || buffers(2, 2),
        ),
        case("three_buffers", "tpu_pallas_test::TPUPipelineModeTest::test_two_input_vadd", || {
            buffers(3, 2).told(Code::VALID_UNSUPPORTED_BUFFERING)
        }),
        case(
            "blocks_fetched_in_parts",
            "tpu_pallas_test::TPUPipelineModeTest::test_two_input_vadd",
            || {
                let x = ramp::<f32>(&[64, 128]);
                run(&in_parts(), [x.clone()]).gives([each(&x, |x| x * 2.0)])
            },
        ),
    ]
}

#[tpu_kernel(grid(i), dims(k = 1))]
fn sums_in_blocks(
    #[comptime] masked: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k, n)] y: Out<f32>,
) {
    if i == 0 {
        y[..] = 0.0;
    }
    let mut rows = x[..];
    if comptime!(masked) {
        rows = select(iota([8, n], 0) + i * 8 < m, rows, 0.0);
    }
    y[..] += rows.reduce_sum(0);
}

#[tpu_kernel(grid(i = 4))]
fn shifted(
    #[comptime] from: i32,
    #[comptime] to: i32,
    #[block(m: 8 @ i + from, n)] x: In<f32>,
    #[block(m: 8 @ i + to, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

#[tpu_kernel]
fn adds_two_matrices(
    #[block(l: squeezed @ 0, m, n)] x: In<f32>,
    #[block(l: squeezed @ 1, m, n)] y: In<f32>,
    #[block(m, n)] z: Out<f32>,
) {
    z[..] = x[..] + y[..];
}

fn buffers(a: usize, b: usize) -> super::Probe {
    let (x, y) = (ramp::<f32>(&[64, 128]), ramp::<f32>(&[64, 128]));
    run(&buffered(a, b), [x.clone(), y]).gives([each(&x, |x| x * 2.0)])
}

#[tpu_kernel(grid(i: parallel))]
fn buffered(
    #[comptime] a: usize,
    #[comptime] b: usize,
    #[buffered(a)]
    #[block(m: 8 @ i, n)]
    x: In<f32>,
    #[buffered(b)]
    #[block(m: 8 @ i, n)]
    y: In<f32>,
    #[block(m: 8 @ i, n)] z: Out<f32>,
) {
    z[..] = x[..] + y[..];
}

#[tpu_kernel(grid(i: parallel))]
fn in_parts(
    #[streams(m: 2)]
    #[block(m: 16 @ i, n)]
    x: In<f32>,
    #[block(m: 16 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * 2.0;
}

fn windows() -> Vec<Case> {
    vec![
        case(
            "windows_by_elements",
            "pallas_test::PallasCallElementIndexingTest::test_block_spec_element",
            || {
                let y = fill::<i32>(&[16, 128], |i| (i[0] / 8) as f64);
                run(&window_numbers(16, 128), []).gives([y])
            },
        ),
        case(
            "overlapping_windows",
            "pallas_test::PallasCallElementIndexingTest::test_element_indexing",
            || {
                let x = ramp::<f32>(&[64, 128]);
                let y = fill::<f32>(&[56, 128], |i| at(&x, i) + at(&x, &[i[0] + 8, i[1]]));
                run(&sums_of_neighbors(56), [x.clone()]).gives([y])
            },
        ),
        case(
            "window_past_the_end",
            "pallas_test::PallasCallElementIndexingTest::test_unblocked_indexing_with_padding",
            || run(&sums_of_neighbors(64), [ramp::<f32>(&[64, 128])]).told(Code::VALID_BLOCK_INDEX),
        ),
        case(
            "windows_from_a_table",
            "tpu_pallas_interpret_test::InterpretTest::test_scalar_prefetch_example",
            || {
                let x = ramp::<f32>(&[64, 128]);
                let starts = [5, 0, 1];
                let y = pick(&x, &[48, 128], |i| {
                    vec![starts[i[0] / 16] as usize * 8 + i[0] % 16, i[1]]
                });
                run(&windows_by_table(48), [ints(&starts), x.clone()]).gives([y])
            },
        ),
        case(
            "window_from_a_table_past_the_end",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_block_spec",
            || {
                run(&windows_by_table(48), [ints(&[5, 0, 7]), ramp::<f32>(&[64, 128])])
                    .told(Code::INTERP_PADDING)
            },
        ),
    ]
}

#[tpu_kernel(grid(i = 2))]
fn window_numbers(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m: element(8) @ i * 8, n)] y: Out<i32>,
) {
    y[..] = full([8, n], i);
}

#[tpu_kernel(grid(i))]
fn sums_of_neighbors(
    #[comptime] k: usize,
    #[block(m: element(16) @ i * 8, n)] x: In<f32>,
    #[block(k: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[(0..8, ..)] + x[(8..16, ..)];
}

#[tpu_kernel(grid(i))]
fn windows_by_table(
    #[comptime] k: usize,
    #[prefetch] starts: Smem<i32>,
    #[block(m: element(16) @ starts[i] * 8, n)] x: In<f32>,
    #[block(k: 16 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

fn order() -> Vec<Case> {
    vec![
        case(
            "output_revisited_in_a_row",
            "tpu_pallas_test::PallasCallDMATest::test_hoisted_scratch_space",
            || {
                let x = ramp::<f32>(&[24, 128]);
                let y =
                    fill::<f32>(&[8, 128], |i| (0..3).map(|b| at(&x, &[b * 8 + i[0], i[1]])).sum());
                run(&adds_blocks_up(8), [x.clone()]).gives([y])
            },
        ),
        case(
            "output_left_and_revisited",
            "tpu_pallas_interpret_test::InterpretTest::test_revisiting_is_an_error",
            || run(&adds_columns_up(8), [ramp::<f32>(&[24, 384])]).told(Code::VALID_OUTPUT_REVISIT),
        ),
        case(
            "output_revisited_in_any_order",
            "tpu_pallas_test::TPUPipelineModeRevisitTest::test_block_reduction_with_non_immediate_revisit",
            || run(&adds_columns_up(8), [ramp::<f32>(&[24, 384])]).told(Code::VALID_OUTPUT_REVISIT),
        ),
        case(
            "output_of_a_parallel_axis_shared",
            "tpu_pallas_interpret_test::InterpretTest::test_two_cores_along_parallel_dimension_with_race",
            || {
                run(&adds_blocks_up_in_parallel(8), [ramp::<f32>(&[24, 128])])
                    .told(Code::VALID_PARALLEL_REVISIT)
            },
        ),
        case(
            "parallel_steps_in_any_order",
            "tpu_pallas_interpret_test::InterpretTest::test_randomization_of_parallel_dimensions",
            || {
                let x = ramp::<f32>(&[64, 128]);
                run(&parallel_copy(), [x.clone()]).gives([x])
            },
        ),
        case(
            "parallel_axis_after_an_arbitrary_one",
            "tpu_pallas_interpret_test::InterpretTest::test_dimensions_arbitrary_parallel_raises",
            || {
                let x = ramp::<f32>(&[16, 256]);
                run(&arbitrary_then_parallel(), [x.clone()]).gives([x])
            },
        ),
        case(
            "sum_in_f32_of_many_steps",
            "tpu_pallas_test::PallasCallTest::test_double_replicated_reduction",
            || {
                let x = fill::<f32>(&[1024, 128], |_| 0.25);
                let y = fill::<f32>(&[8, 128], |_| 32.0);
                run(&adds_blocks_up(8), [x]).gives([y]).within(Tolerance::exact())
            },
        ),
    ]
}

#[tpu_kernel(grid(i))]
fn adds_blocks_up(
    #[comptime] k: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ 0, n)] y: Out<f32>,
) {
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

#[tpu_kernel(grid(i: parallel))]
fn adds_blocks_up_in_parallel(
    #[comptime] k: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ 0, n)] y: Out<f32>,
) {
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

/// The output's block changes along the inner axis, and the sum is over the outer one.
#[tpu_kernel(grid(i, j))]
fn adds_columns_up(
    #[comptime] k: usize,
    #[block(m: 8 @ i, n: 128 @ j)] x: In<f32>,
    #[block(k: 8 @ 0, n: 128 @ j)] y: Out<f32>,
) {
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

#[tpu_kernel(grid(i: parallel))]
fn parallel_copy(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i: arbitrary, j: parallel))]
fn arbitrary_then_parallel(
    #[block(m: 8 @ i, n: 128 @ j)] x: In<f32>,
    #[block(m: 8 @ i, n: 128 @ j)] y: Out<f32>,
) {
    y[..] = x[..];
}
