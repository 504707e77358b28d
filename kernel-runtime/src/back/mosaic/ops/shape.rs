//! Ops that rearrange elements.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{Literal, RollStride, ShapeOp};
use crate::ir::{self, DType, OpData, Shape};
use smallvec::smallvec;

/// Above this many pieces a strided slice is refused: each is an op of its own.
const MAX_SLICE_PIECES: usize = 64;
/// Above this many rotations a strided roll is refused.
const MAX_ROTATIONS: usize = 256;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    shape_op: &ShapeOp,
    op: &OpData,
) -> Lowering<'s> {
    if lowerer.is_sparse() {
        return super::sparse::lower_shape(lowerer, shape_op, op);
    }
    let result_ty = lowerer.kernel.ty(op.results[0]);
    let form = lowerer.form(op.results[0]);
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
        ShapeOp::Roll { axis, stride } => {
            lowerer.roll(op.operands[0], op.operands[1], *axis, *stride)?
        }
        ShapeOp::TakeAlongAxis { axis } => {
            lowerer.take_along_axis(op.operands[0], op.operands[1], *axis)?
        }
        ShapeOp::Extract => lowerer.extract(op.operands[0])?,
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
        rows: Option<RollStride>,
    ) -> Result<Value<'s>, Diagnostic> {
        if let Some(rows) = rows {
            self.check_roll_stride(x, axis, rows)?;
        }
        let form = self.form(x);
        let shape = Shape::from_slice(self.kernel.ty(x).shape());
        let size = shape[axis] as i64;
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
        let is_mask = dtype == DType::Bool;
        let mut value = self.value(x)?;
        // Rows that shift by amounts of their own are 32 bits wide.
        let wide = rows.is_some() && !is_mask;
        let elem = match is_mask {
            true => Elem::I32,
            false if wide => Self::compute(dtype),
            false => Self::storage(&form, dtype),
        };
        if is_mask {
            value = self.apply("arith.extui", &[value], &form, elem);
        } else if wide {
            value = self.widen(value, dtype, &form);
        }
        let rolled = match rows {
            Some(rows) => self.roll_rows(value, (shift, known), &shape, rows, elem),
            None => self.rotate(value, shift, axis, None, &form, elem),
        };
        Ok(match is_mask {
            true => self.cast(rolled, DType::I32, DType::Bool, &form),
            false if wide => self.narrow(rolled, dtype, &form),
            false => rolled,
        })
    }

    fn rotate(
        &mut self,
        value: Value<'s>,
        shift: Value<'s>,
        axis: usize,
        rows: Option<RollStride>,
        form: &Form,
        elem: Elem,
    ) -> Value<'s> {
        let number = |n: usize| self.session.parsed_attr(&format!("{n} : si32"));
        let mut attrs = vec![("dimension", number(axis))];
        if let Some(rows) = rows {
            attrs.push(("stride", number(rows.by)));
            attrs.push(("stride_dimension", number(rows.axis)));
        }
        let ty = self.ty(form, elem);
        self.op("tpu.dynamic_rotate", &[value, shift], ty, &attrs)
    }

    /// Rotates the rows of one register after the other: first each row further than the one before,
    /// then all of them. libtpu rotates the rows of a register apart by no more than its lanes.
    fn roll_rows(
        &mut self,
        value: Value<'s>,
        (shift, known): (Value<'s>, Option<i64>),
        shape: &Shape,
        rows: RollStride,
        elem: Elem,
    ) -> Value<'s> {
        let axis = shape.len() - 1;
        let size = shape[axis];
        let (group, n_rows) = (self.chip.sublanes, shape[rows.axis]);
        let by = rows.by % size;
        let zero = self.int_constant(&Form::SCALAR, Elem::I32, 0);
        let mut groups = Vec::with_capacity(n_rows.div_ceil(group));
        for first in (0..n_rows).step_by(group) {
            let mut piece = shape.clone();
            piece[rows.axis] = group.min(n_rows - first);
            let mut starts = Shape::from_elem(0, shape.len());
            starts[rows.axis] = first;
            let form = Form::tile(&piece);
            let mut part = self.slice(value, &starts, &piece, elem);
            let mut left = by;
            while left > 0 {
                let step = left.min(self.max_stride());
                let stride = Some(RollStride { by: step, axis: rows.axis });
                part = self.rotate(part, zero, axis, stride, &form, elem);
                left -= step;
            }
            let further = (first * by % size) as i64;
            let size = size as i64;
            let scalar = &Form::SCALAR;
            let shift = match known {
                Some(shift) => {
                    self.int_constant(scalar, Elem::I32, (shift + further).rem_euclid(size))
                }
                None => {
                    let further = self.int_constant(scalar, Elem::I32, further);
                    let size = self.int_constant(scalar, Elem::I32, size);
                    let sum = self.apply("arith.addi", &[shift, further], scalar, Elem::I32);
                    self.apply("arith.remsi", &[sum, size], scalar, Elem::I32)
                }
            };
            groups.push(self.rotate(part, shift, axis, None, &form, elem));
        }
        self.concat(&groups, rows.axis, &Form::tile(shape), elem)
    }

    /// By how much one rotation can move each row of a register further than the one before.
    fn max_stride(&self) -> usize {
        self.chip.lanes / (self.chip.sublanes - 1)
    }

    /// A strided roll goes along the lanes, row by row of the axis before.
    fn check_roll_stride(
        &self,
        x: ir::Value,
        axis: usize,
        rows: RollStride,
    ) -> Result<(), Diagnostic> {
        let rank = self.kernel.ty(x).shape().len();
        if !self.chip.strided_roll {
            return Err(self
                .unsupported("a roll of each row by its own amount does not exist")
                .help("roll the rows one by one, or take them with `take_along_axis`"));
        }
        let shape = self.kernel.ty(x).shape();
        if axis + 1 == rank && rows.axis + 2 == rank {
            let n_steps = (rows.by % shape[axis]).div_ceil(self.max_stride()) + 1;
            let n_ops = n_steps * shape[rows.axis].div_ceil(self.chip.sublanes);
            if n_ops <= MAX_ROTATIONS {
                return Ok(());
            }
            return Err(self
                .unsupported(format!(
                    "rolling {} rows each by {} more than the one before takes {n_ops} rotations, \
                     more than {MAX_ROTATIONS}",
                    shape[rows.axis], rows.by
                ))
                .help("roll by less, or take the elements with `take_along_axis`"));
        }
        Err(self
            .unsupported(format!(
                "a roll along axis {axis} that counts the rows along axis {} does not exist",
                rows.axis
            ))
            .help("transpose the tile, so that it rolls along the last axis and counts the one before"))
    }

    /// The only element of a tile.
    fn extract(&mut self, x: ir::Value) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(x), self.form(x));
        let mut value = self.wide_value(x)?;
        let elem = if dtype == DType::Bool { Elem::I32 } else { Self::compute(dtype) };
        if dtype == DType::Bool {
            value = self.apply("arith.extui", &[value], &form, elem);
        }
        if form != Form::tile(&[1, 1]) {
            value = self.reshape(value, &[1, 1], elem);
        }
        let position = self.session.i64_array_attr(&[0, 0]);
        let ty = self.ty(&Form::SCALAR, elem);
        let scalar = self.op("vector.extract", &[value], ty, &[("static_position", position)]);
        Ok(match dtype {
            DType::Bool => self.cast(scalar, DType::I32, DType::Bool, &Form::SCALAR),
            _ => scalar,
        })
    }
}
