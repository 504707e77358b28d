//! Tables, extents and windows by elements, of any name and in any role of an index.
#![deny(warnings)]
use systole::prelude::*;

#[tpu_kernel(grid(i: arbitrary = n, j), side_effects(always), cost(flops = 2 * steps))]
fn tables(
    #[comptime] steps: u64,
    #[extent] n: Scalar<i32>,
    #[prefetch] entries: Smem<i32>,
    #[prefetch(rows, pages)] tables: Smem<i32>,
    #[pinned(hbm)]
    #[block(v: squeezed @ tables[(i, entries[j])], s: 8 @ j, d)]
    a: In<f32>,
    #[block(w: element(8) @ entries[i] * 8 + n, d)] b: In<f32>,
    #[block(s: 8 @ j, d)]
    #[pinned(vmem)]
    o: InOut<f32>,
) {
    if i == n - 1 {
        o[..] = a[..] + b[..];
    }
    if i == i.last() {
        o[..] += (entries[j] + i.extent()).cast();
    }
}

/// What the body does not need may be in the index of a block.
#[tpu_kernel(grid(i))]
fn unused_in_the_body(
    #[prefetch] launch: Smem<i32>,
    #[block(m: 8 @ launch[i], n)] a: In<f32>,
    #[block(k: 8 @ i, n)] o: InOut<f32>,
) {
    o[..] = a[..];
}

fn main() {
    let _ = (tables(8), unused_in_the_body());
}
