//! Matrix product with weights of 8 or 4 bits.

mod kernel;
pub mod reference;
pub mod specs;

pub use kernel::matmul_quantized;

use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::Target;

/// Block sizes, and how weights are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Rows of the result per grid step.
    pub m: usize,
    /// Length of the contraction per grid step.
    pub k: usize,
    /// Columns of the result per grid step.
    pub n: usize,
    /// By how many copies at once the block of weights is fetched.
    pub k_streams: usize,
    /// Rows of a column of weights that share a scale; 0 if all do.
    pub group: usize,
    /// Whether the matrix unit takes weights as they are.
    pub mixed: bool,
}

/// How many bytes of weights a grid step fetches at most: enough to hide that a copy takes a while
/// to start, and little enough that not much is waited for at the beginning.
const STEP_BYTES: usize = 1 << 20;

/// Rows of weights per step: all that are few, else a part that divides them and holds whole groups,
/// so that no step sees padding and every scale is that of its group.
fn step_rows(k: usize, group: usize) -> usize {
    if k <= 4096 {
        return k;
    }
    // Blocks of scales have 8 rows, those of weights whole lanes of activations.
    let groups = if group == 0 { 128 } else { group.saturating_mul(8) };
    let shared = 1 << groups.trailing_zeros().min(7);
    let unit = groups.saturating_mul(128 / shared);
    (1..=4096 / unit).rev().map(|n| n * unit).find(|&rows| k.is_multiple_of(rows)).unwrap_or(k)
}

impl Tiles {
    /// Sizes for a chip, by libtpu's cycle estimates of the specs.
    pub fn for_target(
        target: &Target,
        weights: DType,
        [m, k, n]: [usize; 3],
        group: usize,
    ) -> Tiles {
        let tile_k = step_rows(k, group);
        let per_step = 8 * STEP_BYTES / weights.size_bits() / tile_k.max(1);
        let columns = if per_step < 256 { 128 } else { 1 << per_step.min(1024).ilog2() };
        // Long products are bound by the matrix unit: the wider the block, the fewer the times that
        // activations are fetched.
        let columns = if m > 256 { columns.max(512) } else { columns };
        let splits = tile_k == k && k.is_multiple_of(128.max(group).saturating_mul(4));
        let k_streams = if splits && target.name != "tpu7x" { 4 } else { 1 };
        let mixed = target.chip.is_some_and(|chip| chip.multiplies(DType::BF16, weights));
        // The more products a step has, the more of them wait in VMEM, of which v4 has little.
        let is_small = target.chip.is_some_and(|chip| chip.vmem_bytes <= 16 << 20);
        let rows = if is_small { 128 } else { 512 };
        Tiles { m: m.min(rows), k: tile_k, n: n.min(columns), k_streams, group, mixed }
    }

    /// Whether each column of weights has one scale.
    pub fn is_per_channel(&self) -> bool {
        self.group == 0
    }

    /// The scales of a column that a step needs.
    pub fn groups(&self) -> usize {
        if self.is_per_channel() { 1 } else { self.k / self.group }
    }

    /// By how many blocks the scales move from step to step.
    pub fn scale_steps(&self) -> usize {
        usize::from(!self.is_per_channel())
    }

    /// Shape of the accumulator: minimal if one step does the whole contraction.
    pub fn acc_shape(&self, k: usize) -> [usize; 2] {
        if k <= self.k { [8, 128] } else { [self.m, self.n] }
    }
}

/// Traces the product of `bf16` activations `[m, k]` by weights `[k, n]` with scales
/// `[k / group, n]`; `[1, n]` if `group` is 0. The result is `bf16`.
///
/// # Errors
/// If weights of this type are not known, sizes are zero, or groups do not divide the contraction.
pub fn build(
    target: &Target,
    weights: DType,
    sizes: [usize; 3],
    group: usize,
) -> Result<Kernel, Diagnostics> {
    if sizes.contains(&0) {
        return Err(crate::refuse(
            format!("a product of sizes {sizes:?} has no elements"),
            "give it at least one",
        ));
    }
    if group > 0 && !sizes[1].is_multiple_of(group) {
        return Err(crate::refuse(
            format!("groups of {group} do not divide a contraction of {}", sizes[1]),
            "choose a divisor, or pad the weights with zeros",
        ));
    }
    let tiles = Tiles::for_target(target, weights, sizes, group);
    match weights {
        DType::I4 => trace::<i4>(tiles, sizes),
        DType::I8 => trace::<i8>(tiles, sizes),
        DType::F8E4M3FN => trace::<f8e4m3fn>(tiles, sizes),
        DType::F8E5M2 => trace::<f8e5m2>(tiles, sizes),
        other => Err(crate::refuse(
            format!("there are no quantized weights of {other}"),
            "use i4, i8, f8e4m3fn or f8e5m2; plain weights go through `matmul`",
        )),
    }
}

fn trace<W: Factor>(tiles: Tiles, [m, k, n]: [usize; 3]) -> Result<Kernel, Diagnostics> {
    let kernel = matmul_quantized::<W, _>(tiles, |x| x.cast());
    let n_groups = if tiles.is_per_channel() { 1 } else { k / tiles.group };
    let inputs: [(DType, &[usize]); 3] =
        [(DType::BF16, &[m, k]), (W::DTYPE, &[k, n]), (DType::F32, &[n_groups, n])];
    crate::trace(&kernel, &inputs)
}
