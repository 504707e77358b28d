//! What a chip's SparseCores ask.

use super::space_of;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Access, Op, SparseOp, Start};
use crate::ir::ty::Sizes;
use crate::ir::{Core, DType, Extent, LocId, MemorySpace, OpData, Type, Value};
use crate::target::{SparseCores, Target};
use crate::valid::dma::name_of;
use crate::valid::memory::{VmemEntry, VmemEstimate};
use crate::valid::{Context, mib};

/// Copies move pieces of this many bytes.
const PIECE_BYTES: usize = 32;
/// Indirect copies move rows of a multiple of this many bytes.
const ROW_BYTES: usize = 16;
/// libtpu's limit of one array.
const MAX_TENSOR_BYTES: u64 = 16 << 30;
/// The longest list of ids that is documented.
const MAX_IDS: usize = 128;
/// Rows of this many elements lie in memory as they do for XLA.
const ROW_LANES: usize = 128;

/// Gives what a subcore's scratch takes.
pub(in crate::valid) fn check_chip(context: &mut Context<'_>, target: &Target) -> VmemEstimate {
    let kernel = context.kernel;
    let Some(cores) = target.sparse() else {
        report_no_core(context, target);
        return VmemEstimate::default();
    };
    check_grid(context, target, &cores);
    check_tensors(context);
    let estimate = check_memory(context, target, &cores);
    kernel.walk(kernel.body, &mut |_, op| {
        for &result in &op.results {
            check_register(context, target, &cores, kernel.ty(result), op.loc);
        }
        check_copies(context, op);
    });
    estimate
}

fn report_no_core(context: &mut Context<'_>, target: &Target) {
    let able: Vec<&str> =
        Target::TPUS.iter().filter(|t| t.sparse().is_some()).map(|t| t.name).collect();
    let name = &context.kernel.name;
    let message = format!("`{name}` is a SparseCore kernel, and {target} has no SparseCore for it");
    let loc = context.kernel.params.first().map_or(LocId::UNKNOWN, |param| param.loc);
    context.report_at(
        loc,
        Diagnostic::error(Code::VALID_UNSUPPORTED_SPARSE_CORE, message).help(format!(
            "compile it for {}, or use a TensorCore kernel on {target}",
            able.join(", ")
        )),
    );
}

fn check_grid(context: &mut Context<'_>, target: &Target, cores: &SparseCores) {
    let kernel = context.kernel;
    let limits =
        [(cores.n_cores, "SparseCores"), (cores.n_subcores, "vector subcores in each SparseCore")];
    for (axis, (limit, what)) in kernel.grid.iter().zip(limits) {
        let Extent::Static(extent) = axis.extent else { continue };
        if extent > limit {
            let message = format!(
                "grid axis `{}` asks for {extent} of the {what}, {target} has {limit}",
                axis.name
            );
            context.report_at(
                LocId::UNKNOWN,
                Diagnostic::error(Code::VALID_SPARSE_GRID, message)
                    .help("take the number from the target: `Target::sparse()`"),
            );
        } else if kernel.core == Core::SparseScalar && extent != 1 && extent != limit {
            let message = format!(
                "grid axis `{}` asks for {extent} of the {limit} SparseCores of {target}: a kernel \
                 of scalar subcores runs on one or on all",
                axis.name
            );
            context.report_at(
                LocId::UNKNOWN,
                Diagnostic::error(Code::VALID_SPARSE_GRID, message)
                    .help(format!("make `{}` 1 or {limit}", axis.name)),
            );
        }
    }
}

/// The bytes of an element in the memory of a core.
fn element_bytes(dtype: DType) -> usize {
    dtype.memory_bits().div_ceil(8)
}

fn bytes_of(dtype: DType, shape: &[usize]) -> u64 {
    shape.iter().fold(element_bytes(dtype) as u64, |n, &size| n.saturating_mul(size as u64))
}

fn check_tensors(context: &mut Context<'_>) {
    let kernel = context.kernel;
    for param in &kernel.params {
        let shape = param.array_shape();
        let bytes = bytes_of(param.dtype, &shape);
        let name = &param.name;
        if bytes > MAX_TENSOR_BYTES {
            let n_parts = bytes.div_ceil(MAX_TENSOR_BYTES);
            let message = format!(
                "`{name}` {}{} takes {:.1} GiB, and an array of a SparseCore kernel at most 16",
                param.dtype,
                Sizes(&shape),
                bytes as f64 / (1u64 << 30) as f64
            );
            context.report_at(
                param.loc,
                Diagnostic::error(Code::VALID_SPARSE_TENSOR, message)
                    .help(format!("split it by rows into {n_parts} or more")),
            );
            continue;
        }
        let is_kept = element_bytes(param.dtype) == 4 && shape.last() == Some(&ROW_LANES);
        if shape.len() < 2 || is_kept {
            continue;
        }
        let n_ways = u64::from(param.kind.is_input()) + u64::from(param.kind.is_output());
        let message = format!(
            "XLA rewrites `{name}` {}{} into the layout of SparseCores at every call: {} to read \
             and as much to write",
            param.dtype,
            Sizes(&shape),
            mib(bytes.saturating_mul(n_ways))
        );
        context.report_at(
            param.loc,
            Diagnostic::warning(Code::VALID_SPARSE_RELAYOUT, message).help(
                "give it rows of 128 elements of 32 bits, such as `i32[n, 128]` for 256 bf16 each",
            ),
        );
    }
}

/// What scratch takes of a subcore's memory: rows are padded to whole pieces.
fn scratch_bytes(dtype: DType, shape: &[usize]) -> u64 {
    let Some((&last, outer)) = shape.split_last() else { return 0 };
    let row = (last * element_bytes(dtype)).next_multiple_of(PIECE_BYTES) as u64;
    outer.iter().fold(row, |n, &size| n.saturating_mul(size as u64))
}

fn check_memory(context: &mut Context<'_>, target: &Target, cores: &SparseCores) -> VmemEstimate {
    let kernel = context.kernel;
    let of = |space: MemorySpace| {
        kernel.scratch.iter().filter(move |scratch| scratch.space == space).map(|scratch| {
            VmemEntry {
                name: scratch.name.clone(),
                dtype: scratch.dtype,
                shape: scratch.shape.clone(),
                padded_bytes: scratch_bytes(scratch.dtype, &scratch.shape),
                n_buffers: 1,
            }
        })
    };
    let estimate = |space| VmemEstimate { entries: of(space).collect(), peak_value_bytes: 0 };
    let (own, shared) = (estimate(MemorySpace::Vmem), estimate(MemorySpace::Spmem));
    let n = cores.n_subcores as u64;
    let (own_bytes, shared_bytes) = (own.total_bytes(), shared.total_bytes());
    let all = own_bytes.saturating_mul(n).saturating_add(shared_bytes);
    let message = if own_bytes > cores.tile_bytes {
        Some(format!(
            "a subcore's scratch needs {} of TileSpmem, {target} has {}",
            mib(own_bytes),
            mib(cores.tile_bytes)
        ))
    } else if all > cores.shared_bytes {
        Some(format!(
            "{n} x {} of the subcores' scratch and {} of shared scratch need {} of Spmem, {target} has {}",
            mib(own_bytes),
            mib(shared_bytes),
            mib(all),
            mib(cores.shared_bytes)
        ))
    } else {
        None
    };
    if let Some(message) = message {
        let mut error = Diagnostic::error(Code::VALID_SPARSE_MEMORY, message);
        for row in own.table() {
            error = error.note(format!("each subcore: {}", row.trim_start()));
        }
        for row in shared.table() {
            error = error.note(format!("shared: {}", row.trim_start()));
        }
        let entries = own.entries.iter().map(|entry| (entry.bytes().saturating_mul(n), entry));
        let entries = entries.chain(shared.entries.iter().map(|entry| (entry.bytes(), entry)));
        let largest = entries.max_by_key(|(bytes, _)| *bytes).map(|(_, entry)| &entry.name);
        let loc = kernel.scratch.iter().find(|scratch| Some(&scratch.name) == largest);
        let loc = loc.map_or(LocId::UNKNOWN, |scratch| scratch.loc);
        context.report_at(loc, error.help("move fewer rows at a time"));
    }
    check_smem(context, target, cores);
    own
}

fn check_smem(context: &mut Context<'_>, target: &Target, cores: &SparseCores) {
    let kernel = context.kernel;
    let limit = match kernel.core {
        Core::SparseScalar => cores.scalar_smem_words,
        Core::Sparse | Core::Tensor => cores.vector_smem_words,
    };
    let tables = || kernel.scratch.iter().filter(|s| s.space == MemorySpace::Smem);
    let words = tables()
        .fold(0u64, |n, scratch| n.saturating_add(bytes_of(DType::I32, &scratch.shape) / 4));
    if words > limit {
        let loc = tables().next().map_or(LocId::UNKNOWN, |scratch| scratch.loc);
        let message =
            format!("scratch needs {words} words of SMEM, a subcore of {target} has {limit}");
        context.report_at(
            loc,
            Diagnostic::error(Code::VALID_SPARSE_MEMORY, message)
                .help("keep what is not read as scalars in `Vmem<T>`"),
        );
    }
    for scratch in tables().filter(|scratch| scratch.dtype.size_bytes() != 4) {
        let message = format!(
            "`{}` keeps `{}` in SMEM, which holds 32-bit elements",
            scratch.name, scratch.dtype
        );
        context.error(Code::VALID_SMEM_TYPE, scratch.loc, message);
    }
}

fn check_register(
    context: &mut Context<'_>,
    target: &Target,
    cores: &SparseCores,
    ty: &Type,
    loc: LocId,
) {
    let Type::Tile { dtype, shape } = ty else { return };
    let is_wide = element_bytes(*dtype) == 4;
    let fits = matches!(shape[..], [n] if n == cores.lanes || n == 1);
    if fits && is_wide {
        return;
    }
    let lanes = cores.lanes;
    let help = match is_wide {
        true => format!(
            "work on {lanes} elements at a time: `x[(i, ds(k * {lanes}, {lanes}))]`, with the number of lanes as a `#[comptime]` parameter"
        ),
        false => "keep pairs of 16-bit elements in `i32` words, and take them apart with shifts"
            .to_owned(),
    };
    let message = format!("a tile `{ty}` is no register of {target}: {lanes} elements of 32 bits");
    context.report_at(loc, Diagnostic::error(Code::VALID_SPARSE_REGISTER, message).help(help));
}

fn check_copies(context: &mut Context<'_>, op: &OpData) {
    match &op.op {
        Op::Dma(dma) => {
            let Some(parts) = dma.split(&op.operands) else { return };
            let transfer = dma.transfer();
            check_pieces(context, parts.from, &transfer.from, op.loc);
            check_pieces(context, parts.to, &transfer.to, op.loc);
        }
        Op::Sparse(sparse) => {
            let Some(indirect) = sparse.indirect() else { return };
            let Some(parts) = indirect.split(&op.operands) else { return };
            check_width(context, parts.table, &indirect.copy().table, op.loc);
            if let (Some(ids), Some(access)) = (parts.ids, indirect.ids()) {
                check_pieces(context, ids, access, op.loc);
            }
            if let SparseOp::Start(start) = sparse {
                check_ids(context, start.copy.rows.tile_shape()[0], op.loc);
            }
        }
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Convert(_)
        | Op::Random(_)
        | Op::Mxu(_)
        | Op::Reduce(_)
        | Op::Dot(_)
        | Op::Memory(_)
        | Op::Sync(_)
        | Op::Control(_)
        | Op::Debug(_) => {}
    }
}

/// Along the last axis a copy takes whole pieces.
fn check_pieces(context: &mut Context<'_>, reference: Value, access: &Access, loc: LocId) {
    let kernel = context.kernel;
    let ty = kernel.ty(reference);
    let (Some(space), Some(dim), Some(&size)) =
        (space_of(ty), access.dims.last(), ty.shape().last())
    else {
        return;
    };
    if space == MemorySpace::Smem || dim.stride != 1 && dim.size > 1 {
        return;
    }
    let piece = PIECE_BYTES / element_bytes(ty.dtype());
    let aligned = match dim.start {
        Start::Static(start) => start.is_multiple_of(piece),
        Start::Dynamic { multiple_of } => multiple_of.is_multiple_of(piece),
    };
    if aligned && (dim.size == size || dim.size.is_multiple_of(piece)) {
        return;
    }
    let start = match dim.start {
        Start::Static(start) => start.to_string(),
        Start::Dynamic { multiple_of: 1 } => "any place".to_owned(),
        Start::Dynamic { multiple_of } => format!("a multiple of {multiple_of}"),
    };
    let message = format!(
        "a copy takes {} elements from {start} along the last axis of `{}` {}, where SparseCores \
         copy {piece} elements of `{}` (8 words) at a time",
        dim.size,
        name_of(kernel, reference),
        Sizes(ty.shape()),
        ty.dtype()
    );
    context.report_at(
        loc,
        Diagnostic::error(Code::VALID_SPARSE_ALIGNMENT, message).help(format!(
            "start at multiples of {piece} (promise it with `.multiple_of({piece})` where the chip \
             cannot see it) and take multiples of {piece}, or the whole axis"
        )),
    );
}

fn check_width(context: &mut Context<'_>, reference: Value, access: &Access, loc: LocId) {
    let kernel = context.kernel;
    let dtype = kernel.ty(reference).dtype();
    let row = &access.tile_shape()[1..];
    let n_elems: usize = row.iter().product();
    let bytes = n_elems * element_bytes(dtype);
    if bytes.is_multiple_of(ROW_BYTES) {
        return;
    }
    let to = ROW_BYTES / element_bytes(dtype);
    let message = format!(
        "a row of `{}` has {n_elems} elements of `{dtype}`, {bytes} bytes: indirect copies move \
         multiples of {ROW_BYTES}",
        name_of(kernel, reference)
    );
    context.report_at(
        loc,
        Diagnostic::error(Code::VALID_SPARSE_WIDTH, message)
            .help(format!("pad rows to {} elements", n_elems.next_multiple_of(to))),
    );
}

fn check_ids(context: &mut Context<'_>, n_ids: usize, loc: LocId) {
    if n_ids <= MAX_IDS {
        return;
    }
    let message =
        format!("a list of {n_ids} ids, where more than {MAX_IDS} are not documented to be safe");
    context.report_at(
        loc,
        Diagnostic::warning(Code::VALID_SPARSE_IDS, message)
            .help(format!("start a copy for each {MAX_IDS} ids; several may be in flight")),
    );
}
