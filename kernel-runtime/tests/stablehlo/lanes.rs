//! Parallel grid axes whose steps are computed at once.

use systole::back::{interp, stablehlo};
use systole::ir::Array;
use systole::prelude::*;
use systole::run::{Sampler, XlaDevice};
use systole::target::GENERIC;
use systole::trace::{ArgSpec, KernelFn};
use systole::valid;

/// Products with lanes on both sides, on the left and on the right alone; state in a loop and in
/// scratch; every op that moves elements.
#[tpu_kernel(grid(i: parallel, l: arbitrary))]
fn everything(
    #[block(b: squeezed @ i, m, k: 8 @ l)] x: In<f32>,
    #[block(k: 8 @ l, n)] shared: In<f32>,
    #[block(m, b: squeezed @ i, n)] y: In<f32>,
    #[block(m, b: squeezed @ i, n)] o: Out<f32>,
    #[scratch([m, n])] acc: Vmem<f32>,
    #[scratch([m, n])] turned: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    let left = dot_with(x[..], shared[..], HIGHEST); // lanes x shared
    let right = dot_with(shared[..].slice((0..8, 0..8)), x[..].transpose(), HIGHEST); // shared x lanes
    let both = dot_with(x[..], right, HIGHEST); // [m, m]
    let mut sum = left;
    for step in 0..3 {
        sum = (sum * 0.5).roll(step + 1, 1) + left.row_sum();
        turned[(ds(step, 1), ..)] = sum.slice((0..1, ..));
    }
    turned[(3..m, ..)] = sum.slice((3..m, ..)) + i.cast::<f32>();
    let parts = concat(&[turned[..].slice((.., 0..4)), both.slice((.., 0..n - 4))], 1);
    let index = iota([m, n], 0) + i * 100;
    acc[..] += select(index.lt(103), parts, parts.reshape([n, m]).reshape([m, n]) - sum);
    if l == l.last() {
        let best = acc[..].row_argmax().cast::<f32>();
        o[..] = acc[..] + y[..] * best.max(y[..].row_max());
    }
}

const HIGHEST: DotOp =
    DotOp { transpose_lhs: false, transpose_rhs: false, precision: Precision::Highest };

/// The grid index decides about a branch: the steps go different ways.
#[tpu_kernel(grid(i: parallel))]
fn steered(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    if i == 1 {
        o[..] = x[..].exp();
    } else {
        o[..] = x[..].sin().exp().cos().tanh();
    }
}

/// Blocks of rows, the last of them reaching over the end.
#[tpu_kernel(grid(i: parallel, j: parallel))]
fn padded(#[block(m: 8 @ i, n: 128 @ j)] x: In<f32>, #[block(m: 8 @ i, n: 128 @ j)] o: Out<f32>) {
    o[..] = x[..] * 2.0 + (iota([8, 128], 0) + i * 8 + j).cast::<f32>();
}

/// Runs a kernel in the interpreter and through XLA; gives the StableHLO.
fn agree(kernel: &dyn KernelFn, inputs: &[Array]) -> String {
    let args: Vec<ArgSpec> = inputs.iter().map(ArgSpec::from).collect();
    let valid = valid::check(kernel.trace(&args).unwrap(), &GENERIC).unwrap();
    let expected = interp::run(&valid, inputs, &interp::Options::default()).unwrap().outputs;
    let found = XlaDevice::xla_cpu().unwrap().run(&valid, inputs).unwrap();
    for (x, y) in expected.iter().zip(&found) {
        for (idx, (x, y)) in x.to_f64().iter().zip(y.to_f64()).enumerate() {
            assert!((x - y).abs() <= 1e-4 * x.abs().max(1.0), "element {idx}: {x} and {y}");
        }
    }
    stablehlo::lower(&valid, &stablehlo::Options::default()).unwrap()
}

#[test]
fn lanes_compute_what_steps_do() {
    let mut sampler = Sampler::new(5);
    let mut normal = |shape: &[usize]| sampler.normal(DType::F32, shape);
    let inputs = [normal(&[5, 8, 16]), normal(&[16, 8]), normal(&[8, 5, 8])];
    let text = agree(&everything(), &inputs);
    assert!(text.contains("batching_dims = [0] x [0]"), "both operands have lanes");
}

#[test]
fn edge_blocks_have_lanes_too() {
    let x = Sampler::new(6).normal(DType::F32, &[100, 300]);
    let text = agree(&padded(), &[x]);
    assert!(text.contains("tensor<39x8x128xf32>"), "13 x 3 blocks at once");
}

/// Two axes at once, heads of queries that share a head of keys, a block that follows one axis
/// alone, an output whose axes stand in another order, and a loop inside.
#[tpu_kernel(grid(bi: parallel, hi: parallel, l: arbitrary))]
fn heads(
    #[comptime] group: usize,
    #[block(b: squeezed @ bi, h: squeezed @ hi, m, d)] q: In<f32>,
    #[block(b: squeezed @ bi, g: squeezed @ hi / group, n: 8 @ l, d)] k: In<f32>,
    #[block(b: squeezed @ bi, one, m)] bias: In<f32>,
    #[block(h: squeezed @ hi, m, b: squeezed @ bi, d)] o: Out<f32>,
    #[scratch([m, d])] sum: Vmem<f32>,
) {
    if l == 0 {
        sum[..] = 0.0;
    }
    let op = DotOp { transpose_rhs: true, ..HIGHEST };
    let weight = (bi * 10 + hi).cast::<f32>();
    let scores = dot_with(q[..], k[..], op) * weight + bias[..].reshape([m, 1]);
    sum[..] += dot_with(scores, k[..], HIGHEST);
    if l == l.last() {
        o[..] = sum[..];
    }
}

#[test]
fn several_axes_are_lanes_together() {
    let mut sampler = Sampler::new(8);
    let mut normal = |shape: &[usize]| sampler.normal(DType::F32, shape);
    let inputs = [normal(&[3, 6, 8, 16]), normal(&[3, 2, 24, 16]), normal(&[3, 1, 8])];
    let text = agree(&heads(3), &inputs);
    assert!(text.contains("tensor<18x8x16xf32>"), "3 x 6 blocks of queries at once");
    assert!(text.contains("tensor<3x2x3x1x1x8x16xf32>"), "each block of keys for 3 heads");
}

/// Both axes of a product at once would copy every block of both operands.
#[tpu_kernel(grid(i: parallel, j: parallel))]
fn product(
    #[block(m: 8 @ i, k)] x: In<f32>,
    #[block(k, n: 8 @ j)] y: In<f32>,
    #[block(m: 8 @ i, n: 8 @ j)] o: Out<f32>,
) {
    o[..] = dot_with(x[..], y[..], HIGHEST);
}

#[test]
fn axes_that_would_copy_operands_stay_steps() {
    let mut sampler = Sampler::new(10);
    let mut normal = |shape: &[usize]| sampler.normal(DType::F32, shape);
    let text = agree(&product(), &[normal(&[32, 64]), normal(&[64, 24])]);
    assert!(text.contains("tensor<4x8x64xf32>") && !text.contains("tensor<12x8x64xf32>"));
}

/// A group that does not divide the heads: the last block of keys is seen by fewer.
#[test]
fn uneven_groups_stay_steps() {
    let mut sampler = Sampler::new(9);
    let mut normal = |shape: &[usize]| sampler.normal(DType::F32, shape);
    let inputs = [normal(&[3, 5, 8, 16]), normal(&[3, 2, 24, 16]), normal(&[3, 1, 8])];
    let text = agree(&heads(3), &inputs);
    assert!(!text.contains("tensor<15x8x16xf32>") && text.contains("tensor<3x8x16xf32>"));
}

#[test]
fn steps_that_go_different_ways_stay_steps() {
    let x = Sampler::new(7).normal(DType::F32, &[24, 16]);
    let text = agree(&steered(), &[x]);
    assert!(!text.contains("tensor<3x8x16xf32>"));
}
