//! Attention that never writes its scores to HBM.

mod band;
mod blocks;
mod kernel;
mod pass;
mod plan;
pub mod reference;
pub mod specs;

pub use band::{Band, Coverage};
pub use kernel::{flash_attention, flash_attention_lse};
pub use plan::{Blocks, Plan};

use std::fmt;
use std::sync::Arc;
use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::Target;

/// Positions of a block of scores, for a mask or score function.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// Batch index.
    pub batch: Scalar<i32>,
    /// Query head.
    pub head: Scalar<i32>,
    /// Query positions, `[m, 1]`.
    pub q: Tile<i32>,
    /// Key positions, `[1, n]`.
    pub k: Tile<i32>,
}

/// A mask function: true where a query may see a key, `[m, n]` or one that repeats to it.
pub type MaskFn = Arc<dyn Fn(At) -> Tile<bool> + Send + Sync>;
/// A score function: new logits `[m, n]`, or ones that repeat to them, from scaled ones.
pub type ScoreFn = Arc<dyn Fn(Tile<f32>, At) -> Tile<f32> + Send + Sync>;

/// What attention to compute: `softmax(score(q k^T scale), mask) v`.
///
/// ```
/// use systole_kernels::flash_attention::Attention;
/// use systole::prelude::*;
///
/// // Causal attention with the distance penalty of ALiBi (Press et al., 2022).
/// let alibi = Attention::new().causal().score(|s, at| s - (at.q - at.k).cast::<f32>() * 0.0625);
/// # let _ = alibi;
/// ```
#[derive(Clone, Default)]
pub struct Attention {
    /// Which keys a row sees by position.
    pub band: Band,
    /// Factor of the logits; `1 / sqrt(d)` if not given.
    pub scale: Option<f32>,
    /// Precision of the products of `f32` operands.
    pub precision: Precision,
    /// What else is masked.
    pub mask: Option<MaskFn>,
    /// Changes the scaled logits.
    pub score: Option<ScoreFn>,
    /// Whether a window of no keys was asked for, which [`Attention::kernel`] refuses.
    pub sees_nothing: bool,
    /// Tile sizes; chosen for the chip if not given.
    pub blocks: Option<Blocks>,
}

impl fmt::Debug for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attention")
            .field("band", &self.band)
            .field("scale", &self.scale)
            .field("precision", &self.precision)
            .field("mask", &self.mask.is_some())
            .field("score", &self.score.is_some())
            .field("sees_nothing", &self.sees_nothing)
            .field("blocks", &self.blocks)
            .finish()
    }
}

/// The sizes of an attention: `q` is `[b, h, sq, d]`, `k` and `v` are `[b, kv_h, sk, d]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Batch.
    pub b: usize,
    /// Query heads.
    pub h: usize,
    /// Key and value heads; divides `h`.
    pub kv_h: usize,
    /// Queries.
    pub sq: usize,
    /// Keys.
    pub sk: usize,
    /// Head dimension.
    pub d: usize,
}

impl Heads {
    /// The sizes by the shapes of `q` and `k`; missing axes count as 1.
    pub fn of_shapes(q: &[usize], k: &[usize]) -> Heads {
        let at = |shape: &[usize], axis: usize| shape.get(axis).copied().unwrap_or(1);
        Heads { b: at(q, 0), h: at(q, 1), kv_h: at(k, 1), sq: at(q, 2), sk: at(k, 2), d: at(q, 3) }
    }
}

impl Attention {
    /// Every query sees every key.
    pub fn new() -> Attention {
        Attention { precision: Precision::Highest, ..Attention::default() }
    }

    /// A query sees the keys up to its own position.
    pub fn causal(mut self) -> Attention {
        self.band.after = Some(0);
        self
    }

    /// A query sees its own position and the `size - 1` keys before it. A window of 0 keys is
    /// refused by [`Attention::kernel`]: no query would see anything.
    pub fn sliding_window(mut self, size: usize) -> Attention {
        self.band.after = Some(0);
        self.band.before = Some(size.saturating_sub(1));
        self.sees_nothing = size == 0;
        self
    }

    /// Position of the first query among the keys.
    pub fn offset(mut self, offset: isize) -> Attention {
        self.band.offset = offset;
        self
    }

    /// Masks more than the band does.
    pub fn mask(mut self, mask: impl Fn(At) -> Tile<bool> + Send + Sync + 'static) -> Attention {
        self.mask = Some(Arc::new(mask));
        self
    }

    /// Changes the scaled logits before the softmax.
    pub fn score(
        mut self,
        score: impl Fn(Tile<f32>, At) -> Tile<f32> + Send + Sync + 'static,
    ) -> Attention {
        self.score = Some(Arc::new(score));
        self
    }

    /// Squashes the logits into `(-cap, cap)` by `cap * tanh(s / cap)`, as Gemma 2 does.
    pub fn soft_cap(self, cap: f32) -> Attention {
        self.score(move |s, _| (s * (1.0 / cap)).tanh() * cap)
    }

    /// The factor of the logits.
    pub fn scale_for(&self, d: usize) -> f32 {
        self.scale.unwrap_or(1.0 / (d as f32).sqrt())
    }

    /// Traces the kernel for arrays of these sizes.
    ///
    /// # Errors
    /// If heads or sizes do not fit.
    pub fn kernel(
        &self,
        target: &Target,
        dtype: DType,
        heads: Heads,
        lse: bool,
    ) -> Result<Kernel, Diagnostics> {
        self.check(heads)?;
        crate::by_float!(dtype, T => self.trace::<T>(target, heads, lse))
    }

    fn check(&self, heads: Heads) -> Result<(), Diagnostics> {
        let Heads { b, h, kv_h, sq, sk, d } = heads;
        let heads = [("query heads", h), ("key heads", kv_h), ("elements of a head", d)];
        let heads = heads.map(|(what, n)| (what, n, crate::MAX_HEADS));
        crate::check_most(&heads)?;
        crate::check_most(&[("batches", b, crate::MAX_SIZE)])?;
        let scale = self.scale_for(d.max(1));
        if scale <= 0.0 || !scale.is_finite() {
            let message = format!("the logits' factor is {scale}");
            return Err(crate::refuse(
                message,
                "give a positive number; negate `q` for another sign",
            ));
        }
        if self.sees_nothing {
            let message = "a sliding window of 0 keys lets no query see a key".to_owned();
            return Err(crate::refuse(message, "give the window at least 1 key: the query's own"));
        }
        if kv_h == 0 || !h.is_multiple_of(kv_h) {
            let message = format!("{h} query heads cannot share {kv_h} key heads evenly");
            return Err(crate::refuse(message, "give a number of query heads that is a multiple"));
        }
        if sq.max(sk) > 1 << 28 {
            let message = format!("{sq} queries and {sk} keys are more than 2^28");
            return Err(crate::refuse(message, "split the sequence"));
        }
        self.blocks.as_ref().map_or(Ok(()), Blocks::check)
    }

    fn trace<T: Float>(
        &self,
        target: &Target,
        heads: Heads,
        lse: bool,
    ) -> Result<Kernel, Diagnostics> {
        let Heads { b, h, kv_h, sq, sk, d } = heads;
        let blocks = match &self.blocks {
            Some(blocks) => blocks.clone(),
            None => Blocks::for_target(target, self, heads, T::DTYPE),
        };
        let plan = Plan { blocks, band: self.band, sq, sk };
        let (q, kv) = ([b, h, sq, d], [b, kv_h, sk, d]);
        let args = [(T::DTYPE, &q[..]), (T::DTYPE, &kv[..]), (T::DTYPE, &kv[..])];
        let group = h / kv_h.max(1);
        if lse {
            crate::trace(&flash_attention_lse::<T>(self.clone(), plan, group, 1), &args)
        } else {
            crate::trace(&flash_attention::<T>(self.clone(), plan, group), &args)
        }
    }
}
