//! The kernel.

use systole::prelude::*;

/// Rows and columns of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
}

/// `out = factor * x + y`, computed in `f32` and rounded once.
#[tpu_kernel(grid(i: parallel, j: parallel))]
pub fn scale_add<T: Float>(
    #[comptime] block: Block,
    #[comptime] factor: f32,
    #[block(m: block.m @ i, n: block.n @ j)] x: In<T>,
    #[block(m: block.m @ i, n: block.n @ j)] y: In<T>,
    #[block(m: block.m @ i, n: block.n @ j)] out: Out<T>,
) {
    out[..] = (x[..].cast::<f32>() * factor + y[..].cast::<f32>()).cast();
}
