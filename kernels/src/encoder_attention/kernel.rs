//! The kernels: for the matrix unit of a TPU, and in plain products.

use super::Plan;
use std::f32::consts::LOG2_E;
use systole::prelude::*;

/// Attention of `plan.heads` heads of one sequence per grid step.
///
/// Everything is transposed: scores are `[keys, queries]`, so that the softmax runs down registers
/// and not across lanes, heads are rows, of which slices cost nothing, and so are the pieces of
/// which `f32` products are made. A product of pieces contracts over `d` columns, a fraction of the
/// matrix unit: several are stacked and made at once.
#[tpu_kernel(grid(bi: parallel, hi: parallel))]
pub fn encoder_attention<T: Float>(
    #[comptime] plan: Plan,
    #[block(b: squeezed @ bi, s: plan.rows @ 0, w: plan.heads * plan.d @ hi)] q: In<T>,
    #[block(b: squeezed @ bi, s: plan.rows @ 0, w: plan.heads * plan.d @ hi)] k: In<T>,
    #[block(b: squeezed @ bi, s: plan.rows @ 0, w: plan.heads * plan.d @ hi)] v: In<T>,
    #[block(b: squeezed @ bi, one, s: plan.rows @ 0)] bias: In<f32>,
    #[block(b: squeezed @ bi, s: plan.rows @ 0, w: plan.heads * plan.d @ hi)] o: Out<T>,
) {
    let (d, n) = comptime!((plan.d, plan.n_pieces()));
    let scale = comptime!(1.0 / (d as f32).sqrt());
    let of_head = |pieces: &[Tile<bf16>], h: usize| -> Vec<Tile<bf16>> {
        pieces.iter().map(|piece| piece.slice((h * d..(h + 1) * d, ..))).collect()
    };
    let q = pieces(q[..].cast::<f32>().transpose(), n); // [w, s] each
    let k = pieces(k[..].cast::<f32>().transpose(), n);
    let v = pieces(existing(&plan, v[..].cast::<f32>(), 0.0).transpose(), n);
    let bias = in_powers_of_two(bias[..]).broadcast_to([plan.rows, plan.rows]).transpose(); // [keys, queries]
    let mut scored: Vec<Tile<f32>> = Vec::new();
    let mut outputs: Vec<Tile<f32>> = Vec::new();
    #[unroll]
    for turn in 0..plan.heads + plan.ahead {
        if comptime!(turn < plan.heads) {
            scored.push(scores(&plan, &of_head(&k, turn), &of_head(&q, turn)));
        }
        if comptime!(turn >= plan.ahead) {
            let h = turn - plan.ahead;
            let exponents = scored[h] * (scale * LOG2_E) + bias; // [keys, queries]
            // Below every key that is there, also where all of those are hidden.
            let exponents = existing(&plan, exponents, f32::NEG_INFINITY);
            let max = exponents.reduce_max(0).broadcast_to([plan.rows, plan.rows]);
            let weights = (exponents - max).exp2();
            let sum = weights.reduce_sum(0); // [1, queries]
            let output = weighted(&plan, &of_head(&v, h), &pieces(weights, n)); // [d, queries]
            outputs.push(output * sum.reciprocal().broadcast_to([d, plan.rows]));
        }
    }
    o[..] = concat(&outputs, 0).transpose().cast();
}

/// A bias of logits as one of exponents of 2, finite where it was: what hides a key may be as large
/// as numbers are.
fn in_powers_of_two(bias: Tile<f32>) -> Tile<f32> {
    let finite = bias.max(f32::MIN / 2.0) * LOG2_E;
    select(bias.lt(f32::MIN), bias, finite)
}

/// The first `n` of the `bf16` numbers that sum up to `x`.
fn pieces(x: Tile<f32>, n: usize) -> Vec<Tile<bf16>> {
    let mut rest = x;
    let mut pieces = Vec::new();
    for idx in 0..n {
        let piece = rest.cast::<bf16>();
        if idx + 1 < n {
            rest -= piece.cast::<f32>();
        }
        pieces.push(piece);
    }
    pieces
}

/// `k_h q_h^T`, `[keys, queries]`: terms that fit into the matrix unit beside one another, `d` rows
/// each, are one product.
fn scores(plan: &Plan, k: &[Tile<bf16>], q: &[Tile<bf16>]) -> Tile<f32> {
    let at_once = (128 / plan.d).max(1);
    let mut sum: Option<Tile<f32>> = None;
    for terms in plan.terms.chunks(at_once) {
        let of = |side: &[Tile<bf16>], choose: fn(&(usize, usize)) -> usize| {
            concat(&terms.iter().map(|term| side[choose(term)]).collect::<Vec<_>>(), 0)
        };
        let part = dot(of(k, |term| term.0).transpose(), of(q, |term| term.1));
        sum = Some(sum.map_or(part, |sum| sum + part));
    }
    sum.unwrap_or_else(|| zeros([plan.rows, plan.rows]))
}

/// `v_h^T` times the weights, `[d, queries]`: a piece of the weights enters the matrix unit once,
/// and all pieces of the values that it is multiplied with pass by in one stack.
fn weighted(plan: &Plan, v: &[Tile<bf16>], weights: &[Tile<bf16>]) -> Tile<f32> {
    let mut sum: Option<Tile<f32>> = None;
    for (idx, weights) in weights.iter().enumerate().rev() {
        let with: Vec<usize> =
            plan.terms.iter().filter(|term| term.1 == idx).map(|term| term.0).collect();
        let stack: Vec<Tile<bf16>> = with.iter().map(|&piece| v[piece]).collect();
        let products = dot(concat(&stack, 0), *weights);
        for at in 0..with.len() {
            let part = products.slice((at * plan.d..(at + 1) * plan.d, ..));
            sum = Some(sum.map_or(part, |sum| sum + part));
        }
    }
    sum.unwrap_or_else(|| zeros([plan.d, plan.rows]))
}

/// The rows that are tokens; those beyond the sequence hold anything, even NaN, which neither a weight
/// of 0 nor a bias would silence, and become `instead`.
fn existing(plan: &Plan, rows: Tile<f32>, instead: f32) -> Tile<f32> {
    if !plan.is_ragged() {
        return rows;
    }
    select(iota(rows.shape(), 0).lt(plan.tokens), rows, instead)
}

/// The same in plain products, one head per grid step: off the TPU all heads are computed at once,
/// and `f32` products are what they are.
#[tpu_kernel(grid(bi: parallel, hi: parallel))]
pub fn by_head<T: Float>(
    #[comptime] d: usize,
    #[comptime] precision: Precision,
    #[block(b: squeezed @ bi, s, w: d @ hi)] q: In<T>,
    #[block(b: squeezed @ bi, s, w: d @ hi)] k: In<T>,
    #[block(b: squeezed @ bi, s, w: d @ hi)] v: In<T>,
    #[block(b: squeezed @ bi, one, s)] bias: In<f32>,
    #[block(b: squeezed @ bi, s, w: d @ hi)] o: Out<T>,
) {
    let scale = comptime!(1.0 / (d as f32).sqrt());
    let qk = DotOp { transpose_rhs: true, precision, ..DotOp::default() };
    let pv = DotOp { precision, ..DotOp::default() };
    let scores = dot_with(q[..], k[..], qk) * scale + bias[..]; // [s, s]
    let e = (scores - scores.row_max()).exp();
    let weights = e * e.row_sum().reciprocal();
    o[..] = dot_with(weights.cast::<T>(), v[..], pv).cast();
}
