//! Loads and stores of parts: whole axes, single indices, slices with strides, starts from tables.

use super::{Case, at, case, fill, ints, pick, ramp, run, shaped};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = whole();
    cases.extend(parts());
    cases.extend(strides());
    cases.extend(starts());
    cases.extend(outside());
    cases
}

fn whole() -> Vec<Case> {
    vec![
        case("add_one", "pallas_test::PallasTest::test_add_one", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&add_one(), [x.clone()]).gives([super::each(&x, |x| x + 1.0)])
        }),
        case("add_one_in_blocks", "pallas_test::PallasTest::test_add_one_2d", || {
            let x = ramp::<f32>(&[64, 128]);
            run(&add_one_in_blocks(8), [x.clone()]).gives([super::each(&x, |x| x + 1.0)])
        }),
        case("add_one_along_one_axis", "pallas_test::PallasTest::test_add_one_1d", || {
            let x = ramp::<f32>(&[1024]);
            run(&add_one_along_one_axis(128), [x.clone()]).gives([super::each(&x, |x| x + 1.0)])
        }),
        case("add_first_row", "pallas_test::PallasTest::test_add_first", || {
            let (x, y) = (ramp::<f32>(&[128]), ramp::<f32>(&[4, 128]));
            let sum = fill::<f32>(&[128], |i| at(&x, i) + at(&y, &[2, i[0]]));
            run(&add_row(2), [x.clone(), y]).gives([sum])
        }),
        case("row_by_a_sum", "pallas_test::PallasTest::test_add_xy_indexed", || {
            let x = ramp::<f32>(&[4, 128]);
            let ids = fill::<i32>(&[1, 128], |i| f64::from(u8::from(i[1] % 50 == 7)));
            run(&row_by_a_sum(), [x.clone(), ids]).gives([pick(&x, &[1, 128], |i| vec![3, i[1]])])
        }),
        case("unread_input", "pallas_test::PallasCallTest::test_unused_ref", || {
            let ones = fill::<f32>(&[16, 128], |_| 1.0);
            run(&unread_input(), [ramp::<f32>(&[16, 128])]).gives([ones])
        }),
        case(
            "element_as_index",
            "indexing_test::IndexerOpsTest::test_scalar_load_from_vmem",
            || {
                let x = fill::<i32>(&[2, 3], |i| (i[0] * 3 + i[1]) as f64);
                let y =
                    fill::<i32>(&[8, 8, 128], |i| if matches!(i[0], 5 | 6) { 5.0 } else { 0.0 });
                run(&element_as_index(8, 8, 128), [x]).gives([y])
            },
        ),
        case(
            "columns_written_one_by_one",
            "tpu_pallas_test::PallasCallDMATest::test_2d_vmem_column_write",
            || {
                let x = ramp::<i32>(&[8, 1]);
                let y = fill::<i32>(&[8, 4], |i| at(&x, &[i[0], 0]) + i[1] as f64);
                run(&columns_one_by_one(4), [x.clone()]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel]
fn add_one(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] + 1.0;
}

#[tpu_kernel(grid(i))]
fn add_one_in_blocks(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<f32>,
    #[block(m: rows @ i, n)] y: Out<f32>,
) {
    y[..] = x[..] + 1.0;
}

#[tpu_kernel(grid(i))]
fn add_one_along_one_axis(
    #[comptime] size: usize,
    #[block(n: size @ i)] x: In<f32>,
    #[block(n: size @ i)] y: Out<f32>,
) {
    y[..] = x[..] + 1.0;
}

#[tpu_kernel]
fn add_row(
    #[comptime] row: usize,
    #[block(n)] x: In<f32>,
    #[block(m, n)] y: In<f32>,
    #[block(n)] z: Out<f32>,
) {
    z[..] = x[..] + y[(row, ..)];
}

#[tpu_kernel]
fn row_by_a_sum(
    #[block(m, n)] x: In<f32>,
    #[block(one, n)] ids: In<i32>,
    #[block(one, n)] y: Out<f32>,
) {
    let row = ids[..].sum_all();
    y[..] = x[(ds(row, 1), ..)];
}

#[tpu_kernel]
fn unread_input(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let _ = x;
    y[..] = 1.0;
}

/// A number in VMEM says which rows are filled, and where they are copied to.
#[tpu_kernel]
fn element_as_index(
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[comptime] r: usize,
    #[block(m, n)] x: In<i32>,
    #[block(p, q, r)] y: Out<i32>,
    #[scratch] done: DmaSemaphore,
) {
    y[..] = 0;
    let number = x[(1..2, 2..3)].item();
    y[(number, .., ..)] = full([q, r], number);
    let (from, to) = (y.at((number, .., ..)), y.at((number + 1, .., ..)));
    start_copy(from, to, done);
    wait_copy(from, to, done);
}

#[tpu_kernel]
fn columns_one_by_one(
    #[comptime] k: usize,
    #[block(m, one)] x: In<i32>,
    #[block(m, k)] y: Out<i32>,
    #[scratch([m, k])] buf: Vmem<i32>,
) {
    #[unroll]
    for j in 0..k {
        buf[(.., j..j + 1)] = x[..] + j as i32;
    }
    y[..] = buf[..];
}

/// Copies the part of `x` that starts at `from` to the part of `y` that starts at `to`, and leaves
/// zeros around it.
#[tpu_kernel]
fn part_to_part(
    #[comptime] from: [usize; 3],
    #[comptime] to: [usize; 3],
    #[comptime] size: [usize; 3],
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[comptime] r: usize,
    #[block(l, m, n)] x: In<f32>,
    #[block(p, q, r)] y: Out<f32>,
) {
    let range = |start: [usize; 3], axis: usize| start[axis]..start[axis] + size[axis];
    y[..] = 0.0;
    y[(range(to, 0), range(to, 1), range(to, 2))] =
        x[(range(from, 0), range(from, 1), range(from, 2))];
}

fn parts() -> Vec<Case> {
    let load = "indexing_test::IndexerOpsTest::test_can_load_with_ref_at";
    let store = "indexing_test::IndexerOpsTest::test_can_store_with_ref_at";
    let nested = "indexing_test::IndexerOpsTest::test_multi_indexing_destination_ref";
    let slice = "pallas_test::PallasCallTest::test_using_pallas_slice";
    let rows = [
        ("load_everything", load, [0, 0, 0], [0, 0, 0], [4, 8, 128], [4, 8, 128]),
        ("load_first_matrix", load, [0, 0, 0], [0, 0, 0], [1, 8, 128], [1, 8, 128]),
        ("load_middle_matrices", load, [1, 0, 0], [0, 0, 0], [2, 8, 128], [2, 8, 128]),
        ("load_one_row_of_each", load, [2, 5, 0], [0, 0, 0], [2, 1, 128], [2, 1, 128]),
        ("store_last_matrices", store, [0, 0, 0], [2, 0, 0], [2, 8, 128], [4, 8, 128]),
        ("store_one_row", store, [1, 3, 0], [3, 1, 0], [1, 1, 128], [4, 8, 128]),
        ("store_lanes", store, [0, 0, 128], [1, 0, 0], [1, 8, 128], [2, 8, 256]),
        ("store_in_a_corner", nested, [0, 0, 0], [0, 0, 0], [1, 4, 4], [16, 16, 16]),
        ("load_a_corner", slice, [3, 0, 0], [0, 0, 0], [1, 4, 4], [1, 4, 4]),
    ];
    let make = |(name, mirrors, from, to, size, out): (
        &'static str,
        _,
        [usize; 3],
        [usize; 3],
        [usize; 3],
        [usize; 3],
    )| {
        case(name, mirrors, move || {
            let x = ramp::<f32>(&[4, 8, 256]);
            let y = fill::<f32>(&out, |i| {
                let inside =
                    (0..3).all(|axis| (to[axis]..to[axis] + size[axis]).contains(&i[axis]));
                let source: Vec<usize> =
                    (0..3).map(|axis| (from[axis] + i[axis]).wrapping_sub(to[axis])).collect();
                if inside { at(&x, &source) } else { 0.0 }
            });
            let [p, q, r] = out;
            run(&part_to_part(from, to, size, p, q, r), [x.clone()]).gives([y])
        })
    };
    let mut cases: Vec<Case> = rows.into_iter().map(make).collect();
    cases.push(case("indices_drop_axes", load, || {
        let x = ramp::<f32>(&[4, 8, 128]);
        run(&matrix_by_index(2), [x.clone()]).gives([pick(&x, &[8, 128], |i| vec![2, i[0], i[1]])])
    }));
    cases.push(case(
        "index_past_the_end",
        "indexing_test::IndexerTest::test_invalid_ndindexer_oob",
        || run(&matrix_by_index(4), [ramp::<f32>(&[4, 8, 128])]).told(Code::IR_INDEX),
    ));
    cases.push(case(
        "more_indices_than_axes",
        "indexing_test::IndexerTest::test_invalid_ndindexer",
        || run(&too_many_indices(), [ramp::<f32>(&[8, 128])]).told(Code::IR_INDEX),
    ));
    cases
}

#[tpu_kernel]
fn matrix_by_index(#[comptime] l: usize, #[block(k, m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[(l, .., ..)];
}

#[tpu_kernel]
fn too_many_indices(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[(0..8, .., 0..1)];
}

/// Loads every so many rows of every so many matrices, and stores them in places of such steps.
#[tpu_kernel]
fn strided(
    #[comptime] start: [usize; 2],
    #[comptime] stride: [usize; 2],
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[block(l, m, n)] x: In<f32>,
    #[block(p, q, n)] y: Out<f32>,
    #[block(l, m, n)] z: Out<f32>,
) {
    let axis = |axis: usize, size: usize| ds(start[axis], size).stride(stride[axis]);
    y[..] = x[(axis(0, p), axis(1, q), ..)];
    z[..] = -1.0;
    z[(axis(0, p), axis(1, q), ..)] = y[..];
}

fn strides() -> Vec<Case> {
    let mirrors = "indexing_test::IndexerOpsTest::test_strided_load_and_store";
    let rows = [
        ("stride_of_two_rows", [0, 0], [1, 2]),
        ("stride_from_the_second_row", [0, 1], [1, 3]),
        ("stride_of_matrices", [1, 0], [2, 1]),
        ("stride_of_both", [2, 3], [3, 5]),
        ("stride_past_the_last_row", [0, 6], [1, 10]),
    ];
    let make = |(name, start, stride): (&'static str, [usize; 2], [usize; 2])| {
        case(name, mirrors, move || {
            let x = ramp::<f32>(&[5, 32, 128]);
            let size = [5, 32];
            let [p, q] = [0, 1].map(|axis| (size[axis] - start[axis]).div_ceil(stride[axis]));
            let from = |axis: usize, i: usize| start[axis] + i * stride[axis];
            let y = pick(&x, &[p, q, 128], |i| vec![from(0, i[0]), from(1, i[1]), i[2]]);
            let taken = |axis: usize, i: usize| {
                i >= start[axis] && (i - start[axis]).is_multiple_of(stride[axis])
            };
            let z = fill::<f32>(&[5, 32, 128], |i| {
                if taken(0, i[0]) && taken(1, i[1]) { at(&x, i) } else { -1.0 }
            });
            run(&strided(start, stride, p, q), [x.clone()]).gives([y, z])
        })
    };
    let mut cases: Vec<Case> = rows.into_iter().map(make).collect();
    cases.push(case("stride_of_four_rows", "ops_test::OpsTest::test_strided_load", || {
        let x = ramp::<f32>(&[64, 128]);
        run(&every_fourth(16), [x.clone()]).gives([pick(&x, &[16, 128], |i| vec![i[0] * 4, i[1]])])
    }));
    cases.push(case(
        "one_row_for_all",
        "indexing_test::IndexerOpsTest::test_load_and_broadcast_with_stride_0",
        || {
            let x = ramp::<f32>(&[8, 128]);
            run(&one_row_for_all(5), [x.clone()]).gives([pick(&x, &[8, 128], |i| vec![5, i[1]])])
        },
    ));
    cases
}

#[tpu_kernel]
fn every_fourth(#[comptime] k: usize, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    y[..] = x[(ds(0, k).stride(4), ..)];
}

#[tpu_kernel]
fn one_row_for_all(#[comptime] row: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[(row..row + 1, ..)].broadcast_to([m, n]);
}

fn starts() -> Vec<Case> {
    vec![
        case(
            "rows_from_a_table",
            "indexing_test::IndexerOpsTest::test_load_with_dynamic_2nd_minor_index",
            || {
                let x = ramp::<i32>(&[32, 128]);
                run(&rows_from(10), [ints(&[3]), x.clone()])
                    .gives([pick(&x, &[10, 128], |i| vec![3 + i[0], i[1]])])
            },
        ),
        case(
            "rows_to_a_place_from_a_table",
            "indexing_test::IndexerOpsTest::test_store_with_dynamic_2nd_minor_index",
            || {
                let x = ramp::<i32>(&[10, 128]);
                let y = fill::<i32>(&[32, 128], |i| match i[0] {
                    row @ 5..15 => at(&x, &[row - 5, i[1]]),
                    _ => 0.0,
                });
                run(&rows_to(32), [ints(&[5]), x.clone()]).gives([y])
            },
        ),
        case(
            "one_row_of_each_from_a_table",
            "indexing_test::IndexerOpsTest::test_load_one_row_with_dynamic_2nd_minor_index",
            || {
                let x = ramp::<i32>(&[4, 16, 256]);
                run(&one_row_of_each(), [ints(&[11]), x.clone()]).gives([pick(
                    &x,
                    &[4, 1, 256],
                    |i| vec![i[0], 11, i[2]],
                )])
            },
        ),
        case(
            "one_row_of_each_to_a_place_from_a_table",
            "indexing_test::IndexerOpsTest::test_store_one_row_with_dynamic_2nd_minor_index",
            || {
                let x = ramp::<i32>(&[4, 1, 256]);
                let y = fill::<i32>(&[4, 16, 256], |i| {
                    if i[1] == 6 { at(&x, &[i[0], 0, i[2]]) } else { -1.0 }
                });
                run(&one_row_to_each(16), [ints(&[6]), x.clone()]).gives([y])
            },
        ),
        case(
            "start_with_a_promise",
            "tpu_pallas_interpret_test::InterpretTest::test_masked_store",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let y = fill::<f32>(&[32, 128], |i| match i[0] {
                    row @ 16..24 => at(&x, &[row - 16, i[1]]),
                    _ => 0.0,
                });
                run(&promised(32), [ints(&[16]), x.clone()]).gives([y])
            },
        ),
        case(
            "start_that_breaks_its_promise",
            "tpu_pallas_interpret_test::InterpretTest::test_masked_store",
            || {
                run(&promised(32), [ints(&[12]), ramp::<f32>(&[8, 128])])
                    .told(Code::INTERP_MISALIGNED)
            },
        ),
    ]
}

fn outside() -> Vec<Case> {
    vec![
        case(
            "rows_past_the_end",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_read_range",
            || {
                run(&rows_from(10), [ints(&[23]), ramp::<i32>(&[32, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
        case(
            "store_past_the_end",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_write_range",
            || {
                run(&rows_to(32), [ints(&[23]), ramp::<i32>(&[10, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
        case(
            "table_read_past_its_end",
            "pallas_test::PallasOutOfBoundsInterpretTest::test_interpret_mode_out_of_bounds_access",
            || {
                run(&entry_of_table(), [ints(&[4]), ramp::<i32>(&[8, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
        case(
            "lanes_from_a_table",
            "tpu_pallas_test::MiscellaneousTest::test_lane_dynamic_slice",
            || {
                let x = ramp::<f32>(&[8, 256]);
                let y = pick(&x, &[8, 128], |i| vec![i[0], 128 + i[1]]);
                run(&lanes_from(), [ints(&[1]), x.clone()]).gives([y])
            },
        ),
        case(
            "rank_four_to_rank_two",
            "tpu_pallas_test::MiscellaneousTest::test_mixed_strides",
            || {
                let x = ramp::<f32>(&[2, 8, 2, 128]);
                let y = pick(&x, &[8, 128], |i| vec![1, i[0], 1, i[1]]);
                run(&two_indices(1, 1), [x.clone()]).gives([y])
            },
        ),
        case(
            "axis_of_one_added_by_a_store",
            "tpu_pallas_test::MiscellaneousTest::test_sublane_adding_shape_cast_f32",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&axis_added(1), [x.clone()]).gives([shaped(&x, &[8, 1, 128])])
            },
        ),
    ]
}

#[tpu_kernel]
fn rows_from(
    #[comptime] k: usize,
    #[prefetch] at: Smem<i32>,
    #[block(m, n)] x: In<i32>,
    #[block(k, n)] y: Out<i32>,
) {
    y[..] = x[(ds(at[0], k), ..)];
}

#[tpu_kernel]
fn rows_to(
    #[comptime] k: usize,
    #[prefetch] at: Smem<i32>,
    #[block(m, n)] x: In<i32>,
    #[block(k, n)] y: Out<i32>,
) {
    y[..] = 0;
    y[(ds(at[0], m), ..)] = x[..];
}

#[tpu_kernel(dims(one = 1))]
fn one_row_of_each(
    #[prefetch] at: Smem<i32>,
    #[block(l, m, n)] x: In<i32>,
    #[block(l, one, n)] y: Out<i32>,
) {
    y[..] = x[(.., ds(at[0], 1), ..)];
}

#[tpu_kernel]
fn one_row_to_each(
    #[comptime] k: usize,
    #[prefetch] at: Smem<i32>,
    #[block(l, one, n)] x: In<i32>,
    #[block(l, k, n)] y: Out<i32>,
) {
    y[..] = -1;
    y[(.., ds(at[0], 1), ..)] = x[..];
}

#[tpu_kernel]
fn promised(
    #[comptime] k: usize,
    #[prefetch] at: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(k, n)] y: Out<f32>,
) {
    y[..] = 0.0;
    y[(ds(at[0].multiple_of(8), m), ..)] = x[..];
}

#[tpu_kernel]
fn entry_of_table(
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: In<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let entry = ids[0];
    y[..] = x[..] + ids[entry];
}

#[tpu_kernel(dims(k = 128))]
fn lanes_from(#[prefetch] at: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(m, k)] y: Out<f32>) {
    y[..] = x[(.., ds(at[0] * 128, 128))];
}

#[tpu_kernel]
fn two_indices(
    #[comptime] a: usize,
    #[comptime] c: usize,
    #[block(k, m, l, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = x[(a, .., c, ..)];
}

#[tpu_kernel]
fn axis_added(#[comptime] one: usize, #[block(m, n)] x: In<f32>, #[block(m, one, n)] y: Out<f32>) {
    y[(.., 0usize, ..)] = x[..];
}
