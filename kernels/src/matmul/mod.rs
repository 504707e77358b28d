//! Matrix product with a fused epilogue.

mod kernel;
pub mod reference;
pub mod specs;

pub use kernel::{matmul, matmul_nt, matmul_tn, matmul_tt};

use half::bf16;
use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::target::Target;
use systole::trace::KernelFn;

/// Block sizes: `m x k` of the left operand, `k x n` of the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Rows of the result per grid step.
    pub m: usize,
    /// Length of the contraction per grid step.
    pub k: usize,
    /// Columns of the result per grid step.
    pub n: usize,
    /// By how many copies at once an operand's block is fetched, each a part of the contraction.
    pub k_streams: usize,
}

impl Tiles {
    /// Shape of the accumulator: minimal if one step does the whole contraction.
    pub fn acc_shape(&self, k: usize) -> [usize; 2] {
        if k <= self.k { [8, 128] } else { [self.m, self.n] }
    }

    /// Sizes for a chip, by libtpu's cycle estimates of the specs.
    ///
    /// The whole contraction is done in one step where it fits, since an accumulator in VMEM costs
    /// a load and a store per element and step. A size that fits in one block is one block, even
    /// an odd one: such a block has no padding.
    pub fn for_target(target: &Target, dtype: DType, [m, k, n]: [usize; 3]) -> Tiles {
        let wide_mxu = target.chip.is_some_and(|chip| chip.mxu_size == 256);
        let side = match dtype {
            DType::F32 if !wide_mxu => 256,
            DType::BF16 if wide_mxu && m.min(n) >= 2048 => 1024,
            _ => 512,
        };
        let longest = 4096 / dtype.size_bytes();
        let tile_k = if k <= longest { k } else { longest.min(1024) };
        // With four copies at once the first step waits for a quarter as long (v5e, 1024^3 bf16:
        // 21,333 cycles instead of 22,133). On 7x they cost more than they save.
        let splits = tile_k == k && k.is_multiple_of(4 * 128);
        let k_streams = if splits && target.name != "tpu7x" { 4 } else { 1 };
        Tiles { m: m.min(side), k: tile_k, n: n.min(side), k_streams }
    }
}

/// Which operands are given transposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The left operand is `[k, m]`.
    pub transpose_lhs: bool,
    /// The right operand is `[n, k]`.
    pub transpose_rhs: bool,
}

impl Layout {
    /// BLAS's name: `nn`, `nt`, `tn` or `tt`.
    pub fn name(self) -> &'static str {
        match (self.transpose_lhs, self.transpose_rhs) {
            (false, false) => "nn",
            (false, true) => "nt",
            (true, false) => "tn",
            (true, true) => "tt",
        }
    }
}

/// How to multiply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatmulOptions {
    /// Which operands are transposed.
    pub layout: Layout,
    /// For `f32` operands.
    pub precision: Precision,
}

/// Traces the product of arrays with sizes `[m, k, n]`: floats give their own type, `i8` gives
/// `i32`.
///
/// # Errors
/// If the element type has no product, or sizes are zero.
pub fn build(
    target: &Target,
    dtype: DType,
    options: MatmulOptions,
    sizes: [usize; 3],
) -> Result<Kernel, Diagnostics> {
    let tiles = Tiles::for_target(target, dtype, sizes);
    match dtype {
        DType::I8 => trace::<i8, i32, _>(tiles, options, |x| x, sizes),
        DType::BF16 => trace::<bf16, bf16, _>(tiles, options, |x| x.cast(), sizes),
        DType::F32 => trace::<f32, f32, _>(tiles, options, |x| x, sizes),
        other => Err(crate::refuse(
            format!("there is no product of elements of {other}"),
            "use f32, bf16 or i8",
        )),
    }
}

fn trace<T: Num, U: Num, E: Fn(Tile<T::Acc>) -> Tile<U> + Clone + 'static>(
    tiles: Tiles,
    options: MatmulOptions,
    epilogue: E,
    [m, k, n]: [usize; 3],
) -> Result<Kernel, Diagnostics> {
    let MatmulOptions { layout, precision } = options;
    let lhs = if layout.transpose_lhs { [k, m] } else { [m, k] };
    let rhs = if layout.transpose_rhs { [n, k] } else { [k, n] };
    let kernel: Box<dyn KernelFn> = match layout.name() {
        "nn" => Box::new(matmul::<T, U, E>(tiles, precision, epilogue)),
        "nt" => Box::new(matmul_nt::<T, U, E>(tiles, precision, epilogue)),
        "tn" => Box::new(matmul_tn::<T, U, E>(tiles, precision, epilogue)),
        _ => Box::new(matmul_tt::<T, U, E>(tiles, precision, epilogue)),
    };
    crate::trace(&*kernel, &[(T::DTYPE, &lhs), (T::DTYPE, &rhs)])
}
