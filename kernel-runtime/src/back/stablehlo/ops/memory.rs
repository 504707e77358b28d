//! Loads and stores: memory is a value, a store makes a new one.

use crate::back::stablehlo::grid::slice_at;
use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::Tensor;
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::{OpData, Value};
use crate::ir::ops::{Access, Literal, MemoryOp, Start};
use crate::ir::ty::Shape;

/// Lowers a load, which gives a value, or a store, which gives none.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    memory: &MemoryOp,
    op: &OpData,
) -> Result<Option<Val>, Diagnostic> {
    let slot = cx.slot(op.operands[0])?;
    let access = memory.access();
    let old = cx.read(slot)?;
    match memory {
        // What a masked load leaves undefined is simply what memory holds there.
        MemoryOp::Load { .. } => {
            let tile_shape = access.tile_shape();
            let old = match old {
                Val::Uniform(literal, _) => return Ok(Some(Val::Uniform(literal, tile_shape))),
                Val::Tensor(old) => old,
            };
            let lanes = lanes_of(&old.shape, access);
            let place = Place::new(cx, access, &op.operands[1..])?.in_lanes(lanes);
            let part = place.read(cx, &old);
            let tile_shape: Shape = lanes.into_iter().chain(tile_shape).collect();
            Ok(Some(cx.out.reshape(&part, &tile_shape).into()))
        }
        MemoryOp::Store { masked, .. } => {
            let value = cx.val(op.operands[1])?;
            let lanes = lanes_of(old.shape(), access);
            let full = access.is_full(&old.shape()[usize::from(lanes.is_some())..]);
            if full && !masked {
                let value = match value {
                    Val::Uniform(literal, _) => {
                        Val::Uniform(literal, Shape::from_slice(old.shape()))
                    }
                    tensor @ Val::Tensor(_) => cx.carried(op.operands[1], &tensor).into(),
                };
                cx.write(slot, value);
                return Ok(None);
            }
            let place = Place::new(cx, access, &op.operands[2..])?.in_lanes(lanes);
            let (old, value) = (cx.materialise(&old), cx.carried(op.operands[1], &value));
            let value = match masked {
                true => {
                    let mask = op.operands[op.operands.len() - 1];
                    let mask_val = cx.val(mask)?;
                    let mask = cx.carried(mask, &mask_val);
                    let kept = place.read(cx, &old);
                    let kept = cx.out.reshape(&kept, &value.shape);
                    cx.out.select(&mask, &value, &kept)
                }
                false => value,
            };
            let new = place.write(cx, &old, &value);
            cx.write(slot, new);
            Ok(None)
        }
    }
}

/// The number of lanes before the axes that an access names, if memory of this shape has any.
fn lanes_of(shape: &[usize], access: &Access) -> Option<usize> {
    (shape.len() > access.dims.len()).then(|| shape[0])
}

/// Where an access goes: a span of memory, of which every `strides`-th element counts.
pub(super) struct Place {
    starts: Vec<Val>,
    sizes: Shape,
    strides: Shape,
    span: Shape,
}

impl Place {
    /// `dynamic` begins with the dynamic starts.
    pub(super) fn new(
        cx: &Lowering<'_>,
        access: &Access,
        dynamic: &[Value],
    ) -> Result<Place, Diagnostic> {
        let mut dynamic = dynamic.iter();
        let mut starts = Vec::with_capacity(access.dims.len());
        for dim in &access.dims {
            starts.push(match dim.start {
                Start::Static(start) => Val::index(start as i64),
                Start::Dynamic { .. } => match dynamic.next() {
                    Some(&start) => cx.val(start)?,
                    None => return Err(cx.error("an access lacks a dynamic start")),
                },
            });
        }
        Ok(Place {
            starts,
            sizes: access.dims.iter().map(|dim| dim.size).collect(),
            strides: access.dims.iter().map(|dim| dim.stride).collect(),
            span: access.dims.iter().map(|dim| (dim.size - 1) * dim.stride + 1).collect(),
        })
    }

    /// The sizes, dropped axes included.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// As many elements beyond the end of each axis as the place spans: a place whose full size
    /// would reach over the end stays where it is.
    pub(super) fn with_room(&self, cx: &mut Lowering<'_>, memory: &Tensor) -> Tensor {
        let zero = cx.out.constant(Literal::from_f64(memory.dtype, 0.0), &[]);
        let zeros = vec![0; self.span.len()];
        let high: Vec<i64> = self.span.iter().map(|&span| span as i64).collect();
        cx.out.pad(memory, &zero, &zeros, &high, &zeros)
    }

    /// The same place in every lane.
    fn in_lanes(mut self, lanes: Option<usize>) -> Place {
        if let Some(n) = lanes {
            self.starts.insert(0, Val::index(0));
            self.sizes.insert(0, n);
            self.strides.insert(0, 1);
            self.span.insert(0, n);
        }
        self
    }

    pub(super) fn read(&self, cx: &mut Lowering<'_>, memory: &Tensor) -> Tensor {
        let span = slice_at(cx, memory, &self.starts, &self.span);
        cx.out.slice(&span, &vec![0; self.sizes.len()], &self.sizes, &self.strides)
    }

    pub(super) fn write(&self, cx: &mut Lowering<'_>, memory: &Tensor, value: &Tensor) -> Tensor {
        let mut update = cx.out.reshape(value, &self.sizes);
        if self.sizes != self.span {
            // The elements between the strided ones keep what they held.
            let old = slice_at(cx, memory, &self.starts, &self.span);
            let spread = self.spread(cx, &update, Literal::from_f64(value.dtype, 0.0));
            let all = cx.out.constant(Literal::int(DType::Bool, 1), &self.sizes);
            let hit = self.spread(cx, &all, Literal::int(DType::Bool, 0));
            update = cx.out.select(&hit, &spread, &old);
        }
        let starts: Vec<Tensor> = self.starts.iter().map(|start| cx.materialise(start)).collect();
        cx.out.dynamic_update_slice(memory, &update, &starts)
    }

    fn spread(&self, cx: &mut Lowering<'_>, x: &Tensor, between: Literal) -> Tensor {
        let between = cx.out.constant(between, &[]);
        let zeros = vec![0; self.sizes.len()];
        let interior: Vec<i64> = self.strides.iter().map(|&stride| stride as i64 - 1).collect();
        cx.out.pad(x, &between, &zeros, &zeros, &interior)
    }
}
