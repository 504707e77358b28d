//! Ops that make or rearrange tiles: each is a rectangular copy.

use super::super::exec::{Executor, Stop};
use super::super::memory::{Copy, Strides, dense_strides};
use super::super::plan::Inst;
use super::super::report::Cause;
use super::super::tile::{
    Data, Held, Number, Poison, PoisonId, Scalar, Storage, Tile, encode_int, slice_mut,
};
use crate::ir::ops::{RollStride, ShapeOp};
use crate::ir::{DType, Shape};
use std::sync::Arc;

impl Executor<'_> {
    /// Runs a shape op.
    pub(in super::super) fn shape(&mut self, inst: &Inst<'_>, op: &ShapeOp) -> Result<(), Stop> {
        let operand_shape =
            inst.uses.first().map(|used| self.run.plan.shape(used.value)).unwrap_or_default();
        match op {
            ShapeOp::Splat(shape) => self.splat(inst, shape),
            ShapeOp::Iota { dtype, shape, axis } => {
                let data = self.iota(*dtype, shape, *axis);
                self.set_tile(inst, data, None);
                Ok(())
            }
            ShapeOp::Reshape(_) => {
                let tile = self.tile(inst, 0)?;
                self.set(inst, Held::Tile(tile));
                Ok(())
            }
            ShapeOp::Broadcast(shape) => {
                let mut strides = dense_strides(&operand_shape);
                for axis in 0..shape.len() {
                    if operand_shape[axis] != shape[axis] {
                        strides[axis] = 0;
                    }
                }
                let copy = Copy::new(shape, (0, &strides), (0, &dense_strides(shape)));
                self.rearrange(inst, shape, &copy)
            }
            ShapeOp::Transpose(perm) => {
                let from = dense_strides(&operand_shape);
                let shape: Shape = perm.iter().map(|&axis| operand_shape[axis]).collect();
                let strides: Strides = perm.iter().map(|&axis| from[axis]).collect();
                let copy = Copy::new(&shape, (0, &strides), (0, &dense_strides(&shape)));
                self.rearrange(inst, &shape, &copy)
            }
            ShapeOp::Slice { starts, sizes, strides } => {
                let from = dense_strides(&operand_shape);
                let start = starts.iter().zip(&from).map(|(start, stride)| start * stride).sum();
                let steps: Strides = strides.iter().zip(&from).map(|(a, b)| a * b).collect();
                let copy = Copy::new(sizes, (start, &steps), (0, &dense_strides(sizes)));
                self.rearrange(inst, sizes, &copy)
            }
            ShapeOp::Concat { axis } => self.concat(inst, *axis),
            ShapeOp::Roll { axis, stride: None } => self.roll(inst, &operand_shape, *axis),
            ShapeOp::Roll { axis, stride: Some(stride) } => {
                self.roll_rows(inst, &operand_shape, *axis, *stride)
            }
            ShapeOp::TakeAlongAxis { axis } => self.take_along_axis(inst, &operand_shape, *axis),
            ShapeOp::Extract => self.extract(inst),
        }
    }

    fn extract(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let dtype =
            inst.uses.first().map_or(DType::F32, |used| self.run.plan.ty(used.value).dtype());
        let tile = self.tile(inst, 0)?;
        let value = tile.data.number(dtype, 0);
        let poison = tile.poison.as_ref().map_or(0, |poison| poison.get(0));
        self.pool.give(tile.data);
        self.set(inst, Held::Scalar(Scalar { value, poison, overflow: None }));
        Ok(())
    }

    /// Sets the result to elements of `tile` at these places, each with its id if that is not 0.
    fn pick(
        &mut self,
        inst: &Inst<'_>,
        tile: Tile,
        places: impl Iterator<Item = (usize, PoisonId)>,
    ) {
        let poison = &tile.poison;
        let (from, ids): (Vec<usize>, Vec<PoisonId>) = places
            .map(|(place, id)| match (id, poison) {
                (0, Some(poison)) => (place, poison.get(place)),
                _ => (place, id),
            })
            .unzip();
        let data = match &tile.data {
            Data::F32(values) => Data::F32(picked(self.pool.f32s(from.len()), values, &from)),
            Data::I32(values) => Data::I32(picked(self.pool.i32s(from.len()), values, &from)),
            Data::U8(values) => Data::U8(picked(self.pool.u8s(from.len()), values, &from)),
        };
        self.pool.give(tile.data);
        self.set_tile(inst, data, Poison::from_ids(ids));
    }

    /// As [`Executor::roll`], each row along another axis further than the one before.
    fn roll_rows(
        &mut self,
        inst: &Inst<'_>,
        shape: &[usize],
        axis: usize,
        rows: RollStride,
    ) -> Result<(), Stop> {
        let tile = self.tile(inst, 0)?;
        let shift = self.scalar(inst, 1)?;
        let shift = self.index(shift, "the shift of `roll`", inst.loc)?;
        let strides = dense_strides(shape);
        let coordinate = |idx: usize, axis: usize| idx / strides[axis] % shape[axis];
        let places = (0..shape.iter().product()).map(|idx| {
            let here = coordinate(idx, axis);
            let by = shift + (coordinate(idx, rows.axis) * rows.by) as i64;
            let there = (here as i64 - by).rem_euclid(shape[axis] as i64) as usize;
            (idx - here * strides[axis] + there * strides[axis], 0)
        });
        self.pick(inst, tile, places);
        Ok(())
    }

    fn take_along_axis(
        &mut self,
        inst: &Inst<'_>,
        shape: &[usize],
        axis: usize,
    ) -> Result<(), Stop> {
        let Some(&result) = inst.results.first() else { return Ok(()) };
        let to_shape = self.run.plan.shape(result);
        let (tile, indices) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
        let outside = self.origin_id(Cause::OutsideTile, 0, Some(inst.loc));
        let (inner, size) = (shape[axis + 1..].iter().product::<usize>(), shape[axis]);
        let rows = to_shape[axis];
        let places = indices.data.i32s().iter().enumerate().map(|(idx, &index)| {
            // The place of the element at index 0 of this one's line along the axis.
            let start = idx / (rows * inner) * size * inner + idx % inner;
            let id = indices.poison.as_ref().map_or(0, |poison| poison.get(idx));
            match usize::try_from(index) {
                Ok(index) if index < size => (start + index * inner, id),
                _ => (start, if id == 0 { outside } else { id }),
            }
        });
        self.pick(inst, tile, places);
        self.pool.give(indices.data);
        Ok(())
    }

    fn splat(&mut self, inst: &Inst<'_>, shape: &[usize]) -> Result<(), Stop> {
        let dtype =
            inst.uses.first().map_or(DType::F32, |used| self.run.plan.ty(used.value).dtype());
        let scalar = self.scalar(inst, 0)?;
        let mut data = self.pool.data(Storage::of(dtype), shape.iter().product());
        match (&mut data, scalar.value) {
            (Data::F32(data), Number::Float(value)) => slice_mut(data).fill(value),
            (Data::I32(data), Number::Int(value)) => slice_mut(data).fill(encode_int(dtype, value)),
            (Data::U8(data), Number::Int(value)) => slice_mut(data).fill(u8::from(value != 0)),
            (Data::F32(_), Number::Int(_)) | (Data::I32(_) | Data::U8(_), Number::Float(_)) => {}
        }
        let poison = (scalar.poison != 0).then_some(Poison::Uniform(scalar.poison));
        self.set_tile(inst, data, poison);
        Ok(())
    }

    fn iota(&mut self, dtype: DType, shape: &[usize], axis: usize) -> Data {
        let mut data = self.pool.i32s(shape.iter().product());
        let inner: usize = shape[axis + 1..].iter().product();
        let size = shape[axis];
        let values = slice_mut(&mut data);
        for (row, chunk) in values.chunks_exact_mut(inner.max(1)).enumerate() {
            chunk.fill(encode_int(dtype, (row % size) as i64));
        }
        Data::I32(data)
    }

    /// Sets the result to elements copied from operand 0.
    fn rearrange(&mut self, inst: &Inst<'_>, shape: &[usize], copy: &Copy) -> Result<(), Stop> {
        let tile = self.tile(inst, 0)?;
        let n = shape.iter().product();
        let mut data = match &tile.data {
            Data::F32(_) => Data::F32(self.pool.f32s(n)),
            Data::I32(_) => Data::I32(self.pool.i32s(n)),
            Data::U8(_) => Data::U8(self.pool.u8s(n)),
        };
        data.copy_from(&tile.data, copy);
        let poison = tile.poison.as_ref().and_then(|poison| poison.copied(n, copy));
        self.pool.give(tile.data);
        self.set_tile(inst, data, poison);
        Ok(())
    }

    fn concat(&mut self, inst: &Inst<'_>, axis: usize) -> Result<(), Stop> {
        let Some(&result) = inst.results.first() else { return Ok(()) };
        let ty = self.run.plan.ty(result);
        let shape = ty.shape();
        let strides = dense_strides(shape);
        let n: usize = shape.iter().product();
        let mut data = self.pool.data(Storage::of(ty.dtype()), n);
        let mut ids: Option<Vec<u16>> = None;
        let mut start = 0;
        for idx in 0..inst.uses.len() {
            let part = self.run.plan.shape(inst.uses[idx].value);
            let tile = self.tile(inst, idx)?;
            let copy =
                Copy::new(&part, (0, &dense_strides(&part)), (start * strides[axis], &strides));
            data.copy_from(&tile.data, &copy);
            if let Some(poison) = &tile.poison {
                let from = poison.to_ids(part.iter().product());
                copy.run(&from, ids.get_or_insert_with(|| vec![0; n]));
            }
            self.pool.give(tile.data);
            start += part[axis];
        }
        self.set_tile(inst, data, ids.and_then(Poison::from_ids));
        Ok(())
    }

    fn roll(&mut self, inst: &Inst<'_>, shape: &[usize], axis: usize) -> Result<(), Stop> {
        let tile = self.tile(inst, 0)?;
        let shift = self.scalar(inst, 1)?;
        let shift = self.index(shift, "the shift of `roll`", inst.loc)?;
        let size = shape[axis];
        let shift = shift.rem_euclid(size as i64) as usize;
        let strides = dense_strides(shape);
        let n: usize = shape.iter().product();
        // The last `shift` rows come first.
        let part = |from: usize, to: usize, len: usize| {
            let mut sizes = Shape::from_slice(shape);
            sizes[axis] = len;
            Copy::new(&sizes, (from * strides[axis], &strides), (to * strides[axis], &strides))
        };
        let copies = [part(size - shift, 0, shift), part(0, shift, size - shift)];
        let mut data = match &tile.data {
            Data::F32(_) => Data::F32(self.pool.f32s(n)),
            Data::I32(_) => Data::I32(self.pool.i32s(n)),
            Data::U8(_) => Data::U8(self.pool.u8s(n)),
        };
        let mut ids = tile.poison.as_ref().map(|poison| (poison.to_ids(n), vec![0; n]));
        for copy in &copies {
            data.copy_from(&tile.data, copy);
            if let Some((from, to)) = &mut ids {
                copy.run(from, to);
            }
        }
        let Tile { data: old, .. } = tile;
        self.pool.give(old);
        self.set_tile(inst, data, ids.and_then(|(_, to)| Poison::from_ids(to)));
        Ok(())
    }
}

/// The elements at these places, in a buffer of their number.
fn picked<T: Clone>(mut to: Arc<Vec<T>>, values: &[T], from: &[usize]) -> Arc<Vec<T>> {
    for (to, &place) in slice_mut(&mut to).iter_mut().zip(from) {
        *to = values[place].clone();
    }
    to
}
