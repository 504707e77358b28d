//! Explicit control of the matrix units.

use crate::back::mlir::Elem;
use crate::back::mosaic::import::ROWS_PER_ADDRESS;
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::ir::OpData;
use crate::ir::ops::MxuOp;
use smallvec::{SmallVec, smallvec};

pub(super) fn lower<'s>(lowerer: &mut Lowerer<'_, 's>, mxu: &MxuOp, op: &OpData) -> Lowering<'s> {
    let session = lowerer.session;
    let number = |value: usize| session.int_attr(session.elem(Elem::I32), value as i64);
    let unit = ("mxu_index", number(mxu.unit()));
    match mxu {
        MxuOp::PushRhs { register, transpose, .. } => {
            let rhs = lowerer.value(op.operands[0])?;
            let attrs = [
                unit,
                ("staging_register", number(*register)),
                ("transpose", session.bool_attr(*transpose)),
            ];
            lowerer.emit("tpu.matmul_push_rhs", &[rhs], &[], &attrs, &[]);
        }
        MxuOp::AccLhs { row, load, .. } => {
            let lhs = lowerer.value(op.operands[0])?;
            let mut attrs = vec![unit, ("acc", number(row / ROWS_PER_ADDRESS))];
            attrs.extend(load.map(|register| ("load_staged_rhs", number(register))));
            lowerer.emit("tpu.matmul_acc_lhs", &[lhs], &[], &attrs, &[]);
        }
        MxuOp::Pop { row, shape, .. } => {
            let ty = lowerer.ty(&Form::tile(shape), Elem::F32);
            let attrs = [unit, ("acc", number(row / ROWS_PER_ADDRESS))];
            return Ok(smallvec![lowerer.op("tpu.matmul_pop", &[], ty, &attrs)]);
        }
    }
    Ok(SmallVec::new())
}
