//! Bodies and calls: shapes and types that clash, and control flow that is traced once.

use super::case::{Case, Family, Tried, counting, on_any, on_v5e, table};
use std::cell::Cell;
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("two_sizes_of_one_name", Code::TRACE_DIM, |bug| {
            let rows = if bug { 16 } else { 8 };
            on_v5e(&add(), &[counting::<f32>(&[8, 128]), counting::<f32>(&[rows, 128])])
        }),
        case("array_of_another_type", Code::TRACE_ARGUMENT, |bug| {
            let array = if bug { counting::<bf16>(&[8, 128]) } else { counting::<f32>(&[8, 128]) };
            on_v5e(&double(), &[array])
        }),
        case("array_of_another_rank", Code::TRACE_ARGUMENT, |bug| {
            let shape: &[usize] = if bug { &[8, 1, 128] } else { &[8, 128] };
            on_v5e(&triple(), &[counting::<f32>(shape)])
        }),
        case("empty_array", Code::TRACE_DIM, |bug| {
            on_v5e(&halve(), &[counting::<f32>(&[if bug { 0 } else { 8 }, 128])])
        }),
        case("shapes_that_do_not_add", Code::IR_SHAPE, |bug| {
            on_v5e(&adds_a_part(if bug { 16 } else { 32 }), &x())
        }),
        case("contraction_that_does_not_fit", Code::IR_SHAPE, |bug| {
            on_v5e(&contracts(bug), &[counting::<f32>(&[128, 256])])
        }),
        case("reshape_loses_elements", Code::IR_SHAPE, |bug| {
            on_any(&reshapes(if bug { 31 } else { 32 }), &x())
        }),
        case("slice_past_the_end", Code::IR_INDEX, |bug| {
            on_v5e(&slices(if bug { 40 } else { 32 }), &x())
        }),
        case("number_out_of_range", Code::TRACE_NUMBER, |bug| {
            on_any(&adds_to_bytes(if bug { 200 } else { 100 }), &[counting::<i8>(&[32, 128])])
        }),
        case("division_by_zero", Code::TRACE_NUMBER, |bug| {
            on_any(&divides(if bug { 0 } else { 2 }), &[counting::<i32>(&[8, 128])])
        }),
        case("carried_tile_grows", Code::TRACE_CARRIED_TYPE, |bug| on_v5e(&grows(bug), &x())),
        case("host_counter_in_a_loop", Code::TRACE_HOST_CHANGE, |bug| on_v5e(&counts(bug), &x())),
        case("value_leaves_its_arm", Code::TRACE_ESCAPE, |bug| on_v5e(&leaves_its_arm(bug), &x())),
        case("state_behind_a_cell", Code::TRACE_HIDDEN_STATE, |bug| {
            on_v5e(&behind_a_cell(bug), &x())
        }),
        case("last_step_of_a_loop", Code::TRACE_GRID, |bug| on_v5e(&last_of_a_loop(bug), &x())),
        case("loop_never_ends", Code::INTERP_OUT_OF_FUEL, |bug| {
            let step = table(if bug { &[0] } else { &[3] });
            on_v5e(&runs_until(), &[step, counting::<f32>(&[32, 128])])
        }),
        case("loop_of_step_zero", Code::TRACE_NUMBER, |bug| {
            on_v5e(&steps_by(if bug { 0 } else { 8 }), &x())
        }),
        case("loop_step_from_a_table", Code::INTERP_LOOP_STEP, |bug| {
            let step = table(if bug { &[0] } else { &[8] });
            on_v5e(&steps_by_table(), &[step, counting::<f32>(&[32, 128])])
        }),
    ];
    Family { name: "bodies and calls", file: file!(), source: include_str!("body.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Adds two arrays of one shape.
#[tpu_kernel]
//~v two_sizes_of_one_name
fn add(#[block(m, n)] a: In<f32>, #[block(m, n)] b: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..] + b[..];
}

/// Takes `f32`.
#[tpu_kernel]
//~v array_of_another_type
fn double(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..] * 2.0;
}

/// Takes two axes.
#[tpu_kernel]
//~v array_of_another_rank
fn triple(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..] * 3.0;
}

/// Takes at least one row.
#[tpu_kernel]
//~v empty_array
fn halve(#[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..] * 0.5;
}

/// Adds a part to the whole.
#[tpu_kernel]
fn adds_a_part(#[comptime] rows: usize, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let part = a[(0..rows, ..)];
    o[..] = a[..] + part; //~ shapes_that_do_not_add
}

/// Multiplies a matrix with itself instead of with its transpose.
#[tpu_kernel]
fn contracts(#[comptime] bug: bool, #[block(m, n)] a: In<f32>, #[block(m, m)] o: Out<f32>) {
    let square = if comptime!(bug) {
        dot(a[..], a[..]) //~ contraction_that_does_not_fit
    } else {
        dot_t(a[..], a[..])
    };
    o[..] = square;
}

/// Reshapes to so many rows and back.
#[tpu_kernel]
fn reshapes(#[comptime] rows: usize, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let flat = a[..].reshape([rows, 1, n]); //~ reshape_loses_elements
    o[..] = flat.reshape([m, n]);
}

/// Takes so many rows of an array.
#[tpu_kernel]
fn slices(#[comptime] rows: usize, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[(0..rows, ..)]; //~ slice_past_the_end
}

/// Adds a number that may not fit a byte.
#[tpu_kernel]
fn adds_to_bytes(#[comptime] by: i32, #[block(m, n)] a: In<i8>, #[block(m, n)] o: Out<i8>) {
    o[..] = a[..] + by; //~ number_out_of_range
}

/// Divides by a number of the host.
#[tpu_kernel]
fn divides(#[comptime] by: usize, #[block(m, n)] a: In<i32>, #[block(m, n)] o: Out<i32>) {
    o[..] = a[..] / by; //~ division_by_zero
}

/// Appends to a tile in a loop of the kernel.
#[tpu_kernel]
fn grows(#[comptime] bug: bool, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut sum = a[(0..8, ..)];
    //~v carried_tile_grows
    for j in 0..3 {
        let next = a[(ds(j * 8, 8), ..)];
        sum = if comptime!(bug) { concat(&[sum, next], 0) } else { sum + next };
    }
    o[..] = 0.0;
    o[(0..8, ..)] = sum;
}

/// Counts the turns of a loop of the kernel on the host.
#[tpu_kernel]
fn counts(#[comptime] bug: bool, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut turns = 0;
    if comptime!(bug) {
        //~v host_counter_in_a_loop
        for _ in 0..4 {
            turns += 1;
        }
    } else {
        #[unroll]
        for _ in 0..4 {
            turns += 1;
        }
    }
    o[..] = a[..] * turns as f32;
}

/// Hands a value out of an arm that may not run.
#[tpu_kernel(grid(i))]
fn leaves_its_arm(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let kept = Cell::new(a[..]);
    let mut carried = a[..];
    if i == 0 {
        if comptime!(bug) {
            kept.set(a[..] * 2.0);
        } else {
            carried = a[..] * 2.0;
        }
    }
    let value = if comptime!(bug) { kept.get() } else { carried };
    o[..] = value; //~ value_leaves_its_arm
}

/// Sums behind a `Cell`, which no loop carries.
#[tpu_kernel]
fn behind_a_cell(#[comptime] bug: bool, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let hidden = Cell::new(0);
    let mut turns = scalar::<i32>(0);
    for _ in 0..4 {
        if comptime!(bug) {
            hidden.set(hidden.get() + 1);
            turns = scalar(hidden.get()); //~ state_behind_a_cell
        } else {
            turns += 1;
        }
    }
    o[..] = a[..] * turns.cast::<f32>();
}

/// Asks a loop, which is no axis of the grid, for its last turn.
#[tpu_kernel]
fn last_of_a_loop(#[comptime] bug: bool, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..];
    for j in 0..4 {
        let last = if comptime!(bug) {
            j.last() //~ last_step_of_a_loop
        } else {
            scalar(3)
        };
        if j == last {
            o[..] = a[..] * 2.0;
        }
    }
}

/// Adds up to a hundred by what a table says.
#[tpu_kernel]
fn runs_until(#[prefetch] step: Smem<i32>, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    let mut sum = scalar::<i32>(0);
    //~v loop_never_ends
    while sum < 100 {
        sum += step[0];
    }
    o[..] = a[..] * sum.cast::<f32>();
}

/// Loops by so many rows.
#[tpu_kernel]
fn steps_by(#[comptime] rows: usize, #[block(m, n)] a: In<f32>, #[block(m, n)] o: Out<f32>) {
    o[..] = a[..];
    //~v loop_of_step_zero
    for j in (0..32).step_by(rows) {
        o[(ds(j, 8), ..)] = 0.0;
    }
}

/// Loops by as many rows as a table says.
#[tpu_kernel]
fn steps_by_table(
    #[prefetch] step: Smem<i32>,
    #[block(m, n)] a: In<f32>,
    #[block(m, n)] o: Out<f32>,
) {
    o[..] = a[..];
    //~v loop_step_from_a_table
    for j in (scalar(0)..scalar(32)).step_by(step[0]) {
        o[(ds(j, 8), ..)] = 0.0;
    }
}
