//! The kernel: weights are fetched narrow, and widened on their way to the matrix unit.

use super::Tiles;
use systole::prelude::*;

/// `c = epilogue(a (w * scales))` for activations `a` `[m, k]`, weights `w` `[k, n]` and their
/// scales `[k / group, n]`, each for `group` rows of a column.
///
/// Sums of products are scaled, in `f32`, and not the weights: a scaled weight would have to be
/// rounded again.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
pub fn matmul_quantized<W: Factor>(
    #[comptime] tiles: Tiles,
    #[comptime] epilogue: impl Fn(Tile<f32>) -> Tile<bf16> + Clone,
    #[block(m: tiles.m @ i, k: tiles.k @ l)] a: In<bf16>,
    #[block(k: tiles.k @ l, n: tiles.n @ j)]
    #[streams(k: tiles.k_streams)]
    w: In<W>,
    #[block(groups: tiles.groups() @ l * tiles.scale_steps(), n: tiles.n @ j)] scales: In<f32>,
    #[block(m: tiles.m @ i, n: tiles.n @ j)] c: Out<bf16>,
    #[scratch(tiles.acc_shape(k))] acc: Vmem<f32>,
) {
    let sum = product(tiles, a, w, scales);
    if comptime!(k <= tiles.k) {
        c[..] = epilogue(scaled(tiles, sum, scales));
        return;
    }
    if l == 0 {
        acc[..] = sum;
    } else {
        acc[..] += sum;
    }
    if l == l.last() {
        c[..] = epilogue(scaled(tiles, acc[..], scales));
    }
}

/// The product of a step's blocks; with the scales, if there are several along the contraction.
fn product<W: Factor>(tiles: Tiles, a: In<bf16>, w: In<W>, scales: In<f32>) -> Tile<f32> {
    if tiles.is_per_channel() {
        return multiply(tiles, a[..], w[..]);
    }
    let mut sum: Option<Tile<f32>> = None;
    for group in 0..tiles.groups() {
        let rows = ds(group * tiles.group, tiles.group);
        let part = multiply(tiles, a[(.., rows)], w[(rows, ..)]) * scales[(ds(group, 1), ..)];
        sum = Some(match sum {
            Some(sum) => sum + part,
            None => part,
        });
    }
    sum.unwrap_or_else(|| zeros([tiles.m, tiles.n]))
}

/// All products of a column have one scale, which is left to the end.
fn scaled(tiles: Tiles, sum: Tile<f32>, scales: In<f32>) -> Tile<f32> {
    if tiles.is_per_channel() { sum * scales[..] } else { sum }
}

/// `a w`, which multiplies `bf16` numbers, as every weight is one. Some chips widen floats of 8 bits
/// in the matrix unit for less than it costs before.
fn multiply<W: Factor>(tiles: Tiles, a: Tile<bf16>, w: Tile<W>) -> Tile<f32> {
    if tiles.mixed { dot_mixed(a, w, DotOp::default()) } else { dot(a, w.cast()) }
}
