//! How the work is cut: pages to a chunk, chunks in flight, sequences to a grid step.

use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::target::Target;

const MIB: usize = 1 << 20;

/// The sizes of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sequences.
    pub b: usize,
    /// Query heads.
    pub h: usize,
    /// Key and value heads; divides `h`.
    pub kv_h: usize,
    /// Head dimension.
    pub d: usize,
    /// Tokens of a page.
    pub page: usize,
    /// Pages of the pool.
    pub pool: usize,
    /// Entries of the page table per sequence.
    pub entries: usize,
}

impl Sizes {
    pub(super) fn check(self, dtype: DType) -> Result<(), Diagnostics> {
        let Sizes { b, h, kv_h, d, page, pool, entries } = self;
        let heads = [("query heads", h), ("key heads", kv_h), ("elements of a head", d)];
        let arrays =
            [("sequences", b, crate::MAX_SIZE), ("pages of the pool", pool, crate::MAX_SIZE)];
        crate::check_most(&heads.map(|(what, n)| (what, n, crate::MAX_HEADS)))?;
        crate::check_most(&arrays)?;
        if kv_h == 0 || h == 0 || !h.is_multiple_of(kv_h) {
            let message = format!("{h} query heads cannot share {kv_h} key heads evenly");
            return Err(crate::refuse(message, "give a number of query heads that is a multiple"));
        }
        if d == 0 || (d > 128 && !d.is_multiple_of(128)) {
            let message = format!("heads of {d} elements fill no registers");
            return Err(crate::refuse(message, "pad the heads to a multiple of 128"));
        }
        // A page is then whole registers, and where a token lies takes no division.
        let rows = 32 / dtype.size_bytes().max(1);
        if !page.is_power_of_two() || !(rows..=1024).contains(&page) {
            let message = format!("a page of {page} tokens of {dtype}");
            let help = format!("take a power of two from {rows} to 1024");
            return Err(crate::refuse(message, &help));
        }
        if b == 0 || pool == 0 || entries == 0 {
            let message =
                format!("{b} sequences with {entries} pages each of a pool of {pool} pages");
            return Err(crate::refuse(message, "give at least one of each"));
        }
        if entries.saturating_mul(page) > 1 << 28 {
            let message = format!("{entries} pages of {page} tokens are more than 2^28 tokens");
            return Err(crate::refuse(message, "give the table fewer entries"));
        }
        Ok(())
    }

    /// Query heads that share a key head.
    pub fn group(self) -> usize {
        self.h / self.kv_h.max(1)
    }

    /// Query heads that are worked on together: the fewest that fill registers of 8 rows and share
    /// no key head with others, or all. Rows of several key heads are multiplied with each of their
    /// keys, which costs the matrix unit no more than one row, and each takes its own product.
    pub fn rows(self) -> usize {
        let group = self.group().max(1);
        let fits = |rows: &usize| self.h.is_multiple_of(*rows) && rows.is_multiple_of(8);
        (group..=self.h).step_by(group).find(fits).unwrap_or(self.h)
    }

    /// Bytes of a page, keys and values of every head; `usize::MAX` if they are more.
    pub fn page_bytes(self, dtype: DType) -> usize {
        let row_bytes = row_bytes(self.d, dtype);
        [self.kv_h, self.page, row_bytes].into_iter().fold(2, usize::saturating_mul)
    }
}

/// Bytes of a token's part of a head, in whole registers.
fn row_bytes(d: usize, dtype: DType) -> usize {
    let lanes = d.checked_next_multiple_of(128).unwrap_or(usize::MAX);
    lanes.saturating_mul(dtype.size_bytes())
}

/// Sizes of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Pages that are fetched and worked on together, a chunk; a power of two.
    pub pages: usize,
    /// Buffers for chunks: one is worked on while the others are filled.
    pub buffers: usize,
    /// Sequences of a grid step. Its last chunk overlaps with no copy.
    pub sequences: usize,
    /// The scoped VMEM limit that the kernel asks for.
    pub vmem_limit_bytes: u64,
}

impl Blocks {
    /// Sizes for a chip, by libtpu's cycle estimates of the specs (`kernels check paged_attention`).
    pub fn for_target(target: &Target, dtype: DType, sizes: Sizes) -> Blocks {
        let chip = target.chip;
        let max_limit = chip.map_or(64 * MIB, |chip| chip.vmem_max_limit_bytes as usize);
        let page_bytes = sizes.page_bytes(dtype).max(1);
        let buffers = 3;
        // A chunk of some 2 MiB hides the latency of its copies; no longer than a sequence.
        let longest = sizes.entries.checked_next_power_of_two().unwrap_or(usize::MAX);
        let chunk_bytes = if max_limit < 32 * MIB { 2 * MIB } else { 4 * MIB };
        // Off TPUs nothing is hidden, and few copies make a small program.
        let fitting = chip.map_or(1, |_| (chunk_bytes / page_bytes).clamp(1, 64));
        // A chunk fills the lanes of its scores.
        let pages = (1 << fitting.ilog2()).min(longest).max(128 / sizes.page.max(1));
        // Two cores take half of the sequences each.
        let n_cores = chip.map_or(1, |chip| chip.n_cores);
        let query_bytes = sizes.h.saturating_mul(row_bytes(sizes.d, dtype)).max(1);
        let most = (2 * MIB / query_bytes).max(1);
        let sequences = sizes.b.div_ceil(n_cores).min(most);
        let ring = page_bytes.saturating_mul(buffers * pages);
        let vmem_limit_bytes = ring.saturating_add(12 * MIB).max(16 * MIB).min(max_limit) as u64;
        Blocks { pages, buffers, sequences, vmem_limit_bytes }
    }

    pub(super) fn check(self, sizes: Sizes) -> Result<(), Diagnostics> {
        let Blocks { pages, buffers, sequences, .. } = self;
        if !pages.is_power_of_two() || buffers < 2 || pages.saturating_mul(buffers) > 1024 {
            let message = format!("{buffers} buffers of {pages} pages");
            let help = "take a power of two of pages and at least two buffers, 1,024 pages in all";
            return Err(crate::refuse(message, help));
        }
        if pages * sizes.page < 128 {
            let message = format!("a chunk of {pages} pages of {} tokens", sizes.page);
            return Err(crate::refuse(message, "give a chunk at least 128 tokens"));
        }
        crate::check_most(&[("sequences of a grid step", sequences, crate::MAX_SIZE)])?;
        if sequences == 0 {
            let message = "a grid step of 0 sequences".to_owned();
            return Err(crate::refuse(message, "give it at least one"));
        }
        Ok(())
    }
}

/// The shape of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How it is cut.
    pub blocks: Blocks,
    /// The arrays' sizes.
    pub sizes: Sizes,
    /// How many of the last tokens are seen.
    pub window: Option<usize>,
}

impl Plan {
    /// Tokens of a chunk.
    pub fn chunk(&self) -> usize {
        self.blocks.pages * self.sizes.page
    }

    /// Shape of the ring: slot, page, keys or values, head, token, element.
    pub fn ring_shape(&self) -> [usize; 6] {
        let Sizes { kv_h, d, page, .. } = self.sizes;
        [self.blocks.buffers, self.blocks.pages, 2, kv_h, page, d]
    }

    /// The first token that a sequence of this length sees.
    pub(super) fn first_seen(&self, length: Scalar<i32>) -> Scalar<i32> {
        match self.window {
            // No longer window than any sequence.
            Some(window) => (length - window.min(1 << 28)).max(0),
            None => scalar(0),
        }
    }

    /// A token's chunk. Shifts, since the cycle model does not evaluate a division.
    pub(super) fn chunk_of(&self, token: Scalar<i32>) -> Scalar<i32> {
        token >> self.chunk().ilog2() as i32
    }

    /// A token's entry in the page table.
    pub(super) fn entry_of(&self, token: Scalar<i32>) -> Scalar<i32> {
        token >> self.sizes.page.ilog2() as i32
    }

    /// The chunks of a sequence of this length: the first, and the one behind the last. An empty
    /// sequence has one, which is neither fetched nor worked on.
    pub(super) fn chunks(&self, length: Scalar<i32>) -> (Scalar<i32>, Scalar<i32>) {
        let first = self.chunk_of(self.first_seen(length));
        (first, self.chunk_of((length - 1).max(0)) + 1)
    }
}
