//! Blocks that index maps place wrongly, as far as it can be proven without running the kernel.

use super::Context;
use super::affine::{self, Index, Range};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{ControlOp, MemoryOp, Op};
use crate::ir::{BlockDim, Extent, Kernel, OpData, Param, ParamKind, Semantics, Value, Window};

pub(super) fn check(context: &mut Context<'_>) {
    let kernel = context.kernel;
    for (idx, param) in kernel.params.iter().enumerate() {
        let (Some(window), Some(indices)) = (&param.window, affine::block_indices(kernel, param))
        else {
            continue;
        };
        check_range(context, param, window, &indices);
        if param.kind.is_output() {
            check_parallel(context, param, &indices);
            check_revisit(context, param, kernel.param_ref(idx), &indices);
        }
    }
    check_loops(context);
}

/// What loops and indices of scalars do, whatever core runs them.
pub(super) fn check_loops(context: &mut Context<'_>) {
    check_loop_steps(context);
    check_scalar_indices(context);
}

type Indices = [(Index, Option<Range>)];

/// Every block starts inside the array.
fn check_range(context: &mut Context<'_>, param: &Param, window: &Window, indices: &Indices) {
    for (axis, (dim, (_, range))) in window.block.iter().zip(indices).enumerate() {
        let Some(range) = range else { continue };
        let size = param.axes[axis].size;
        let (last, unit) = match dim {
            BlockDim::Blocked(block) => (size.div_ceil(*block) - 1, "block"),
            BlockDim::Squeezed => (size - 1, "block"),
            BlockDim::Element(window) => (size - window, "element"),
        };
        let last = last as i64;
        if range.lo < 0 || range.hi > last {
            let wrong = if range.lo < 0 { range.lo } else { range.hi };
            context.report_at(
                param.loc,
                Diagnostic::error(
                    Code::VALID_BLOCK_INDEX,
                    format!(
                        "`{}` is placed at {unit} {wrong} of axis `{}`, which ends at {unit} {last}",
                        param.name, param.axes[axis].name
                    ),
                )
                .note(format!("over the grid the index goes from {} to {}", range.lo, range.hi)),
            );
        }
    }
}

/// No two steps of a parallel axis write one block.
fn check_parallel(context: &mut Context<'_>, param: &Param, indices: &Indices) {
    let kernel = context.kernel;
    for (axis, grid_axis) in kernel.grid.iter().enumerate() {
        let is_single = grid_axis.extent == Extent::Static(1);
        if !grid_axis.semantics.is_parallel()
            || is_single
            || affine::depends_on(indices, kernel, axis)
        {
            continue;
        }
        context.report_at(
            param.loc,
            Diagnostic::error(
                Code::VALID_PARALLEL_REVISIT,
                format!(
                    "all steps of the {2} axis `{0}` write the same block of `{1}`",
                    grid_axis.name,
                    param.name,
                    grid_axis.semantics.name()
                ),
            )
            .help(format!(
                "make `{0}` arbitrary, or let the block of `{1}` depend on `{0}`",
                grid_axis.name, param.name
            )),
        );
    }
}

/// No block is left and visited again, unless each visit writes all of it.
fn check_revisit(context: &mut Context<'_>, param: &Param, reference: Value, indices: &Indices) {
    let kernel = context.kernel;
    let has_steps =
        |axis: usize| matches!(kernel.grid[axis].extent, Extent::Static(extent) if extent > 1);
    let n_axes = kernel.grid.len();
    let outer = (0..n_axes).find(|&outer| {
        has_steps(outer)
            && kernel.grid[outer].semantics == Semantics::Arbitrary
            && !affine::depends_on(indices, kernel, outer)
            && (outer + 1..n_axes).any(|inner| {
                has_steps(inner) && indices.iter().any(|(index, _)| index.changes_along(inner))
            })
    });
    let Some(outer) = outer else { return };
    let inner = (outer + 1..n_axes)
        .find(|&inner| {
            has_steps(inner) && indices.iter().any(|(index, _)| index.changes_along(inner))
        })
        .unwrap_or(outer);
    let (outer, inner) = (&kernel.grid[outer].name, &kernel.grid[inner].name);
    let overwrites = param.kind == ParamKind::Out && is_overwritten(kernel, reference);
    let message = if overwrites {
        format!("the blocks of `{}` are written again for each step of `{outer}`", param.name)
    } else {
        format!(
            "the blocks of `{}` are left and visited again: its index changes along `{inner}`, \
             inside `{outer}`, which it does not depend on",
            param.name
        )
    };
    let diagnostic = if overwrites {
        Diagnostic::warning(Code::VALID_OUTPUT_REVISIT, message)
    } else {
        Diagnostic::error(Code::VALID_OUTPUT_REVISIT, message)
    };
    let help = format!("put `{outer}` after `{inner}` in the grid, or accumulate in scratch");
    context.report_at(param.loc, diagnostic.help(help));
}

/// Whether the body writes a reference as a whole at every step and never reads it.
fn is_overwritten(kernel: &Kernel, reference: Value) -> bool {
    let top = &kernel.block(kernel.body).ops;
    let shape = kernel.ty(reference).shape();
    let is_whole_store = |op: &Op| matches!(op, Op::Memory(MemoryOp::Store { access, masked: false }) if access.is_full(shape));
    let mut only_stored = true;
    kernel.walk(kernel.body, &mut |_, op| {
        if let Op::Memory(MemoryOp::Load { .. }) = op.op {
            only_stored &= op.operands[0] != reference;
        }
    });
    only_stored
        && top
            .iter()
            .map(|&id| kernel.op(id))
            .any(|op| is_whole_store(&op.op) && op.operands[0] == reference)
}

/// Loops with a known step go forward.
fn check_loop_steps(context: &mut Context<'_>) {
    let kernel = context.kernel;
    kernel.walk(kernel.body, &mut |_, op| {
        if op.op != Op::Control(ControlOp::For) {
            return;
        }
        if let Some(step) = kernel.constant_int(op.operands[2])
            && step <= 0
        {
            let message = format!("the step of `for` is {step}, but it must be positive");
            context.error(Code::VALID_LOOP_STEP, op.loc, message);
        }
    });
}

/// Arithmetic on grid indices in index maps, and the starts of the body's accesses, stay within
/// `i32` at every step. Other scalars may wrap, and what stands in branches may be guarded.
fn check_scalar_indices(context: &mut Context<'_>) {
    let kernel = context.kernel;
    for window in kernel.params.iter().filter_map(|param| param.window.as_ref()) {
        let indices = affine::Indices::of_block(kernel, window.index_map);
        for &id in &kernel.block(window.index_map).ops {
            let op = kernel.op(id);
            check_reach(context, &indices, &op.results, op);
        }
    }
    let indices = affine::Indices::of_block(kernel, kernel.body);
    for &id in &kernel.block(kernel.body).ops {
        let op = kernel.op(id);
        if let Op::Memory(_) = &op.op {
            check_reach(context, &indices, &op.operands, op);
        }
    }
}

fn check_reach(
    context: &mut Context<'_>,
    indices: &affine::Indices<'_>,
    values: &[Value],
    op: &OpData,
) {
    for range in values.iter().filter_map(|&v| indices.range(v)) {
        if range.lo < i64::from(i32::MIN) || range.hi > i64::from(i32::MAX) {
            let value = if range.hi > i64::from(i32::MAX) { range.hi } else { range.lo };
            let message =
                format!("an index of `{}` reaches {value}, beyond 32 bits", op.op.mnemonic());
            context.report_at(
                op.loc,
                Diagnostic::error(Code::VALID_INDEX_OVERFLOW, message)
                    .note("found from the extents of the grid"),
            );
        }
    }
}
