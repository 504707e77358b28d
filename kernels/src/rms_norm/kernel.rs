//! The kernel: whole rows in VMEM, one pass over HBM.

use systole::prelude::*;

/// Root-mean-square norm (Zhang and Sennrich, 2019) of each row of `[m, n]`, scaled by `weight`
/// `[n]`, in `f32` inside. `rows` rows per grid step.
#[tpu_kernel(grid(i: parallel))]
pub fn rms_norm<T: Float>(
    #[comptime] rows: usize,
    #[comptime] eps: f32,
    #[block(m: rows @ i, n)] x: In<T>,
    #[block(n)] weight: In<T>,
    #[block(m: rows @ i, n)] y: Out<T>,
) {
    let x = x[..].cast::<f32>(); // [rows, n]
    let mean = (x * x).row_sum() * (1.0 / n as f32);
    let weight = weight[..].reshape([1, n]).cast::<f32>();
    y[..] = (x * (mean + eps).rsqrt() * weight).cast();
}
