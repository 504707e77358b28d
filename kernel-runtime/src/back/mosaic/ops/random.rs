//! The core's random number generator.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::ir::OpData;
use crate::ir::ops::RandomOp;
use smallvec::{SmallVec, smallvec};

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    random: &RandomOp,
    op: &OpData,
) -> Lowering<'s> {
    match random {
        RandomOp::Seed => {
            let mut seeds: SmallVec<[Value<'s>; 2]> = SmallVec::new();
            for &operand in &op.operands {
                seeds.push(lowerer.value(operand)?);
            }
            lowerer.emit("tpu.prng_set_seed_32", &seeds, &[], &[], &[]);
            Ok(SmallVec::new())
        }
        RandomOp::Bits(shape) => {
            // libtpu makes matrices.
            let columns = shape.last().copied().unwrap_or(1);
            let matrix = [shape.iter().product::<usize>() / columns, columns];
            let ty = lowerer.ty(&Form::tile(&matrix), Elem::I32);
            let bits = lowerer.op("tpu.prng_random_bits", &[], ty, &[]);
            Ok(smallvec![if shape.len() == 2 {
                bits
            } else {
                lowerer.reshape(bits, shape, Elem::I32)
            }])
        }
    }
}
