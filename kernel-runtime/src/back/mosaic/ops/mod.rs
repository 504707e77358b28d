//! One file per family of ops.

mod cast;
mod control;
mod convert;
mod debug;
mod dma;
mod dot;
mod elementwise;
mod memory;
mod mxu;
mod random;
mod reduce;
mod shape;
mod sparse;
mod take;

pub(super) use dma::semaphores;
pub(super) use memory::copy_block;

use super::lower::{Lowerer, Lowering};
use crate::ir::{Op, OpData};

/// Lowers an op to the block at hand; gives its results. Constants are bound, not given.
pub(super) fn lower<'s>(lowerer: &mut Lowerer<'_, 's>, op: &OpData) -> Lowering<'s> {
    match &op.op {
        Op::Elementwise(elementwise) => elementwise::lower(lowerer, *elementwise, op),
        Op::Shape(shape) => shape::lower(lowerer, shape, op),
        Op::Convert(convert) => convert::lower(lowerer, *convert, op),
        Op::Random(random) => random::lower(lowerer, random, op),
        Op::Reduce(reduce) => reduce::lower(lowerer, *reduce, op),
        Op::Dot(dot) => dot::lower(lowerer, *dot, op),
        Op::Mxu(mxu) => mxu::lower(lowerer, mxu, op),
        Op::Memory(memory) => memory::lower(lowerer, memory, op),
        Op::Dma(dma) => dma::lower(lowerer, dma, op),
        Op::Sync(sync) => dma::lower_sync(lowerer, sync, op),
        Op::Sparse(sparse) => sparse::lower(lowerer, sparse, op),
        Op::Control(control) => control::lower(lowerer, *control, op),
        Op::Debug(debug) => debug::lower(lowerer, debug, op),
    }
}
