//! Warnings: what a kernel wastes on padding and on moving elements about.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{DotOp, Op, ShapeOp};
use crate::ir::ty::Sizes;
use crate::ir::{BlockDim, LocId, MemorySpace, OpData, Param};
use crate::target::{Chip, Target};

/// Waste below this is not worth a word.
const WORTH_TELLING: f64 = 0.25;

pub(super) fn check(context: &mut Context<'_>, target: &Target, chip: &Chip) {
    let kernel = context.kernel;
    for param in kernel.params.iter().filter(|param| param.space == MemorySpace::Vmem) {
        check_lanes(context, chip, &param.name, &param.window_shape(), param.loc);
        check_edges(context, param);
    }
    for scratch in kernel.scratch.iter().filter(|scratch| scratch.space == MemorySpace::Vmem) {
        check_lanes(context, chip, &scratch.name, &scratch.shape, scratch.loc);
    }
    kernel.walk(kernel.body, &mut |_, op| match &op.op {
        Op::Dot(dot) => check_dot(context, target, chip, dot, op),
        Op::Shape(ShapeOp::Reshape(shape)) => check_reshape(context, shape, op),
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Convert(_)
        | Op::Random(_)
        | Op::Mxu(_)
        | Op::Reduce(_)
        | Op::Memory(_)
        | Op::Dma(_)
        | Op::Sync(_)
        | Op::Sparse(_)
        | Op::Control(_)
        | Op::Debug(_) => {}
    });
}

/// The part of the whole that is padding when sizes are rounded up.
fn padding(sizes: &[(usize, usize)]) -> f64 {
    let used: f64 =
        sizes.iter().map(|&(size, to)| size as f64 / size.next_multiple_of(to) as f64).product();
    1.0 - used
}

fn percent(part: f64) -> String {
    format!("{:.0}%", part * 100.0)
}

fn check_lanes(context: &mut Context<'_>, chip: &Chip, name: &str, shape: &[usize], loc: LocId) {
    let [.., _, lanes] = *shape else { return };
    let waste = padding(&[(lanes, chip.lanes)]);
    if waste < WORTH_TELLING {
        return;
    }
    let message = format!(
        "{} of the VMEM of `{name}` is padding: its last axis fills {lanes} of {} lanes",
        percent(waste),
        lanes.next_multiple_of(chip.lanes)
    );
    context.report_at(
        loc,
        Diagnostic::warning(Code::VALID_LANE_PADDING, message)
            .help("swap the axes, or put several rows into one"),
    );
}

/// Blocks that reach far over the end of the array.
fn check_edges(context: &mut Context<'_>, param: &Param) {
    let Some(window) = &param.window else { return };
    let blocked = window.block.iter().zip(&param.axes).filter_map(|(dim, axis)| match dim {
        BlockDim::Blocked(size) => Some((axis.size, *size)),
        BlockDim::Squeezed | BlockDim::Element(_) => None,
    });
    let waste = padding(&blocked.collect::<Vec<_>>());
    if waste < WORTH_TELLING {
        return;
    }
    let message = format!(
        "{} of what the blocks {} of `{}` cover is outside the array {}",
        percent(waste),
        Sizes(&param.window_shape()),
        param.name,
        Sizes(&param.array_shape())
    );
    context.report_at(param.loc, Diagnostic::warning(Code::VALID_BLOCK_PADDING, message));
}

/// Products that leave much of the matrix unit idle.
fn check_dot(context: &mut Context<'_>, target: &Target, chip: &Chip, dot: &DotOp, op: &OpData) {
    let kernel = context.kernel;
    let [lhs, rhs] = op.operands[..] else { return };
    let (m, k, n) = dot.sizes(kernel.ty(lhs).shape(), kernel.ty(rhs).shape());
    let size = chip.mxu_size;
    // One operand stays in the unit, `k` by `n`; the rows of the other stream past it.
    let waste = padding(&[(k, size), (n, size)]);
    if waste < WORTH_TELLING {
        return;
    }
    let short: Vec<String> = [("k", k), ("n", n)]
        .iter()
        .filter(|(_, dim)| !dim.is_multiple_of(size))
        .map(|(name, dim)| format!("{name} = {dim}"))
        .collect();
    let message = format!(
        "{} of the {size} x {size} matrix unit of {target} is idle in `dot` [{m}, {k}] x [{k}, {n}]: {}",
        percent(waste),
        short.join(", ")
    );
    context.report_at(op.loc, Diagnostic::warning(Code::VALID_MXU_PADDING, message));
}

/// Reshapes that change the last axis: every element changes its lane.
fn check_reshape(context: &mut Context<'_>, to: &[usize], op: &OpData) {
    let kernel = context.kernel;
    let [operand] = op.operands[..] else { return };
    let from = kernel.ty(operand).shape();
    if from.last() == to.last() || kernel.ty(operand).n_elems() < 1024 {
        return;
    }
    let message =
        format!("`reshape` from {} to {} moves elements between lanes", Sizes(from), Sizes(to));
    context.report_at(
        op.loc,
        Diagnostic::warning(Code::VALID_RELAYOUT, message)
            .help("keep the last axis, or give the parameter the shape you need"),
    );
}
