//! Layer norm of each row.

mod kernel;
pub mod reference;
pub mod specs;

pub use kernel::layer_norm;

use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};
use systole::target::Target;

/// Traces the kernel for an array of shape `[m, n]`, with blocks chosen for the chip.
///
/// # Errors
/// If the array is no matrix, or a size is zero.
pub fn build(
    target: &Target,
    dtype: DType,
    shape: &[usize],
    eps: f32,
) -> Result<Kernel, Diagnostics> {
    // 7x has the bandwidth to make the vector unit the limit of wide rows.
    let wide = shape.get(1).is_some_and(|n| *n >= 1024);
    let max_rows = if target.name == "tpu7x" && wide { 256 } else { 512 };
    let rows = crate::block_rows(shape, dtype, max_rows);
    let row = &shape[shape.len().min(1)..];
    crate::by_float!(dtype, T => {
        crate::trace(&layer_norm::<T>(rows, eps), &[(dtype, shape), (dtype, row), (dtype, row)])
    })
}
