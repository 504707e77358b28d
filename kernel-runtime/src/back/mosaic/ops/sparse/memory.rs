//! Loads and stores of registers.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer};
use crate::back::mosaic::ops::memory::{Place, PlaceStart};
use crate::diag::Diagnostic;
use crate::ir::ops::Access;
use crate::ir::{self, DType, OpData, Shape};
use smallvec::{SmallVec, smallvec};

impl<'s> Lowerer<'_, 's> {
    /// The form of the register that a place is: its last axis.
    fn register_form(&self, place: &Place<'s>) -> Result<Form, Diagnostic> {
        let sizes: Shape = place.dims.iter().map(|dim| dim.size).collect();
        let outer = &sizes[..sizes.len().saturating_sub(1)];
        let lanes = sizes.last().copied().unwrap_or(1);
        if outer.iter().any(|&size| size != 1) {
            return Err(self
                .unsupported("a register is loaded and stored along the last axis alone")
                .help("take the elements with `load_idx` and `store_idx`, or turn the axes"));
        }
        let stride = place.dims.last().map_or(1, |dim| dim.stride);
        if stride != 1 {
            return Err(self
                .unsupported("a register is not loaded or stored in steps")
                .help("take the elements with `load_idx` and `store_idx`"));
        }
        if lanes == 1 {
            return Err(self
                .unsupported("a single element is not loaded or stored")
                .help("load a register and take `.slice(n..n + 1)`; store with `store_masked`"));
        }
        Ok(Form::tile(&[lanes]))
    }

    /// Loads a register.
    pub(in crate::back::mosaic::ops) fn load_register(
        &mut self,
        place: &Place<'s>,
    ) -> Result<Value<'s>, Diagnostic> {
        let dtype = place.reference.dtype;
        let form = self.register_form(place)?;
        let loaded = self.load_lanes(place, &form, None);
        Ok(match dtype {
            DType::Bool => self.cast(loaded, DType::I32, DType::Bool, &form),
            _ => loaded,
        })
    }

    fn load_lanes(&mut self, place: &Place<'s>, form: &Form, mask: Option<Value<'s>>) -> Value<'s> {
        let elem = Self::memory_elem(place.reference.dtype);
        let indices = self.indices(&place.dims);
        let mut operands: SmallVec<[Value<'s>; 8]> = smallvec![place.reference.parts[0]];
        operands.extend(indices.iter().copied());
        operands.extend(mask);
        let segments = [1, indices.len() as i32, i32::from(mask.is_some())];
        let attrs = [
            ("operandSegmentSizes", self.session.i32_array_attr(&segments)),
            ("strides", self.session.i32_array_attr(&[])),
        ];
        let ty = self.ty(form, elem);
        self.op("tpu.vector_load", &operands, ty, &attrs)
    }

    /// Stores a register; with a mask by indices, since a masked store packs its elements.
    pub(in crate::back::mosaic::ops) fn store_register(
        &mut self,
        place: &Place<'s>,
        value: ir::Value,
        mask: Option<Value<'s>>,
    ) -> Result<(), Diagnostic> {
        let form = self.register_form(place)?;
        let mut stored = self.value(value)?;
        if place.reference.dtype == DType::Bool {
            stored = self.apply("arith.extui", &[stored], &form, Elem::I32);
        }
        let memref = place.reference.parts[0];
        let Some(mask) = mask else {
            let indices = self.indices(&place.dims);
            self.vector_store(stored, memref, &indices, None);
            return Ok(());
        };
        let mut indices: SmallVec<[Value<'s>; 4]> = SmallVec::new();
        let i32_ty = self.session.elem(Elem::I32);
        for (axis, dim) in place.dims.iter().enumerate() {
            let start = match dim.start {
                PlaceStart::Static(start) => self.int_constant(&form, Elem::I32, start as i64),
                PlaceStart::Dynamic(index) => {
                    let index = self.op("arith.index_cast", &[index], i32_ty, &[]);
                    self.apply("vector.broadcast", &[index], &form, Elem::I32)
                }
            };
            let is_last = axis + 1 == place.dims.len();
            indices.push(match is_last {
                true => {
                    let lanes = self.lane_numbers(&form);
                    self.apply("arith.addi", &[start, lanes], &form, Elem::I32)
                }
                false => start,
            });
        }
        self.scatter(stored, memref, &indices, Some(mask), false);
        Ok(())
    }

    fn scatter(
        &mut self,
        value: Value<'s>,
        memref: Value<'s>,
        indices: &[Value<'s>],
        mask: Option<Value<'s>>,
        add: bool,
    ) {
        let mut operands: SmallVec<[Value<'s>; 8]> = smallvec![value, memref];
        operands.extend(indices.iter().copied());
        operands.extend(mask);
        let segments = [1, 1, indices.len() as i32, i32::from(mask.is_some())];
        let attrs = [
            ("add", self.session.bool_attr(add)),
            ("operandSegmentSizes", self.session.i32_array_attr(&segments)),
        ];
        self.emit("tpu.vector_store_idx", &operands, &[], &attrs, &[]);
    }

    /// The indices and the mask of a load or store by indices.
    fn by_index(
        &mut self,
        op: &OpData,
        first: usize,
        masked: bool,
    ) -> Result<(SmallVec<[Value<'s>; 4]>, Option<Value<'s>>), Diagnostic> {
        let end = op.operands.len() - usize::from(masked);
        let mut indices = SmallVec::new();
        for &index in &op.operands[first..end] {
            indices.push(self.value(index)?);
        }
        let mask = match op.operands.last() {
            Some(&mask) if masked => Some(self.value(mask)?),
            _ => None,
        };
        Ok((indices, mask))
    }

    fn expect_words(&self, dtype: DType) -> Result<(), Diagnostic> {
        if dtype.size_bytes() == 4 {
            return Ok(());
        }
        Err(self
            .unsupported(format!("`{dtype}` is not loaded or stored by indices"))
            .help("keep it as i32 or f32"))
    }

    pub(super) fn load_idx(&mut self, op: &OpData, masked: bool) -> Result<Value<'s>, Diagnostic> {
        let dtype = self.dtype(op.operands[0]);
        self.expect_words(dtype)?;
        let memref = self.memref(op.operands[0])?;
        let (indices, mask) = self.by_index(op, 1, masked)?;
        let mut operands: SmallVec<[Value<'s>; 8]> = smallvec![memref];
        operands.extend(indices.iter().copied());
        operands.extend(mask);
        let segments = [1, indices.len() as i32, i32::from(mask.is_some())];
        let attrs = [("operandSegmentSizes", self.session.i32_array_attr(&segments))];
        let form = self.form(op.results[0]);
        let ty = self.ty(&form, Self::memory_elem(dtype));
        Ok(self.op("tpu.vector_load_idx", &operands, ty, &attrs))
    }

    pub(super) fn store_idx(
        &mut self,
        op: &OpData,
        add: bool,
        masked: bool,
    ) -> Result<(), Diagnostic> {
        self.expect_words(self.dtype(op.operands[0]))?;
        let memref = self.memref(op.operands[0])?;
        let value = self.value(op.operands[1])?;
        let (indices, mask) = self.by_index(op, 2, masked)?;
        self.scatter(value, memref, &indices, mask, add);
        Ok(())
    }

    pub(super) fn load_expanded(
        &mut self,
        op: &OpData,
        access: &Access,
    ) -> Result<Value<'s>, Diagnostic> {
        self.expect_words(self.dtype(op.operands[0]))?;
        let reference = self.reference(op.operands[0])?;
        let n_starts = access.n_dynamic();
        let place = self.place(&reference, access, &op.operands[1..1 + n_starts])?;
        let form = self.register_form(&place)?;
        let mask = self.mask_of(op, true)?;
        Ok(self.load_lanes(&place, &form, Some(mask)))
    }

    pub(super) fn store_compressed(
        &mut self,
        op: &OpData,
        access: &Access,
    ) -> Result<(), Diagnostic> {
        self.expect_words(self.dtype(op.operands[0]))?;
        let reference = self.reference(op.operands[0])?;
        let n_starts = access.n_dynamic();
        let place = self.place(&reference, access, &op.operands[2..2 + n_starts])?;
        self.register_form(&place)?;
        let value = self.value(op.operands[1])?;
        let mask = self.mask_of(op, true)?;
        let indices = self.indices(&place.dims);
        self.vector_store(value, place.reference.parts[0], &indices, Some(mask));
        Ok(())
    }
}
