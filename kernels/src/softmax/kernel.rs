//! The kernel: whole rows in VMEM, one pass over HBM.

use systole::prelude::*;

/// Softmax of each row of `[m, n]`, in `f32` inside. `rows` rows per grid step.
#[tpu_kernel(grid(i: parallel))]
pub fn softmax<T: Float>(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<T>,
    #[block(m: rows @ i, n)] y: Out<T>,
) {
    let x = x[..].cast::<f32>(); // [rows, n]
    let e = (x - x.row_max()).exp();
    y[..] = (e * e.row_sum().reciprocal()).cast();
}
