//! Loads and stores.

use crate::back::mlir::{Attr, Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering, Reference};
use crate::diag::Diagnostic;
use crate::ir::ops::{Access, AccessDim, MemoryOp, Start};
use crate::ir::{self, DType, MemorySpace, OpData, Param, Shape};
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    memory: &MemoryOp,
    op: &OpData,
) -> Lowering<'s> {
    let space = lowerer.kernel.ty(op.operands[0]).space();
    let reference = lowerer.reference(op.operands[0])?;
    let first_start = match memory {
        MemoryOp::Load { .. } => 1,
        MemoryOp::Store { .. } => 2,
    };
    let access = memory.access();
    let starts = &op.operands[first_start..first_start + access.n_dynamic()];
    let place = lowerer.place(&reference, access, starts)?;
    let mask = memory.masked().then(|| op.operands.last().copied()).flatten();
    match memory {
        MemoryOp::Load { .. } if space == MemorySpace::Smem => {
            Ok(smallvec![lowerer.load_scalar(&place)])
        }
        MemoryOp::Store { .. } if space == MemorySpace::Smem => {
            lowerer.store_scalar(&place, op.operands[1])?;
            Ok(smallvec![])
        }
        MemoryOp::Load { .. } if lowerer.is_sparse() => {
            Ok(smallvec![lowerer.load_register(&place)?])
        }
        MemoryOp::Store { .. } if lowerer.is_sparse() => {
            let mask = mask.map(|mask| lowerer.value(mask)).transpose()?;
            lowerer.store_register(&place, op.operands[1], mask)?;
            Ok(smallvec![])
        }
        MemoryOp::Load { .. } => {
            // What a mask hides is undefined, and everything is in range: all is loaded.
            let value = lowerer.load(&place)?;
            let shape = access.tile_shape();
            Ok(smallvec![lowerer.as_tile(value, &place, &shape)])
        }
        MemoryOp::Store { .. } => {
            let mask = mask.map(|mask| lowerer.value(mask)).transpose()?;
            lowerer.store(&place, op.operands[1], mask)?;
            Ok(smallvec![])
        }
    }
}

/// A rectangular part of memory, with one entry per axis of the memref.
pub(super) struct Place<'s> {
    pub(super) reference: Rc<Reference<'s>>,
    pub(super) dims: PlaceDims<'s>,
}

pub(super) type PlaceDims<'s> = SmallVec<[PlaceDim<'s>; 4]>;

/// A place within one part of a streamed block.
struct Piece<'s> {
    part: usize,
    dims: PlaceDims<'s>,
}

#[derive(Clone, Copy)]
pub(super) struct PlaceDim<'s> {
    pub(super) start: PlaceStart<'s>,
    pub(super) size: usize,
    pub(super) stride: usize,
}

#[derive(Clone, Copy)]
pub(super) enum PlaceStart<'s> {
    Static(usize),
    Dynamic(Value<'s>),
}

impl Place<'_> {
    fn sizes(&self) -> Shape {
        self.dims.iter().map(|dim| dim.size).collect()
    }

    fn is_strided(&self) -> bool {
        self.dims.iter().any(|dim| dim.stride != 1 && dim.size > 1)
    }
}

/// So many scalars are copied one by one; more, in loops.
const MAX_UNROLLED: usize = 16;

/// Copies a whole window of a parameter to another of the same shape.
pub(in crate::back::mosaic) fn copy_block<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    from: Value<'s>,
    to: Value<'s>,
    param: &Param,
) {
    let shape = param.window_shape();
    if param.space == MemorySpace::Smem {
        let elem = Lowerer::memory_elem(param.dtype);
        let unrolled = shape.iter().product::<usize>() <= MAX_UNROLLED;
        return lowerer.copy_scalars([from, to], (&shape, elem), &mut Vec::new(), unrolled);
    }
    let form = Form::tile(&shape);
    let elem = Lowerer::memory_elem(param.dtype);
    let zeros: Vec<Value<'s>> = shape.iter().map(|_| lowerer.index_constant(0)).collect();
    let mut operands = vec![from];
    operands.extend(&zeros);
    let value = lowerer.apply("vector.load", &operands, &form, elem);
    lowerer.vector_store(value, to, &zeros, None);
}

impl<'s> Lowerer<'_, 's> {
    pub(super) fn place(
        &mut self,
        reference: &Rc<Reference<'s>>,
        access: &Access,
        starts: &[ir::Value],
    ) -> Result<Place<'s>, Diagnostic> {
        let mut dims: PlaceDims<'s> = SmallVec::new();
        let mut access_dims = access.dims.iter();
        let mut starts = starts.iter();
        for &kept in &reference.kept {
            let squeezed = AccessDim { keep: false, ..AccessDim::full(1) };
            let dim = if kept { access_dims.next().copied() } else { None }.unwrap_or(squeezed);
            let start = match dim.start {
                Start::Static(start) => PlaceStart::Static(start),
                Start::Dynamic { multiple_of } => {
                    let Some(&start) = starts.next() else {
                        return Err(self.internal("an access lacks a start"));
                    };
                    self.dynamic_start(start, multiple_of)?
                }
            };
            dims.push(PlaceDim { start, size: dim.size, stride: dim.stride });
        }
        Ok(Place { reference: Rc::clone(reference), dims })
    }

    fn dynamic_start(
        &mut self,
        start: ir::Value,
        multiple_of: usize,
    ) -> Result<PlaceStart<'s>, Diagnostic> {
        if let Some(literal) = self.literal(start).and_then(|literal| literal.as_int()) {
            return Ok(PlaceStart::Static(literal.max(0) as usize));
        }
        let value = self.promised(start, multiple_of)?;
        let index = self.session.index();
        Ok(PlaceStart::Dynamic(self.op("arith.index_cast", &[value], index, &[])))
    }

    /// An `i32` scalar that is a multiple of a number by the user's promise.
    pub(super) fn promised(
        &mut self,
        value: ir::Value,
        multiple_of: usize,
    ) -> Result<Value<'s>, Diagnostic> {
        let known = self.literal(value).is_some();
        let value = self.value(value)?;
        if known || multiple_of <= 1 {
            return Ok(value);
        }
        let i32_ty = self.session.elem(Elem::I32);
        let multiple = self.session.int_attr(i32_ty, multiple_of as i64);
        Ok(self.op("tpu.assume_multiple", &[value], i32_ty, &[("multiple", multiple)]))
    }

    pub(super) fn indices(&mut self, dims: &[PlaceDim<'s>]) -> SmallVec<[Value<'s>; 4]> {
        dims.iter()
            .map(|dim| match dim.start {
                PlaceStart::Static(start) => self.index_constant(start as i64),
                PlaceStart::Dynamic(value) => value,
            })
            .collect()
    }

    /// Copies the elements below an index of the leading axes: scalar memory has no other loads
    /// than those of scalars.
    fn copy_scalars(
        &mut self,
        [from, to]: [Value<'s>; 2],
        (shape, elem): (&[usize], Elem),
        index: &mut Vec<Value<'s>>,
        unrolled: bool,
    ) {
        let Some(&size) = shape.get(index.len()) else {
            let operands: Vec<Value<'s>> = std::iter::once(from).chain(index.clone()).collect();
            let value = self.apply("memref.load", &operands, &Form::SCALAR, elem);
            let operands: Vec<Value<'s>> = [value, to].into_iter().chain(index.clone()).collect();
            self.emit("memref.store", &operands, &[], &[], &[]);
            return;
        };
        if unrolled || size == 1 {
            for at in 0..size {
                index.push(self.index_constant(at as i64));
                self.copy_scalars([from, to], (shape, elem), index, unrolled);
                index.pop();
            }
            return;
        }
        let bounds = [0, size as i64, 1].map(|n| self.int_constant(&Form::SCALAR, Elem::I32, n));
        let i32_ty = self.session.elem(Elem::I32);
        let emitted = self.emit("scf.for", &bounds, &[], &[], &[&[i32_ty]]);
        let outer = self.set_block(emitted.block(0));
        let index_ty = self.session.index();
        index.push(self.op("arith.index_cast", &[emitted.block(0).arg(0)], index_ty, &[]));
        self.copy_scalars([from, to], (shape, elem), index, unrolled);
        index.pop();
        self.emit("scf.yield", &[], &[], &[], &[]);
        self.set_block(outer);
    }

    fn load_scalar(&mut self, place: &Place<'s>) -> Value<'s> {
        let dtype = place.reference.dtype;
        let mut operands: SmallVec<[Value<'s>; 6]> = smallvec![place.reference.parts[0]];
        operands.extend(self.indices(&place.dims));
        let elem = Self::memory_elem(dtype);
        let value = self.apply("memref.load", &operands, &Form::SCALAR, elem);
        match dtype {
            DType::Bool => self.cast(value, DType::I32, DType::Bool, &Form::SCALAR),
            DType::I4 | DType::I8 | DType::I16 => {
                self.apply("arith.extsi", &[value], &Form::SCALAR, Elem::I32)
            }
            DType::U8 | DType::U16 => self.apply("arith.extui", &[value], &Form::SCALAR, Elem::I32),
            DType::F8E4M3FN | DType::F8E5M2 | DType::BF16 | DType::F16 => {
                self.apply("arith.extf", &[value], &Form::SCALAR, Elem::F32)
            }
            DType::I32 | DType::U32 | DType::F32 => value,
        }
    }

    fn store_scalar(&mut self, place: &Place<'s>, value: ir::Value) -> Result<(), Diagnostic> {
        let dtype = place.reference.dtype;
        let elem = Self::memory_elem(dtype);
        let mut value = self.value(value)?;
        let name = match dtype {
            DType::Bool => Some("arith.extui"),
            DType::I4 | DType::I8 | DType::I16 | DType::U8 | DType::U16 => Some("arith.trunci"),
            DType::F8E4M3FN | DType::F8E5M2 | DType::BF16 | DType::F16 => Some("arith.truncf"),
            DType::I32 | DType::U32 | DType::F32 => None,
        };
        if let Some(name) = name {
            value = self.apply(name, &[value], &Form::SCALAR, elem);
        }
        let mut operands: SmallVec<[Value<'s>; 6]> = smallvec![value, place.reference.parts[0]];
        operands.extend(self.indices(&place.dims));
        self.emit("memref.store", &operands, &[], &[], &[]);
        Ok(())
    }

    /// Loads a place; the value has every axis of the memref and the type of memory.
    fn load(&mut self, place: &Place<'s>) -> Result<Value<'s>, Diagnostic> {
        let pieces = self.pieces(place)?;
        let elem = Self::memory_elem(place.reference.dtype);
        let mut values = Vec::with_capacity(pieces.len());
        for Piece { part, dims } in &pieces {
            let sizes: Shape = dims.iter().map(|dim| dim.size).collect();
            let mut operands: SmallVec<[Value<'s>; 6]> = smallvec![place.reference.parts[*part]];
            operands.extend(self.indices(dims));
            let ty = self.ty(&Form::tile(&sizes), elem);
            values.push(if place.is_strided() {
                let strides = self.strides(place)?;
                self.op("tpu.strided_load", &operands, ty, &[("strides", strides)])
            } else {
                self.op("vector.load", &operands, ty, &[])
            });
        }
        let form = Form::tile(&place.sizes());
        Ok(self.concat(&values, place.reference.stream_axis, &form, elem))
    }

    /// The parts of a streamed block that a place touches, each with its place in the part.
    fn pieces(&self, place: &Place<'s>) -> Result<Vec<Piece<'s>>, Diagnostic> {
        let reference = &place.reference;
        if reference.parts.len() == 1 {
            return Ok(vec![Piece { part: 0, dims: place.dims.clone() }]);
        }
        let axis = reference.stream_axis;
        let dim = place.dims[axis];
        let PlaceStart::Static(start) = dim.start else {
            return Err(self
                .unsupported(format!(
                    "a block fetched in {} parts cannot be read from a start along the axis of \
                     the parts that is known at run time alone",
                    reference.parts.len()
                ))
                .help("unroll the loop, or fetch the block as a whole"));
        };
        if place.is_strided() {
            return Err(self
                .unsupported("a block fetched in parts cannot be read in steps")
                .help("fetch the block as a whole"));
        }
        let part_size = reference.part_shape[axis];
        let end = start + dim.size;
        let pieces = (start / part_size..end.div_ceil(part_size)).map(|part| {
            let lo = start.max(part * part_size);
            let hi = end.min((part + 1) * part_size);
            let mut dims = place.dims.clone();
            dims[axis].start = PlaceStart::Static(lo - part * part_size);
            dims[axis].size = hi - lo;
            Piece { part, dims }
        });
        Ok(pieces.collect())
    }

    fn strides(&self, place: &Place<'s>) -> Result<Attr<'s>, Diagnostic> {
        let dtype = place.reference.dtype;
        if Self::memory_elem(dtype) != Elem::I32 && Self::memory_elem(dtype) != Elem::F32 {
            return Err(self
                .unsupported(format!("{dtype} cannot be read or written in steps"))
                .help("keep it in VMEM as f32 or i32"));
        }
        let last = place.dims.last();
        if last.is_some_and(|dim| dim.stride != 1 && dim.size > 1) {
            return Err(self
                .unsupported("the last axis cannot be read or written in steps")
                .help("transpose the array, so that the steps go along another axis"));
        }
        let strides: Vec<i32> =
            place.dims.iter().map(|dim| if dim.size > 1 { dim.stride as i32 } else { 1 }).collect();
        Ok(self.session.i32_array_attr(&strides))
    }

    /// A loaded value without the axes that the tile drops, in the tile's own type.
    fn as_tile(&mut self, value: Value<'s>, place: &Place<'s>, shape: &[usize]) -> Value<'s> {
        let dtype = place.reference.dtype;
        let value = if place.sizes().as_slice() == shape {
            value
        } else {
            self.reshape(value, shape, Self::memory_elem(dtype))
        };
        match dtype {
            DType::Bool => self.cast(value, DType::I32, DType::Bool, &Form::tile(shape)),
            _ => value,
        }
    }

    fn store(
        &mut self,
        place: &Place<'s>,
        value: ir::Value,
        mask: Option<Value<'s>>,
    ) -> Result<(), Diagnostic> {
        let dtype = place.reference.dtype;
        let (elem, form) = (Self::memory_elem(dtype), self.form(value));
        let mut stored = self.value(value)?;
        if dtype == DType::Bool {
            stored = self.apply("arith.extui", &[stored], &form, Elem::I32);
        }
        let sizes = place.sizes();
        let full = Form::tile(&sizes);
        let mut mask = mask;
        if form != full {
            stored = self.reshape(stored, &sizes, elem);
            mask = mask.map(|mask| self.reshape(mask, &sizes, Elem::I1));
        }
        // Masked stores exist for 32-bit elements, without steps: others keep what is there.
        let is_32_bit = matches!(elem, Elem::I32 | Elem::F32);
        if let Some(cond) = mask.filter(|_| place.is_strided() || !is_32_bit) {
            let old = self.load(place)?;
            stored = self.select(cond, stored, old, &full, elem);
            mask = None;
        }
        let indices = self.indices(&place.dims);
        let memref = place.reference.parts[0];
        if place.is_strided() {
            let strides = self.strides(place)?;
            let mut operands: SmallVec<[Value<'s>; 6]> = smallvec![stored, memref];
            operands.extend(indices);
            self.emit("tpu.strided_store", &operands, &[], &[("strides", strides)], &[]);
        } else {
            self.vector_store(stored, memref, &indices, mask);
        }
        Ok(())
    }

    pub(super) fn vector_store(
        &mut self,
        value: Value<'s>,
        memref: Value<'s>,
        indices: &[Value<'s>],
        mask: Option<Value<'s>>,
    ) {
        let mut operands: SmallVec<[Value<'s>; 8]> = smallvec![value, memref];
        operands.extend(indices.iter().copied());
        operands.extend(mask);
        let n_indices = indices.len() as i32;
        let segments = [1, 1, n_indices, i32::from(mask.is_some())];
        let attrs = [
            ("add", self.session.bool_attr(false)),
            ("operandSegmentSizes", self.session.i32_array_attr(&segments)),
            ("strides", self.session.i32_array_attr(&[])),
        ];
        self.emit("tpu.vector_store", &operands, &[], &attrs, &[]);
    }
}
