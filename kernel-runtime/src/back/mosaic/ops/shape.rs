//! Ops that rearrange elements.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{Literal, ShapeOp};
use crate::ir::{self, DType, OpData, Shape};
use smallvec::smallvec;

/// Above this many pieces a strided slice is refused: each is an op of its own.
const MAX_SLICE_PIECES: usize = 64;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    shape_op: &ShapeOp,
    op: &OpData,
) -> Lowering<'s> {
    let result_ty = lowerer.kernel.ty(op.results[0]);
    let form = Form::of(result_ty);
    let elem = Lowerer::storage(&form, result_ty.dtype());
    let result = match shape_op {
        ShapeOp::Splat(_) => lowerer.splat(op.operands[0], &form)?,
        ShapeOp::Broadcast(_) => match lowerer.literal(op.operands[0]) {
            Some(literal) => lowerer.constant(&form, literal),
            None => {
                let value = lowerer.value(op.operands[0])?;
                lowerer.apply("vector.broadcast", &[value], &form, elem)
            }
        },
        ShapeOp::Reshape(shape) => {
            let value = lowerer.value(op.operands[0])?;
            lowerer.reshape(value, shape, elem)
        }
        ShapeOp::Transpose(perm) => {
            let value = lowerer.value(op.operands[0])?;
            let perm: Vec<i64> = perm.iter().map(|&axis| axis as i64).collect();
            let perm = lowerer.session.i64_array_attr(&perm);
            let ty = lowerer.ty(&form, elem);
            lowerer.op("tpu.transpose", &[value], ty, &[("permutation", perm)])
        }
        ShapeOp::Concat { axis } => {
            let mut values = Vec::with_capacity(op.operands.len());
            for &operand in &op.operands {
                values.push(lowerer.value(operand)?);
            }
            lowerer.concat(&values, *axis, &form, elem)
        }
        ShapeOp::Slice { starts, sizes, strides } => {
            lowerer.lower_slice(op.operands[0], starts, sizes, strides)?
        }
        ShapeOp::Iota { dtype, shape, axis } => lowerer.iota(*dtype, shape, *axis),
        ShapeOp::Roll { axis } => lowerer.roll(op.operands[0], op.operands[1], *axis)?,
    };
    Ok(smallvec![result])
}

impl<'s> Lowerer<'_, 's> {
    fn splat(&mut self, scalar: ir::Value, form: &Form) -> Result<Value<'s>, Diagnostic> {
        if let Some(literal) = self.literal(scalar) {
            return Ok(self.constant(form, literal));
        }
        let dtype = self.dtype(scalar);
        let value = self.value(scalar)?;
        // Scalars are 32 bits wide, so the tile is too until it is narrowed, exactly.
        let wide = self.apply("vector.broadcast", &[value], form, Self::compute(dtype));
        Ok(self.narrow(wide, dtype, form))
    }

    /// The same elements under another shape.
    pub(super) fn reshape(&mut self, value: Value<'s>, shape: &[usize], elem: Elem) -> Value<'s> {
        self.apply("vector.shape_cast", &[value], &Form::tile(shape), elem)
    }

    /// Values one after the other along an axis.
    pub(super) fn concat(
        &mut self,
        values: &[Value<'s>],
        axis: usize,
        form: &Form,
        elem: Elem,
    ) -> Value<'s> {
        if let [value] = values {
            return *value;
        }
        let i32_ty = self.session.elem(Elem::I32);
        let axis = self.session.int_attr(i32_ty, axis as i64);
        let ty = self.ty(form, elem);
        self.op("tpu.concatenate", values, ty, &[("dimension", axis)])
    }

    fn lower_slice(
        &mut self,
        x: ir::Value,
        starts: &[usize],
        sizes: &Shape,
        strides: &[usize],
    ) -> Result<Value<'s>, Diagnostic> {
        let elem = Self::storage(&self.form(x), self.dtype(x));
        let value = self.value(x)?;
        let strided: Vec<usize> =
            (0..sizes.len()).filter(|&axis| strides[axis] != 1 && sizes[axis] > 1).collect();
        let Some(&axis) = strided.first() else {
            return Ok(self.slice(value, starts, sizes, elem));
        };
        // libtpu slices in steps of one alone.
        if strided.len() > 1 || axis + 1 == sizes.len() || sizes[axis] > MAX_SLICE_PIECES {
            return Err(self
                .unsupported(format!(
                    "a slice of {} elements in steps of {} along axis {axis} does not exist",
                    sizes[axis], strides[axis]
                ))
                .help("load with the stride from VMEM, or choose with `reshape` and `slice`"));
        }
        let mut piece_sizes = sizes.clone();
        piece_sizes[axis] = 1;
        let mut pieces = Vec::with_capacity(sizes[axis]);
        for idx in 0..sizes[axis] {
            let mut piece_starts = Shape::from_slice(starts);
            piece_starts[axis] += idx * strides[axis];
            pieces.push(self.slice(value, &piece_starts, &piece_sizes, elem));
        }
        Ok(self.concat(&pieces, axis, &Form::tile(sizes), elem))
    }

    /// A part of a tile, in steps of one.
    pub(super) fn slice(
        &mut self,
        value: Value<'s>,
        starts: &[usize],
        sizes: &[usize],
        elem: Elem,
    ) -> Value<'s> {
        let i64_ty = self.session.elem(Elem::I64);
        let list = |numbers: &mut dyn Iterator<Item = i64>| {
            let attrs: Vec<_> = numbers.map(|n| self.session.int_attr(i64_ty, n)).collect();
            self.session.array_attr(&attrs)
        };
        let offsets = list(&mut starts.iter().map(|&n| n as i64));
        let lengths = list(&mut sizes.iter().map(|&n| n as i64));
        let strides = list(&mut sizes.iter().map(|_| 1));
        let ty = self.ty(&Form::tile(sizes), elem);
        let attrs = [("offsets", offsets), ("sizes", lengths), ("strides", strides)];
        self.op("vector.extract_strided_slice", &[value], ty, &attrs)
    }

    /// The index along an axis, as `i32` and then converted.
    pub(super) fn iota(&mut self, dtype: DType, shape: &[usize], axis: usize) -> Value<'s> {
        // libtpu counts in two dimensions or more.
        let flat = shape.len() == 1;
        let counted = if flat { Form::tile(&[1, shape[0]]) } else { Form::tile(shape) };
        let axis = if flat { 1 } else { axis };
        let dimensions = self.session.i32_array_attr(&[axis as i32]);
        let ty = self.ty(&counted, Elem::I32);
        let mut value = self.op("tpu.iota", &[], ty, &[("dimensions", dimensions)]);
        if flat {
            value = self.reshape(value, shape, Elem::I32);
        }
        self.narrow(value, dtype, &Form::tile(shape))
    }

    fn roll(
        &mut self,
        x: ir::Value,
        shift: ir::Value,
        axis: usize,
    ) -> Result<Value<'s>, Diagnostic> {
        let form = self.form(x);
        let size = self.kernel.ty(x).shape()[axis] as i64;
        let dtype = self.dtype(x);
        let known = self.literal(shift).and_then(Literal::as_int);
        // The op takes shifts from 0 up to the size.
        let shift = match known {
            Some(shift) => self.int_constant(&Form::SCALAR, Elem::I32, shift.rem_euclid(size)),
            None => {
                let shift = self.value(shift)?;
                let size = self.int_constant(&Form::SCALAR, Elem::I32, size);
                let zero = self.int_constant(&Form::SCALAR, Elem::I32, 0);
                let rem = self.apply("arith.remsi", &[shift, size], &Form::SCALAR, Elem::I32);
                let up = self.apply("arith.addi", &[rem, size], &Form::SCALAR, Elem::I32);
                let negative = self.cmpi(2, &Form::SCALAR, rem, zero);
                self.select(negative, up, rem, &Form::SCALAR, Elem::I32)
            }
        };
        let i32_ty = self.session.parsed_attr("0 : si32");
        let dimension = match axis {
            0 => i32_ty,
            _ => self.session.parsed_attr(&format!("{axis} : si32")),
        };
        let is_mask = dtype == DType::Bool;
        let mut value = self.value(x)?;
        let elem = if is_mask { Elem::I32 } else { Self::storage(&form, dtype) };
        if is_mask {
            value = self.apply("arith.extui", &[value], &form, elem);
        }
        let ty = self.ty(&form, elem);
        let rolled =
            self.op("tpu.dynamic_rotate", &[value, shift], ty, &[("dimension", dimension)]);
        Ok(if is_mask { self.cast(rolled, DType::I32, DType::Bool, &form) } else { rolled })
    }
}
