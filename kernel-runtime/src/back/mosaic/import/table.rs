//! Prefetched tables that a kernel writes to: in the IR a table is read-only, so the kernel gets a
//! copy in scratch, which is filled before anything else happens.

use super::body::Importer;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{
    Access, AccessDim, Binary, Compare, ControlOp, Elementwise, Literal, MemoryOp, Op, Start,
};
use crate::ir::{self, DType, MemorySpace, Scratch, Shape};

/// Larger tables are refused: each entry is copied by ops of its own.
const MAX_ENTRIES: usize = 64;

/// Declares a copy of a table, filled in the first step; steps along a `parallel` axis, which may
/// run on other cores, each have their own.
pub(super) fn own_copy(
    importer: &mut Importer<'_>,
    table: ir::Value,
    name: String,
) -> Result<ir::Value, Diagnostic> {
    let (loc, ty) = (importer.loc, importer.builder.kernel().ty(table).clone());
    let shape = Shape::from_slice(ty.shape());
    let n_entries = shape.iter().fold(1usize, |n, &size| n.saturating_mul(size));
    if n_entries > MAX_ENTRIES {
        let message = format!(
            "the kernel writes to a prefetched table of {n_entries} entries, more than \
             {MAX_ENTRIES}"
        );
        return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
    }
    let (dtype, space) = (ty.dtype(), MemorySpace::Smem);
    let copy = importer.builder.scratch(Scratch { name, dtype, shape: shape.clone(), space, loc });
    let Some(is_first) = first_step(importer)? else {
        fill(importer, table, copy, &shape)?;
        return Ok(copy);
    };
    let (then, _) = importer.builder.open_block(&[]);
    let filled = fill(importer, table, copy, &shape);
    importer.builder.close_block(&[], loc);
    filled?;
    let (otherwise, _) = importer.builder.open_block(&[]);
    importer.builder.close_block(&[], loc);
    let branch = Op::Control(ControlOp::If);
    importer.builder.push_with_regions(branch, &[is_first], &[then, otherwise], loc)?;
    Ok(copy)
}

/// Whether the step is the first one along every axis that goes in order; `None` if there is no
/// such axis.
fn first_step(importer: &mut Importer<'_>) -> Result<Option<ir::Value>, Diagnostic> {
    let loc = importer.loc;
    let zero = importer.builder.constant(Literal::int(DType::I32, 0), loc);
    let mut all = None;
    for axis in 0..importer.builder.kernel().grid.len() {
        let kernel = importer.builder.kernel();
        if kernel.grid[axis].semantics.is_parallel() {
            continue;
        }
        let idx = kernel.grid_index(axis);
        let is_zero = Op::Elementwise(Elementwise::Compare(Compare::Eq));
        let is_zero = importer.builder.push(is_zero, &[idx, zero], loc)?[0];
        let and = Op::Elementwise(Elementwise::Binary(Binary::And));
        all = Some(match all {
            None => is_zero,
            Some(all) => importer.builder.push(and, &[all, is_zero], loc)?[0],
        });
    }
    Ok(all)
}

fn fill(
    importer: &mut Importer<'_>,
    table: ir::Value,
    copy: ir::Value,
    shape: &[usize],
) -> Result<(), Diagnostic> {
    let loc = importer.loc;
    for entry in 0..shape.iter().product::<usize>() {
        let mut rest = entry;
        let mut dims: Vec<AccessDim> = Vec::with_capacity(shape.len());
        for &size in shape.iter().rev() {
            let start = Start::Static(rest % size);
            dims.push(AccessDim { start, size: 1, stride: 1, keep: false });
            rest /= size;
        }
        let access = Access { dims: dims.into_iter().rev().collect() };
        let load = Op::Memory(MemoryOp::Load { access: access.clone(), masked: false });
        let value = importer.builder.push(load, &[table], loc)?[0];
        let store = Op::Memory(MemoryOp::Store { access, masked: false });
        importer.builder.push(store, &[copy, value], loc)?;
    }
    Ok(())
}
