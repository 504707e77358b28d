//! One file per family of ops.

mod cast;
mod control;
mod debug;
mod dot;
mod elementwise;
mod memory;
mod reduce;
mod shape;

pub(super) use memory::copy_block;

use super::lower::{Lowerer, Lowering};
use crate::ir::{Op, OpData};

/// Lowers an op to the block at hand; gives its results. Constants are bound, not given.
pub(super) fn lower<'s>(lowerer: &mut Lowerer<'_, 's>, op: &OpData) -> Lowering<'s> {
    match &op.op {
        Op::Elementwise(elementwise) => elementwise::lower(lowerer, *elementwise, op),
        Op::Shape(shape) => shape::lower(lowerer, shape, op),
        Op::Reduce(reduce) => reduce::lower(lowerer, *reduce, op),
        Op::Dot(dot) => dot::lower(lowerer, *dot, op),
        Op::Memory(memory) => memory::lower(lowerer, memory, op),
        Op::Control(control) => control::lower(lowerer, *control, op),
        Op::Debug(debug) => debug::lower(lowerer, debug, op),
    }
}
