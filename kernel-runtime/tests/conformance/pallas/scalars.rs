//! Inputs and outputs in scalar memory, as a whole and in blocks.

use super::{Case, at, case, each, fill, ints, ramp, run};
use systole::diag::Code;
use systole::prelude::*;
use systole::target::Target;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = inputs();
    cases.extend(outputs());
    cases.extend(in_place());
    cases.extend(refusals());
    cases
}

fn inputs() -> Vec<Case> {
    vec![
        case("scalar_input", "tpu_pallas_test::PallasCallDMATest::test_smem_hbm_dma", || {
            let x = ramp::<f32>(&[32, 128]);
            let rate = fill::<f32>(&[1], |_| 0.25);
            run(&scaled(), [rate, x.clone()]).gives([each(&x, |x| x * 0.25)])
        }),
        case(
            "scalar_input_decides",
            "tpu_ops_test::OpsTest::test_select_with_scalar_condition",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = fill::<f32>(&[32, 128], |i| match i[0] / 8 {
                    1 => -at(&x, i) + 1.0,
                    3 => -at(&x, i) + 3.0,
                    _ => at(&x, i),
                });
                run(&negated(), [ints(&[0, 1, 0, 3]), x]).gives([y])
            },
        ),
        case(
            "scalar_input_in_blocks",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid_scalar_input",
            || scaled_in_blocks(512),
        ),
        case(
            "scalar_input_in_blocks_over_the_end",
            "tpu_pallas_test::PallasCallDynamicGridTest::test_dynamic_grid_scalar_input",
            || scaled_in_blocks(400),
        ),
        case(
            "padding_of_a_scalar_input",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_block_spec",
            || {
                let scales = ramp::<f32>(&[385]);
                run(&by_blocks_of_scales(), [scales, ramp::<f32>(&[32, 128])])
                    .told(Code::INTERP_PADDING)
            },
        ),
        case(
            "matrices_of_scalars",
            "pallas_test::PallasCallTest::test_block_spec_mapped_dimension",
            || {
                let scales = ramp::<i32>(&[4, 2, 3]);
                let y = fill::<i32>(&[32, 128], |i| {
                    let step = i[0] / 8;
                    at(&scales, &[step, 1, step % 3]) - at(&scales, &[3, 0, 2])
                });
                run(&of_matrices(32, 128), [scales.clone(), scales]).gives([y])
            },
        ),
        case(
            "windows_of_scalars",
            "pallas_test::PallasCallElementIndexingTest::test_element_indexing",
            || {
                let scales = ramp::<i32>(&[5, 2, 3]);
                let y = fill::<i32>(&[32, 128], |i| {
                    let step = i[0] / 8;
                    at(&scales, &[step, 0, 1]) + at(&scales, &[step + 1, 1, 2])
                });
                run(&of_windows(32, 128), [scales]).gives([y])
            },
        ),
        case(
            "scalar_input_copied",
            "tpu_pallas_test::PallasCallDMATest::test_smem_hbm_dma",
            || run(&copied_out(), [ints(&[3, 5, 8])]).gives([ints(&[3, 5, 8])]),
        ),
        case(
            "scalar_index_outside",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_read_range",
            || {
                let scales = ramp::<f32>(&[3]);
                run(&by_step(), [scales, ramp::<f32>(&[32, 128])]).told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
    ]
}

#[tpu_kernel(grid(i: parallel))]
fn scaled(
    #[block(one)] rate: SmemIn<f32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * rate[0];
}

#[tpu_kernel(grid(i))]
fn negated(
    #[block(k)] times: SmemIn<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
    if times[i] > 0 {
        y[..] = x[..] * -1.0;
    }
    for _ in 0..times[i] {
        y[..] += 1.0;
    }
}

fn scaled_in_blocks(n: usize) -> super::Probe {
    let scales = ramp::<f32>(&[n]);
    let x = ramp::<f32>(&[32, 128]);
    let y = fill::<f32>(&[32, 128], |i| {
        let first = i[0] / 8 * 128;
        at(&x, i) * (at(&scales, &[first + i[0] / 8]) + at(&scales, &[first + 15]))
    });
    run(&by_blocks_of_scales(), [scales, x]).gives([y])
}

#[tpu_kernel(grid(i: parallel))]
fn by_blocks_of_scales(
    #[block(g: 128 @ i)] scales: SmemIn<f32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * (scales[i] + scales[15]);
}

#[tpu_kernel(grid(i))]
fn of_matrices(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(b: squeezed @ i, k, l)] mine: SmemIn<i32>,
    #[block(b, k, l)] all: SmemIn<i32>,
    #[block(m: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = full([8, n], mine[(1, i % 3)] - all[(3, 0, 2)]);
}

#[tpu_kernel(grid(i))]
fn of_windows(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(b: element(2) @ i, k, l)] two: SmemIn<i32>,
    #[block(m: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = full([8, n], two[(0, 0, 1)] + two[(1, 1, 2)]);
}

#[tpu_kernel]
fn copied_out(
    #[block(k)] x: SmemIn<i32>,
    #[block(k)] y: HbmOut<i32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.at(..), y.whole(), done);
    wait_copy(x.at(..), y.whole(), done);
}

#[tpu_kernel(grid(i))]
fn by_step(
    #[block(k)] scales: SmemIn<f32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * scales[i];
}

fn outputs() -> Vec<Case> {
    vec![
        case(
            "scalar_output",
            "tpu_pallas_test::MiscellaneousTest::test_dynamic_grid_with_smem_output",
            || run(&counted(), [Array::scalar(5_i32)]).gives([ints(&[5])]),
        ),
        case(
            "scalar_outputs_beside_blocks",
            "tpu_pallas_test::MiscellaneousTest::test_dynamic_grid_with_smem_output",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let values = x.to_f64();
                let total: f64 = values.iter().sum();
                let most = values.iter().fold(f64::MIN, |most, &x| most.max(x));
                let stats = fill::<f32>(&[1, 2], |i| [total, most][i[1]]);
                run(&with_stats(), [x.clone()]).gives([each(&x, |x| x * 2.0), stats])
            },
        ),
        case(
            "scalar_output_in_blocks",
            "tpu_pallas_test::MiscellaneousTest::test_dynamic_grid_with_smem_output",
            || {
                let y = fill::<i32>(&[300], |i| (i[0] % 128 * 10 + 2 - i[0] / 128) as f64);
                run(&numbered(300), []).gives([y])
            },
        ),
        case(
            "rows_of_scalar_outputs",
            "pallas_test::PallasCallTest::test_block_spec_mapped_dimension",
            || {
                let y = fill::<f32>(&[4, 1, 3], |i| (i[0] * 10 + i[2]) as f64);
                run(&rows_of_scalars(4), []).gives([y])
            },
        ),
        case(
            "scalar_output_undefined",
            "tpu_pallas_interpret_test::InterpretTest::test_uninitialized_memory",
            || run(&writes_every_other(4), []).told(Code::INTERP_OUTPUT_NEVER_WRITTEN),
        ),
        case(
            "scalar_output_read_before_it_is_written",
            "tpu_pallas_interpret_test::InterpretTest::test_uninitialized_memory",
            || run(&counts_from_nothing(), [Array::scalar(5_i32)]).told(Code::INTERP_UNINITIALIZED),
        ),
        case(
            "scalar_output_of_a_parallel_axis_shared",
            "tpu_pallas_interpret_test::InterpretTest::test_two_cores_along_parallel_dimension_with_race",
            || run(&counts_in_parallel(4), []).told(Code::VALID_PARALLEL_REVISIT),
        ),
        case(
            "scalar_output_left_and_revisited",
            "tpu_pallas_interpret_test::InterpretTest::test_revisiting_is_an_error",
            || run(&returns_to_blocks(256), []).told(Code::VALID_OUTPUT_REVISIT),
        ),
    ]
}

#[tpu_kernel(grid(i = steps), dims(one = 1))]
fn counted(#[extent] steps: Scalar<i32>, #[block(one)] count: SmemOut<i32>) {
    let _ = steps;
    if i == 0 {
        count[0] = 0;
    }
    count[0] += 1;
}

#[tpu_kernel(grid(i), dims(one = 1, two = 2))]
fn with_stats(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[block(one, two)] stats: SmemOut<f32>,
) {
    y[..] = x[..] * 2.0;
    let (sum, most) = (x[..].sum_all(), x[..].max_all());
    if i == 0 {
        stats[(0, 0)] = sum;
        stats[(0, 1)] = most;
    } else {
        stats[(0, 0)] += sum;
        stats[(0, 1)] = stats[(0, 1)].max(most);
    }
}

#[tpu_kernel(grid(i = n.div_ceil(128)))]
fn numbered(#[comptime] n: usize, #[block(n: 128 @ i.last() - i)] y: SmemOut<i32>) {
    for j in 0..128 {
        y[j] = j * 10 + i;
    }
}

#[tpu_kernel(grid(i: parallel), dims(one = 1, three = 3))]
fn rows_of_scalars(#[comptime] b: usize, #[block(b: squeezed @ i, one, three)] y: SmemOut<f32>) {
    #[unroll]
    for j in 0..3 {
        y[(0, j)] = (i * 10 + j).cast::<f32>();
    }
}

#[tpu_kernel]
fn writes_every_other(#[comptime] n: usize, #[block(n)] y: SmemOut<i32>) {
    for j in 0..n / 2 {
        y[j * 2] = j;
    }
}

#[tpu_kernel(grid(i = steps), dims(one = 1))]
fn counts_from_nothing(#[extent] steps: Scalar<i32>, #[block(one)] count: SmemOut<i32>) {
    let _ = steps;
    count[0] += 1;
}

#[tpu_kernel(grid(i: parallel = steps), dims(one = 1))]
fn counts_in_parallel(#[comptime] steps: usize, #[block(one)] count: SmemOut<i32>) {
    count[0] = i;
}

#[tpu_kernel(grid(i = 2, j))]
fn returns_to_blocks(#[comptime] n: usize, #[block(n: 128 @ j)] y: SmemOut<i32>) {
    y[j] = i;
}

fn in_place() -> Vec<Case> {
    vec![
        case(
            "scalars_updated_in_place",
            "pallas_test::PallasCallInputOutputAliasingTest::test_mixed_scalar_vector_input_output_aliasing",
            || {
                let (state, x) = (ints(&[7, 1, 2]), ramp::<f32>(&[32, 128]));
                let y = fill::<f32>(&[32, 128], |i| at(&x, i) + 7.0 + (i[0] / 8) as f64);
                run(&steps_on(), [state, x]).gives([ints(&[11, 1, 2]), y])
            },
        ),
        case(
            "blocks_of_scalars_updated_in_place",
            "pallas_test::PallasCallInputOutputAliasingTest::test_vector_input_output_aliasing",
            || {
                // Each block is visited by two steps, which add to one element each.
                let x = ramp::<i32>(&[300]);
                let y = fill::<i32>(&[300], |i| {
                    at(&x, i) + if i[0] % 128 < 2 { 100.0 + (i[0] / 128) as f64 } else { 0.0 }
                });
                run(&adds_to_two(), [x]).gives([y])
            },
        ),
        case(
            "matrix_of_scalars_updated_in_place",
            "pallas_test::PallasCallInputOutputAliasingTest::test_vector_input_output_aliasing",
            || {
                let x = ramp::<f32>(&[3, 4, 5]);
                let y = fill::<f32>(&[3, 4, 5], |i| match i[1..] {
                    [2, 3] => at(&x, i) * 2.0,
                    _ => at(&x, i),
                });
                run(&doubles_one_of_each(), [x]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel(grid(i))]
fn steps_on(
    #[block(k)] state: SmemInOut<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] + state[0].cast::<f32>();
    state[0] += state[1];
}

#[tpu_kernel(grid(i, j = 2))]
fn adds_to_two(#[block(n: 128 @ i)] x: SmemInOut<i32>) {
    x[j] += i + 100;
}

#[tpu_kernel(grid(i: parallel))]
fn doubles_one_of_each(#[block(b: squeezed @ i, m, n)] x: SmemInOut<f32>) {
    x[(2, 3)] *= 2.0;
}

fn refusals() -> Vec<Case> {
    let legal = |name: &'static str, n: usize, block: usize| {
        case(name, "pallas_test::PallasCallTest::test_block_spec_valid_block_shapes", move || {
            let x = ramp::<i32>(&[n]);
            run(&copy_scalars(block), [x.clone()]).gives([x])
        })
    };
    let illegal = |name: &'static str, n: usize, block: usize| {
        case(name, "pallas_test::PallasCallTest::test_block_spec_valid_block_shapes", move || {
            let x = ramp::<i32>(&[n]);
            run(&copy_scalars(block), [x.clone()])
                .gives([x])
                .refused_by(Target::TPUS, Code::VALID_BLOCK_SHAPE)
        })
    };
    vec![
        legal("blocks_of_384_scalars_in_1024", 1024, 384),
        legal("blocks_of_3_scalars_in_3", 3, 3),
        illegal("blocks_of_64_scalars_in_256", 256, 64),
        illegal("blocks_of_1_scalar_in_4", 4, 1),
        case(
            "rows_of_a_matrix_of_scalars",
            "pallas_test::PallasCallTest::test_block_spec_valid_block_shapes",
            || {
                let x = ramp::<i32>(&[16, 4]);
                let y = fill::<i32>(&[16], |i| at(&x, &[i[0], 1]));
                run(&column_of_scalars(), [x])
                    .gives([y])
                    .refused_by(Target::TPUS, Code::VALID_BLOCK_SHAPE)
            },
        ),
        case(
            "window_of_scalars_between_tiles",
            "pallas_test::PallasCallElementIndexingTest::test_element_indexing",
            || {
                let x = ramp::<i32>(&[256]);
                let y = fill::<i32>(&[4], |i| at(&x, &[i[0] * 8 + 1]));
                run(&window_of_scalars(4), [x])
                    .gives([y])
                    .refused_by(Target::TPUS, Code::VALID_BLOCK_SHAPE)
            },
        ),
        case("scalars_of_bf16", "tpu_ops_test::OpsTest::test_select_with_scalar_condition", || {
            let (x, rate) = (ramp::<f32>(&[32, 128]), fill::<bf16>(&[1], |_| 0.5));
            run(&scaled_by_bf16(), [rate, x.clone()])
                .gives([each(&x, |x| x * 0.5)])
                .refused_by(Target::TPUS, Code::VALID_SMEM_TYPE)
        }),
        case(
            "scalar_memory_is_full",
            "tpu_pallas_test::PallasCallPoisonTest::test_vmem_oom_error_message_basics",
            || {
                let scales = ramp::<f32>(&[300_000]);
                run(&scaled(), [scales, ramp::<f32>(&[32, 128])]).told(Code::VALID_SMEM_OVERFLOW)
            },
        ),
        case(
            "tile_of_scalar_memory",
            "tpu_pallas_test::PallasCallDMATest::test_smem_hbm_dma",
            || run(&reads_a_tile(), [ramp::<f32>(&[8, 128])]).told(Code::IR_INDEX),
        ),
    ]
}

#[tpu_kernel(grid(i: parallel))]
fn copy_scalars(
    #[comptime] size: usize,
    #[block(n: size @ i)] x: SmemIn<i32>,
    #[block(n: size @ i)] y: SmemOut<i32>,
) {
    for j in 0..(n - i * size).min(size) {
        y[j] = x[j];
    }
}

#[tpu_kernel(grid(i: parallel))]
fn column_of_scalars(#[block(m: 2 @ i, n)] x: SmemIn<i32>, #[block(m: 2 @ i)] y: SmemOut<i32>) {
    y[0] = x[(0, 1)];
    y[1] = x[(1, 1)];
}

#[tpu_kernel(grid(i = k))]
fn window_of_scalars(
    #[comptime] k: usize,
    #[block(m: element(128) @ i * 8)] x: SmemIn<i32>,
    #[block(k)] y: SmemOut<i32>,
) {
    y[i] = x[1];
}

#[tpu_kernel(grid(i))]
fn scaled_by_bf16(
    #[block(one)] rate: SmemIn<bf16>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] * rate[0].cast::<f32>();
}

#[tpu_kernel]
fn reads_a_tile(#[block(m, n)] x: SmemIn<f32>, #[block(m, n)] y: SmemOut<f32>) {
    y[(0, 0)] = x[(0, ..)];
}
