//! `factor * x + y`: as simple as a kernel gets, and bound by HBM bandwidth.
//!
//! ```
//! use systole::prelude::*;
//! use systole_kernels::scale_add::{Block, scale_add};
//!
//! let (x, y) = (Array::from_f32(&[2, 3], vec![2.0; 6])?, Array::zeros(DType::F32, &[2, 3]));
//! let out = scale_add::<f32>(Block { m: 2, n: 3 }, 1.5).call(&x, &y)?;
//! assert_eq!(out.to_f32(), [3.0; 6]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kernel;
pub mod reference;
pub mod specs;

pub use kernel::{Block, scale_add};

use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};

/// Traces the kernel for two arrays of shape `[m, n]`.
///
/// # Errors
/// If a size is zero.
pub fn build(dtype: DType, factor: f32, [m, n]: [usize; 2]) -> Result<Kernel, Diagnostics> {
    let arg = (dtype, &[m, n][..]);
    crate::by_float!(dtype, T => {
        crate::trace(&scale_add::<T>(block(dtype, m, n), factor), &[arg, arg])
    })
}

/// A block of about a megabyte: large enough to hide the cost of a grid step, small enough that
/// three double-buffered ones fit the default VMEM limit of every chip.
fn block(dtype: DType, m: usize, n: usize) -> Block {
    const BYTES: usize = 1 << 20;
    let columns = n.min(2048).next_multiple_of(128).clamp(128, 2048);
    let n_blocks = m.div_ceil(BYTES / (columns * dtype.size_bytes())).max(1);
    // Rows are spread evenly, so that the last block is nearly as full as the others; two-byte
    // types are tiled by 16 rows.
    Block { m: m.div_ceil(n_blocks).next_multiple_of(16), n: columns }
}
