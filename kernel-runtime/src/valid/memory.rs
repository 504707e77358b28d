//! The budgets of vector and scalar memory.

use super::{Context, affine, mib};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{ControlOp, Op};
use crate::ir::ty::Sizes;
use crate::ir::{BlockId, DType, Kernel, LocId, MemorySpace, Param, Shape, Type};
use crate::target::{Chip, Target};

/// What one window or scratch takes of VMEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmemEntry {
    /// The parameter's or scratch's name.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Shape of the block or scratch.
    pub shape: Shape,
    /// Bytes of one buffer, with the padding of the tiling.
    pub padded_bytes: u64,
    /// Number of buffers.
    pub n_buffers: usize,
}

impl VmemEntry {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.padded_bytes.saturating_mul(self.n_buffers as u64)
    }
}

/// The VMEM that a kernel takes, as far as it can be known before libtpu compiles it: windows and
/// scratch, but neither spilled registers nor the compiler's own scratch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmemEstimate {
    /// Windows in the order of the parameters, then scratch.
    pub entries: Vec<VmemEntry>,
    /// Bytes of the operands and results of the op that has most of them: what the compiler may
    /// have to keep beside windows and scratch.
    pub peak_value_bytes: u64,
}

impl VmemEstimate {
    /// Bytes of all windows and scratch.
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes()))
    }

    /// One line per entry: what takes how much.
    pub fn table(&self) -> Vec<String> {
        let mut rows: Vec<&VmemEntry> = self.entries.iter().collect();
        rows.sort_by_key(|entry| std::cmp::Reverse(entry.bytes()));
        let width = rows.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        rows.iter()
            .map(|entry| {
                format!(
                    "{:>10}  {:width$}  {} x {}{}",
                    mib(entry.bytes()),
                    entry.name,
                    entry.n_buffers,
                    entry.dtype,
                    Sizes(&entry.shape)
                )
            })
            .collect()
    }
}

pub(super) fn check(context: &mut Context<'_>, target: &Target, chip: &Chip) -> VmemEstimate {
    check_buffering(context, target);
    check_smem(context, target, chip);
    let kernel = context.kernel;
    let estimate = estimate(kernel, chip);
    let max = chip.vmem_max_limit_bytes;
    if let Some(limit) = kernel.compile.vmem_limit_bytes
        && limit > max
    {
        let message = format!(
            "the kernel asks for a VMEM limit of {}, but {target} allows {}",
            mib(limit),
            mib(max)
        );
        context.error(Code::VALID_VMEM_LIMIT, kernel.loc, message);
    }
    let limit = kernel.compile.vmem_limit_bytes.unwrap_or(max).min(max);
    let total = estimate.total_bytes();
    if total > limit {
        let whose = if limit == max { target.name } else { "the kernel's own limit" };
        let mut error = Diagnostic::error(
            Code::VALID_VMEM_OVERFLOW,
            format!(
                "blocks and scratch need {} of VMEM, {whose} allows {}",
                mib(total),
                mib(limit)
            ),
        );
        for row in estimate.table() {
            error = error.note(row);
        }
        // The place to change is what takes most.
        let largest = estimate.entries.iter().max_by_key(|entry| entry.bytes());
        let loc = largest.map_or(LocId::UNKNOWN, |entry| loc_of(kernel, &entry.name));
        context.report_at(loc, error.help("use smaller blocks"));
    }
    estimate
}

fn loc_of(kernel: &Kernel, name: &str) -> LocId {
    let params = kernel.params.iter().map(|param| (&param.name, param.loc));
    let scratch = kernel.scratch.iter().map(|scratch| (&scratch.name, scratch.loc));
    params.chain(scratch).find(|(other, _)| *other == name).map_or(LocId::UNKNOWN, |(_, loc)| loc)
}

fn check_buffering(context: &mut Context<'_>, target: &Target) {
    let kernel = context.kernel;
    for param in &kernel.params {
        let n = param.window.as_ref().map_or(0, |window| window.buffering.n_buffers());
        if n > 2 {
            let message =
                format!("`{}` asks for {n} buffers; {target} pipelines with 2", param.name);
            context.report_at(
                param.loc,
                Diagnostic::error(Code::VALID_UNSUPPORTED_BUFFERING, message)
                    .help("use `buffered(2)`, the default"),
            );
        }
    }
}

fn check_smem(context: &mut Context<'_>, target: &Target, chip: &Chip) {
    let kernel = context.kernel;
    let params =
        kernel.params.iter().map(|p| (p.space, p.window_shape(), n_buffers_kept(kernel, p)));
    let scratch = kernel.scratch.iter().map(|s| (s.space, s.shape.clone(), 1));
    let bytes = params
        .chain(scratch)
        .filter(|(space, ..)| *space == MemorySpace::Smem)
        .map(|(_, shape, n)| shape.iter().fold(4 * n as u64, |b, &s| b.saturating_mul(s as u64)))
        .fold(0u64, |sum, bytes| sum.saturating_add(bytes));
    if bytes > chip.smem_bytes {
        let message = format!(
            "tables, blocks and scratch need {} of SMEM, {target} has {}",
            mib(bytes),
            mib(chip.smem_bytes)
        );
        let table = kernel.params.iter().find(|param| param.space == MemorySpace::Smem);
        context.report_at(
            table.map_or(LocId::UNKNOWN, |param| param.loc),
            Diagnostic::error(Code::VALID_SMEM_OVERFLOW, message).help("keep large tables in HBM"),
        );
    }
}

/// How many buffers the pipeline is asked to keep of a parameter's block: one for a block of the
/// whole array, which is fetched once, else what the window says; 1 without a window.
pub fn n_buffers(param: &Param) -> usize {
    match &param.window {
        Some(_) if param.window_shape() == param.array_shape() => 1,
        Some(window) => window.buffering.n_buffers(),
        None => 1,
    }
}

/// How many buffers of a parameter's block there are. A block that is the same at every step has
/// one; a parameter that is updated in place is read through one window and written through
/// another.
fn n_buffers_kept(kernel: &Kernel, param: &Param) -> usize {
    // libtpu 0.0.51 keeps one buffer of a block whose index map is constant.
    let changes = affine::block_indices(kernel, param).is_none_or(|indices| {
        (0..kernel.grid.len()).any(|axis| affine::depends_on(&indices, kernel, axis))
    });
    let n_windows = usize::from(param.kind.is_input()) + usize::from(param.kind.is_output());
    n_windows * if changes { n_buffers(param) } else { 1 }
}

/// The bytes that an array of this type and shape takes in VMEM: its last axis is padded to whole
/// lanes, the one before to the rows of its tiling, which are fewer for small arrays.
pub fn padded_bytes(chip: &Chip, dtype: DType, shape: &[usize]) -> u64 {
    let packing = chip.packing(dtype);
    let round = |size: usize, to: usize| (size.div_ceil(to) as u64).saturating_mul(to as u64);
    let (leading, rows, lanes) = match shape {
        [] => (&[][..], 1, chip.lanes as u64),
        [size] => {
            let smallest = chip.lanes * packing;
            let tile = size.next_power_of_two().clamp(smallest, smallest.max(1024));
            (&[][..], 1, round(*size, tile))
        }
        [leading @ .., rows, lanes] => {
            let tile = rows.next_power_of_two().clamp(packing, chip.sublanes);
            (leading, round(*rows, tile), round(*lanes, chip.lanes))
        }
    };
    leading
        .iter()
        .map(|&size| size as u64)
        .chain([rows, lanes])
        .fold(1, u64::saturating_mul)
        .saturating_mul(4)
        / packing as u64
}

/// The VMEM of scopes within each other that takes most, in bytes and piece by piece: scopes that
/// follow each other share it.
fn dearest_scopes<'k>(kernel: &'k Kernel, chip: &Chip, block: BlockId) -> (u64, Vec<&'k Type>) {
    let mut dearest = (0, Vec::new());
    for &id in &kernel.block(block).ops {
        let op = kernel.op(id);
        for &region in &op.regions {
            let (mut bytes, mut pieces) = dearest_scopes(kernel, chip, region);
            if op.op == Op::Control(ControlOp::Scope) {
                let args = kernel.block(region).args.iter().map(|&arg| kernel.ty(arg));
                for ty in args.filter(|ty| matches!(ty, Type::Ref { space: MemorySpace::Vmem, .. }))
                {
                    bytes = bytes.saturating_add(padded_bytes(chip, ty.dtype(), ty.shape()));
                    pieces.push(ty);
                }
            }
            if bytes > dearest.0 {
                dearest = (bytes, pieces);
            }
        }
    }
    dearest
}

fn estimate(kernel: &Kernel, chip: &Chip) -> VmemEstimate {
    let windows = kernel
        .params
        .iter()
        .filter(|param| param.window.is_some() && param.space == MemorySpace::Vmem)
        .map(|p| (&p.name, p.dtype, p.window_shape(), n_buffers_kept(kernel, p)));
    let scratch = kernel
        .scratch
        .iter()
        .filter(|scratch| scratch.space == MemorySpace::Vmem)
        .map(|s| (&s.name, s.dtype, s.shape.clone(), 1));
    let scoped = dearest_scopes(kernel, chip, kernel.body).1;
    let scope = "(scope)".to_owned();
    let scoped = scoped.iter().map(|&ty| (&scope, ty.dtype(), Shape::from_slice(ty.shape()), 1));
    let entries = windows
        .chain(scratch)
        .chain(scoped)
        .map(|(name, dtype, shape, n_buffers)| VmemEntry {
            name: name.clone(),
            dtype,
            padded_bytes: padded_bytes(chip, dtype, &shape),
            shape,
            n_buffers,
        })
        .collect();
    let mut peak_value_bytes = 0;
    kernel.walk(kernel.body, &mut |_, op| {
        let tiles = op.operands.iter().chain(&op.results).map(|&v| kernel.ty(v));
        let bytes = tiles
            .filter(|ty| ty.is_tile())
            .map(|ty| padded_bytes(chip, ty.dtype(), ty.shape()))
            .fold(0u64, u64::saturating_add);
        peak_value_bytes = peak_value_bytes.max(bytes);
    });
    VmemEstimate { entries, peak_value_bytes }
}
