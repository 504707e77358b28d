//! Indices and numbers: bounds, promises, overflow, and results that are no numbers.

use super::case::{Case, Family, Tried, counting, on_any, on_v5e, table, with};
use systole::back::interp::Options;
use systole::diag::Code;
use systole::prelude::*;
use systole::target::V5E;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("load_past_the_end", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            let at = table(if bug { &[28] } else { &[24] });
            on_v5e(&load_at(), &[at, counting::<f32>(&[32, 128])])
        }),
        case("load_before_the_start", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            on_v5e(&load_before(bug), &x())
        }),
        case("store_past_the_end", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            on_v5e(&store_rows(if bug { 33 } else { 32 }), &x())
        }),
        case("table_read_past_the_end", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            on_v5e(&neighbours(bug), &[table(&[3, 1, 4, 1]), counting::<f32>(&[32, 128])])
        }),
        case("promise_of_alignment_broken", Code::INTERP_MISALIGNED, |bug| {
            let at = table(if bug { &[4] } else { &[8] });
            on_v5e(&promises(), &[at, counting::<f32>(&[32, 128])])
        }),
        case("index_wraps_around", Code::INTERP_INDEX_OVERFLOW, |bug| {
            let at = table(if bug { &[1 << 20] } else { &[0] });
            on_any(&wraps(), &[at, counting::<f32>(&[32, 128])])
        }),
        case("index_beyond_32_bits", Code::VALID_INDEX_OVERFLOW, |bug| {
            on_v5e(&far(if bug { 1 << 30 } else { 8 }), &x())
        }),
        case("assertion_fails", Code::INTERP_ASSERTION, |bug| {
            let ids = table(if bug { &[0, 9] } else { &[0, 3] });
            on_v5e(&asserts(), &[ids, counting::<f32>(&[16, 128])])
        }),
        case("log_of_zero", Code::INTERP_NON_FINITE, |bug| {
            trapping(&log(if bug { 1.0 } else { 0.0 }), &x())
        }),
        case("row_masked_out_of_softmax", Code::INTERP_NON_FINITE, |bug| {
            trapping(&masked_softmax(if bug { 0 } else { 1 }), &x())
        }),
        case("exp_overflows", Code::INTERP_NON_FINITE, |bug| trapping(&exp(bug), &x())),
    ];
    Family { name: "indices and numbers", file: file!(), source: include_str!("numbers.rs"), cases }
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Tries a kernel with the first NaN or infinity as an error.
fn trapping(kernel: &impl KernelFn, inputs: &[Array]) -> Tried {
    with(&V5E, kernel, inputs, &Options { trap_non_finite: true, ..Options::default() })
}

/// Loads eight rows from a row that a table says.
#[tpu_kernel(dims(k = 8))]
fn load_at(#[prefetch] at: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    y[..] = x[(ds(at[0], 8), ..)]; //~ load_past_the_end
}

/// Loads the rows before each eight: the first have none.
#[tpu_kernel]
fn load_before(#[comptime] bug: bool, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    for j in 0..m / 8 {
        let before = if comptime!(bug) { j * 8 - 1 } else { (j * 8 - 1).max(0) };
        y[(ds(j * 8, 8), ..)] = x[(ds(before, 8), ..)]; //~ load_before_the_start
    }
}

/// Stores row by row, one too many.
#[tpu_kernel]
fn store_rows(#[comptime] rows: usize, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    for j in 0..rows {
        y[(ds(j, 1), ..)] = x[(0..1, ..)]; //~ store_past_the_end
    }
}

/// Compares each entry of a table with the next.
#[tpu_kernel(grid(i))]
fn neighbours(
    #[comptime] bug: bool,
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    let next = if comptime!(bug) { i + 1 } else { (i + 1).min(i.last()) };
    let same = ids[i] == ids[next]; //~ table_read_past_the_end
    y[..] = x[..] * same.select(1.0, 2.0);
}

/// Promises that a table holds multiples of eight.
#[tpu_kernel(dims(k = 8))]
fn promises(#[prefetch] at: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    y[..] = x[(ds(at[0], 8).multiple_of(8), ..)]; //~ promise_of_alignment_broken
}

/// Multiplies a table's entry until it does not fit 32 bits: the index would be 0 again.
#[tpu_kernel(dims(k = 8))]
fn wraps(#[prefetch] at: Smem<i32>, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    let start = at[0] * 4096; //~ index_wraps_around
    y[..] = x[(ds(start, 8), ..)];
}

/// Steps so far that the last steps do not fit 32 bits.
#[tpu_kernel(grid(i = m / 8), dims(k = 8))]
fn far(#[comptime] by: usize, #[block(m, n)] x: In<f32>, #[block(m: 8 @ i, n)] y: Out<f32>) {
    y[..] = x[(ds(i * by, 8), ..)]; //~ index_beyond_32_bits
}

/// Asserts what it was told of its table.
#[tpu_kernel(grid(i))]
fn asserts(
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    device_assert(ids[i] < 8, "expert number"); //~ assertion_fails
    y[..] = x[..] * ids[i].cast::<f32>();
}

/// The logarithm of numbers of which one is zero.
#[tpu_kernel]
fn log(#[comptime] less: f32, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = (x[..] - less).log(); //~ log_of_zero
}

/// A row of which nothing is kept has -inf as its largest, and -inf - -inf is no number.
#[tpu_kernel]
fn masked_softmax(#[comptime] kept: i32, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let s = select(iota([m, n], 1) < kept, x[..], f32::NEG_INFINITY);
    let e = (s - s.row_max()).exp(); //~ row_masked_out_of_softmax
    y[..] = e / e.row_sum();
}

/// A softmax without the largest of each row taken off.
#[tpu_kernel]
fn exp(#[comptime] bug: bool, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let s = if comptime!(bug) { x[..] } else { x[..] - x[..].row_max() };
    let e = s.exp(); //~ exp_overflows
    y[..] = e / e.row_sum();
}
