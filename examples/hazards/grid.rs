//! Grids and blocks: what steps write, where blocks lie, and how often they are visited.

use super::case::{Case, Family, Tried, counting, on_any, on_v5e, table};
use systole::diag::Code;
use systole::prelude::*;

pub(crate) fn family() -> Family {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    let cases = vec![
        case("parallel_write_clash", Code::VALID_PARALLEL_REVISIT, |bug| match bug {
            true => on_v5e(&sums_in_parallel(), &x()),
            false => on_v5e(&sums_in_order(), &x()),
        }),
        case("parallel_write_clash_by_table", Code::INTERP_RACE, |bug| {
            let ids = table(if bug { &[0, 1, 1, 3] } else { &[3, 1, 0, 2] });
            on_v5e(&scatter_in_parallel(), &[ids, counting::<f32>(&[32, 128])])
        }),
        case("parallel_windows_overlap", Code::INTERP_RACE, |bug| {
            on_v5e(&windows(if bug { 8 } else { 16 }), &x())
        }),
        case("bad_revisit", Code::VALID_OUTPUT_REVISIT, |bug| match bug {
            true => on_v5e(&sums_outside_in(), &x()),
            false => on_v5e(&sums_inside_out(), &x()),
        }),
        case("bad_revisit_by_table", Code::INTERP_OUTPUT_REVISITED, |bug| {
            let ids = table(if bug { &[0, 1, 0, 2] } else { &[0, 0, 1, 2] });
            on_v5e(&scatter_in_order(), &[ids, counting::<f32>(&[32, 128])])
        }),
        case("sum_without_a_start", Code::INTERP_UNINITIALIZED, |bug| {
            on_v5e(&sum_without_a_start(bug), &x())
        }),
        case("grid_too_short", Code::INTERP_OUTPUT_NEVER_WRITTEN, |bug| {
            on_v5e(&so_many_steps(if bug { 3 } else { 4 }), &x())
        }),
        case("block_partly_written", Code::INTERP_OUTPUT_NEVER_WRITTEN, |bug| {
            on_v5e(&partly_written(if bug { 7 } else { 8 }), &x())
        }),
        case("block_written_in_some_steps", Code::INTERP_OUTPUT_NEVER_WRITTEN, |bug| {
            on_v5e(&written_in_some_steps(bug), &x())
        }),
        case("block_past_the_end", Code::VALID_BLOCK_INDEX, |bug| {
            on_v5e(&next_block(if bug { 1 } else { 0 }), &x())
        }),
        case("block_past_the_end_by_table", Code::INTERP_BLOCK_OUT_OF_RANGE, |bug| {
            let ids = table(if bug { &[0, 4] } else { &[0, 3] });
            on_v5e(&gather(), &[ids, counting::<f32>(&[32, 128]), counting::<f32>(&[16, 128])])
        }),
        case("negative_block_by_table", Code::INTERP_BLOCK_OUT_OF_RANGE, |bug| {
            let ids = table(if bug { &[0, -1] } else { &[0, 1] });
            on_v5e(
                &gather_again(),
                &[ids, counting::<f32>(&[32, 128]), counting::<f32>(&[16, 128])],
            )
        }),
        case("table_too_short", Code::INTERP_OUT_OF_BOUNDS, |bug| {
            let ids = table(if bug { &[0] } else { &[0, 2] });
            on_v5e(&short_table(), &[ids, counting::<f32>(&[32, 128]), counting::<f32>(&[16, 128])])
        }),
        case("stencil_past_the_end", Code::INTERP_BLOCK_OUT_OF_RANGE, |bug| {
            let ids = table(if bug { &[0, 32] } else { &[0, 16] });
            on_v5e(&stencil(), &[ids, counting::<f32>(&[32, 128]), counting::<f32>(&[16, 128])])
        }),
    ];
    let cases = cases.into_iter().chain(grids()).collect();
    Family { name: "grids and blocks", file: file!(), source: include_str!("grid.rs"), cases }
}

fn grids() -> Vec<Case> {
    let case = |bug, code, run: fn(bool) -> Tried| Case { bug, code, run };
    vec![
        case("extent_of_nothing", Code::INTERP_INPUT, |bug| {
            let n = Array::scalar(if bug { 0 } else { 4_i32 });
            on_v5e(&first_blocks(), &[n, counting::<f32>(&[32, 128]), counting::<f32>(&[8, 128])])
        }),
        case("extent_too_long", Code::INTERP_BLOCK_OUT_OF_RANGE, |bug| {
            let n = Array::scalar(if bug { 5 } else { 4_i32 });
            on_v5e(
                &too_many_blocks(),
                &[n, counting::<f32>(&[32, 128]), counting::<f32>(&[8, 128])],
            )
        }),
        case("empty_grid", Code::TRACE_GRID, |bug| {
            on_v5e(&empty_grid(if bug { 0 } else { 4 }), &x())
        }),
        case("grid_overflow", Code::VALID_GRID_OVERFLOW, |bug| {
            let steps = if bug { 1 << 16 } else { 4 };
            on_any(&so_large_a_grid(steps), &[counting::<f32>(&[8, 128])])
        }),
        case("two_walks_differ", Code::TRACE_GRID, |bug| {
            on_v5e(&two_walks(if bug { 16 } else { 8 }), &x())
        }),
        case("block_of_nothing", Code::TRACE_GRID, |bug| {
            on_v5e(&blocks_of(if bug { 0 } else { 8 }), &x())
        }),
        case("writes_its_table", Code::VALID_READ_ONLY, |bug| {
            on_any(&writes_its_table(bug), &[table(&[1, 2]), counting::<f32>(&[16, 128])])
        }),
    ]
}

fn x() -> [Array; 1] {
    [counting::<f32>(&[32, 128])]
}

/// Adds up blocks in one output block, in no order.
#[tpu_kernel(grid(i: parallel), dims(k = 8))]
fn sums_in_parallel(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ 0, n)] y: Out<f32>, //~ parallel_write_clash
) {
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

/// The same in order.
#[tpu_kernel(grid(i: arbitrary), dims(k = 8))]
fn sums_in_order(#[block(m: 8 @ i, n)] x: In<f32>, #[block(k: 8 @ 0, n)] y: Out<f32>) {
    if i == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

/// Writes the block that a table says, in no order.
#[tpu_kernel(grid(i: parallel))]
fn scatter_in_parallel(
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ ids[i], n)] y: Out<f32>,
) {
    y[..] = x[..]; //~ parallel_write_clash_by_table
}

/// Each step writes a window of 16 rows, so many rows further on.
#[tpu_kernel(grid(i: parallel = 2), dims(k = 16 + by))]
fn windows(
    #[comptime] by: usize,
    #[block(m: 16 @ i, n)] x: In<f32>,
    #[block(k: element(16) @ i * by, n)] y: Out<f32>,
) {
    y[..] = x[..]; //~ parallel_windows_overlap
}

/// Adds up over the outer axis: each block of the output is left and visited again.
#[tpu_kernel(grid(l = 2, i = 2), dims(k = 16))]
fn sums_outside_in(
    #[block(m: 8 @ l * 2 + i, n)] x: In<f32>,
    #[block(k: 8 @ i, n)] y: Out<f32>, //~ bad_revisit
) {
    if l == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

/// The same over the inner axis.
#[tpu_kernel(grid(i = 2, l = 2), dims(k = 16))]
fn sums_inside_out(#[block(m: 8 @ l * 2 + i, n)] x: In<f32>, #[block(k: 8 @ i, n)] y: Out<f32>) {
    if l == 0 {
        y[..] = 0.0;
    }
    y[..] += x[..];
}

/// Writes the block that a table says, in order; it may come back to one.
#[tpu_kernel(grid(i), dims(k = 24))]
fn scatter_in_order(
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ ids[i], n)] y: Out<f32>,
) {
    y[..] = x[..]; //~ bad_revisit_by_table
}

/// Adds to an output that starts as whatever lay there.
#[tpu_kernel(grid(i), dims(k = 8))]
fn sum_without_a_start(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(k: 8 @ 0, n)] y: Out<f32>,
) {
    if comptime!(!bug) {
        if i == 0 {
            y[..] = 0.0;
        }
    }
    y[..] += x[..]; //~ sum_without_a_start
}

/// Makes fewer steps than there are blocks.
#[tpu_kernel(grid(i = steps))]
fn so_many_steps(
    #[comptime] steps: usize,
    #[block(m: 8 @ i + 0, n)] x: In<f32>,
    #[block(m: 8 @ i + 0, n)] y: Out<f32>, //~ grid_too_short
) {
    y[..] = x[..];
}

/// Writes so many rows of each block.
#[tpu_kernel(grid(i: parallel))]
fn partly_written(
    #[comptime] rows: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>, //~ block_partly_written
) {
    y[(0..rows, ..)] = x[(0..rows, ..)];
}

/// Writes in the last step alone, though each step has a block of its own.
#[tpu_kernel(grid(i))]
fn written_in_some_steps(
    #[comptime] bug: bool,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>, //~ block_written_in_some_steps
) {
    let writes = if comptime!(bug) { i == i.last() } else { i >= 0 };
    if writes {
        y[..] = x[..];
    }
}

/// Reads the block after its own.
#[tpu_kernel(grid(i = m / 8))]
fn next_block(
    #[comptime] ahead: i32,
    #[block(m: 8 @ i + ahead, n)] x: In<f32>, //~ block_past_the_end
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// Reads the rows that a table says.
#[tpu_kernel(grid(i))]
fn gather(
    #[prefetch] ids: Smem<i32>,
    #[block(v: 8 @ ids[i], n)] x: In<f32>, //~ block_past_the_end_by_table
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    y[..] += x[..];
}

/// The same; a table marks what is not there by -1.
#[tpu_kernel(grid(i))]
fn gather_again(
    #[prefetch] ids: Smem<i32>,
    #[block(v: 8 @ ids[i], n)] x: In<f32>, //~ negative_block_by_table
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    y[..] += x[..];
}

/// The same; the table has fewer entries than the grid has steps.
#[tpu_kernel(grid(i))]
fn short_table(
    #[prefetch] ids: Smem<i32>,
    #[block(v: 8 @ ids[i], n)] x: In<f32>, //~ table_too_short
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    y[..] += x[..];
}

/// Reads a window of 16 rows from the row that a table says.
#[tpu_kernel(grid(i))]
fn stencil(
    #[prefetch] ids: Smem<i32>,
    #[block(v: element(16) @ ids[i], n)] x: In<f32>, //~ stencil_past_the_end
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    y[..] += x[(0..8, ..)] + x[(8..16, ..)];
}

/// Adds up as many blocks as the call says: none.
#[tpu_kernel(grid(i: arbitrary = n))]
//~v extent_of_nothing
fn first_blocks(
    #[extent] n: Scalar<i32>,
    #[block(m: 8 @ i, d)] x: In<f32>,
    #[block(r: 8 @ 0, d)] y: InOut<f32>,
) {
    y[..] += x[..];
    let _ = n;
}

/// The same: one more than there are.
#[tpu_kernel(grid(i: arbitrary = n))]
fn too_many_blocks(
    #[extent] n: Scalar<i32>,
    #[block(m: 8 @ i, d)] x: In<f32>, //~ extent_too_long
    #[block(r: 8 @ 0, d)] y: InOut<f32>,
) {
    y[..] += x[..];
    let _ = n;
}

/// Makes as many steps as the host says: none.
//~v empty_grid
#[tpu_kernel(grid(i = steps))]
fn empty_grid(
    #[comptime] steps: usize,
    #[block(m: 8 @ i + 0, n)] x: In<f32>,
    #[block(m: 8 @ i + 0, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// Makes the square of so many steps.
#[tpu_kernel(grid(i = steps, j = steps))]
//~v grid_overflow
fn so_large_a_grid(
    #[comptime] steps: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    if i + j == 0 {
        y[..] = x[..];
    }
}

/// Walks over one axis in blocks of two sizes.
#[tpu_kernel(grid(i))]
fn two_walks(
    #[comptime] rows: usize,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: rows @ i, n)] y: Out<f32>, //~ two_walks_differ
) {
    y[(0..8, ..)] = x[..];
}

/// Blocks of no rows.
#[tpu_kernel(grid(i = 4))]
fn blocks_of(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<f32>, //~ block_of_nothing
    #[block(m: 8 @ i, n)] y: Out<f32>,
) {
    y[..] = x[..];
}

/// Marks in its table what is done.
#[tpu_kernel(grid(i))]
fn writes_its_table(
    #[comptime] bug: bool,
    #[prefetch] ids: Smem<i32>,
    #[block(m: 8 @ i, n)] y: InOut<f32>,
) {
    if comptime!(bug) {
        ids[i] = -1; //~ writes_its_table
    }
    y[..] = ids[i].cast::<f32>();
}
