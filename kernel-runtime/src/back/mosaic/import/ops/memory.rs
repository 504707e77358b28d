//! Loads and stores.

use super::super::body::{Importer, Index, Outcome, Val};
use super::super::read::ast::{Op, Type, ValueId};
use crate::ir::ops::{
    Access, AccessDim, Binary, Elementwise, Literal, MAX_MULTIPLE, MemoryOp, SparseOp, Start,
};
use crate::ir::{self, DType, MemorySpace};
use smallvec::SmallVec;

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "vector.load" => importer.vector_load(op),
        "tpu.vector_load" => importer.tpu_load(op),
        "tpu.strided_load" => importer.strided_load(op),
        "memref.load" => importer.load_scalar(op),
        "vector.store" => importer.vector_store(op),
        "tpu.vector_store" => importer.tpu_store(op),
        "tpu.strided_store" => importer.strided_store(op),
        "memref.store" => importer.store_scalar(op),
        "tpu.assume_multiple" => importer.assume_multiple(op),
        _ => return None,
    })
}

/// What a load or store touches.
struct Place {
    base: ir::Value,
    access: Access,
    starts: Vec<ir::Value>,
}

impl<'m> Importer<'m> {
    fn vector_load(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["nontemporal", "alignment"])?;
        let base = self.operand(op, 0)?;
        self.load(op, base, &op.operands[1..], &[], None)
    }

    fn tpu_load(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["strides", "operandSegmentSizes"])?;
        let segments = self.segments(op, 3)?;
        let strides = self.sizes(op, "strides")?;
        let mask = op.operands[segments[2].clone()].first().copied();
        self.load(op, self.operand(op, 0)?, &op.operands[segments[1].clone()], &strides, mask)
    }

    fn strided_load(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["strides"])?;
        let strides = self.sizes(op, "strides")?;
        let base = self.operand(op, 0)?;
        self.load(op, base, &op.operands[1..], &strides, None)
    }

    fn load(
        &mut self,
        op: &'m Op,
        base: ValueId,
        indices: &[ValueId],
        strides: &[usize],
        mask: Option<ValueId>,
    ) -> Outcome<()> {
        let to = self.result_ty(op)?;
        let view = self.view(base)?;
        if !view.layers.is_empty() {
            if mask.is_some() {
                return Err(self.unsupported(op, "a mask on a reference seen under another type"));
            }
            let value = self.load_layers(op, &view, indices, to.shape(), strides)?;
            return self.result(op, value);
        }
        let mut place = self.place(op, base, indices, to.shape(), strides)?;
        let masked = mask.is_some();
        let mut operands = vec![place.base];
        operands.append(&mut place.starts);
        if let Some(mask) = mask {
            operands.push(self.value(mask)?);
        }
        let load = self.load_of(place.access, masked);
        let value = self.push(op, load, &operands)?;
        self.result(op, value)
    }

    /// A load; on SparseCores one with a mask takes elements that lie one after the other.
    fn load_of(&self, access: Access, masked: bool) -> ir::Op {
        match masked && self.is_sparse() {
            true => ir::Op::Sparse(SparseOp::LoadExpanded { access }),
            false => ir::Op::Memory(MemoryOp::Load { access, masked }),
        }
    }

    fn vector_store(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["nontemporal", "alignment"])?;
        let base = self.operand(op, 1)?;
        self.store(op, base, &op.operands[2..], &[], None, false)
    }

    fn tpu_store(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["strides", "operandSegmentSizes", "add"])?;
        let segments = self.segments(op, 4)?;
        let strides = self.sizes(op, "strides")?;
        let mask = op.operands[segments[3].clone()].first().copied();
        let base = self.operand(op, 1)?;
        let add = self.flag(op, "add")?;
        self.store(op, base, &op.operands[segments[2].clone()], &strides, mask, add)
    }

    fn strided_store(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["strides"])?;
        let strides = self.sizes(op, "strides")?;
        let base = self.operand(op, 1)?;
        self.store(op, base, &op.operands[2..], &strides, None, false)
    }

    fn store(
        &mut self,
        op: &'m Op,
        base: ValueId,
        indices: &[ValueId],
        strides: &[usize],
        mask: Option<ValueId>,
        add: bool,
    ) -> Outcome<()> {
        let from = self.operand_ty(op, 0)?;
        let place = self.place(op, base, indices, from.shape(), strides)?;
        let stored = self.operand(op, 0)?;
        let mut stored = self.value(stored)?;
        let mask = mask.map(|mask| self.value(mask)).transpose()?;
        let masked = mask.is_some();
        if add {
            let load = self.load_of(place.access.clone(), masked);
            let mut operands = vec![place.base];
            operands.extend_from_slice(&place.starts);
            operands.extend(mask);
            let old = self.push(op, load, &operands)?;
            let sum = ir::Op::Elementwise(Elementwise::Binary(Binary::Add));
            stored = self.push(op, sum, &[old, stored])?;
        }
        let mut operands = vec![place.base, stored];
        operands.extend(place.starts);
        operands.extend(mask);
        let access = place.access;
        let store = match masked && self.is_sparse() {
            true => ir::Op::Sparse(SparseOp::StoreCompressed { access }),
            false => ir::Op::Memory(MemoryOp::Store { access, masked }),
        };
        self.push_all(op, store, &operands, &[])?;
        Ok(())
    }

    fn load_scalar(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["nontemporal", "alignment"])?;
        let base = self.operand(op, 0)?;
        let place = self.scalar_place(op, base, &op.operands[1..])?;
        let mut operands = vec![place.base];
        operands.extend(place.starts);
        let load = ir::Op::Memory(MemoryOp::Load { access: place.access, masked: false });
        let value = self.push(op, load, &operands)?;
        self.result(op, value)
    }

    fn store_scalar(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["nontemporal", "alignment"])?;
        let [stored, base] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let place = self.scalar_place(op, base, &op.operands[2..])?;
        let mut operands = vec![place.base, self.value(stored)?];
        operands.extend(place.starts);
        let store = ir::Op::Memory(MemoryOp::Store { access: place.access, masked: false });
        self.push_all(op, store, &operands, &[])?;
        Ok(())
    }

    fn scalar_place(&mut self, op: &'m Op, base: ValueId, indices: &[ValueId]) -> Outcome<Place> {
        if let (_, _, space @ (MemorySpace::Vmem | MemorySpace::Hbm | MemorySpace::Any)) =
            self.memref(op, base)?
        {
            return Err(self.unsupported(op, format!("one element of {space} as a scalar")));
        }
        self.place(op, base, indices, &[], &[])
    }

    /// The part of a view that starts at `indices` and has the sizes of a tile. A tile of fewer
    /// axes lacks the outer ones; strides are one per axis, or none.
    fn place(
        &mut self,
        op: &'m Op,
        base: ValueId,
        indices: &[ValueId],
        tile: &[usize],
        strides: &[usize],
    ) -> Outcome<Place> {
        let view = self.view(base)?;
        if !view.layers.is_empty() {
            return Err(self.unsupported(op, "a reference seen under another shape or type"));
        }
        if view.dims.iter().any(|dim| dim.length.is_some()) {
            return Err(self.unsupported(op, "a reference whose size is known at run time alone"));
        }
        // A reference without axes has one here.
        let n_axes = match &**self.module.ty(base) {
            Type::MemRef { shape, .. } => shape.len(),
            _ => 0,
        };
        let misfit = indices.len() != n_axes
            || tile.len() > n_axes
            || !strides.is_empty() && strides.len() != n_axes;
        if misfit {
            return Err(self.wrong("an access does not have the axes of its reference").into());
        }
        let n_dropped = n_axes - tile.len();
        let mut starts = Vec::new();
        let mut dims: SmallVec<[AccessDim; 4]> = SmallVec::new();
        let mut axis = 0;
        for dim in &view.dims {
            let (mut start, mut size, mut stride, mut keep) = (dim.start.clone(), 1, 1, false);
            if dim.is_kept && axis < n_axes {
                let offset = self.index(indices[axis])?;
                start = self.sum(op, start, offset)?;
                keep = axis >= n_dropped;
                if keep {
                    size = tile[axis - n_dropped];
                    stride = strides.get(axis).copied().unwrap_or(1);
                }
                axis += 1;
            }
            let start = match start {
                Index::Static(start) => match usize::try_from(start) {
                    Ok(start) => Start::Static(start),
                    Err(_) => return Err(self.unsupported(op, format!("a start of {start}"))),
                },
                Index::Dynamic { value, multiple } => {
                    starts.push(value);
                    Start::Dynamic { multiple_of: multiple }
                }
            };
            dims.push(AccessDim { start, size, stride, keep });
        }
        Ok(Place { base: view.base, access: Access { dims }, starts })
    }

    /// The sum of two places.
    pub(super) fn sum(&mut self, op: &Op, a: Index, b: Index) -> Outcome<Index> {
        let (multiple, a, b) = match (a, b) {
            (Index::Static(a), Index::Static(b)) => {
                return match a.checked_add(b) {
                    Some(sum) => Ok(Index::Static(sum)),
                    None => Err(self.wrong("an index beyond 64 bits").into()),
                };
            }
            (Index::Static(0), index) | (index, Index::Static(0)) => return Ok(index),
            (Index::Static(number), Index::Dynamic { value, multiple })
            | (Index::Dynamic { value, multiple }, Index::Static(number)) => {
                let literal = Literal::int(DType::I32, number);
                let constant = self.constant(literal, None)?;
                (gcd(multiple, number.unsigned_abs() as usize), value, constant)
            }
            (
                Index::Dynamic { value: a, multiple: m },
                Index::Dynamic { value: b, multiple: n },
            ) => (gcd(m, n), a, b),
        };
        let add = ir::Op::Elementwise(Elementwise::Binary(Binary::Add));
        Ok(Index::Dynamic { value: self.push(op, add, &[a, b])?, multiple })
    }

    fn assume_multiple(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["multiple"])?;
        let multiple = self.int_attr(op, "multiple")?;
        let Some(multiple) =
            usize::try_from(multiple).ok().filter(|n| (1..=MAX_MULTIPLE).contains(n))
        else {
            let message = format!("a promise of a multiple of {multiple}, which is 0 alone");
            return Err(self.wrong(message).into());
        };
        let operand = self.operand(op, 0)?;
        if !self.same_type(operand, *op.results.first().unwrap_or(&operand)) {
            return Err(self.wrong("a promise changes the type of its value").into());
        }
        let val = match self.val(operand)?.clone() {
            Val::Ir { value, multiple: known } => {
                // Both hold, so their least common multiple does.
                let both = known / gcd(known, multiple) * multiple;
                Val::Ir { value, multiple: if both <= MAX_MULTIPLE { both } else { multiple } }
            }
            other => other,
        };
        match op.results[..] {
            [result] => self.bind(result, val),
            _ => return Err(self.wrong("a promise has one result").into()),
        }
        Ok(())
    }
}

fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
