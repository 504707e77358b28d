//! Tables in scalar memory, read by index maps and bodies.

use super::{Case, at, case, each, fill, ints, pick, ramp, run, to};
use crate::batch::array;
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = in_indices();
    cases.extend(chained());
    cases.extend(in_bodies());
    cases.extend(by_entries());
    cases
}

const ORDER: [i32; 4] = [2, 0, 3, 2];

fn in_indices() -> Vec<Case> {
    vec![
        case(
            "blocks_by_table",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_trivial_scalar_prefetch",
            || {
                let x = ramp::<i32>(&[32, 128]);
                let y =
                    pick(&x, &[32, 128], |i| vec![ORDER[i[0] / 8] as usize * 8 + i[0] % 8, i[1]]);
                run(&gather(32), [ints(&ORDER), x.clone()]).gives([y])
            },
        ),
        case(
            "table_without_blocks",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_trivial_scalar_prefetch_with_windowless_args",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&unread_table(), [ints(&ORDER), x.clone()]).gives([x])
            },
        ),
        case(
            "two_tables",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_multiple_scalar_prefetch",
            || {
                let x = ramp::<i32>(&[32, 128]);
                let back = [3, 2, 1, 0];
                let y = pick(&x, &[32, 128], |i| {
                    let step = 3 - i[0] / 8;
                    vec![ORDER[step] as usize * 8 + i[0] % 8, i[1]]
                });
                run(&permute(), [ints(&ORDER), ints(&back), x.clone()]).gives([y])
            },
        ),
        case(
            "table_of_two_axes",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_scalar_prefetch_calling_convention",
            || {
                let pages = array(DType::I32, &[2, 2], &[3.0, 1.0, 0.0, 3.0]);
                let x = ramp::<f32>(&[4, 8, 128]);
                let y =
                    pick(&x, &[2, 2, 8, 128], |i| vec![[[3, 1], [0, 3]][i[0]][i[1]], i[2], i[3]]);
                run(&pages_by_table(), [pages, x.clone()]).gives([y])
            },
        ),
        case(
            "tables_with_scratch_and_extents",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_scalar_prefetch_calling_convention",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let old = fill::<f32>(&[32, 128], |_| 0.0);
                let y = fill::<f32>(&[32, 128], |i| match i[0] / 8 {
                    0 | 3 => at(&x, &[(i[0] / 8 + 1) % 4 * 8 + i[0] % 8, i[1]]) + 1.0,
                    _ => 0.0,
                });
                let inputs = [Array::scalar(2_i32), ints(&[1, 0]), ints(&[0, 3]), x.clone(), old];
                run(&everything(), inputs).gives([y])
            },
        ),
    ]
}

fn chained() -> Vec<Case> {
    vec![
        case(
            "table_of_tables",
            "tpu_pallas_test::PallasCallPoisonTest::test_scalar_indirect_load",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = pick(&x, &[16, 128], |i| vec![[3, 1][i[0] / 8] * 8 + i[0] % 8, i[1]]);
                run(&by_way_of_another(16), [ints(&[2, 0]), ints(&[1, 0, 3]), x.clone()]).gives([y])
            },
        ),
        case(
            "slice_by_table",
            "tpu_pallas_interpret_test::InterpretTest::test_scalar_prefetch_example",
            || {
                let x = ramp::<i32>(&[32, 384]);
                let y = pick(&x, &[8, 128], |i| vec![16 + i[0], 256 + i[1]]);
                run(&slice_by_table(8, 128), [ints(&[2, 2]), x.clone()]).gives([y])
            },
        ),
        case(
            "block_by_a_sum_of_entries",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_nontrivial_vmap_scalar_prefetch",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = pick(&x, &[16, 128], |i| vec![(i[0] / 8 + 1) * 8 + i[0] % 8, i[1]]);
                run(&by_a_sum(16), [ints(&[1]), x.clone()]).gives([y])
            },
        ),
        case(
            "entry_that_names_no_block",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_block_spec",
            || {
                run(&gather(32), [ints(&[2, 0, 4, 2]), ramp::<i32>(&[32, 128])])
                    .told(Code::INTERP_BLOCK_OUT_OF_RANGE)
            },
        ),
        case(
            "table_that_is_too_short",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_read_index",
            || {
                run(&gather(32), [ints(&[2, 0, 3]), ramp::<i32>(&[32, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
        case(
            "output_by_table_revisited",
            "tpu_pallas_interpret_test::InterpretTest::test_revisiting_is_an_error",
            || {
                run(&scatter(24), [ints(&[1, 0, 1, 2]), ramp::<i32>(&[32, 128])])
                    .told(Code::INTERP_OUTPUT_REVISITED)
            },
        ),
        case(
            "output_by_table",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_multiple_scalar_prefetch",
            || {
                let x = ramp::<i32>(&[32, 128]);
                let y = pick(&x, &[32, 128], |i| vec![[1, 3, 0, 2][i[0] / 8] * 8 + i[0] % 8, i[1]]);
                run(&scatter(32), [ints(&[2, 0, 3, 1]), x.clone()]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel(grid(i))]
fn gather(
    #[comptime] k: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ ids[i], n)] x: In<i32>,
    #[block(k: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i))]
fn scatter(
    #[comptime] k: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<i32>,
    #[block(k: 8 @ ids[i], n)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel]
fn unread_table(#[prefetch] ids: Smem<i32>, #[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    let _ = ids;
    y[..] = x[..];
}

#[tpu_kernel(grid(i = m / 8))]
fn permute(
    #[prefetch] from: Smem<i32>,
    #[prefetch] into: Smem<i32>,
    #[block(m: 8 @ from[i], n)] x: In<i32>,
    #[block(m: 8 @ into[i], n)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i, j))]
fn pages_by_table(
    #[prefetch(p, q)] pages: Smem<i32>,
    #[block(l: squeezed @ pages[(i, j)], m, n)] x: In<f32>,
    #[block(p: squeezed @ i, q: squeezed @ j, m, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i = steps))]
fn everything(
    #[extent] steps: Scalar<i32>,
    #[prefetch] from: Smem<i32>,
    #[prefetch] into: Smem<i32>,
    #[block(m: 8 @ from[i], n)] x: In<f32>,
    #[block(m: 8 @ into[i], n)] y: InOut<f32>,
    #[scratch([8, n])] acc: Vmem<f32>,
    #[scratch] signal: Semaphore,
) {
    let _ = steps;
    signal.signal(1);
    acc[..] = x[..] + 1.0;
    signal.wait(1);
    y[..] = acc[..];
}

#[tpu_kernel(grid(i))]
fn by_way_of_another(
    #[comptime] k: usize,
    #[prefetch] ids: Smem<i32>,
    #[prefetch] rows: Smem<i32>,
    #[block(m: 8 @ rows[ids[i]], n)] x: In<f32>,
    #[block(k: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

#[tpu_kernel]
fn slice_by_table(
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[prefetch] starts: Smem<i32>,
    #[block(m: p @ starts[0], n: q @ starts[1])] x: In<i32>,
    #[block(p, q)] y: Out<i32>,
) {
    y[..] = x[..];
}

#[tpu_kernel(grid(i))]
fn by_a_sum(
    #[comptime] k: usize,
    #[prefetch] first: Smem<i32>,
    #[block(m: 8 @ first[0] + i, n)] x: In<f32>,
    #[block(k: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

fn in_bodies() -> Vec<Case> {
    vec![
        case(
            "entries_of_f32",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_f32_scalar_prefetch",
            || {
                let (x, by) = (ramp::<f32>(&[8, 128]), array(DType::F32, &[1], &[5.5]));
                run(&adds_entry(), [by, x.clone()]).gives([each(&x, |x| x + 5.5)])
            },
        ),
        case(
            "entries_of_bf16",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_narrow_bitwidth_scalar_prefetch",
            || {
                let table = ramp::<bf16>(&[200]);
                let x = ramp::<bf16>(&[16, 128]);
                run(&adds_narrow_entry::<bf16>(129), [table, x]).told(Code::VALID_SMEM_TYPE)
            },
        ),
        case(
            "entries_of_i8",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_narrow_bitwidth_scalar_prefetch",
            || {
                let table = ramp::<i8>(&[200]);
                let x = ramp::<i8>(&[16, 128]);
                run(&adds_narrow_entry::<i8>(129), [table, x]).told(Code::VALID_SMEM_TYPE)
            },
        ),
        case(
            "entries_of_u32",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_narrow_bitwidth_scalar_prefetch",
            || {
                let table = array(DType::U32, &[3], &[7.0, 4_294_967_290.0, 9.0]);
                let x = fill::<u32>(&[8, 128], |i| i[1] as f64);
                let y =
                    fill::<u32>(&[8, 128], |i| ((i[1] as u32).wrapping_add(4_294_967_290)).into());
                run(&adds_narrow_entry::<u32>(1), [table, x]).gives([y])
            },
        ),
        case(
            "program_of_a_table",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_scalar_interpreter",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = each(&x, |x| (((x + 0.0) * 1.0 + 2.0) + 3.0) * 4.0);
                run(&runs_a_program(5), [ints(&[0, 1, 0, 0, 1]), x.clone()]).gives([y])
            },
        ),
    ]
}

fn by_entries() -> Vec<Case> {
    vec![
        case(
            "loop_to_an_entry",
            "tpu_pallas_test::PallasCallScalarPrefetchTest::test_scalar_interpreter_dynamic_loop",
            || {
                let y = fill::<f32>(&[8, 128], |_| 5.0);
                run(&loops_to_an_entry(8, 128), [ints(&[5])]).gives([y])
            },
        ),
        case(
            "row_by_an_entry",
            "tpu_pallas_test::PallasCallPoisonTest::test_scalar_load_upcast",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let y = fill::<f32>(&[8, 128], |i| at(&x, &[6, i[1]]) - 3.0);
                run(&row_by_an_entry(), [ints(&[6, -3]), x.clone()]).gives([y])
            },
        ),
        case(
            "stores_to_a_table",
            "pallas_test::ApiErrorTest::test_pallas_error_for_writing_ref_to_ref",
            || {
                run(&marks_its_table(), [ints(&[1]), ramp::<f32>(&[8, 128])])
                    .told(Code::VALID_READ_ONLY)
            },
        ),
        case(
            "index_that_wraps_around",
            "tpu_pallas_test::PallasCallDMATest::test_large_array_indexing",
            || {
                let x = to::<f32>(&ramp::<i32>(&[8, 128]));
                run(&wraps_around(), [ints(&[1 << 20]), x]).told(Code::INTERP_INDEX_OVERFLOW)
            },
        ),
    ]
}

#[tpu_kernel]
fn adds_entry(#[prefetch] by: Smem<f32>, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] + by[0];
}

#[tpu_kernel]
fn adds_narrow_entry<T: Num>(
    #[comptime] entry: usize,
    #[prefetch] table: Smem<T>,
    #[block(m, n)] x: In<T>,
    #[block(m, n)] y: Out<T>,
) {
    y[..] = x[..] + table[entry];
}

/// Entry 0 adds the number of its place, entry 1 multiplies with it.
#[tpu_kernel(grid(i))]
fn runs_a_program(
    #[comptime] length: usize,
    #[prefetch] program: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    let mut state = x[..];
    for step in 0..length {
        let number = step.cast::<f32>();
        if program[step] == 0 {
            state += number;
        } else {
            state *= number;
        }
    }
    y[..] = state;
}

#[tpu_kernel]
fn loops_to_an_entry(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] end: Smem<i32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = 0.0;
    for _ in 0..end[0] {
        y[..] += 1.0;
    }
}

#[tpu_kernel]
fn row_by_an_entry(
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    let row = x[(ds(table[0], 1), ..)] + table[1].cast::<f32>();
    y[..] = row.broadcast_to([m, n]);
}

#[tpu_kernel]
fn marks_its_table(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    ids[0] = -1;
    y[..] = x[..];
}

#[tpu_kernel(dims(one = 1))]
fn wraps_around(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(one, n)] y: Out<f32>,
) {
    y[..] = x[(ds(ids[0] * 4096, 1), ..)];
}
