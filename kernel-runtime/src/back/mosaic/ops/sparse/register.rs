//! Ops within a register.

use crate::back::mlir::{Elem, Type, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{ReduceKind, ReduceOp, ScanKind, ShapeOp};
use crate::ir::{self, DType, OpData};
use smallvec::{SmallVec, smallvec};

/// Ops that rearrange elements: what a register has of them.
pub(in crate::back::mosaic::ops) fn lower_shape<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    shape_op: &ShapeOp,
    op: &OpData,
) -> Lowering<'s> {
    let form = lowerer.form(op.results[0]);
    let refused = |lowerer: &Lowerer<'_, 's>, help: &str| {
        let name = shape_op.mnemonic();
        Err(lowerer.unsupported(format!("`{name}` of a register does not exist")).help(help))
    };
    let x = op.operands.first().copied();
    let result = match (shape_op, x) {
        (ShapeOp::Splat(_) | ShapeOp::Broadcast(_), Some(x)) => lowerer.repeat(x, &form)?,
        // Registers have one axis, so the shape stays.
        (ShapeOp::Reshape(_) | ShapeOp::Transpose(_) | ShapeOp::Extract, Some(x)) => {
            lowerer.value(x)?
        }
        (ShapeOp::Slice { starts, sizes, .. }, Some(x)) => match (starts[..].first(), &sizes[..]) {
            (Some(&start), [1]) => lowerer.element(x, start)?,
            _ if form == lowerer.form(x) => lowerer.value(x)?,
            _ => return refused(lowerer, "take one element, or choose with `take_along_axis`"),
        },
        (ShapeOp::Iota { dtype, .. }, None) => match form.is_tile() {
            true => {
                let numbers = lowerer.lane_numbers(&form);
                lowerer.cast(numbers, DType::I32, *dtype, &form)
            }
            false => lowerer.constant(&form, ir::ops::Literal::from_f64(*dtype, 0.0)),
        },
        (ShapeOp::TakeAlongAxis { .. }, Some(x)) => {
            let dtype = lowerer.dtype(x);
            if dtype == DType::Bool || !form.is_tile() {
                return refused(lowerer, "take elements of a register of i32 or f32");
            }
            let (value, indices) = (lowerer.value(x)?, lowerer.value(op.operands[1])?);
            let dimensions = lowerer.session.i32_array_attr(&[0]);
            let ty = lowerer.ty(&form, Lowerer::storage(&form, dtype));
            let attrs = [("dimensions", dimensions)];
            lowerer.op("tpu.dynamic_gather", &[value, indices], ty, &attrs)
        }
        (ShapeOp::Concat { .. }, _) => {
            return refused(lowerer, "store the parts into `Vmem`, and load the whole");
        }
        (ShapeOp::Roll { .. }, _) => {
            return refused(lowerer, "choose the elements with `take_along_axis`");
        }
        _ => return Err(lowerer.internal("an op without its operand")),
    };
    Ok(smallvec![result])
}

/// Reductions: a scan, and of what it gives the last element.
pub(in crate::back::mosaic::ops) fn lower_reduce<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    reduce: ReduceOp,
    op: &OpData,
) -> Lowering<'s> {
    let x = op.operands[0];
    let (dtype, form) = (lowerer.dtype(x), lowerer.form(x));
    let value = lowerer.value(x)?;
    if !form.is_tile() {
        let is_arg = matches!(reduce.kind, ReduceKind::ArgMax | ReduceKind::ArgMin);
        return Ok(smallvec![match is_arg {
            true => lowerer.int_constant(&Form::SCALAR, Elem::I32, 0),
            false => value,
        }]);
    }
    let all = lowerer.bool_constant(&form, true);
    let (kind, is_arg) = match reduce.kind {
        ReduceKind::Sum => (ScanKind::Sum, false),
        ReduceKind::Max => (ScanKind::Max, false),
        ReduceKind::Min => (ScanKind::Min, false),
        ReduceKind::ArgMax => (ScanKind::Max, true),
        ReduceKind::ArgMin => (ScanKind::Min, true),
    };
    let scanned = lowerer.scan(kind, value, all, dtype, &form);
    let last = lowerer.last_lane(&form);
    let elem = Lowerer::storage(&form, dtype);
    let total = lowerer.extract_lane(scanned, last, elem);
    if kind == ScanKind::Sum {
        return Ok(smallvec![total]);
    }
    let n_lanes = lowerer.int_constant(&Form::SCALAR, Elem::I32, last + 1);
    let first_nan = dtype.is_float().then(|| {
        // NaN is the element that does not equal itself.
        let is_number = lowerer.cmpf(1, &form, value, value);
        let is_nan = lowerer.not(is_number, &form);
        lowerer.first_lane(is_nan, &form)
    });
    let has_nan = first_nan.map(|first| {
        let found = lowerer.cmpi(2, &Form::SCALAR, first, n_lanes);
        (first, found)
    });
    if !is_arg {
        let Some((_, found)) = has_nan else { return Ok(smallvec![total]) };
        let nan = lowerer.float_constant(&Form::SCALAR, Elem::F32, f32::NAN);
        return Ok(smallvec![lowerer.select(found, nan, total, &Form::SCALAR, Elem::F32)]);
    }
    let best = lowerer.apply("vector.broadcast", &[total], &form, elem);
    let is_best = match dtype.is_float() {
        true => lowerer.cmpf(1, &form, value, best),
        false => lowerer.cmpi(0, &form, value, best),
    };
    let first = lowerer.first_lane(is_best, &form);
    Ok(smallvec![match has_nan {
        Some((nan, found)) => lowerer.select(found, nan, first, &Form::SCALAR, Elem::I32),
        None => first,
    }])
}

impl<'s> Lowerer<'_, 's> {
    /// The number of each lane.
    pub(super) fn lane_numbers(&mut self, form: &Form) -> Value<'s> {
        let dimensions = self.session.i32_array_attr(&[0]);
        let ty = self.ty(form, Elem::I32);
        self.op("tpu.iota", &[], ty, &[("dimensions", dimensions)])
    }

    fn last_lane(&self, form: &Form) -> i64 {
        form.0.as_ref().and_then(|shape| shape.first().copied()).unwrap_or(1) as i64 - 1
    }

    /// A scalar, or the only element of a tile, in every place.
    fn repeat(&mut self, x: ir::Value, form: &Form) -> Result<Value<'s>, Diagnostic> {
        if let Some(literal) = self.literal(x) {
            return Ok(self.constant(form, literal));
        }
        let (dtype, from) = (self.dtype(x), self.form(x));
        let value = self.value(x)?;
        if from == *form {
            return Ok(value);
        }
        if dtype == DType::Bool {
            // Scalars of `i1` are not repeated.
            let word = self.apply("arith.extui", &[value], &from, Elem::I32);
            let words = self.apply("vector.broadcast", &[word], form, Elem::I32);
            return Ok(self.cast(words, DType::I32, DType::Bool, form));
        }
        Ok(self.apply("vector.broadcast", &[value], form, Self::storage(form, dtype)))
    }

    /// An element of a register as a scalar.
    fn element(&mut self, x: ir::Value, lane: usize) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(x), self.form(x));
        let value = self.value(x)?;
        if !form.is_tile() {
            return Ok(value);
        }
        if dtype == DType::Bool {
            let words = self.apply("arith.extui", &[value], &form, Elem::I32);
            let word = self.extract_lane(words, lane as i64, Elem::I32);
            return Ok(self.cast(word, DType::I32, DType::Bool, &Form::SCALAR));
        }
        Ok(self.extract_lane(value, lane as i64, Self::storage(&form, dtype)))
    }

    fn extract_lane(&mut self, value: Value<'s>, lane: i64, elem: Elem) -> Value<'s> {
        let position = self.session.i64_array_attr(&[lane]);
        let ty = self.ty(&Form::SCALAR, elem);
        self.op("vector.extract", &[value], ty, &[("static_position", position)])
    }

    /// A function of vectors, of a scalar.
    pub(in crate::back::mosaic::ops) fn through_register(
        &mut self,
        value: Value<'s>,
        elem: Elem,
        apply: impl FnOnce(&mut Self, Value<'s>, &Form) -> Value<'s>,
    ) -> Value<'s> {
        let lanes = self.chip.sparse.map_or(8, |cores| cores.lanes);
        let form = Form::tile(&[lanes]);
        let register = self.apply("vector.broadcast", &[value], &form, elem);
        let result = apply(self, register, &form);
        self.extract_lane(result, 0, elem)
    }

    /// The prefixes of a register, combined. Scans and sorts compare integers without sign, so
    /// the top bit of those with one is flipped before and after.
    pub(super) fn scan(
        &mut self,
        kind: ScanKind,
        value: Value<'s>,
        mask: Value<'s>,
        dtype: DType,
        form: &Form,
    ) -> Value<'s> {
        let flips = dtype == DType::I32 && kind != ScanKind::Sum;
        let value = if flips { self.flip_top_bit(value, form) } else { value };
        let kind = match kind {
            ScanKind::Sum => "#tpu.reduction_kind<sum>",
            ScanKind::Max => "#tpu.reduction_kind<max>",
            ScanKind::Min => "#tpu.reduction_kind<min>",
        };
        let kind = self.session.parsed_attr(kind);
        let ty = self.ty(form, Self::storage(form, dtype));
        let scanned = self.op("tpu.scan", &[value, mask], ty, &[("kind", kind)]);
        if flips { self.flip_top_bit(scanned, form) } else { scanned }
    }

    fn flip_top_bit(&mut self, value: Value<'s>, form: &Form) -> Value<'s> {
        let top = self.int_constant(form, Elem::I32, i64::from(i32::MIN));
        self.apply("arith.xori", &[value, top], form, Elem::I32)
    }

    pub(super) fn sort(&mut self, op: &OpData, descending: bool, masked: bool) -> Lowering<'s> {
        let mask = self.mask_of(op, masked)?;
        let (keys, values) = (op.operands[0], op.operands[1]);
        let (dtype, form) = (self.dtype(keys), self.form(keys));
        let flips = dtype == DType::I32;
        let (mut key, value) = (self.value(keys)?, self.value(values)?);
        if flips {
            key = self.flip_top_bit(key, &form);
        }
        let value_elem = Self::storage(&form, self.dtype(values));
        let types: [Type<'s>; 3] = [
            self.ty(&form, Elem::I1),
            self.ty(&form, Self::storage(&form, dtype)),
            self.ty(&form, value_elem),
        ];
        let attrs = [("descending", self.session.bool_attr(descending))];
        let sorted = self.emit("tpu.sort", &[key, value, mask], &types, &attrs, &[]);
        let mut key = sorted.result(1);
        if flips {
            key = self.flip_top_bit(key, &form);
        }
        let mut results: SmallVec<[Value<'s>; 2]> = smallvec![key, sorted.result(2)];
        if masked {
            results.push(sorted.result(0));
        }
        Ok(results)
    }

    pub(super) fn scan_count(&mut self, op: &OpData, masked: bool) -> Lowering<'s> {
        let mask = self.mask_of(op, masked)?;
        let form = self.form(op.operands[0]);
        let value = self.value(op.operands[0])?;
        let types = [self.ty(&form, Elem::I1), self.ty(&form, Elem::I32)];
        let counted = self.emit("tpu.scan_count", &[mask, value], &types, &[], &[]);
        Ok(smallvec![counted.result(1), counted.result(0)])
    }

    pub(super) fn mask_reduce(&mut self, mask: ir::Value, kind: &str) -> Lowering<'s> {
        let form = self.form(mask);
        let value = self.value(mask)?;
        Ok(smallvec![self.reduce_mask(value, &form, kind)])
    }

    fn reduce_mask(&mut self, mask: Value<'s>, form: &Form, kind: &str) -> Value<'s> {
        let kind = self.session.parsed_attr(&format!("#tpu.reduction_kind<{kind}>"));
        let dim = self.session.int_attr(self.session.elem(Elem::I64), 0);
        let ty = self.ty(form, Elem::I32);
        self.op("tpu.all_reduce", &[mask], ty, &[("dim", dim), ("kind", kind)])
    }

    /// The number of the first lane that is true, as a scalar.
    fn first_lane(&mut self, mask: Value<'s>, form: &Form) -> Value<'s> {
        let everywhere = self.reduce_mask(mask, form, "find_first_set");
        self.extract_lane(everywhere, 0, Elem::I32)
    }
}
