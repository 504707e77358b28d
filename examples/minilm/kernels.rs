//! The model's kernels: attention of a whole sequence, and a dense layer with its GELU inside.

use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::prelude::*;
use systole::run::{KernelOp, Tensor};
use systole::target::Target;
use systole::trace::ArgSpec;

/// Attention of `heads` heads of `d` columns of one sequence per grid step. The heads stay side by
/// side in the columns, as the projections leave them, so nothing is transposed in HBM. `bias`
/// `[b, 1, s]` is added to the scores of a key: it is large and negative for padding.
#[tpu_kernel(grid(bi: parallel, hi: parallel))]
fn attention(
    #[comptime] heads: usize,
    #[comptime] d: usize,
    #[block(b: squeezed @ bi, s, w: heads * d @ hi)] q: In<f32>,
    #[block(b: squeezed @ bi, s, w: heads * d @ hi)] k: In<f32>,
    #[block(b: squeezed @ bi, s, w: heads * d @ hi)] v: In<f32>,
    #[block(b: squeezed @ bi, one, s)] bias: In<f32>,
    #[block(b: squeezed @ bi, s, w: heads * d @ hi)] o: Out<f32>,
) {
    let scale = comptime!(1.0 / (d as f32).sqrt());
    let qk = DotOp { transpose_rhs: true, precision: Precision::Highest, ..DotOp::default() };
    let pv = DotOp { precision: Precision::Highest, ..DotOp::default() };
    let bias = bias[..]; // [1, s]
    #[unroll]
    for h in 0..heads {
        let cols = h * d..(h + 1) * d;
        let scores = dot_with(q[(.., cols.clone())], k[(.., cols.clone())], qk); // [s, s]
        let scores = scores * scale + bias;
        let e = (scores - scores.row_max()).exp();
        let weights = e * e.row_sum().reciprocal();
        o[(.., cols.clone())] = dot_with(weights, v[(.., cols.clone())], pv);
    }
}

/// `gelu(x w^T + bias)`, a block of rows against a block of weights per grid step.
#[tpu_kernel(grid(i: parallel, j: parallel))]
fn linear_gelu(
    #[comptime] rows: usize,
    #[comptime] cols: usize,
    #[block(m: rows @ i, k)] x: In<f32>,
    #[block(n: cols @ j, k)] w: In<f32>,
    #[block(n: cols @ j)] bias: In<f32>,
    #[block(m: rows @ i, n: cols @ j)] y: Out<f32>,
) {
    let op = DotOp { transpose_rhs: true, precision: Precision::Highest, ..DotOp::default() };
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
    op([q, k, v, bias], padding, move |target, args| {
        // A block of a TPU is 128 columns wide or all of them; elsewhere a step is one head, and
        // all heads are computed at once.
        let d = args[0].shape[2] / heads;
        attention(if target.chip.is_some() { heads } else { 1 }, d).trace(args)
    })
}

/// `gelu(x w^T + bias)` for `x` `[m, k]`, `w` `[n, k]` and `bias` `[n]`.
pub(crate) fn dense_gelu(
    x: &Tensor<f32>,
    w: &Tensor<f32>,
    bias: &Tensor<f32>,
) -> Result<Tensor<f32>, Diagnostics> {
    op([x, w, bias], by_row, |target, args| {
        let (m, n) = (args[0].shape[0], args[1].shape[0]);
        // Off the TPU there is no VMEM to fit into, and one product is the fastest.
        let (rows, cols) = if target.chip.is_some() { (m.min(256), n.min(512)) } else { (m, n) };
        linear_gelu(rows, cols).trace(args)
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
        systole_kernels::layer_norm::build(target, DType::F32, &args[0].shape, EPS)
    })
}
