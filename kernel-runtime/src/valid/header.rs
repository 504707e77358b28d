//! The declarations: grid, parameters, windows with their index maps, scratch.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{ControlOp, MemoryOp, Op};
use crate::ir::ty::Sizes;
use crate::ir::{
    BlockDim, DType, Extent, LocId, MemorySpace, Param, ParamKind, Type, Value, Window,
};
use std::collections::BTreeMap;

/// Index arithmetic is done in `i32`.
const MAX_INDEX: i64 = i32::MAX as i64;

pub(super) fn check(context: &mut Context<'_>) {
    check_grid(context);
    check_axis_sizes(context);
    let mut seen_blocked = false;
    let kernel = context.kernel;
    for param in &kernel.params {
        if param.kind == ParamKind::Prefetch && seen_blocked {
            let message =
                format!("`{}` is prefetched but stands after other parameters", param.name);
            context.error(Code::VALID_PARAM_ORDER, param.loc, message);
        }
        seen_blocked |= param.kind != ParamKind::Prefetch;
        check_param(context, param);
    }
    check_stores(context);
    for scratch in &kernel.scratch {
        check_sizes(context, &scratch.name, &scratch.shape, scratch.loc);
        if matches!(scratch.space, MemorySpace::Hbm | MemorySpace::Any) {
            let message = format!("scratch `{}` cannot live in `{}`", scratch.name, scratch.space);
            context.error(Code::VALID_WINDOW, scratch.loc, message);
        }
    }
}

fn check_grid(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let mut n_steps = Some(1i64);
    let mut operands = Vec::new();
    for axis in &kernel.grid {
        match axis.extent {
            Extent::Static(0) => context.report_at(
                kernel.loc,
                Diagnostic::error(
                    Code::VALID_EMPTY_GRID,
                    format!("grid axis `{}` has no steps", axis.name),
                )
                .help("handle the empty case before the kernel is called"),
            ),
            Extent::Static(extent) => {
                n_steps = n_steps.and_then(|n| n.checked_mul(i64::try_from(extent).ok()?));
            }
            Extent::Dynamic { operand } => operands.push(operand),
        }
    }
    if n_steps.is_none_or(|n| n > MAX_INDEX) {
        let extents: Vec<String> = kernel
            .grid
            .iter()
            .map(|axis| match axis.extent {
                Extent::Static(extent) => extent.to_string(),
                Extent::Dynamic { .. } => "?".to_string(),
            })
            .collect();
        context.report_at(
            kernel.loc,
            Diagnostic::error(
                Code::VALID_GRID_OVERFLOW,
                format!("the grid {} has more than 2^31 - 1 steps", extents.join(" x ")),
            )
            .help("let each step do more: larger blocks"),
        );
    }
    operands.sort_unstable();
    if !operands.iter().copied().eq(0..operands.len()) {
        let message = "dynamic grid extents take the leading operands, each once and none left out";
        context.error(Code::VALID_DYNAMIC_GRID, kernel.loc, message);
    }
}

/// Dimensions of one name have one size.
fn check_axis_sizes(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let mut sizes: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for param in &kernel.params {
        for axis in param.axes.iter().filter(|axis| !axis.name.is_empty()) {
            let (size, first) = *sizes.entry(&axis.name).or_insert((axis.size, &param.name));
            if size != axis.size {
                let message = format!(
                    "dimension `{}` is {size} in `{first}` but {} in `{}`",
                    axis.name, axis.size, param.name
                );
                context.error(Code::VALID_AXIS_SIZES, param.loc, message);
            }
        }
    }
}

/// Whether sizes are those of an array: some axes, none empty, none beyond `i32`.
fn check_sizes(context: &mut Context<'_>, name: &str, shape: &[usize], loc: LocId) -> bool {
    if shape.is_empty() {
        context.report_at(
            loc,
            Diagnostic::error(Code::VALID_RANK_ZERO, format!("`{name}` has no axes"))
                .help("give it one axis of size 1"),
        );
        return false;
    }
    if shape.contains(&0) {
        let message = format!("`{name}` has no elements: {}", Sizes(shape));
        context.report_at(
            loc,
            Diagnostic::error(Code::VALID_EMPTY, message)
                .help("handle the empty case before the kernel is called"),
        );
        return false;
    }
    let is_long = |&&size: &&usize| i64::try_from(size).map_or(true, |size| size > MAX_INDEX);
    if let Some(size) = shape.iter().find(is_long) {
        let message = format!("`{name}` has an axis of {size} elements; indices end at 2^31 - 1");
        context.error(Code::VALID_INDEX_OVERFLOW, loc, message);
        return false;
    }
    let n_elems = shape.iter().try_fold(4usize, |n, &size| n.checked_mul(size));
    if n_elems.is_none_or(|n| n > isize::MAX as usize) {
        let message = format!("`{name}` has too many elements: {}", Sizes(shape));
        context.error(Code::VALID_INDEX_OVERFLOW, loc, message);
        return false;
    }
    true
}

fn check_param(context: &mut Context<'_>, param: &Param) {
    if !check_sizes(context, &param.name, &param.array_shape(), param.loc) {
        return;
    }
    let misfit = |message: String| Diagnostic::error(Code::VALID_WINDOW, message);
    let name = &param.name;
    check_pin(context, param);
    match (&param.window, param.kind) {
        (None, ParamKind::Prefetch) => {
            if param.space != MemorySpace::Smem {
                let message = format!("prefetched `{name}` lives in `{}`, not SMEM", param.space);
                context.report_at(param.loc, misfit(message));
            }
        }
        (Some(_), ParamKind::Prefetch) => {
            let message = format!("prefetched `{name}` is whole in SMEM and has no blocks");
            context.report_at(param.loc, misfit(message));
        }
        (None, _) => {
            if param.space == MemorySpace::Vmem {
                let error = misfit(format!("`{name}` lives in VMEM but has no block"));
                context.report_at(
                    param.loc,
                    error.help("give it a block of the whole array, or leave it in HBM"),
                );
            }
        }
        (Some(window), _) => {
            if !matches!(param.space, MemorySpace::Vmem | MemorySpace::Smem) {
                let message = format!("a block of `{name}` cannot live in `{}`", param.space);
                context.report_at(param.loc, misfit(message));
            }
            check_window(context, param, window);
        }
    }
}

/// An array is pinned to HBM or VMEM; prefetched tables are where the core reads them.
fn check_pin(context: &mut Context<'_>, param: &Param) {
    let Some(space) = param.pinned else { return };
    let fits = matches!(space, MemorySpace::Hbm | MemorySpace::Vmem);
    if fits && param.kind != ParamKind::Prefetch {
        return;
    }
    let (message, help) = if fits {
        (
            format!("prefetched `{}` is pinned to {space}", param.name),
            "drop the pin: it is copied to SMEM",
        )
    } else {
        (format!("the array of `{}` is pinned to {space}", param.name), "pin it to hbm or vmem")
    };
    context.report_at(param.loc, Diagnostic::error(Code::VALID_PIN, message).help(help));
}

/// Inputs and prefetched tables are only read.
fn check_stores(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let read_only: Vec<(Value, &Param)> = (0..kernel.params.len())
        .map(|idx| (kernel.param_ref(idx), &kernel.params[idx]))
        .filter(|(_, param)| !param.kind.is_output())
        .collect();
    kernel.walk(kernel.body, &mut |_, op| {
        let Op::Memory(MemoryOp::Store { .. }) = op.op else { return };
        let Some((_, param)) = read_only.iter().find(|(value, _)| *value == op.operands[0]) else {
            return;
        };
        let what = match param.kind {
            ParamKind::Prefetch => "a prefetched table",
            ParamKind::In | ParamKind::Out | ParamKind::InOut => "an input",
        };
        let message = format!("a store into `{}`, which is {what} and read-only", param.name);
        let help = "store to an output or to scratch, or make the parameter `InOut`";
        context.report_at(op.loc, Diagnostic::error(Code::VALID_READ_ONLY, message).help(help));
    });
}

fn check_window(context: &mut Context<'_>, param: &Param, window: &Window) {
    let misfit = |message: String| Diagnostic::error(Code::VALID_WINDOW, message);
    let name = &param.name;
    if window.block.len() != param.axes.len() {
        let message = format!(
            "the block of `{name}` has {} entries but the array has {} axes",
            window.block.len(),
            param.axes.len()
        );
        return context.report_at(param.loc, misfit(message));
    }
    if !check_sizes(context, &format!("the block of {name}"), &param.window_shape(), param.loc) {
        return;
    }
    if window.block.iter().all(|dim| *dim == BlockDim::Squeezed) {
        let message = format!("the block of `{name}` has every axis squeezed");
        context.report_at(param.loc, misfit(message).help("keep one axis, with a block of 1"));
    }
    let is_element = |dim: &BlockDim| matches!(dim, BlockDim::Element(_));
    for (dim, axis) in window.block.iter().zip(&param.axes) {
        if is_element(dim) && dim.size() > axis.size {
            let message = format!(
                "a window of {} elements is larger than axis `{}` of `{name}` with {}",
                dim.size(),
                axis.name,
                axis.size
            );
            context.report_at(param.loc, misfit(message));
        }
    }
    if window.buffering.n_buffers() == 0 {
        context.report_at(param.loc, misfit(format!("`{name}` has no buffer for its block")));
    }
    if let Some(streams) = window.streams {
        let fits = window.block.get(streams.axis).is_some_and(|dim| {
            streams.n > 0 && dim.size().is_multiple_of(streams.n) && param.kind == ParamKind::In
        });
        let fits = fits && param.space == MemorySpace::Vmem;
        if !fits {
            let message = format!(
                "the block of `{name}` cannot be fetched as {} parts along axis {}",
                streams.n, streams.axis
            );
            let error = misfit(message)
                .help("parts divide the block's size evenly, and only inputs in VMEM are fetched in parts");
            context.report_at(param.loc, error);
        }
    }
    check_index_map(context, param, window);
}

fn check_index_map(context: &mut Context<'_>, param: &Param, window: &Window) {
    let kernel = context.kernel;
    let yields = kernel.yields(window.index_map);
    let is_index = |v: &Value| *kernel.ty(*v) == Type::Scalar(DType::I32);
    if yields.len() != param.axes.len() || !yields.iter().all(is_index) {
        let types: Vec<String> = yields.iter().map(|&v| kernel.ty(v).to_string()).collect();
        let message = format!(
            "the index map of `{}` yields ({}), but the array's {} axes need one i32 each",
            param.name,
            types.join(", "),
            param.axes.len()
        );
        return context.error(Code::VALID_INDEX_MAP, param.loc, message);
    }
    for &id in &kernel.block(window.index_map).ops {
        let op = kernel.op(id);
        let is_pure = match &op.op {
            Op::Elementwise(_) => op.results.iter().all(|&v| kernel.ty(v).is_scalar()),
            Op::Memory(memory) => matches!(memory, MemoryOp::Load { masked: false, .. }),
            Op::Control(control) => {
                matches!(control, ControlOp::Yield | ControlOp::GridExtent { .. })
            }
            Op::Shape(_)
            | Op::Convert(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Reduce(_)
            | Op::Dot(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Debug(_) => false,
        };
        if !is_pure {
            let error = Diagnostic::error(
                Code::VALID_INDEX_MAP,
                format!("`{}` in the index map of `{}`", op.op.mnemonic(), param.name),
            );
            let help = "an index map computes with scalars and reads prefetched tables, no more";
            context.report_at(op.loc, error.help(help));
        }
    }
}
