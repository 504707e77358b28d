//! The kernels: one per layout of the operands, all of one body.

use super::Tiles;
use systole::prelude::*;

/// `c = epilogue(a b)` for `a` `[m, k]` and `b` `[k, n]`.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
pub fn matmul<T: Num, U: Num>(
    #[comptime] tiles: Tiles,
    #[comptime] precision: Precision,
    #[comptime] epilogue: impl Fn(Tile<T::Acc>) -> Tile<U> + Clone,
    #[block(m: tiles.m @ i, k: tiles.k @ l)]
    #[streams(k: tiles.k_streams)]
    a: In<T>,
    #[block(k: tiles.k @ l, n: tiles.n @ j)]
    #[streams(k: tiles.k_streams)]
    b: In<T>,
    #[block(m: tiles.m @ i, n: tiles.n @ j)] c: Out<U>,
    #[scratch(tiles.acc_shape(k))] acc: Vmem<T::Acc>,
) {
    let op = DotOp { transpose_lhs: false, transpose_rhs: false, precision };
    step(op, Contraction { k, tile_k: tiles.k, l }, (a, b), c, acc, &epilogue);
}

/// `c = epilogue(a b^T)` for `a` `[m, k]` and `b` `[n, k]`.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
pub fn matmul_nt<T: Num, U: Num>(
    #[comptime] tiles: Tiles,
    #[comptime] precision: Precision,
    #[comptime] epilogue: impl Fn(Tile<T::Acc>) -> Tile<U> + Clone,
    #[block(m: tiles.m @ i, k: tiles.k @ l)]
    #[streams(k: tiles.k_streams)]
    a: In<T>,
    #[block(n: tiles.n @ j, k: tiles.k @ l)]
    #[streams(k: tiles.k_streams)]
    b: In<T>,
    #[block(m: tiles.m @ i, n: tiles.n @ j)] c: Out<U>,
    #[scratch(tiles.acc_shape(k))] acc: Vmem<T::Acc>,
) {
    let op = DotOp { transpose_lhs: false, transpose_rhs: true, precision };
    step(op, Contraction { k, tile_k: tiles.k, l }, (a, b), c, acc, &epilogue);
}

/// `c = epilogue(a^T b)` for `a` `[k, m]` and `b` `[k, n]`.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
pub fn matmul_tn<T: Num, U: Num>(
    #[comptime] tiles: Tiles,
    #[comptime] precision: Precision,
    #[comptime] epilogue: impl Fn(Tile<T::Acc>) -> Tile<U> + Clone,
    #[block(k: tiles.k @ l, m: tiles.m @ i)]
    #[streams(k: tiles.k_streams)]
    a: In<T>,
    #[block(k: tiles.k @ l, n: tiles.n @ j)]
    #[streams(k: tiles.k_streams)]
    b: In<T>,
    #[block(m: tiles.m @ i, n: tiles.n @ j)] c: Out<U>,
    #[scratch(tiles.acc_shape(k))] acc: Vmem<T::Acc>,
) {
    let op = DotOp { transpose_lhs: true, transpose_rhs: false, precision };
    step(op, Contraction { k, tile_k: tiles.k, l }, (a, b), c, acc, &epilogue);
}

/// `c = epilogue(a^T b^T)` for `a` `[k, m]` and `b` `[n, k]`.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
pub fn matmul_tt<T: Num, U: Num>(
    #[comptime] tiles: Tiles,
    #[comptime] precision: Precision,
    #[comptime] epilogue: impl Fn(Tile<T::Acc>) -> Tile<U> + Clone,
    #[block(k: tiles.k @ l, m: tiles.m @ i)]
    #[streams(k: tiles.k_streams)]
    a: In<T>,
    #[block(n: tiles.n @ j, k: tiles.k @ l)]
    #[streams(k: tiles.k_streams)]
    b: In<T>,
    #[block(m: tiles.m @ i, n: tiles.n @ j)] c: Out<U>,
    #[scratch(tiles.acc_shape(k))] acc: Vmem<T::Acc>,
) {
    let op = DotOp { transpose_lhs: true, transpose_rhs: true, precision };
    step(op, Contraction { k, tile_k: tiles.k, l }, (a, b), c, acc, &epilogue);
}

/// Where a grid step stands in the contraction.
#[derive(Clone, Copy)]
struct Contraction {
    k: usize,
    tile_k: usize,
    l: Scalar<i32>,
}

/// One grid step: multiplies the blocks, and accumulates if a contraction takes several steps.
#[tpu_fn]
fn step<T: Num, U: Num>(
    op: DotOp,
    at: Contraction,
    (a, b): (In<T>, In<T>),
    c: Out<U>,
    acc: Vmem<T::Acc>,
    epilogue: &impl Fn(Tile<T::Acc>) -> Tile<U>,
) {
    let lhs = at.drop_padding(a[..], usize::from(!op.transpose_lhs));
    let rhs = at.drop_padding(b[..], usize::from(op.transpose_rhs));
    let product = dot_with(lhs, rhs, op);
    if comptime!(at.k <= at.tile_k) {
        c[..] = epilogue(product);
        return;
    }
    if at.l == 0 {
        acc[..] = product;
    } else {
        acc[..] += product;
    }
    if at.l == at.l.last() {
        c[..] = epilogue(acc[..]);
    }
}

impl Contraction {
    /// Zeroes what lies beyond the end of the contraction: padding there would reach every result.
    fn drop_padding<T: Num>(self, tile: Tile<T>, axis: usize) -> Tile<T> {
        if self.k.is_multiple_of(tile.size(axis)) {
            return tile;
        }
        let exists = (iota(tile.shape(), axis) + self.l * self.tile_k).lt(self.k);
        if T::DTYPE.is_float() {
            // In f32: libtpu turns a select before a product into a masked product, which v5e has
            // for f32 alone.
            select(exists, tile.cast::<f32>(), 0.0).cast()
        } else {
            select(exists, tile, zeros(tile.shape()))
        }
    }
}
