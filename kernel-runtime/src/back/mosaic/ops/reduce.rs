//! Reductions along one axis.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::ir::ops::{ReduceKind, ReduceOp};
use crate::ir::{DType, OpData, Shape};
use smallvec::smallvec;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    reduce: ReduceOp,
    op: &OpData,
) -> Lowering<'s> {
    if lowerer.is_sparse() {
        return super::sparse::lower_reduce(lowerer, reduce, op);
    }
    let dtype = lowerer.dtype(op.operands[0]);
    let mut shape = Shape::from_slice(lowerer.kernel.ty(op.operands[0]).shape());
    let mut value = lowerer.wide_value(op.operands[0])?;
    let mut axis = reduce.axis;
    // A row of rank 1 would reduce to a scalar, which lives elsewhere.
    let flat = shape.len() == 1;
    if flat {
        shape.insert(0, 1);
        axis = 1;
        value = lowerer.reshape(value, &shape, Lowerer::compute(dtype));
    }
    let kind = reduce.kind;
    let (reduced, result_dtype) = match kind {
        ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => {
            (lowerer.combine(kind, value, &shape, axis, dtype), dtype)
        }
        ReduceKind::ArgMax | ReduceKind::ArgMin => {
            (lowerer.index_of(kind, value, &shape, axis, dtype), DType::I32)
        }
    };
    let reduced =
        if flat { lowerer.reshape(reduced, &[1], Lowerer::compute(result_dtype)) } else { reduced };
    let form = lowerer.form(op.results[0]);
    Ok(smallvec![lowerer.narrow(reduced, result_dtype, &form)])
}

impl<'s> Lowerer<'_, 's> {
    /// Sum, maximum or minimum of 32-bit values; the axis stays with size 1.
    fn combine(
        &mut self,
        kind: ReduceKind,
        value: Value<'s>,
        shape: &[usize],
        axis: usize,
        dtype: DType,
    ) -> Value<'s> {
        let (elem, form) = (Self::compute(dtype), Form::tile(shape));
        // libtpu compares signed integers alone; flipping the top bit keeps the order.
        let flip = dtype == DType::U32 && kind != ReduceKind::Sum;
        let value = if flip { self.flip_sign(value, &form) } else { value };
        let (name, init) = match (kind, dtype.is_float()) {
            (ReduceKind::Max | ReduceKind::ArgMax, true) => ("maximumf", f32::NEG_INFINITY),
            (ReduceKind::Min | ReduceKind::ArgMin, true) => ("minimumf", f32::INFINITY),
            (ReduceKind::Max | ReduceKind::ArgMax, false) => ("maxsi", i32::MIN as f32),
            (ReduceKind::Min | ReduceKind::ArgMin, false) => ("minsi", i32::MAX as f32),
            (ReduceKind::Sum, _) => ("add", 0.0),
        };
        let rest: Vec<usize> = (0..shape.len()).filter(|&i| i != axis).map(|i| shape[i]).collect();
        let rest_form = Form::tile(&rest);
        let acc = if dtype.is_float() {
            self.float_constant(&rest_form, elem, init)
        } else {
            self.int_constant(&rest_form, elem, i64::from(init as i32))
        };
        let kind_attr = self.session.parsed_attr(&format!("#vector.kind<{name}>"));
        let dims = self.session.i64_array_attr(&[axis as i64]);
        let ty = self.ty(&rest_form, elem);
        let attrs = [("kind", kind_attr), ("reduction_dims", dims)];
        let reduced = self.op("vector.multi_reduction", &[value, acc], ty, &attrs);
        let mut kept = Shape::from_slice(shape);
        kept[axis] = 1;
        let reduced = self.reshape(reduced, &kept, elem);
        if flip { self.flip_sign(reduced, &Form::tile(&kept)) } else { reduced }
    }

    fn flip_sign(&mut self, value: Value<'s>, form: &Form) -> Value<'s> {
        let sign = self.int_constant(form, Elem::I32, i64::from(i32::MIN));
        self.apply("arith.xori", &[value, sign], form, Elem::I32)
    }

    /// The first index of the extreme value, as `i32`; the axis stays with size 1.
    fn index_of(
        &mut self,
        kind: ReduceKind,
        value: Value<'s>,
        shape: &[usize],
        axis: usize,
        dtype: DType,
    ) -> Value<'s> {
        let form = Form::tile(shape);
        let mut kept = Shape::from_slice(shape);
        kept[axis] = 1;
        if dtype.is_float() {
            let name = if kind == ReduceKind::ArgMax { "arg_max" } else { "arg_min" };
            let rest: Vec<usize> =
                (0..shape.len()).filter(|&i| i != axis).map(|i| shape[i]).collect();
            let kind = self.session.parsed_attr(&format!("#tpu.reduction_kind<{name}>"));
            let axis = self.session.int_attr(self.session.elem(Elem::I32), axis as i64);
            let ty = self.ty(&Form::tile(&rest), Elem::I32);
            let index =
                self.op("tpu.reduce_index", &[value], ty, &[("axis", axis), ("kind", kind)]);
            return self.reshape(index, &kept, Elem::I32);
        }
        // There is no such op on integers: find the value, then the first place that has it.
        let extreme = self.combine(kind, value, shape, axis, dtype);
        let extreme = self.apply("vector.broadcast", &[extreme], &form, Elem::I32);
        let is_extreme = self.cmpi(0, &form, value, extreme);
        let index = self.iota(DType::I32, shape, axis);
        let none = self.int_constant(&form, Elem::I32, i64::from(i32::MAX));
        let index = self.select(is_extreme, index, none, &form, Elem::I32);
        self.combine(ReduceKind::Min, index, shape, axis, DType::I32)
    }
}
