//! Messages, assertions and marks.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Lowerer, Lowering};
use crate::ir::OpData;
use crate::ir::ops::DebugOp;
use smallvec::SmallVec;

/// What profilers show by default, as JAX's own scopes.
const SCOPE_LEVEL: i64 = 10;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    debug: &DebugOp,
    op: &OpData,
) -> Lowering<'s> {
    match debug {
        DebugOp::Print { message } => return print(lowerer, message, op),
        DebugOp::Assert { message } => {
            let cond = lowerer.value(op.operands[0])?;
            let message = lowerer.session.string_attr(message);
            lowerer.emit("cf.assert", &[cond], &[], &[("msg", message)], &[]);
        }
        DebugOp::ScopeStart { name } => {
            let level = lowerer.session.int_attr(lowerer.session.elem(Elem::I32), SCOPE_LEVEL);
            let attrs = [("level", level), ("message", lowerer.session.string_attr(name))];
            lowerer.emit("tpu.trace_start", &[], &[], &attrs, &[]);
        }
        DebugOp::ScopeEnd => {
            lowerer.emit("tpu.trace_stop", &[], &[], &[], &[]);
        }
        DebugOp::Delay => {
            let nanos = lowerer.value(op.operands[0])?;
            lowerer.emit("tpu.delay", &[nanos], &[], &[], &[]);
        }
    }
    Ok(SmallVec::new())
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
        let mut elem = Lowerer::compute(dtype);
        if elem == Elem::I1 {
            elem = Elem::I32;
            value = lowerer.apply("arith.extui", &[value], &form, elem);
        }
        match &form.0 {
            None => log(lowerer, message, &[value]),
            Some(shape) => log_tile(lowerer, message, value, shape, elem),
        }
    }
    Ok(SmallVec::new())
}

fn log<'s>(lowerer: &mut Lowerer<'_, 's>, message: &str, values: &[Value<'s>]) {
    let attrs = [
        ("formatted", lowerer.session.bool_attr(false)),
        ("tag", lowerer.session.string_attr(message)),
    ];
    lowerer.emit("tpu.log", values, &[], &attrs, &[]);
}

/// The log reads tiles from memory: they are put into a buffer that lives as long as it takes.
fn log_tile<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    message: &str,
    value: Value<'s>,
    shape: &[usize],
    elem: Elem,
) {
    let session = lowerer.session;
    let flat = shape.len() == 1;
    let shape = if flat { vec![1, shape[0]] } else { shape.to_vec() };
    let value = if flat { lowerer.reshape(value, &shape, elem) } else { value };
    let zeros: Vec<Value<'s>> = shape.iter().map(|_| lowerer.index_constant(0)).collect();
    let region = lowerer.emit("tpu.region", &[], &[], &[], &[&[]]);
    let outer = lowerer.set_block(region.block(0));
    let vmem = session.parsed_attr("#tpu.memory_space<vmem>");
    let buffer_ty = session.memref(&shape, elem, vmem);
    let none = session.i32_array_attr(&[0, 0]);
    let buffer = lowerer.op("memref.alloca", &[], buffer_ty, &[("operandSegmentSizes", none)]);
    lowerer.vector_store(value, buffer, &zeros, None);
    let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
    let attrs = [("shape", session.i64_array_attr(&sizes)), ("tag", session.string_attr(message))];
    lowerer.emit("tpu.log_buffer", &[buffer], &[], &attrs, &[]);
    lowerer.emit("tpu.yield", &[], &[], &[], &[]);
    lowerer.set_block(outer);
}
