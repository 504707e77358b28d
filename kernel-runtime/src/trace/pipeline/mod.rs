//! Software pipelines inside of a kernel: arrays in HBM, walked over block by block, with copies
//! that run ahead of the work and behind it.
//!
//! [`pipeline`] is traced to what one would write by hand: rings of buffers and their semaphores,
//! a loop over all steps, copies under conditions, waits. So every back end runs it, and every
//! check of the interpreter holds in it.

mod block;
mod cut;
mod math;
mod plan;
mod ring;
mod spec;
mod steps;

pub use block::Block;
pub use spec::{
    BlockIndex, BlockSize, BlockSizes, BlockSpec, Fetched, PipelineGrid, Sent, Spec, Specs,
    Squeezed, Updated,
};

use super::carried::Carried;
use super::handle::Scalar;
use std::panic::Location;

/// Runs `body` once per step of a grid, on blocks of arrays in HBM that copies bring and take away
/// while other steps work. The last axis of the grid is the innermost.
///
/// The grid is an array or a tuple of extents, each a number or a `Scalar<i32>` that is known when
/// the kernel runs. The blocks are a tuple of what [`Hbm::blocks`](super::Hbm::blocks) and its kin
/// give: the sizes of a block, and which block a step works on. `body` gets the indices of the
/// step and a [`Block`] for each array.
///
/// ```text
/// pipeline(
///     [m / bm, n / bn, k / bk],
///     (
///         x.blocks([bm, bk], |[i, _, l]| (i, l)).buffers(3),
///         w.blocks([bk, bn], |[_, j, l]| (l, j)),
///         y.blocks([bm, bn], |[i, j, _]| (i, j)),
///     ),
///     |[_, _, l], (x, w, y)| {
///         if l == 0 {
///             acc[..] = 0.0;
///         }
///         acc[..] += dot(x[..], w[..]);
///         if l == l_last {
///             y[..] = acc[..].cast();
///         }
///     },
/// );
/// ```
///
/// An input is fetched as many different blocks ahead as it has buffers besides the one in use,
/// however many steps a block lasts, and not again while the next step works on the same block. An
/// output is sent when its last step is done, and waited for when its buffer is needed again. An
/// array that is updated in place ([`HbmInOut`](super::HbmInOut)) is fetched, and sent back. All
/// copies are done when the pipeline ends. It takes its buffers, the message of
/// `valid::vmem_overflow` lists them, from VMEM.
///
/// Pipelines nest: the body may hold another one, whose blocks depend on the outer indices.
///
/// Where blocks do not divide their array, the last one reaches over its end: what is there of it is
/// fetched and sent. The rest of a fetched block is undefined, so mask it where it enters a reduction
/// or a product. Copies take along the last axis what the tiling allows (`valid::copy_alignment`):
/// a multiple of 128 elements, or the whole axis.
///
/// # Errors
/// At the line of the blocks, and with the numbers: ranks that differ, extents that lead outside of
/// the array, and a block of an output that is left and visited again. What the indices do when the
/// kernel runs is checked by the interpreter.
#[track_caller]
pub fn pipeline<const N: usize, G, S, B>(grid: G, specs: S, mut body: B)
where
    G: PipelineGrid<N>,
    S: Specs<N>,
    B: FnMut([Scalar<i32>; N], S::Blocks),
{
    let at = Location::caller();
    steps::run(&grid.extents(), &specs, (), &mut |index, blocks, ()| body(index, blocks), at);
}

/// As [`pipeline`], with a value that each step takes and gives to the next: the last one's comes
/// back, or `start` if there is no step.
///
/// ```text
/// let total = pipeline_fold(
///     [m / 8],
///     (x.blocks([8, 128], |[i]| (i, 0)),),
///     zeros([8, 128]),
///     |_, (x,), sum| sum + x[..],
/// );
/// ```
///
/// # Errors
/// Those of [`pipeline`]; and a value that changes its type or shape.
#[track_caller]
pub fn pipeline_fold<const N: usize, G, S, C, B>(grid: G, specs: S, start: C, mut body: B) -> C
where
    G: PipelineGrid<N>,
    S: Specs<N>,
    C: Carried,
    B: FnMut([Scalar<i32>; N], S::Blocks, C) -> C,
{
    steps::run(&grid.extents(), &specs, start, &mut body, Location::caller())
}
