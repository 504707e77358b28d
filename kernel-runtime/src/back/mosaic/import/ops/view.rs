//! Views of references, and memory of a scope.

use super::super::body::{Importer, Index, Layer, Outcome, Val, View};
use super::super::header::{one_axis, semaphore_kind};
use super::super::read::ast::{self, Op, Type, ValueId};
use crate::ir::ops::{Access, AccessDim, MemoryOp, ShapeOp, Start};
use crate::ir::{self, Scratch, SemaphoreArray, Shape};
use std::rc::Rc;

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "tpu.memref_slice" => importer.memref_slice(op),
        "tpu.memref_squeeze" => importer.memref_squeeze(op),
        "tpu.memref_reshape" | "tpu.memref_bitcast" => importer.memref_layer(op),
        "memref.alloca" => importer.alloca(op),
        "tpu.sem_alloc" => importer.sem_alloc(op),
        _ => return None,
    })
}

/// A part of a reference, as accesses name it.
pub(super) struct Part {
    pub(super) base: ir::Value,
    pub(super) access: Access,
    pub(super) starts: Vec<ir::Value>,
    /// Per kept axis: the length that is known at run time alone.
    pub(super) lengths: Vec<Option<Index>>,
}

impl<'m> Importer<'m> {
    fn only_result(&self, op: &Op) -> Outcome<ValueId> {
        match op.results[..] {
            [result] => Ok(result),
            _ => Err(self.wrong("a view or allocation has one result").into()),
        }
    }

    /// The sizes of a memref's axes, some of which may be known at run time alone.
    fn memref_shape(&self, value: ValueId) -> Outcome<Vec<i64>> {
        match &**self.module.ty(value) {
            Type::MemRef { shape, .. } => Ok(shape.clone()),
            _ => Err(self.wrong("a view is no reference").into()),
        }
    }

    fn memref_slice(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes"])?;
        let segments = self.segments(op, 3)?;
        let base = self.operand(op, 0)?;
        let view = self.view(base)?;
        if !view.layers.is_empty() {
            return Err(self.unsupported(op, "a part of a reference seen under another shape"));
        }
        let result = self.only_result(op)?;
        let shape = self.memref_shape(result)?;
        let indices = &op.operands[segments[1].clone()];
        let mut lengths = op.operands[segments[2].clone()].iter();
        let n_kept = view.dims.iter().filter(|dim| dim.is_kept).count();
        // A reference without axes has one here, which is whole.
        let n_axes = self.memref_shape(base)?.len().min(n_kept);
        if shape.len() != n_axes || indices.len() != n_axes {
            return Err(self.wrong("a slice does not have the axes of its reference").into());
        }
        let mut dims = view.dims.clone();
        let kept = dims.iter_mut().filter(|dim| dim.is_kept);
        for (dim, (&size, &index)) in kept.zip(shape.iter().zip(indices)) {
            let offset = self.index(index)?;
            dim.start = self.sum(op, dim.start.clone(), offset)?;
            if size == ast::DYNAMIC {
                let Some(&length) = lengths.next() else {
                    return Err(self.wrong("a slice lacks a size").into());
                };
                match self.index(length)? {
                    Index::Static(length) => self.shrink(&mut dim.size, length)?,
                    length => dim.length = Some(length),
                }
            } else {
                self.shrink(&mut dim.size, size)?;
                dim.length = None;
            }
        }
        if lengths.next().is_some() {
            return Err(self.wrong("a slice has more sizes than it needs").into());
        }
        self.bind(result, Val::View(Rc::new(View { base: view.base, dims, layers: Vec::new() })));
        Ok(())
    }

    fn shrink(&self, size: &mut usize, to: i64) -> Outcome<()> {
        match usize::try_from(to) {
            Ok(to) if to <= *size => {
                *size = to;
                Ok(())
            }
            _ => Err(self.wrong(format!("a slice of {to} elements of an axis of {size}")).into()),
        }
    }

    /// Drops axes of size 1: as many as the result lacks, the outermost that fit.
    fn memref_squeeze(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let base = self.operand(op, 0)?;
        let view = self.view(base)?;
        let result = self.only_result(op)?;
        let shape = self.memref_shape(result)?;
        if !view.layers.is_empty() {
            return self.memref_layer(op);
        }
        let mut wanted = shape.iter().rev().peekable();
        let mut dims = view.dims.clone();
        for dim in dims.iter_mut().rev().filter(|dim| dim.is_kept) {
            let fits = |size: i64| match &dim.length {
                Some(_) => size == ast::DYNAMIC,
                None => usize::try_from(size) == Ok(dim.size),
            };
            match wanted.peek() {
                Some(&&size) if fits(size) => {
                    wanted.next();
                }
                _ if dim.size == 1 && dim.length.is_none() => dim.is_kept = false,
                _ => return Err(self.wrong("a squeeze drops an axis of several elements").into()),
            }
        }
        if wanted.next().is_some() {
            return Err(self.wrong("a squeeze adds axes").into());
        }
        self.bind(result, Val::View(Rc::new(View { base: view.base, dims, layers: Vec::new() })));
        Ok(())
    }

    /// The same memory under another shape or element type.
    fn memref_layer(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let base = self.operand(op, 0)?;
        let mut view = (*self.view(base)?).clone();
        let result = self.only_result(op)?;
        let (from_dtype, from, _) = self.memref(op, base)?;
        let (dtype, shape, _) = self.memref(op, result)?;
        let n_bytes = |shape: &Shape, dtype: ir::DType| {
            shape.iter().try_fold(dtype.size_bytes(), |n, &size| n.checked_mul(size))
        };
        if n_bytes(&from, from_dtype) != n_bytes(&shape, dtype) {
            return Err(self.wrong("a view has another size than its reference").into());
        }
        if dtype != from_dtype && from_dtype.size_bytes() != dtype.size_bytes() {
            // Rows are packed: the last axis stays, the one before it shrinks or grows.
            let rows_alone = from.len() == shape.len()
                && from.len() >= 2
                && (0..from.len()).all(|axis| axis == from.len() - 2 || from[axis] == shape[axis]);
            if !rows_alone {
                return Err(self.unsupported(op, "another element type and another shape at once"));
            }
        } else if dtype != from_dtype && from != shape {
            return Err(self.unsupported(op, "another element type and another shape at once"));
        }
        view.layers.push(Layer { dtype, shape });
        self.bind(result, Val::View(Rc::new(view)));
        Ok(())
    }

    /// Loads through layers: all of the part, seen as they say, and of that what is wanted.
    pub(super) fn load_layers(
        &mut self,
        op: &'m Op,
        view: &View,
        indices: &[ValueId],
        tile: &[usize],
        strides: &[usize],
    ) -> Outcome<ir::Value> {
        let part = self.part(op, view)?;
        if part.lengths.iter().any(Option::is_some) {
            return Err(self.unsupported(op, "a reference whose size is known at run time alone"));
        }
        let mut operands = vec![part.base];
        operands.extend(part.starts);
        let load = ir::Op::Memory(MemoryOp::Load { access: part.access, masked: false });
        let mut value = self.push(op, load, &operands)?;
        let mut seen = Shape::new();
        for layer in &view.layers {
            value = self.repack(op, value, layer.dtype)?;
            value = self.reshape(op, value, &layer.shape)?;
            seen.clone_from(&layer.shape);
        }
        let misfit = indices.len() != seen.len()
            || tile.len() > seen.len()
            || !strides.is_empty() && strides.len() != seen.len();
        if misfit {
            return Err(self.wrong("an access does not have the axes of its reference").into());
        }
        let n_dropped = seen.len() - tile.len();
        let mut starts = Shape::new();
        for &index in indices {
            match self.index(index)? {
                Index::Static(start) if start >= 0 => starts.push(start as usize),
                Index::Static(_) => return Err(self.unsupported(op, "a negative start")),
                Index::Dynamic { .. } => {
                    let why = "a start that is known at run time alone, in a reference seen under \
                               another shape";
                    return Err(self.unsupported(op, why));
                }
            }
        }
        let sizes: Shape = (0..seen.len())
            .map(|axis| if axis < n_dropped { 1 } else { tile[axis - n_dropped] })
            .collect();
        let strides: Shape =
            (0..seen.len()).map(|axis| strides.get(axis).copied().unwrap_or(1)).collect();
        if sizes != seen {
            let slice = ir::Op::Shape(ShapeOp::Slice { starts, sizes, strides });
            value = self.push(op, slice, &[value])?;
        }
        self.reshape(op, value, tile)
    }

    /// All of a view that has no layers, or all of what its layers see.
    pub(super) fn part(&mut self, op: &Op, view: &View) -> Outcome<Part> {
        let mut part = Part {
            base: view.base,
            access: Access { dims: Default::default() },
            starts: Vec::new(),
            lengths: Vec::new(),
        };
        for dim in &view.dims {
            let start = match dim.start {
                Index::Static(start) => match usize::try_from(start) {
                    Ok(start) => Start::Static(start),
                    Err(_) => return Err(self.unsupported(op, format!("a start of {start}"))),
                },
                Index::Dynamic { value, multiple } => {
                    part.starts.push(value);
                    Start::Dynamic { multiple_of: multiple }
                }
            };
            part.access.dims.push(AccessDim {
                start,
                size: dim.size,
                stride: 1,
                keep: dim.is_kept,
            });
            if dim.is_kept {
                part.lengths.push(dim.length.clone());
            }
        }
        Ok(part)
    }

    /// Memory of a scope becomes scratch: it holds nothing of use when the scope is entered.
    fn alloca(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["operandSegmentSizes", "alignment"])?;
        let result = self.only_result(op)?;
        if self.semaphores(op, result)? {
            return Ok(());
        }
        let (dtype, shape, space) = self.memref(op, result)?;
        let name = format!("alloca{}", self.builder.kernel().scratch.len());
        let scratch = Scratch { name, dtype, shape: one_axis(shape), space, loc: self.loc };
        let value = self.builder.scratch(scratch);
        self.bind_ref(result, value);
        Ok(())
    }

    /// Semaphores of a scope: zero when it is entered, and when it is left.
    fn sem_alloc(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let result = self.only_result(op)?;
        if self.semaphores(op, result)? {
            return Ok(());
        }
        Err(self.wrong("an allocation of semaphores gives something else").into())
    }

    /// Declares semaphores if a value is an array of them.
    fn semaphores(&mut self, op: &Op, value: ValueId) -> Outcome<bool> {
        let Type::MemRef { shape, elem, .. } = &**self.module.ty(value) else { return Ok(false) };
        let Some(kind) = semaphore_kind(elem) else { return Ok(false) };
        let sizes: Result<Shape, _> = shape.iter().map(|&size| usize::try_from(size)).collect();
        let Ok(shape) = sizes else {
            return Err(self.unsupported(op, "a number of semaphores that is known at run time"));
        };
        let name = format!("semaphores{}", self.builder.kernel().semaphores.len());
        let array = SemaphoreArray { name, kind, shape, loc: self.loc };
        let base = self.builder.semaphores(array);
        self.bind_ref(value, base);
        Ok(true)
    }
}
