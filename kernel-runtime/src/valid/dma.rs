//! Copies and semaphores: what may be written, and what tiling lets a copy take.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Access, AccessDim, DmaOp, Op, Start};
use crate::ir::ty::Sizes;
use crate::ir::{Kernel, LocId, MemorySpace, OpData, ParamKind, SemaphoreKind, Type, Value};
use crate::target::Chip;

/// Semaphores of a kernel, in all.
const MAX_SEMAPHORES: usize = 1024;

/// The rules of every target.
pub(super) fn check(context: &mut Context<'_>) {
    let kernel = context.kernel;
    check_semaphores(context);
    kernel.walk(kernel.body, &mut |_, op| {
        if let Op::Dma(dma @ DmaOp::Start(_)) = &op.op {
            check_target(context, op);
            check_overlap(context, dma, op);
            check_peer(context, dma, op);
        }
    });
}

fn check_semaphores(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let mut n_barriers = 0;
    for array in &kernel.semaphores {
        let n = array.shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let wrong = match n {
            Some(0) => "has no elements".to_owned(),
            Some(1) => String::new(),
            Some(_) if array.kind == SemaphoreKind::Barrier => {
                "is a barrier, of which there is one".to_owned()
            }
            Some(n) if n <= MAX_SEMAPHORES => String::new(),
            _ => format!("has more than {MAX_SEMAPHORES} elements"),
        };
        n_barriers += usize::from(array.kind == SemaphoreKind::Barrier);
        let wrong = if n_barriers > 1 && wrong.is_empty() {
            "is the second barrier of the kernel, which has one".to_owned()
        } else {
            wrong
        };
        if !wrong.is_empty() {
            let message = format!("`{}` {} {wrong}", array.name, Sizes(&array.shape));
            context.error(Code::VALID_SEMAPHORES, array.loc, message);
        }
    }
}

/// A copy does not write what the kernel is given to read.
fn check_target(context: &mut Context<'_>, op: &OpData) {
    let kernel = context.kernel;
    let param = kernel
        .params
        .iter()
        .enumerate()
        .find(|(idx, _)| Some(kernel.param_ref(*idx)) == op.written());
    let Some((_, param)) = param else { return };
    if matches!(param.kind, ParamKind::In | ParamKind::Prefetch) {
        let message = format!("a copy writes into `{}`, which is an input", param.name);
        context.report_at(
            op.loc,
            Diagnostic::error(Code::VALID_COPY_TARGET, message).help(format!(
                "declare `{}` as an output, or as one that is updated in place",
                param.name
            )),
        );
    }
}

/// Source and target of a copy share no element, as far as that is known.
fn check_overlap(context: &mut Context<'_>, dma: &DmaOp, op: &OpData) {
    let kernel = context.kernel;
    let Some(parts) = dma.split(&op.operands) else { return };
    let transfer = dma.transfer();
    // A peer's array of the same name is another one.
    let is_within = parts.from == parts.to && dma.peer().is_self();
    if !is_within || transfer.n_lengths() > 0 {
        return;
    }
    let mut starts = (parts.scalars.from.iter(), parts.scalars.to.iter());
    let mut all_shared = true;
    for (from, to) in transfer.from.dims.iter().zip(&transfer.to.dims) {
        let from_start = start_of(from, &mut starts.0);
        let to_start = start_of(to, &mut starts.1);
        all_shared &= match (from_start, to_start) {
            // One value is the same place, whatever it is.
            (Known::At(a), Known::At(b)) => meet((a, from), (b, to)),
            (Known::Value(a), Known::Value(b)) => a == b,
            _ => false,
        };
    }
    if all_shared {
        let name = name_of(kernel, parts.to);
        let message = format!("a copy within `{name}` reads and writes the same elements");
        context.report_at(
            op.loc,
            Diagnostic::error(Code::VALID_COPY_OVERLAP, message)
                .help("copy by way of another buffer"),
        );
    }
}

enum Known {
    At(usize),
    Value(Value),
    Nothing,
}

fn start_of<'v>(dim: &AccessDim, dynamic: &mut impl Iterator<Item = &'v Value>) -> Known {
    match dim.start {
        Start::Static(start) => Known::At(start),
        Start::Dynamic { .. } => {
            dynamic.next().map_or(Known::Nothing, |&value| Known::Value(value))
        }
    }
}

/// Whether two runs of elements share one.
fn meet((a, a_dim): (usize, &AccessDim), (b, b_dim): (usize, &AccessDim)) -> bool {
    let last = |start: usize, dim: &AccessDim| start + (dim.size - 1) * dim.stride;
    let in_both = |&x: &usize| {
        x >= a
            && x >= b
            && (x - a).is_multiple_of(a_dim.stride)
            && (x - b).is_multiple_of(b_dim.stride)
    };
    (a.max(b)..=last(a, a_dim).min(last(b, b_dim))).any(|x| in_both(&x))
}

/// A copy to a peer signals the sender as well.
fn check_peer(context: &mut Context<'_>, dma: &DmaOp, op: &OpData) {
    let to_peer = !dma.peer().is_self();
    if to_peer == dma.source_semaphore().is_some() {
        return;
    }
    let message = match to_peer {
        true => {
            "a copy to another device or core needs a semaphore that tells when its source may be reused"
        }
        false => "a copy within a core has one semaphore",
    };
    context.error(Code::VALID_SEMAPHORES, op.loc, message);
}

pub(super) fn name_of(kernel: &Kernel, reference: Value) -> String {
    let param = (0..kernel.params.len()).find(|&idx| kernel.param_ref(idx) == reference);
    let scratch = (0..kernel.scratch.len()).find(|&idx| kernel.scratch_ref(idx) == reference);
    match (param, scratch) {
        (Some(idx), _) => kernel.params[idx].name.clone(),
        (_, Some(idx)) => kernel.scratch[idx].name.clone(),
        (None, None) => "(scope)".to_owned(),
    }
}

/// The rules of chips.
pub(super) fn check_chip(context: &mut Context<'_>, chip: &Chip) {
    let kernel = context.kernel;
    kernel.walk(kernel.body, &mut |_, op| {
        let Op::Dma(dma) = &op.op else { return };
        let Some(parts) = dma.split(&op.operands) else { return };
        let transfer = dma.transfer();
        for (reference, access) in [(parts.from, &transfer.from), (parts.to, &transfer.to)] {
            check_steps(context, reference, access, op.loc);
            check_tiling(context, chip, reference, access, op.loc);
        }
    });
}

/// A copy of a chip takes neighbours.
fn check_steps(context: &mut Context<'_>, reference: Value, access: &Access, loc: LocId) {
    let dim = access.dims.iter().position(|dim| dim.size > 1 && dim.stride != 1);
    let Some(axis) = dim else { return };
    let message = format!(
        "a copy takes every {}th element along axis {axis} of `{}`, and copies of this chip take neighbours",
        access.dims[axis].stride,
        name_of(context.kernel, reference)
    );
    context.report_at(
        loc,
        Diagnostic::error(Code::VALID_COPY_ALIGNMENT, message)
            .help("copy the whole stretch and read it in steps, or copy each piece by itself"),
    );
}

/// Along the last two axes a copy takes what the layout of memory lets it take.
fn check_tiling(
    context: &mut Context<'_>,
    chip: &Chip,
    reference: Value,
    access: &Access,
    loc: LocId,
) {
    let kernel = context.kernel;
    let Type::Ref { dtype, shape, space } = kernel.ty(reference) else { return };
    if *space == MemorySpace::Smem {
        return;
    }
    let packing = chip.packing(*dtype);
    let rank = shape.len();
    let mut refuse = |axis: usize, rule: String, help: String| {
        let dim = access.dims[axis];
        let what = match dim.start {
            Start::Static(start) => format!("{} elements from {start}", dim.size),
            Start::Dynamic { multiple_of } => {
                format!("{} elements from a multiple of {multiple_of}", dim.size)
            }
        };
        let message = format!(
            "a copy takes {what} along axis {axis} of `{}` {}, {rule}",
            name_of(kernel, reference),
            Sizes(shape)
        );
        context.report_at(loc, Diagnostic::error(Code::VALID_COPY_ALIGNMENT, message).help(help));
    };
    let promise = |n: usize| {
        format!("promise the start with `.multiple_of({n})` where the chip cannot see it")
    };
    if let Some(axis) = rank.checked_sub(1) {
        let lanes = if rank == 1 { LANES * packing } else { LANES };
        if !lanes_fit(access.dims[axis], shape[axis], lanes) {
            refuse(
                axis,
                format!("which is stored {lanes} to a tile there"),
                format!(
                    "start at a multiple of {lanes} and take a multiple of {lanes}, or take the whole axis; {}; axes before the last two can be cut anywhere",
                    promise(lanes)
                ),
            );
        }
    }
    if let Some(axis) = rank.checked_sub(2) {
        let rows_16bit = if *space == MemorySpace::Vmem { chip.tile_rows_16bit } else { 8 };
        let layout = Rows::of([shape[axis], shape[axis + 1]], packing, rows_16bit);
        let Rows { tile, packing, .. } = layout;
        if layout.fit(access.dims[axis]) {
            return;
        }
        let (rule, help) = if layout.is_one_run() {
            (
                format!("which is stored {packing} rows to a word"),
                format!("start at a multiple of {packing} and take a multiple of {packing}"),
            )
        } else {
            let packed = if packing > 1 { format!(", {packing} to a word") } else { String::new() };
            let words = if packing > 1 { " in whole words" } else { "" };
            (
                format!("which is stored in tiles of {tile} rows{packed}"),
                format!(
                    "start at a multiple of {tile} and take a multiple of 8, or take the whole axis, or stay within a tile{words}"
                ),
            )
        };
        let start = if layout.is_one_run() { packing } else { tile };
        let help =
            format!("{help}; {}; axes before the last two can be cut anywhere", promise(start));
        refuse(axis, rule, help);
    }
}

/// Elements of the last axis in a tile.
const LANES: usize = 128;

fn is_whole(dim: AccessDim, size: usize) -> bool {
    dim.size == size && matches!(dim.start, Start::Static(0))
}

/// What the starts along an axis are known to be multiples of.
fn start_multiple(dim: AccessDim) -> usize {
    match dim.start {
        Start::Static(start) => start,
        Start::Dynamic { multiple_of } => multiple_of,
    }
}

fn lanes_fit(dim: AccessDim, size: usize, lanes: usize) -> bool {
    is_whole(dim, size)
        || (start_multiple(dim).is_multiple_of(lanes) && dim.size.is_multiple_of(lanes))
}

/// How the rows of an array lie in memory, by what libtpu chooses for its shape.
///
/// A tile is `tile` rows of 128 elements; the tiles of one row of tiles lie one after the other, so
/// that rows `r` and `r + 1` are neighbours only within a tile, or if a row of tiles has one tile
/// alone. A copy by hardware is a run of bytes that repeats at two strides. That is what the rule
/// comes from; sweeps of random starts and sizes (f32, bf16, i8; HBM and VMEM, either end; v4, v5e,
/// v5p, v6e, 7x) gave libtpu's verdict, which is to refuse the rest: "Offsets along tiled dimensions
/// must be aligned to tiles". On 7x it takes some copies of bf16 rows in VMEM that are refused here.
/// `tests/mosaic/alignment.rs` compiles the borders.
#[derive(Clone, Copy)]
struct Rows {
    /// Rows of the array.
    rows: usize,
    /// Rows of a tile.
    tile: usize,
    /// Rows that share a word, which is never cut.
    packing: usize,
    /// Whether a row of tiles is one tile.
    is_one_tile_wide: bool,
}

impl Rows {
    fn of([rows, columns]: [usize; 2], packing: usize, rows_16bit: usize) -> Rows {
        let tile = match packing {
            4 | 8 if rows.is_multiple_of(8 * packing) => 8 * packing,
            2 if rows.is_multiple_of(16) => rows_16bit,
            _ => rows.next_power_of_two().clamp(packing, 8),
        };
        Rows { rows, tile, packing, is_one_tile_wide: columns <= LANES }
    }

    /// Whether any rows are a run of bytes: all tiles lie below each other, or there is one.
    fn is_one_run(self) -> bool {
        self.is_one_tile_wide || self.rows <= self.tile
    }

    /// Whether a copy can take these rows: all, whole words of one run, from a tile's border on,
    /// within a tile, or half before and half behind a border.
    fn fit(self, dim: AccessDim) -> bool {
        let start = start_multiple(dim);
        if is_whole(dim, self.rows)
            || (start.is_multiple_of(self.tile) && dim.size.is_multiple_of(8))
        {
            return true;
        }
        if !start.is_multiple_of(self.packing) || !dim.size.is_multiple_of(self.packing) {
            return false;
        }
        if self.is_one_run() {
            return true;
        }
        match dim.start {
            Start::Static(start) => {
                let (row, half) = (start % self.tile, dim.size / 2);
                // Rows 4..12 are two runs at one stride; of rows 3..13 libtpu takes runs of one
                // row, since 5 does not divide the tile, and those are at no one stride.
                let halves = row + half == self.tile && self.tile.is_multiple_of(half);
                row + dim.size <= self.tile || (dim.size.is_multiple_of(2) && halves)
            }
            // A tile is a power of two, so that what divides both is the smaller power. Anything
            // shorter than it that does not divide it, libtpu refuses.
            Start::Dynamic { multiple_of } => {
                let shared = multiple_of.trailing_zeros().min(self.tile.trailing_zeros());
                (1usize << shared).is_multiple_of(dim.size)
            }
        }
    }
}
