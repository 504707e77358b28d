//! Root-mean-square norm of each row.

mod kernel;
pub mod reference;
pub mod specs;

pub use kernel::rms_norm;

use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};
use systole::target::Target;

/// Traces the kernel for an array of shape `[m, n]`, with blocks chosen for the chip.
///
/// # Errors
/// If the array is no matrix, or a size is zero.
pub fn build(
    _target: &Target,
    dtype: DType,
    shape: &[usize],
    eps: f32,
) -> Result<Kernel, Diagnostics> {
    let rows = crate::block_rows(shape, dtype, 512);
    let row = &shape[shape.len().min(1)..];
    crate::by_float!(dtype, T => {
        crate::trace(&rms_norm::<T>(rows, eps), &[(dtype, shape), (dtype, row)])
    })
}
