//! The kernels: the grid, the blocks and the choice of the unrolled body.
//!
//! Two passes over the scores of a query block. Pass 1 makes them against every key the block
//! sees, keeps them in VMEM and takes their maximum lane by lane; pass 2 exponentiates, sums and
//! multiplies with the values. Against the textbook's online softmax (Dao et al.,
//! "FlashAttention", 2022) nothing is rescaled while the keys pass by; only super tiles of one row
//! merge by its rule. Only the tiles that the band's edge goes through are masked.

use super::Attention;
use super::pass::{Refs, SuperTile};
use super::plan::Plan;
use systole::prelude::*;

/// Flash attention over `[b, h, sq, d]` queries and `[b, g, sk, d]` keys and values, with
/// `group = h / g` query heads to a key head. Gives `[b, h, sq, d]`.
#[tpu_kernel(
    grid(bi: parallel, hi: parallel, i: parallel, j: arbitrary = plan.nk()),
    vmem_limit(plan.blocks.vmem_limit_bytes)
)]
pub fn flash_attention<T: Float>(
    #[comptime] config: Attention,
    #[comptime] plan: Plan,
    #[comptime] group: usize,
    #[block(b: squeezed @ bi, h: squeezed @ hi, sq: plan.blocks.zq @ i, d)] q: In<T>,
    #[block(b: squeezed @ bi, g: squeezed @ hi / group, sk: plan.blocks.zk @ plan.seen_tile(i, j), d)]
    k: In<T>,
    #[block(b: squeezed @ bi, g: squeezed @ hi / group, sk: plan.blocks.zk @ plan.seen_tile(i, j), d)]
    v: In<T>,
    #[block(b: squeezed @ bi, h: squeezed @ hi, sq: plan.blocks.zq @ i, d)] o: Out<T>,
    #[scratch(plan.scores_shape())] even: Vmem<f32>,
    #[scratch(plan.scores_shape())] odd: Vmem<f32>,
    #[scratch(plan.state_shape(128))] max: Vmem<f32>,
    #[scratch(plan.state_shape(128))] sum: Vmem<f32>,
    #[scratch(plan.state_shape(d))] acc: Vmem<f32>,
) {
    let refs = Refs { q, k, v, o, lse: None, scores: [even, odd], max, sum, acc };
    attend(&config, &plan, [bi, hi, i, j], refs);
}

/// [`flash_attention`] with the log-sum-exp of each row's scaled scores as a second output,
/// `[b, h, 1, sq]` in `f32`: what a backward pass or a merge of partial results needs.
#[tpu_kernel(
    grid(bi: parallel, hi: parallel, i: parallel, j: arbitrary = plan.nk()),
    vmem_limit(plan.blocks.vmem_limit_bytes)
)]
pub fn flash_attention_lse<T: Float>(
    #[comptime] config: Attention,
    #[comptime] plan: Plan,
    #[comptime] group: usize,
    #[comptime] one: usize,
    #[block(b: squeezed @ bi, h: squeezed @ hi, sq: plan.blocks.zq @ i, d)] q: In<T>,
    #[block(b: squeezed @ bi, g: squeezed @ hi / group, sk: plan.blocks.zk @ plan.seen_tile(i, j), d)]
    k: In<T>,
    #[block(b: squeezed @ bi, g: squeezed @ hi / group, sk: plan.blocks.zk @ plan.seen_tile(i, j), d)]
    v: In<T>,
    #[block(b: squeezed @ bi, h: squeezed @ hi, sq: plan.blocks.zq @ i, d)] o: Out<T>,
    #[block(b: squeezed @ bi, h: squeezed @ hi, one, sq: plan.blocks.zq @ i)] lse: Out<f32>,
    #[scratch(plan.scores_shape())] even: Vmem<f32>,
    #[scratch(plan.scores_shape())] odd: Vmem<f32>,
    #[scratch(plan.state_shape(128))] max: Vmem<f32>,
    #[scratch(plan.state_shape(128))] sum: Vmem<f32>,
    #[scratch(plan.state_shape(d))] acc: Vmem<f32>,
) {
    let refs = Refs { q, k, v, o, lse: Some(lse), scores: [even, odd], max, sum, acc };
    attend(&config, &plan, [bi, hi, i, j], refs);
}

/// One grid step: the body of the super tile that it is on.
#[tpu_fn]
fn attend<T: Float>(config: &Attention, plan: &Plan, at: [Scalar<i32>; 4], refs: Refs<T>) {
    let d = refs.q.shape()[1];
    for (case, condition) in plan.dispatch(at[2], at[3]) {
        let tile = SuperTile::new(config, plan, &case, at, d);
        match condition {
            None => tile.run(refs),
            Some(condition) => {
                if condition {
                    tile.run(refs);
                }
            }
        }
    }
}
