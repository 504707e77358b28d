//! Neither unused pieces of a launcher nor rewritten code give warnings.
#![deny(warnings)]
#![deny(missing_docs, unused_qualifications, unreachable_pub)]
use systole::prelude::*;

/// Sizes of blocks.
#[derive(Clone, Copy)]
pub struct Tiles {
    m: usize,
}

/// Attributes at the start of a body are those of the function.
#[tpu_fn]
pub fn twice(#[comptime] minus: bool, x: Tile<f32>) -> Tile<f32> {
    #![allow(clippy::let_and_return)]
    let y = if minus { -x } else { x + x };
    y
}

/// A kernel that uses the block size in its attributes only.
#[tpu_kernel(grid(i: parallel, j), dims(p = m * 2))]
pub fn kernel<T: Float, const N: usize>(
    #[comptime] t: Tiles,
    #[comptime] scale: f32,
    #[block(m: t.m @ i, n: 128 @ j)] a: In<T>,
    #[block(p: t.m * 2 @ i, n: 128 @ j)] o: Out<T>,
    #[scratch([t.m, 128])] s: Vmem<f32>,
) {
    #![allow(clippy::too_many_arguments)]
    s[..] = a[..].cast::<f32>() * scale;
    #[unroll]
    for _ in 0..N {
        if (i + 1) * 2 < j {
            s[..] += 1.0;
        }
    }
    let mut y = s[..];
    let mut n_steps = scalar::<i32>(0);
    while n_steps < 4 {
        n_steps += 1;
        y += 1.0;
    }
    o[..] = concat(&[y, y], 0).cast();
}

fn main() {
    let t = Tiles { m: 8 };
    let _ = kernel::<bf16, 2>(t, 2.0).trace(&[ArgSpec::of::<bf16>(&[8, 128])]);
}
