//! Messages and assertions.

use crate::back::mlir::Elem;
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::ir::OpData;
use crate::ir::ops::DebugOp;
use smallvec::SmallVec;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    debug: &DebugOp,
    op: &OpData,
) -> Lowering<'s> {
    match debug {
        DebugOp::Print { message } => print(lowerer, message, op),
        DebugOp::Assert { message } => {
            let cond = lowerer.value(op.operands[0])?;
            let message = lowerer.session.string_attr(message);
            lowerer.emit("cf.assert", &[cond], &[], &[("msg", message)], &[]);
            Ok(SmallVec::new())
        }
    }
}

/// The log takes one value per message. It is written if libtpu runs with
/// `xla_tpu_enable_log_recorder`.
fn print<'s>(lowerer: &mut Lowerer<'_, 's>, message: &str, op: &OpData) -> Lowering<'s> {
    if op.operands.is_empty() {
        log(lowerer, message, &[]);
    }
    for &operand in &op.operands {
        let (dtype, form) = (lowerer.dtype(operand), lowerer.form(operand));
        let mut value = lowerer.wide_value(operand)?;
        if Lowerer::compute(dtype) == Elem::I1 {
            value = lowerer.apply("arith.extui", &[value], &form, Elem::I32);
        }
        if form != Form::SCALAR {
            return Err(lowerer
                .unsupported("`print` of a tile does not exist")
                .help("print a scalar, or run the kernel on the interpreter, which prints tiles"));
        }
        log(lowerer, message, &[value]);
    }
    Ok(SmallVec::new())
}

fn log<'s>(lowerer: &mut Lowerer<'_, 's>, message: &str, values: &[crate::back::mlir::Value<'s>]) {
    let attrs = [
        ("formatted", lowerer.session.bool_attr(false)),
        ("tag", lowerer.session.string_attr(message)),
    ];
    lowerer.emit("tpu.log", values, &[], &attrs, &[]);
}
