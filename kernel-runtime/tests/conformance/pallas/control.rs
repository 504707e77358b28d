//! Branches and loops, with bounds and conditions that the host knows and that it does not.

use super::{Case, at, case, each, fill, ints, ramp, run};
use crate::batch::array;
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = branches();
    cases.extend(counted());
    cases.extend(nested_loops());
    cases.extend(conditional());
    cases.extend(refused());
    cases
}

/// `x` by what a number chooses.
#[tpu_kernel]
fn switch(#[prefetch] which: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let x = x[..];
    y[..] = if which[0] == 0 {
        x * x
    } else if which[0] == 1 {
        -x
    } else {
        x.abs() + 1.0
    };
}

fn branch(name: &'static str, which: i32, f: fn(f64) -> f64) -> Case {
    case(name, "pallas_test::PallasControlFlowTest::test_cond_threebranch", move || {
        let x = ramp::<f32>(&[8, 128]);
        run(&switch(), [ints(&[which]), x.clone()]).gives([each(&x, f)])
    })
}

fn branches() -> Vec<Case> {
    vec![
        branch("first_of_three_branches", 0, |x| x * x),
        branch("second_of_three_branches", 1, |x| -x),
        branch("third_of_three_branches", 2, |x| x.abs() + 1.0),
        case(
            "branch_in_each_block",
            "pallas_test::PallasControlFlowTest::test_cond_vectors",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y =
                    fill::<f32>(
                        &[32, 128],
                        |i| if i[0] < 8 { -at(&x, i) } else { at(&x, i) * 2.0 },
                    );
                run(&branch_by_step(), [x.clone()]).gives([y])
            },
        ),
        case(
            "branch_over_two_axes",
            "pallas_test::PallasControlFlowTest::test_cond_threebranch_matrix_out",
            || {
                let (x, y) = (ramp::<f32>(&[16, 1]), ramp::<f32>(&[1, 256]));
                let z = fill::<f32>(&[16, 256], |i| {
                    let difference = at(&x, &[i[0], 0]) - at(&y, &[0, i[1]]);
                    if i[0] / 8 == i[1] / 128 { difference } else { -difference.abs() }
                });
                run(&outer_difference(), [x.clone(), y.clone()]).gives([z])
            },
        ),
        case("nested_branches", "pallas_test::PallasControlFlowTest::test_nested_conds", || {
            let y = fill::<i32>(&[48, 128], |i| [1, 2, 30, 4, 50, 60][i[0] / 8].into());
            run(&nested(48, 128), []).gives([y])
        }),
        case(
            "write_on_a_condition",
            "pallas_test::PallasControlFlowTest::test_conditional_write",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let y = fill::<f32>(&[8, 128], |i| match i[0] {
                    4 => at(&x, &[6, i[1]]),
                    _ => -at(&x, i),
                });
                run(&writes_a_row(), [ints(&[1]), x.clone()]).gives([y])
            },
        ),
        case(
            "no_write_on_a_condition",
            "pallas_test::PallasControlFlowTest::test_conditional_write",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&writes_a_row(), [ints(&[0]), x.clone()]).gives([each(&x, |x| -x)])
            },
        ),
        case(
            "branches_give_two_values",
            "tpu_ops_test::OpsTest::test_produce_predicate_phi",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&two_values(), [ints(&[5]), x.clone()]).gives([each(&x, |x| x * 6.0 + 10.0)])
            },
        ),
        case("comparison_of_scalars", "ops_test::OpsTest::test_scalar_compare", || {
            let y = fill::<i32>(&[8, 128], |_| 111_000.0 + 10.0 + 1.0);
            run(&six_comparisons(8, 128), [ints(&[-1, 16])]).gives([y])
        }),
        case("comparison_of_arrays_with_nan", "ops_test::OpsTest::test_array_compare", || {
            let x = fill::<f32>(&[8, 128], |i| [1.0, f64::NAN, f64::INFINITY, -2.0][i[1] % 4]);
            let y = fill::<f32>(&[8, 128], |i| [1.0, 16.0, f64::NAN][i[1] % 3]);
            let z = fill::<i32>(&[8, 128], |i| {
                let (x, y) = (at(&x, i), at(&y, i));
                let bits = [x == y, x != y, x < y, x <= y, x > y, x >= y];
                bits.iter().fold(0, |sum, &bit| sum * 2 + i32::from(bit)).into()
            });
            run(&compares_arrays(), [x.clone(), y.clone()]).gives([z])
        }),
    ]
}

#[tpu_kernel(grid(i))]
fn branch_by_step(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    if i == 0 {
        y[..] = -x[..];
    } else {
        y[..] = x[..] * 2.0;
    }
}

#[tpu_kernel(grid(i, j))]
fn outer_difference(
    #[block(m: 8 @ i, one)] x: In<f32>,
    #[block(one, n: 128 @ j)] y: In<f32>,
    #[block(m: 8 @ i, n: 128 @ j)] z: Out<f32>,
) {
    let difference = x[..].broadcast_to([8, 128]) - y[..].broadcast_to([8, 128]);
    z[..] = if i == j { difference } else { -difference.abs() };
}

#[tpu_kernel(grid(i))]
fn nested(#[comptime] m: usize, #[comptime] n: usize, #[block(m: 8 @ i, n)] y: Out<i32>) {
    let number = if i < 4 {
        if i == 2 { scalar::<i32>(30) } else { i + 1 }
    } else {
        let tens = (i + 1) * 10;
        if tens > 1000 { scalar::<i32>(0) } else { tens }
    };
    y[..] = full([8, n], number);
}

#[tpu_kernel]
fn writes_a_row(
    #[prefetch] flag: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = -x[..];
    if flag[0] != 0 {
        y[(4..5, ..)] = x[(6..7, ..)];
    }
}

#[tpu_kernel]
fn two_values(
    #[prefetch] number: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    let (mut factor, mut more) = (number[0], scalar::<i32>(0));
    if factor > 3 {
        more = factor * 2;
        factor += 1;
    }
    y[..] = x[..] * factor.cast::<f32>() + more.cast::<f32>();
}

/// The digits tell which comparisons hold: not equal, less, less or equal.
#[tpu_kernel]
fn six_comparisons(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let (a, b) = (table[0], table[1]);
    let digit = |holds: Scalar<bool>, digit: i32| -> Scalar<i32> { holds.select(digit, 0) };
    let lower = digit(a == b, 900_000) + digit(a != b, 100_000) + digit(a < b, 10_000);
    let upper = digit(a <= b, 1_000) + digit(a > b, 900) + digit(a >= b, 90);
    let swapped = digit(b > a, 10) + digit(b >= a, 1) + digit(b < a, 7_000_000);
    y[..] = full([m, n], lower + upper + swapped);
}

#[tpu_kernel]
fn compares_arrays(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: In<f32>,
    #[block(m, n)] z: Out<i32>,
) {
    let (x, y) = (x[..], y[..]);
    let mut bits = full::<i32>([m, n], 0);
    for mask in [x == y, x != y, x < y, x <= y, x > y, x >= y] {
        bits = bits * 2 + mask.cast::<i32>();
    }
    z[..] = bits;
}

/// Adds the numbers of a range of the host.
#[tpu_kernel]
fn sums_a_range(
    #[comptime] start: usize,
    #[comptime] stop: usize,
    #[comptime] step: usize,
    #[block(m, n)] x: In<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    y[..] = x[..];
    for j in (start..stop).step_by(step) {
        y[..] += j;
    }
}

fn range(start: usize, stop: usize, step: usize) -> Case {
    let name = format!("loop_from_{start}_to_{stop}_by_{step}");
    case(name, "pallas_test::PallasControlFlowTest::test_loop", move || {
        let x = ramp::<i32>(&[8, 128]);
        let sum: usize = (start..stop).step_by(step).sum();
        run(&sums_a_range(start, stop, step), [x.clone()]).gives([each(&x, |x| x + sum as f64)])
    })
}

fn counted() -> Vec<Case> {
    let mut cases =
        vec![range(0, 6, 1), range(2, 7, 1), range(1, 8, 3), range(0, 8, 3), range(5, 5, 1)];
    cases.extend([
        case(
            "loop_that_does_not_use_its_index",
            "pallas_test::PallasControlFlowTest::test_loop_with_unused_i_no_int",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&three_times(), [x.clone()]).gives([each(&x, |x| x * 3.0)])
            },
        ),
        case(
            "loop_that_carries_several",
            "pallas_test::PallasControlFlowTest::test_loop_with_unused_i_with_used_int",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&carries_three(), [x.clone()]).gives([each(&x, |x| x * 4.0 + 31.0)])
            },
        ),
        case(
            "loop_between_entries",
            "pallas_test::PallasControlFlowTest::test_fori_loop_with_dynamic_indices",
            || {
                let x = ramp::<i32>(&[8, 128]);
                let sum = 3 + 4 + 5 + 6;
                run(&between_entries(), [ints(&[3, 7]), x.clone()])
                    .gives([each(&x, |x| x + f64::from(sum))])
            },
        ),
        case(
            "loop_between_entries_never_runs",
            "pallas_test::PallasControlFlowTest::test_fori",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&between_entries(), [ints(&[7, 3]), x.clone()]).gives([x])
            },
        ),
        case(
            "loop_that_stores_at_its_index",
            "pallas_test::PallasControlFlowTest::test_fori_loop_with_writing_to_index",
            || {
                let y = fill::<i32>(&[8, 128], |i| i[0] as f64);
                run(&stores_at_index(8, 128), []).gives([y])
            },
        ),
    ]);
    cases
}

fn nested_loops() -> Vec<Case> {
    vec![
        case(
            "loop_with_the_step_in_it",
            "tpu_pallas_test::PallasCallTest::test_fori_loop_unroll_with_program_id",
            || {
                let y = fill::<i32>(&[16, 128], |i| (6 + 4 * (i[0] / 8)) as f64);
                run(&adds_step_and_index(16, 128), []).gives([y])
            },
        ),
        case(
            "loop_unrolled",
            "tpu_pallas_test::PallasCallTest::test_fori_loop_unroll_full",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&unrolled(5), [x.clone()]).gives([each(&x, |x| x + 10.0)])
            },
        ),
        case(
            "loop_of_unrolled_parts",
            "tpu_pallas_test::PallasCallTest::test_fori_loop_unroll_partial_divides",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&unrolled_by_two(6), [x.clone()]).gives([each(&x, |x| x + 15.0)])
            },
        ),
        case("loop_in_a_loop", "pallas_test::PallasControlFlowTest::test_range_while_loop", || {
            let x = ramp::<i32>(&[8, 128]);
            let sum: i32 = (0..4).flat_map(|i| (0..=i).map(move |j| i * 10 + j)).sum();
            run(&triangle(), [x.clone()]).gives([each(&x, |x| x + f64::from(sum))])
        }),
        case(
            "loop_over_a_program",
            "pallas_test::PallasControlFlowTest::test_scan_cond_vm_closing_over_ref",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let params = array(DType::F32, &[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
                let inputs = [ints(&[0, 1, 2, 0]), params, x.clone()];
                // Steps 0 and 3 add param, step 1 subtracts, step 2 multiplies.
                run(&interprets(4), inputs).gives([each(&x, |x| (x + 1.0 - 2.0) * 3.0 + 4.0)])
            },
        ),
    ]
}

#[tpu_kernel]
fn three_times(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    let mut sum = full::<i32>([m, n], 0);
    for _ in 0..3 {
        sum += x[..];
    }
    y[..] = sum;
}

#[tpu_kernel]
fn carries_three(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    let (mut count, mut doubled, mut sum) = (scalar::<i32>(0), scalar::<i32>(1), full([m, n], 0));
    for _ in 0..4 {
        count += 1;
        doubled *= 2;
        sum += x[..];
    }
    // 4 turns: the count is 4, the doubled number 16.
    y[..] = sum + (doubled * 2 - 1) + (count - 4);
}

#[tpu_kernel]
fn between_entries(
    #[prefetch] ends: Smem<i32>,
    #[block(m, n)] x: In<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    y[..] = x[..];
    for j in ends[0]..ends[1] {
        y[..] += j;
    }
}

#[tpu_kernel]
fn stores_at_index(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<i32>) {
    for j in 0..m {
        y[(ds(j, 1), ..)] = full([1, n], j);
    }
}

#[tpu_kernel(grid(i))]
fn adds_step_and_index(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m: 8 @ i, n)] y: Out<i32>,
) {
    y[..] = 0;
    for j in 0..4 {
        y[..] += i + j;
    }
}

#[tpu_kernel]
fn unrolled(#[comptime] turns: i32, #[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    y[..] = x[..];
    #[unroll]
    for j in 0..turns {
        y[..] += j;
    }
}

#[tpu_kernel]
fn unrolled_by_two(
    #[comptime] turns: usize,
    #[block(m, n)] x: In<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    y[..] = x[..];
    for j in (0..turns).step_by(2) {
        #[unroll]
        for k in 0..2 {
            y[..] += j + k;
        }
    }
}

#[tpu_kernel]
fn triangle(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    let mut sum = scalar::<i32>(0);
    for i in 0..4 {
        for j in 0..i + 1 {
            sum += i * 10 + j;
        }
    }
    y[..] = x[..] + sum;
}

#[tpu_kernel]
fn interprets(
    #[comptime] length: usize,
    #[prefetch] program: Smem<i32>,
    #[prefetch] params: Smem<f32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    let mut state = x[..];
    for step in 0..length {
        let (code, param) = (program[step], params[step]);
        if code == 0 {
            state += param;
        } else if code == 1 {
            state -= param;
        } else {
            state *= param;
        }
    }
    y[..] = state;
}

fn conditional() -> Vec<Case> {
    vec![
        case(
            "loop_on_a_condition",
            "pallas_test::PallasControlFlowTest::test_simple_while",
            || {
                let x = ramp::<i32>(&[8, 128]);
                run(&until_five(), [ints(&[2]), x.clone()]).gives([each(&x, |x| x + 3.0)])
            },
        ),
        case(
            "loop_on_a_condition_of_the_host",
            "pallas_test::PallasControlFlowTest::test_simple_while_with_only_values",
            || {
                let y = fill::<i32>(&[8, 128], |_| 5.0);
                run(&counts_to_five(8, 128), []).gives([y])
            },
        ),
        case(
            "loop_on_two_conditions",
            "pallas_test::PallasControlFlowTest::test_non_range_while_loop",
            || {
                // 0 + 1 + .. + 12 = 78 is the first sum above 70.
                let y = fill::<i32>(&[8, 128], |_| 13.0 * 1000.0 + 78.0);
                run(&until_sum(8, 128), [ints(&[70])]).gives([y])
            },
        ),
        case(
            "loop_that_carries_a_tile",
            "pallas_test::PallasControlFlowTest::test_vector_carry_while_loop",
            || {
                let x = fill::<i32>(&[8, 128], |i| 3.0 + (i[0] * 128 + i[1]) as f64 / 2048.0);
                run(&doubles_until_16(), [x]).gives([fill::<i32>(&[8, 128], |_| 24.0)])
            },
        ),
        case(
            "loop_in_a_loop_on_conditions",
            "pallas_test::PallasControlFlowTest::test_nested_while_loop",
            || {
                // Four runs, of 3, 1, 2 and 4.
                let keys = ints(&[4, 4, 4, 3, 2, 2, 7, 7, 7, 7]);
                let y = fill::<i32>(&[8, 128], |_| 43_124.0);
                run(&lengths_of_runs(10, 8, 128), [keys]).gives([y])
            },
        ),
        case(
            "loop_whose_arms_carry_a_flag",
            "tpu_ops_test::OpsTest::test_while_loop_arg_num_change",
            || {
                let y = fill::<i32>(&[8, 128], |_| 0.0);
                run(&flag_in_a_loop(8, 128), []).gives([y])
            },
        ),
        case(
            "loop_without_an_end",
            "tpu_pallas_interpret_test::InterpretTest::test_core_map_exception_no_hang",
            || {
                run(&until_five_by_entry(), [ints(&[0]), ramp::<i32>(&[8, 128])])
                    .told(Code::INTERP_OUT_OF_FUEL)
            },
        ),
    ]
}

#[tpu_kernel]
fn until_five(#[prefetch] from: Smem<i32>, #[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    y[..] = x[..];
    let mut j = from[0];
    while j < 5 {
        y[..] += 1;
        j += 1;
    }
}

#[tpu_kernel]
fn until_five_by_entry(
    #[prefetch] by: Smem<i32>,
    #[block(m, n)] x: In<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let mut j = scalar::<i32>(0);
    while j < 5 {
        j += by[0];
    }
    y[..] = x[..] + j;
}

#[tpu_kernel]
fn counts_to_five(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<i32>) {
    let mut j = scalar::<i32>(0);
    while j < 5 {
        j += 1;
    }
    y[..] = full([m, n], j);
}

#[tpu_kernel]
fn until_sum(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] limit: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let (mut j, mut sum) = (scalar::<i32>(0), scalar::<i32>(0));
    while j < 1024 && sum < limit[0] {
        sum += j;
        j += 1;
    }
    y[..] = full([m, n], j * 1000 + sum);
}

#[tpu_kernel]
fn doubles_until_16(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i32>) {
    let mut tile = x[..];
    while tile.max_all() < 16 {
        tile *= 2;
    }
    y[..] = tile;
}

/// The number of runs of equal keys, then the lengths of the first four, as decimal digits.
#[tpu_kernel]
fn lengths_of_runs(
    #[comptime] length: usize,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] keys: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
    #[scratch([16])] sizes: Smem<i32>,
) {
    let (mut at, mut runs) = (scalar::<i32>(0), scalar::<i32>(0));
    while at < length {
        let key = keys[at];
        let (mut end, mut same) = (at + 1, scalar(true));
        while same {
            same = scalar(false);
            if end < length {
                if keys[end] == key {
                    end += 1;
                    same = scalar(true);
                }
            }
        }
        sizes[runs] = end - at;
        at = end;
        runs += 1;
    }
    let mut digits = runs;
    for j in 0..4 {
        digits = digits * 10 + sizes[j];
    }
    y[..] = full([m, n], digits);
}

#[tpu_kernel]
fn flag_in_a_loop(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<i32>) {
    let (mut x, mut go) = (scalar::<i32>(0), scalar(true));
    while go {
        if x == 0 {
            go = scalar(false);
        } else {
            x += 1;
            go = x < 10;
        }
    }
    y[..] = full([m, n], x);
}

fn refused() -> Vec<Case> {
    vec![
        case(
            "carried_tile_changes_its_shape",
            "pallas_test::PallasControlFlowTest::test_vector_1d_slice_carry_while_loop",
            || run(&grows(), [ramp::<f32>(&[8, 128])]).told(Code::TRACE_CARRIED_TYPE),
        ),
        case(
            "host_number_changes_in_a_loop",
            "pallas_test::PallasControlFlowTest::test_scan_with_extensive_outputs",
            || run(&counts_on_the_host(), [ramp::<f32>(&[8, 128])]).told(Code::TRACE_HOST_CHANGE),
        ),
    ]
}

#[tpu_kernel]
fn grows(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let mut tile = x[(0..1, ..)];
    for _ in 0..3 {
        tile = concat(&[tile, x[(0..1, ..)]], 0);
    }
    y[..] = tile.broadcast_to([m, n]);
}

#[tpu_kernel]
fn counts_on_the_host(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let mut turns = 0;
    for _ in 0..4 {
        turns += 1;
    }
    y[..] = x[..] * turns as f32;
}
