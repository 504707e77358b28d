//! Tile sizes by chip.
//!
//! The choices come from libtpu's cycle estimates of the specs (`kernels check flash_attention`),
//! which is the evidence to re-make when one of them changes.

use super::{Attention, Blocks, Heads};
use systole::diag::Diagnostics;
use systole::ir::DType;
use systole::target::Target;

const MIB: u64 = 1 << 20;
/// The longest side of a super tile. One body for a whole head of 2,048 is about 10,000 bundles
/// of straight-line code; longer ones gain little.
const WHOLE_HEAD: usize = 2048;
/// No super tile is larger.
const MAX_SIDE: usize = 1 << 20;
/// Side of the super tiles of longer sequences: short enough that a diagonal one wastes little.
const LONG: usize = 1024;

impl Blocks {
    /// Sizes for a chip: one super tile per head where it fits, squares of 1,024 else.
    pub fn for_target(target: &Target, config: &Attention, heads: Heads, _dtype: DType) -> Blocks {
        let vmem_bytes = target.chip.map_or(64 * MIB, |chip| chip.vmem_max_limit_bytes);
        let longest = heads.sq.max(heads.sk);
        let side = if vmem_bytes < 32 * MIB {
            // v4 has 16 MiB in all, for buffers, scores and spills.
            512
        } else if longest <= WHOLE_HEAD {
            WHOLE_HEAD
        } else {
            LONG
        };
        Blocks::with_side(target, config, heads, side)
    }

    /// Whether the blocks cut a super tile into whole tiles.
    pub(super) fn check(&self) -> Result<(), Diagnostics> {
        let Blocks { zq, zk, bk, dt, ref q_blocks, .. } = *self;
        let whole = |n: usize| n > 0 && dt > 0 && n.is_multiple_of(dt);
        let mut covered = 0;
        let mut sorted = q_blocks.clone();
        sorted.sort_unstable();
        for (base, rows) in sorted {
            if base != covered || !whole(rows) || rows > zq - base.min(zq) {
                covered = usize::MAX;
                break;
            }
            covered += rows;
        }
        let fits = dt > 0
            && dt.is_multiple_of(128)
            && [zq, zk, bk].into_iter().all(|n| whole(n) && n <= MAX_SIDE)
            && covered == zq;
        if fits {
            return Ok(());
        }
        Err(crate::refuse(
            format!("these blocks do not cut a super tile into whole tiles: {self:?}"),
            "make `dt` a multiple of 128, `zq`, `zk` and `bk` multiples of `dt`, and let `q_blocks` \
             cover the `zq` rows once in multiples of `dt`",
        ))
    }

    /// Super tiles of at most `side` queries and keys.
    pub fn with_side(target: &Target, config: &Attention, heads: Heads, side: usize) -> Blocks {
        let vmem_bytes = target.chip.map_or(64 * MIB, |chip| chip.vmem_max_limit_bytes);
        let wide_mxu = target.chip.is_some_and(|chip| chip.mxu_size == 256);
        let dt = if wide_mxu && heads.sq.min(heads.sk).min(side) >= 1024 { 256 } else { 128 };
        let side = side.min(MAX_SIDE);
        let [zq, zk] = [heads.sq, heads.sk].map(|n| n.min(side).next_multiple_of(dt).min(side));
        let bq = if vmem_bytes < 32 * MIB { 256 } else { 512 };
        let mut q_blocks: Vec<(usize, usize)> =
            (0..zq).step_by(bq).map(|base| (base, bq.min(zq - base))).collect();
        // Nothing overlaps with the end of the last block: it should be the shortest.
        q_blocks.reverse();
        if config.band.after == Some(0) && zq == WHOLE_HEAD && q_blocks.len() == 4 {
            q_blocks = match wide_mxu {
                true => vec![(768, 768), (1536, 512), (256, 512), (0, 256)],
                false => [3, 1, 2, 0].map(|idx| (idx * bq, bq)).to_vec(),
            };
        }
        // What remains beside the limit is the compiler's own.
        let vmem_limit_bytes = vmem_bytes.min(100 * MIB);
        Blocks { zq, zk, q_blocks, bk: 256, dt, pipelined: wide_mxu, vmem_limit_bytes }
    }
}
