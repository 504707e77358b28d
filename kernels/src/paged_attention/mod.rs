//! Attention of one new token per sequence over keys and values in pages.

mod kernel;
mod plan;
pub mod reference;
pub mod specs;

pub use kernel::paged_attention;
pub use plan::{Blocks, Plan, Sizes};

use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::Target;

/// What attention to compute for the next token of each sequence: `softmax(q k^T scale) v` over
/// the sequence's keys so far.
///
/// The kernel takes `lengths` `[b]` and the table `pages` `[b, entries]`, both `i32` and read ahead
/// into scalar memory, queries `q` `[b, h, d]`, and the pool `kv` `[pool, 2, kv_h, page, d]`, in which
/// a page has the keys of `page` tokens for every head, then their values: one copy fetches it. It
/// gives `[b, h, d]`. Sequence `i` sees its first `lengths[i]` tokens; token `t` is row `t % page` of
/// page `pages[i, t / page]`. What stands in the rest of its last page, and in the rest of its row
/// of the table, does not matter. A sequence of length 0 gets zeros.
///
/// ```
/// use systole::ir::DType;
/// use systole::target::V5E;
/// use systole_kernels::paged_attention::{PagedAttention, Sizes};
///
/// // 32 query heads share 8 key heads; up to 2,048 tokens in pages of 64.
/// let sizes = Sizes { b: 8, h: 32, kv_h: 8, d: 128, page: 64, pool: 512, entries: 32 };
/// let kernel = PagedAttention::new().kernel(&V5E, DType::BF16, sizes)?;
/// # let _ = kernel;
/// # Ok::<(), systole::diag::Diagnostics>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PagedAttention {
    /// Factor of the logits; `1 / sqrt(d)` if not given.
    pub scale: Option<f32>,
    /// Precision of the products of `f32` operands.
    pub precision: Precision,
    /// How many of the last tokens are seen; all if not given.
    pub window: Option<usize>,
    /// Squashes the logits into `(-cap, cap)` by `cap * tanh(s / cap)`, as Gemma 2 does.
    pub soft_cap: Option<f32>,
    /// Sizes of the work; chosen for the chip if not given.
    pub blocks: Option<Blocks>,
}

impl PagedAttention {
    /// Attention over all tokens so far.
    pub fn new() -> PagedAttention {
        PagedAttention { precision: Precision::Highest, ..PagedAttention::default() }
    }

    /// Only the last `size` tokens are seen. A window of 0 tokens is refused by
    /// [`PagedAttention::kernel`].
    pub fn window(self, size: usize) -> PagedAttention {
        PagedAttention { window: Some(size), ..self }
    }

    /// Squashes the logits into `(-cap, cap)`.
    pub fn soft_cap(self, cap: f32) -> PagedAttention {
        PagedAttention { soft_cap: Some(cap), ..self }
    }

    /// The factor of the logits.
    pub fn scale_for(&self, d: usize) -> f32 {
        self.scale.unwrap_or(1.0 / (d as f32).sqrt())
    }

    /// Traces the kernel for arrays of these sizes.
    ///
    /// # Errors
    /// If sizes do not fit.
    pub fn kernel(
        &self,
        target: &Target,
        dtype: DType,
        sizes: Sizes,
    ) -> Result<Kernel, Diagnostics> {
        self.check(dtype, sizes)?;
        let blocks = match self.blocks {
            Some(blocks) => blocks,
            None => Blocks::for_target(target, dtype, sizes),
        };
        blocks.check(sizes)?;
        let plan = Plan { blocks, sizes, window: self.window };
        let Sizes { b, h, kv_h, d, page, pool, entries } = sizes;
        let args = [
            (DType::I32, &[b][..]),
            (DType::I32, &[b, entries][..]),
            (dtype, &[b, h, d][..]),
            (dtype, &[pool, 2, kv_h, page, d][..]),
        ];
        crate::by_float!(dtype, T => {
            crate::trace(&paged_attention::<T>(self.clone(), plan), &args)
        })
    }

    fn check(&self, dtype: DType, sizes: Sizes) -> Result<(), Diagnostics> {
        let scale = self.scale_for(sizes.d.max(1));
        if scale <= 0.0 || !scale.is_finite() {
            let message = format!("the logits' factor is {scale}");
            return Err(crate::refuse(
                message,
                "give a positive number; negate `q` for another sign",
            ));
        }
        if self.soft_cap.is_some_and(|cap| cap <= 0.0 || !cap.is_finite()) {
            let message = format!("the logits' cap is {}", self.soft_cap.unwrap_or_default());
            return Err(crate::refuse(message, "give a positive number, or no cap"));
        }
        if self.window == Some(0) {
            let message = "a window of 0 tokens lets no query see a key".to_owned();
            return Err(crate::refuse(message, "give the window at least 1 token: the last one"));
        }
        sizes.check(dtype)
    }
}
