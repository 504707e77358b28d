//! Elements taken along an axis by index: registers at a time.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer};
use crate::diag::Diagnostic;
use crate::ir::{self, DType, Shape};

/// Above this many pairs of registers along the axis the op is refused: each is an op of its own.
const MAX_PIECES: usize = 64;

impl<'s> Lowerer<'_, 's> {
    /// libtpu takes from one register along the axis; longer axes are cut into registers, each index
    /// is looked up in all of them, and the one that has it is chosen.
    pub(super) fn take_along_axis(
        &mut self,
        x: ir::Value,
        indices: ir::Value,
        axis: usize,
    ) -> Result<Value<'s>, Diagnostic> {
        let from = Shape::from_slice(self.kernel.ty(x).shape());
        let to = Shape::from_slice(self.kernel.ty(indices).shape());
        let size = self.register_size(&from, axis)?;
        let (n_from, n_to) = (from[axis], to[axis]);
        let in_one = n_from <= size && n_from == n_to;
        if !(in_one || n_from.is_multiple_of(size) && n_to.is_multiple_of(size)) {
            return Err(self
                .unsupported(format!(
                    "{n_to} elements cannot be taken from {n_from} along axis {axis}: both are \
                     multiples of {size}, or the same number below"
                ))
                .help("pad the tile and the indices with `concat`"));
        }
        let n_pieces = n_from.div_ceil(size) * n_to.div_ceil(size);
        if n_pieces > MAX_PIECES {
            return Err(self
                .unsupported(format!(
                    "taking {n_to} elements from {n_from} along axis {axis} needs {n_pieces} \
                     registers to be looked up, more than {MAX_PIECES}"
                ))
                .help("keep the array in HBM and let a table choose the block"));
        }
        let (dtype, form) = (self.dtype(x), self.form(x));
        let (mut value, indices) = (self.wide_value(x)?, self.value(indices)?);
        let elem = if dtype == DType::Bool { Elem::I32 } else { Self::compute(dtype) };
        if dtype == DType::Bool {
            value = self.apply("arith.extui", &[value], &form, elem);
        }
        let taken = if in_one {
            self.gather(value, indices, axis, &to, elem)
        } else {
            self.take_pieces((value, &from), (indices, &to), axis, size, elem)
        };
        let form = Form::tile(&to);
        Ok(match dtype {
            DType::Bool => self.cast(taken, DType::I32, DType::Bool, &form),
            _ => self.narrow(taken, dtype, &form),
        })
    }

    /// How many elements of an axis one register has.
    fn register_size(&self, shape: &[usize], axis: usize) -> Result<usize, Diagnostic> {
        match shape.len().wrapping_sub(axis) {
            1 if shape.len() > 1 => Ok(self.chip.lanes),
            2 if self.chip.sublane_gather => Ok(self.chip.sublanes),
            2 => Err(self
                .unsupported("elements cannot be taken along the rows of a tile")
                .help("transpose the tile, and take along its last axis")),
            _ => Err(self
                .unsupported(format!("elements cannot be taken along axis {axis}"))
                .help("bring the axis to the end with `permute`, in a tile of two axes or more")),
        }
    }

    fn gather(
        &mut self,
        value: Value<'s>,
        indices: Value<'s>,
        axis: usize,
        shape: &[usize],
        elem: Elem,
    ) -> Value<'s> {
        let dimensions = self.session.i32_array_attr(&[axis as i32]);
        let ty = self.ty(&Form::tile(shape), elem);
        self.op("tpu.dynamic_gather", &[value, indices], ty, &[("dimensions", dimensions)])
    }

    fn take_pieces(
        &mut self,
        (value, from): (Value<'s>, &Shape),
        (indices, to): (Value<'s>, &Shape),
        axis: usize,
        size: usize,
        elem: Elem,
    ) -> Value<'s> {
        let mut piece = from.clone();
        piece[axis] = size;
        let form = Form::tile(&piece);
        let part = |lowerer: &mut Self, value, idx: usize, elem| {
            let mut starts = Shape::from_elem(0, piece.len());
            starts[axis] = idx * size;
            lowerer.slice(value, &starts, &piece, elem)
        };
        let sources: Vec<Value<'s>> =
            (0..from[axis] / size).map(|idx| part(self, value, idx, elem)).collect();
        let mut results = Vec::with_capacity(to[axis] / size);
        for idx in 0..to[axis] / size {
            let indices = part(self, indices, idx, Elem::I32);
            let within = self.int_constant(&form, Elem::I32, size as i64 - 1);
            let within = self.apply("arith.andi", &[indices, within], &form, Elem::I32);
            let shift = self.int_constant(&form, Elem::I32, i64::from(size.trailing_zeros()));
            let which = self.apply("arith.shrsi", &[indices, shift], &form, Elem::I32);
            let mut result = self.gather(sources[0], within, axis, &piece, elem);
            for (source, number) in sources.iter().zip(0..).skip(1) {
                let taken = self.gather(*source, within, axis, &piece, elem);
                let number = self.int_constant(&form, Elem::I32, number);
                let is_here = self.cmpi(0, &form, which, number);
                result = self.select(is_here, taken, result, &form, elem);
            }
            results.push(result);
        }
        self.concat(&results, axis, &Form::tile(to), elem)
    }
}
