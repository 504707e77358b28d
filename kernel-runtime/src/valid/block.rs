//! Block shapes that the tiling of arrays allows.

use super::Context;
use super::affine::{self, Index};
use crate::diag::{Code, Diagnostic};
use crate::ir::ty::Sizes;
use crate::ir::{BlockDim, MemorySpace, Param, Window};
use crate::target::Chip;

/// Rows of a block are tiled by this, whatever the element type.
const SUBLANES: usize = 8;
const LANES: usize = 128;
/// Arrays of one axis are tiled by this many elements, or by a smaller power of two.
const FLAT_TILE: usize = 1024;

pub(super) fn check(context: &mut Context<'_>, chip: &Chip) {
    let kernel = context.kernel;
    for param in &kernel.params {
        let Some(window) = &param.window else { continue };
        check_block(context, chip, param, window);
        if param.space == MemorySpace::Smem {
            check_offsets(context, param, window);
        }
    }
}

fn check_block(context: &mut Context<'_>, chip: &Chip, param: &Param, window: &Window) {
    let has_dim = |kind: fn(&BlockDim) -> bool| window.block.iter().any(kind);
    if has_dim(|dim| matches!(dim, BlockDim::Element(_)))
        && has_dim(|dim| matches!(dim, BlockDim::Blocked(_)))
    {
        let message =
            format!("the block of `{}` mixes blocks with windows by elements", param.name);
        let error = Diagnostic::error(Code::VALID_WINDOW, message);
        context.report_at(param.loc, error.help("make all axes windows by elements, or squeezed"));
    }
    let (block, array) = (param.window_shape(), param.array_shape());
    let wrong = match (&block[..], &array[..]) {
        (&[size], &[whole]) if param.space == MemorySpace::Smem => {
            axis_rule("only axis", size, whole, LANES)
        }
        (&[size], &[whole]) => flat_rule(size, whole, chip.packing(param.dtype)),
        (&[.., rows, lanes], &[.., all_rows, all_lanes]) => {
            axis_rule("last axis", lanes, all_lanes, LANES)
                .or_else(|| axis_rule("axis before the last", rows, all_rows, SUBLANES))
        }
        _ => None,
    };
    let Some((what, help)) = wrong else { return };
    let squeezed = window.block.iter().rev().take(2).any(|dim| matches!(dim, BlockDim::Squeezed));
    let error = Diagnostic::error(
        Code::VALID_BLOCK_SHAPE,
        format!(
            "the block {} of `{}` {} cannot be tiled: {what}",
            Sizes(&block),
            param.name,
            Sizes(&array)
        ),
    )
    .help(help);
    context.report_at(
        param.loc,
        if squeezed { error.note("a squeezed axis counts as a block of 1") } else { error },
    );
}

/// A window by elements in scalar memory starts at a tile of its array. Of indices that are not
/// known libtpu tells.
fn check_offsets(context: &mut Context<'_>, param: &Param, window: &Window) {
    let Some(indices) = affine::block_indices(context.kernel, param) else { return };
    let rank = window.block.len();
    for (axis, (dim, (index, _))) in window.block.iter().zip(&indices).enumerate() {
        let tile = match rank - axis {
            1 => LANES as i64,
            2 => SUBLANES as i64,
            _ => continue,
        };
        let (BlockDim::Element(_), Index::Affine { constant, factors }) = (dim, index) else {
            continue;
        };
        if constant % tile == 0 && factors.iter().all(|factor| factor % tile == 0) {
            continue;
        }
        let name = &param.name;
        let message = format!(
            "the window of `{name}` in scalar memory starts between tiles: along axis {axis} (`{}`) its offset is no multiple of {tile}",
            param.axes[axis].name
        );
        let help = format!(
            "take all of the axis, or move in steps of {tile}; axes before the last two move by any number"
        );
        context
            .report_at(param.loc, Diagnostic::error(Code::VALID_BLOCK_SHAPE, message).help(help));
    }
}

fn axis_rule(what: &str, size: usize, whole: usize, multiple: usize) -> Option<(String, String)> {
    if size == whole || size.is_multiple_of(multiple) {
        return None;
    }
    let rounded = size.next_multiple_of(multiple);
    let better = if rounded >= whole { whole } else { rounded };
    Some((
        format!("its {what} has {size} elements, not a multiple of {multiple} nor all {whole}"),
        format!("use {better}"),
    ))
}

fn flat_rule(size: usize, whole: usize, packing: usize) -> Option<(String, String)> {
    let smallest = LANES * packing;
    let fits = size == whole
        || size.is_multiple_of(FLAT_TILE)
        || size.is_power_of_two() && size >= smallest;
    if fits {
        return None;
    }
    let rounded = if size > FLAT_TILE {
        size.next_multiple_of(FLAT_TILE)
    } else {
        size.next_power_of_two().max(smallest)
    };
    let better = if rounded >= whole { whole } else { rounded };
    Some((
        format!(
            "{size} elements are not all {whole}, nor a multiple of {FLAT_TILE}, nor a power of two from {smallest}"
        ),
        format!("use {better}"),
    ))
}
