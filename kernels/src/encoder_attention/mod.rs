//! Attention of whole short sequences, heads side by side as projections leave them.
//!
//! What encoders like BERT compute: `softmax(q_h k_h^T / sqrt(d) + bias) v_h` for every head `h`, whose
//! `d` columns are part of `[b, s, heads * d]` arrays. Nothing is transposed in HBM, and `bias`
//! `[b, 1, s]` hides keys that are padding. Longer sequences, bands and closures are
//! [`crate::flash_attention`]'s.
//!
//! ```
//! use systole::ir::DType;
//! use systole::prelude::*;
//! use systole::target::V5E;
//! use systole_kernels::encoder_attention;
//!
//! // All heads of all-MiniLM-L6-v2, 32 sequences of 128 tokens.
//! let kernel = encoder_attention::build(&V5E, DType::F32, [32, 128, 384], 12, Precision::Highest)?;
//! assert_eq!(kernel.params.len(), 5);
//! # Ok::<_, systole::diag::Diagnostics>(())
//! ```

mod kernel;
mod plan;
pub mod reference;
pub mod specs;

pub use kernel::{by_head, encoder_attention};
pub use plan::Plan;

use systole::diag::Diagnostics;
use systole::ir::{DType, Kernel};
use systole::prelude::*;
use systole::target::Target;

/// The longest sequence whose scores are kept in registers and VMEM at once.
pub const MAX_TOKENS: usize = 512;

/// Traces the kernel for `q`, `k` and `v` of shape `[b, s, heads * d]` and `bias` `[b, 1, s]` in
/// `f32`; the output is like `q`. On a TPU products of `f32` are made of bf16 passes that share the
/// matrix unit, [`encoder_attention`]; elsewhere they are products, [`by_head`]. A sequence
/// all of whose keys a finite `bias` hides gets an average of all its values, and no NaN.
///
/// # Errors
/// If heads do not divide the columns, a size is zero, or the sequence is longer than
/// [`MAX_TOKENS`].
pub fn build(
    target: &Target,
    dtype: DType,
    shape: [usize; 3],
    heads: usize,
    precision: Precision,
) -> Result<Kernel, Diagnostics> {
    let plan = Plan::new(target, dtype, shape, heads, precision)?;
    let [b, s, _] = shape;
    crate::by_float!(dtype, T => {
        let args = [(dtype, &shape[..]), (dtype, &shape), (dtype, &shape), (DType::F32, &[b, 1, s])];
        match target.is_tpu() {
            true => crate::trace(&encoder_attention::<T>(plan), &args),
            false => crate::trace(&by_head::<T>(plan.d, precision), &args),
        }
    })
}
