//! The model's kernels: attention and layer norm of the library, and a dense layer of its own, with
//! its GELU inside.

use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::run::{KernelOp, Tensor, precision};
use systole::target::Target;
use systole::trace::ArgSpec;
use systole_kernels::{encoder_attention, layer_norm};

/// `gelu(x w^T + bias)`, a block of rows against a block of weights per grid step.
#[tpu_kernel(grid(i: parallel, j: parallel))]
fn linear_gelu(
    #[comptime] rows: usize,
    #[comptime] cols: usize,
    #[comptime] precision: Precision,
    #[block(m: rows @ i, k)] x: In<f32>,
    #[block(n: cols @ j, k)] w: In<f32>,
    #[block(n: cols @ j)] bias: In<f32>,
    #[block(m: rows @ i, n: cols @ j)] y: Out<f32>,
) {
    let op = DotOp { transpose_rhs: true, precision, ..DotOp::default() };
    let x = dot_with(x[..], w[..], op) + bias[..].reshape([1, cols]);
    y[..] = x * 0.5 * ((x * std::f32::consts::FRAC_1_SQRT_2).erf() + 1.0);
}

/// One of the kernels for tensors of these shapes, as an op. `padding` says what padding does to it
/// where sizes are bounded.
fn op<const N: usize>(
    inputs: [&Tensor<f32>; N],
    padding: impl FnOnce(KernelOp) -> Result<KernelOp, Diagnostics>,
    build: impl Fn(&'static Target, &[ArgSpec]) -> Result<Kernel, Diagnostics> + Send + Sync + 'static,
) -> Result<Tensor<f32>, Diagnostics> {
    let args = inputs.map(|x| ArgSpec::of::<f32>(x.shape()));
    let op = padding(KernelOp::by_target(move |target| build(target, &args))?)?;
    let inputs = inputs.map(Tensor::to_dyn);
    op.apply(&inputs.each_ref())[0].clone().typed()
}

/// Each row of `[m, ..]` is computed from a row.
fn by_row(op: KernelOp) -> Result<KernelOp, Diagnostics> {
    Ok(op.rowwise("m"))
}

/// Attention over `[b, s, heads * d]`, with `bias` `[b, 1, s]` on the keys.
pub(crate) fn attend(
    heads: usize,
    [q, k, v]: [&Tensor<f32>; 3],
    bias: &Tensor<f32>,
) -> Result<Tensor<f32>, Diagnostics> {
    // The weight of a key that is padding is e^-1e30, which is zero.
    let padding = |op: KernelOp| op.rowwise("b").masked("s", "bias");
    // That of the ops around it.
    let precision = precision();
    op([q, k, v, bias], padding, move |target, args| {
        let shape = [0, 1, 2].map(|axis| args[0].shape[axis]);
        encoder_attention::build(target, DType::F32, shape, heads, precision)
    })
}

/// `gelu(x w^T + bias)` for `x` `[m, k]`, `w` `[n, k]` and `bias` `[n]`.
pub(crate) fn dense_gelu(
    x: &Tensor<f32>,
    w: &Tensor<f32>,
    bias: &Tensor<f32>,
) -> Result<Tensor<f32>, Diagnostics> {
    let precision = precision();
    op([x, w, bias], by_row, move |target, args| {
        let (m, n) = (args[0].shape[0], args[1].shape[0]);
        // Off the TPU there is no VMEM to fit into, and one product is the fastest.
        let (rows, cols) = if target.chip.is_some() { (m.min(256), n.min(512)) } else { (m, n) };
        linear_gelu(rows, cols, precision).trace(args)
    })
}

/// Layer norm of each row of `[m, n]`.
pub(crate) fn norm(
    x: &Tensor<f32>,
    weight: &Tensor<f32>,
    bias: &Tensor<f32>,
) -> Result<Tensor<f32>, Diagnostics> {
    const EPS: f32 = 1e-12;
    op([x, weight, bias], by_row, |target, args| {
        layer_norm::build(target, DType::F32, &args[0].shape, EPS)
    })
}
