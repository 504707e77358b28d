//! The kernel: whole rows in VMEM, one pass over HBM.

use systole::prelude::*;

/// Layer norm (Ba et al., 2016) of each row of `[m, n]`, scaled by `weight` and shifted by `bias`
/// `[n]`, in `f32` inside. `rows` rows per grid step.
#[tpu_kernel(grid(i: parallel))]
pub fn layer_norm<T: Float>(
    #[comptime] rows: usize,
    #[comptime] eps: f32,
    #[block(m: rows @ i, n)] x: In<T>,
    #[block(n)] weight: In<T>,
    #[block(n)] bias: In<T>,
    #[block(m: rows @ i, n)] y: Out<T>,
) {
    let x = x[..].cast::<f32>(); // [rows, n]
    let mean = x.row_sum() * (1.0 / n as f32);
    // Two passes over VMEM: the difference of squares would cancel.
    let centered = x - mean;
    let variance = (centered * centered).row_sum() * (1.0 / n as f32);
    let weight = weight[..].reshape([1, n]).cast::<f32>();
    let bias = bias[..].reshape([1, n]).cast::<f32>();
    y[..] = (centered * (variance + eps).rsqrt() * weight + bias).cast();
}
