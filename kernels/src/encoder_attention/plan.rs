//! How heads are cut into grid steps, and products into passes of the matrix unit.

use super::MAX_TOKENS;
use systole::diag::Diagnostics;
use systole::ir::DType;
use systole::prelude::*;
use systole::target::Target;

const MIB: u64 = 1 << 20;
/// Wider than any model, and narrow enough for sizes to be counted in.
const MAX_WIDTH: usize = 1 << 20;

/// Sizes of a grid step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Heads per grid step.
    pub heads: usize,
    /// Columns of a head.
    pub d: usize,
    /// Tokens of a sequence.
    pub tokens: usize,
    /// Rows of a block: `tokens`, rounded up to whole tiles.
    pub rows: usize,
    /// By how many heads the scores are ahead of the weighted values. A product takes long to come
    /// out of the matrix unit, and libtpu starts what is written first.
    pub ahead: usize,
    /// Which pieces of the operands are multiplied: [`Plan::terms_of`] the precision.
    pub terms: Vec<(usize, usize)>,
}

impl Plan {
    /// The plan for arrays of this shape on a chip.
    ///
    /// # Errors
    /// If heads do not divide the columns, a size is zero, or the sequence is too long.
    pub fn new(
        target: &Target,
        dtype: DType,
        [b, tokens, width]: [usize; 3],
        heads: usize,
        precision: Precision,
    ) -> Result<Plan, Diagnostics> {
        if heads == 0 || b == 0 || tokens == 0 || width == 0 || !width.is_multiple_of(heads) {
            return Err(crate::refuse(
                format!("{width} columns of [{b}, {tokens}, {width}] are not {heads} heads"),
                "give q, k and v the shape [batch, tokens, heads * d], with no size of 0",
            ));
        }
        if tokens > MAX_TOKENS {
            return Err(crate::refuse(
                format!("a sequence of {tokens} tokens is longer than {MAX_TOKENS}"),
                "use `flash_attention`, which never holds a whole row of scores",
            ));
        }
        if width > MAX_WIDTH {
            return Err(crate::refuse(
                format!("{width} columns are more than {MAX_WIDTH}"),
                "give some of the heads to each of several calls",
            ));
        }
        let d = width / heads;
        let rows = tokens.next_multiple_of(128);
        // More would be taken from what XLA keeps in VMEM around the kernel.
        let vmem_bytes = target.chip.map_or(16 * MIB, |chip| chip.vmem_default_limit_bytes);
        let step = heads_per_step(heads, d, rows, vmem_bytes);
        // Scores of a sequence of 512 are as large as those of 16 heads of 128.
        let ahead = (5 * 128 * 128 / (rows * rows)).max(1).min(step);
        let terms = Self::terms_of(dtype, precision);
        Ok(Plan { heads: step, d, tokens, rows, ahead, terms })
    }

    /// Which products of the pieces of two numbers are summed, largest last: an `f32` is the sum of
    /// three `bf16` numbers, each 2^-8 of the one before, and products beyond the precision are left
    /// out (Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for
    /// higher-precision computations", 2019).
    pub fn terms_of(dtype: DType, precision: Precision) -> Vec<(usize, usize)> {
        match (dtype, precision) {
            (DType::F32, Precision::Highest) => {
                vec![(2, 0), (0, 2), (1, 1), (1, 0), (0, 1), (0, 0)]
            }
            (DType::F32, Precision::High) => vec![(1, 0), (0, 1), (0, 0)],
            _ => vec![(0, 0)],
        }
    }

    /// How many pieces an operand is cut into.
    pub fn n_pieces(&self) -> usize {
        self.terms.iter().map(|(piece, _)| piece + 1).max().unwrap_or(1)
    }

    /// Whether the last rows of a block lie beyond the sequence.
    pub fn is_ragged(&self) -> bool {
        self.rows != self.tokens
    }
}

/// As many heads as their blocks and pieces leave room for; all of them, or such that a block of
/// columns is whole tiles.
fn heads_per_step(heads: usize, d: usize, rows: usize, vmem_bytes: u64) -> usize {
    // Two buffers of four arrays, three pieces of three, and the output.
    let bytes = |n: usize| (n * d * rows * (2 * 4 * 4 + 3 * 3 * 2 + 4)) as u64;
    // Unrolled bodies beyond this take libtpu long and gain nothing.
    let fits = |n: usize| bytes(n) <= vmem_bytes / 2 && n * rows * rows <= 16 * 128 * 128;
    let is_legal = |n: usize| n == heads || (n * d).is_multiple_of(128);
    let divisors = (1..=heads).filter(|n| heads.is_multiple_of(*n) && is_legal(*n));
    let mut divisors: Vec<usize> = divisors.collect();
    let smallest = divisors.first().copied().unwrap_or(heads);
    divisors.retain(|n| fits(*n));
    divisors.pop().unwrap_or(smallest)
}
