//! What memory holds: undefined scratch, padding, and what masks leave out.

use super::case::{Case, Family, Tried, counting, on_v5e};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("scratch_not_initialised", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&scratch_sum(bug), &x())
        }),
        case("scratch_over_parallel_steps", Code::INTERP_UNINITIALIZED, |bug| match bug {
            true => on_v5e(&running_sum_in_parallel(), &x()),
            false => on_v5e(&running_sum(), &x()),
        }),
        case("branch_on_undefined", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&branch_on_undefined(bug), &x())
        }),
        case("loop_over_undefined", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&loop_over_undefined(bug), &x())
        }),
        case("masked_load_leaks", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&masked_load_leaks(bug), &x())
        }),
        case("masked_store_leaves_holes", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&masked_store_leaves_holes(bug), &x())
        }),
        case("padding_in_a_sum", Code::INTERP_PADDING, |bug| {
            on_v5e(&column_sum(bug), &[counting::<f32>(&[20, 128])])
        }),
        case("padding_in_a_maximum", Code::INTERP_PADDING, |bug| {
            on_v5e(&row_maximum(bug), &[counting::<f32>(&[8, 200])])
        }),
        case("padding_in_a_product", Code::INTERP_PADDING, |bug| {
            let a = counting::<f32>(&[8, 200]);
            on_v5e(&product(bug), &[a, counting::<f32>(&[200, 128])])
        }),
        case("padding_times_zero", Code::INTERP_PADDING, |bug| {
            on_v5e(&weighted_sum(bug), &[counting::<f32>(&[20, 128])])
        }),
    ];
    Family { name: "what memory holds", file: file!(), source: include_str!("memory.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Adds to scratch that nobody set to zero.
#[tpu_kernel(grid(i), dims(k = 8))]
fn scratch_sum(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ 0, n)] y: Out<f32>,
    #[scratch([8, n])] acc: Vmem<f32>,
) {
    if comptime!(!bug) {
        if i == 0 {
            acc[..] = 0.0;
        }
    }
    acc[..] += x[..];
    if i == i.last() {
        y[..] = acc[..]; //~ scratch_not_initialised
    }
}

/// Carries a sum in scratch from one parallel step to the next.
#[tpu_kernel(grid(i: parallel))]
fn running_sum_in_parallel(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] acc: Vmem<f32>,
) {
    if i == 0 {
        acc[..] = 0.0;
    }
    acc[..] += x[..];
    y[..] = acc[..]; //~ scratch_over_parallel_steps
}

/// The same with steps in order.
#[tpu_kernel(grid(i))]
fn running_sum(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] acc: Vmem<f32>,
) {
    if i == 0 {
        acc[..] = 0.0;
    }
    acc[..] += x[..];
    y[..] = acc[..];
}

/// Branches on a flag that is not set yet.
#[tpu_kernel]
fn branch_on_undefined(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([4])] flags: Smem<i32>,
) {
    if comptime!(!bug) {
        flags[2] = 1;
    }
    y[..] = x[..];
    //~v branch_on_undefined
    if flags[2] > 0 {
        y[..] = x[..] * 2.0;
    }
}

/// Loops as often as a counter says that is not set yet.
#[tpu_kernel]
fn loop_over_undefined(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([1])] count: Smem<i32>,
) {
    if comptime!(!bug) {
        count[0] = 3;
    }
    let mut sum = x[..];
    //~v loop_over_undefined
    for _ in 0..count[0] {
        sum += x[..];
    }
    y[..] = sum;
}

/// Uses what a mask left out of a load.
#[tpu_kernel]
fn masked_load_leaks(#[comptime] bug: bool, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let mask = iota([m, n], 0) < 5;
    let some = x.load_masked(.., mask);
    let all = if comptime!(bug) { some } else { select(mask, some, 0.0) };
    y[..] = all; //~ masked_load_leaks
}

/// Stores some rows into scratch and reads all.
#[tpu_kernel]
fn masked_store_leaves_holes(
    #[comptime] bug: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
) {
    if comptime!(!bug) {
        buf[..] = 0.0;
    }
    buf.store_masked(.., x[..], iota([m, n], 0) < 5);
    y[..] = buf[..]; //~ masked_store_leaves_holes
}

/// Sums rows in blocks of 8 of an array of 20.
#[tpu_kernel(grid(i), dims(k = 1))]
fn column_sum(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([1, n])] acc: Vmem<f32>,
) {
    if i == 0 {
        acc[..] = 0.0;
    }
    let inside = iota([8, n], 0) + i * 8 < m;
    let rows = if comptime!(bug) { x[..] } else { select(inside, x[..], 0.0) };
    acc[..] += rows.reduce_sum(0);
    if i == i.last() {
        y[..] = acc[..]; //~ padding_in_a_sum
    }
}

/// The largest of each row, in blocks of 128 columns of 200.
#[tpu_kernel(grid(j), dims(k = 1))]
fn row_maximum(
    #[comptime] bug: bool,
    #[block(m, n: 128 @ j)] x: In<f32>,
    #[block(m, k)] y: Out<f32>,
) {
    let inside = iota([m, 128], 1) + j * 128 < n;
    let columns = if comptime!(bug) { x[..] } else { select(inside, x[..], f32::MIN) };
    let most = columns.row_max();
    if j == 0 {
        y[..] = f32::MIN;
    }
    y[..] = y[..].max(most); //~ padding_in_a_maximum
}

/// A product whose contraction is cut into blocks of 128, of 200.
#[tpu_kernel(grid(l))]
fn product(
    #[comptime] bug: bool,
    #[block(m, k: 128 @ l)] a: In<f32>,
    #[block(k: 128 @ l, n)] b: In<f32>,
    #[block(m, n)] c: Out<f32>,
) {
    if l == 0 {
        c[..] = 0.0;
    }
    let mut lhs = a[..];
    let mut rhs = b[..];
    if comptime!(!bug) {
        lhs = select(iota([m, 128], 1) + l * 128 < k, lhs, 0.0);
        rhs = select(iota([128, n], 0) + l * 128 < k, rhs, 0.0);
    }
    c[..] += dot(lhs, rhs); //~ padding_in_a_product
}

/// Weighs padding with zero, which does not silence a NaN.
#[tpu_kernel(grid(i), dims(k = 1))]
fn weighted_sum(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k, n)] y: Out<f32>,
) {
    if i == 0 {
        y[..] = 0.0;
    }
    let inside = iota([8, n], 0) + i * 8 < m;
    let weight = select(inside, full([8, n], 1.0), 0.0);
    let rows = if comptime!(bug) { x[..] * weight } else { select(inside, x[..], 0.0) };
    y[..] += rows.reduce_sum(0); //~ padding_times_zero
}
