//! SparseCore kernels: what they are made of, on every target, and what chips ask.

mod chip;

pub(super) use chip::check_chip;

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{Direction, DmaOp, IndirectRef, Op, SparseOp};
use crate::ir::ty::Sizes;
use crate::ir::{Core, Extent, LocId, MemorySpace, OpData, Semantics, Type, Value};

/// The rules of every target.
pub(super) fn check(context: &mut Context<'_>) {
    check_grid(context);
    check_memory(context);
    let kernel = context.kernel;
    kernel.walk(kernel.body, &mut |_, op| {
        if kernel.core.is_sparse() {
            check_op(context, op);
        } else if let Op::Sparse(sparse) = &op.op {
            let message = format!("`{}` runs on SparseCores alone", sparse.mnemonic());
            context.report_at(
                op.loc,
                Diagnostic::error(Code::VALID_SPARSE_OP, message)
                    .help("declare the kernel with `core(sparse)`"),
            );
        }
    });
}

fn misfit(message: String) -> Diagnostic {
    Diagnostic::error(Code::VALID_SPARSE_KERNEL, message)
}

fn check_grid(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let wanted: &[Semantics] = match kernel.core {
        Core::Tensor => {
            let subcores =
                kernel.grid.iter().find(|axis| axis.semantics == Semantics::SubcoreParallel);
            if let Some(axis) = subcores {
                let message = format!("axis `{}` counts the subcores of a SparseCore", axis.name);
                context.report_at(
                    LocId::UNKNOWN,
                    misfit(message).help("declare the kernel with `core(sparse)`"),
                );
            }
            return;
        }
        Core::Sparse => &[Semantics::CoreParallel, Semantics::SubcoreParallel],
        Core::SparseScalar => &[Semantics::CoreParallel],
    };
    let found: Vec<Semantics> = kernel.grid.iter().map(|axis| axis.semantics).collect();
    let is_static = kernel.grid.iter().all(|axis| matches!(axis.extent, Extent::Static(_)));
    if found == wanted && is_static {
        return;
    }
    let axes: Vec<String> = kernel.grid.iter().map(|axis| format!("`{}`", axis.name)).collect();
    let found = if axes.is_empty() { "no axis".to_owned() } else { axes.join(" and ") };
    let (message, help) = match kernel.core {
        Core::SparseScalar => (
            format!("the grid of a scalar-subcore kernel is the cores, but it has {found}"),
            "write `core(sparse_scalar), grid(c = 2)`, with loops in the body",
        ),
        Core::Tensor | Core::Sparse => (
            format!(
                "the grid of a SparseCore kernel is the cores and the subcores of each, known \
                 when it is built, but it has {found}"
            ),
            "write `core(sparse), grid(c = 2, s = 16)`, with loops in the body",
        ),
    };
    context.report_at(LocId::UNKNOWN, misfit(message).help(help));
}

fn check_memory(context: &mut Context<'_>) {
    let kernel = context.kernel;
    for scratch in &kernel.scratch {
        let name = &scratch.name;
        let (message, help) = match (kernel.core, scratch.space) {
            (Core::Tensor, MemorySpace::Spmem) => (
                format!("`{name}` lives in Spmem, which SparseCores alone have"),
                "use `Vmem<T>`, or declare the kernel with `core(sparse)`",
            ),
            (Core::SparseScalar, MemorySpace::Vmem) => (
                format!(
                    "`{name}` lives in the memory of vector subcores, which a scalar subcore does not have"
                ),
                "use `Smem<T>` or `Spmem<T>`",
            ),
            _ => continue,
        };
        context.report_at(scratch.loc, misfit(message).help(help));
    }
    if !kernel.core.is_sparse() {
        return;
    }
    for param in &kernel.params {
        if param.window.is_none() && matches!(param.space, MemorySpace::Hbm | MemorySpace::Any) {
            continue;
        }
        let message = format!("`{}` has a block, which SparseCore kernels do not have", param.name);
        context.report_at(
            param.loc,
            misfit(message).help("declare it `Hbm<T>`, `HbmOut<T>` or `HbmInOut<T>`, and copy parts of it in the body"),
        );
    }
}

fn check_op(context: &mut Context<'_>, op: &OpData) {
    let kernel = context.kernel;
    let name = op.op.mnemonic();
    let is_scalar = kernel.core == Core::SparseScalar;
    let refused = match &op.op {
        Op::Dot(_) | Op::Mxu(_) | Op::Random(_) | Op::Convert(_) => Some((
            format!("`{name}` exists on TensorCores alone"),
            "compute with integer and float ops, or in a TensorCore kernel",
        )),
        Op::Sparse(_) if is_scalar => Some((
            format!(
                "`{name}` exists on vector subcores alone, and this kernel runs on the scalar subcore"
            ),
            "declare the kernel with `core(sparse)`",
        )),
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Reduce(_)
        | Op::Memory(_)
        | Op::Dma(_)
        | Op::Sync(_)
        | Op::Sparse(_)
        | Op::Control(_)
        | Op::Debug(_) => None,
    };
    let tile = op.results.iter().map(|&v| kernel.ty(v)).find(|ty| ty.is_tile());
    let refused = refused.or_else(|| {
        tile.filter(|_| is_scalar).map(|ty| {
            (
                format!("`{name}` gives a tile `{ty}`, and the scalar subcore has none"),
                "compute with scalars, or declare the kernel with `core(sparse)`",
            )
        })
    });
    if let Some((message, help)) = refused {
        let error = Diagnostic::error(Code::VALID_SPARSE_OP, message).help(help);
        return context.report_at(op.loc, error);
    }
    match &op.op {
        Op::Dma(dma) => check_copy(context, dma, op),
        Op::Sparse(SparseOp::Start(start)) => {
            check_indirect(context, IndirectRef::Start(start), op)
        }
        _ => {}
    }
}

fn transfer(context: &mut Context<'_>, loc: LocId, message: String, help: &str) {
    context.report_at(loc, Diagnostic::error(Code::VALID_SPARSE_TRANSFER, message).help(help));
}

fn space_of(ty: &Type) -> Option<MemorySpace> {
    match ty {
        Type::Ref { space, .. } => Some(*space),
        Type::Scalar(_) | Type::Tile { .. } | Type::Semaphore { .. } => None,
    }
}

fn check_copy(context: &mut Context<'_>, dma: &DmaOp, op: &OpData) {
    let kernel = context.kernel;
    let Some(parts) = dma.split(&op.operands) else { return };
    let DmaOp::Start(start) = dma else { return };
    if start.add {
        transfer(
            context,
            op.loc,
            "a copy in one piece does not add on a SparseCore".to_owned(),
            "add by ids: `gather` and `scatter` with `.accumulate()`",
        );
    }
    let spaces = [parts.from, parts.to].map(|end| space_of(kernel.ty(end)));
    let [Some(from), Some(to)] = spaces else { return };
    if kernel.core == Core::Sparse && (from == MemorySpace::Smem || to == MemorySpace::Smem) {
        transfer(
            context,
            op.loc,
            format!("a vector subcore does not copy from {from} to {to}"),
            "copy into `Vmem<i32>`, load a tile and take an element of it: \
             `x.slice(3..4).item()`; or copy on the scalar subcore",
        );
    }
}

fn check_indirect(context: &mut Context<'_>, indirect: IndirectRef<'_>, op: &OpData) {
    let kernel = context.kernel;
    let (IndirectRef::Start(start), Some(parts)) = (indirect, indirect.split(&op.operands)) else {
        return;
    };
    let copy = &start.copy;
    let table = kernel.ty(parts.table);
    let name = super::dma::name_of(kernel, parts.table);
    let is_far = space_of(table).is_some_and(|space| space != MemorySpace::Spmem);
    if start.add && copy.direction == Direction::Scatter && is_far {
        transfer(
            context,
            op.loc,
            format!("a scatter cannot add to `{name}`, which lies in HBM"),
            "add into scratch in `Spmem<T>`, and copy the sums out; or gather the rows, add, \
             and scatter them back",
        );
    }
    let ends: [(Value, _); 2] = [(parts.table, &copy.table), (parts.rows, &copy.rows)];
    for (end, access) in ends {
        let shape = kernel.ty(end).shape();
        let kept = access.dims.iter().zip(shape).filter(|(dim, _)| dim.keep).skip(1);
        if kept.clone().all(|(dim, &size)| dim.size == size) {
            continue;
        }
        let name = super::dma::name_of(kernel, end);
        let message = format!(
            "an indirect copy takes whole rows, but this one takes {} of `{name}` {}",
            Sizes(&access.tile_shape()),
            Sizes(shape)
        );
        transfer(context, op.loc, message, "take the other axes whole");
    }
    let target = match copy.direction {
        Direction::Gather => parts.rows,
        Direction::Scatter => parts.table,
    };
    let param = (0..kernel.params.len()).find(|&idx| kernel.param_ref(idx) == target);
    if let Some(param) = param.map(|idx| &kernel.params[idx])
        && !param.kind.is_output()
    {
        let message = format!("a scatter writes into `{}`, which is an input", param.name);
        context.report_at(
            op.loc,
            Diagnostic::error(Code::VALID_COPY_TARGET, message).help(format!(
                "declare `{}` as an output, or as one that is updated in place",
                param.name
            )),
        );
    }
}
