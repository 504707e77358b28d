//! Explicit control of matrix units: which chips have it, and their sizes.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{MxuOp, Op};
use crate::ir::{DType, LocId, OpData};
use crate::target::{Chip, Target};

/// Sums are addressed by registers of 8 rows and 128 columns, in fours.
const ROWS: usize = 16;

pub(super) fn check(context: &mut Context<'_>, target: &Target, chip: &Chip) {
    let kernel = context.kernel;
    let (mut explicit, mut product) = (None, None);
    kernel.walk(kernel.body, &mut |_, op| match &op.op {
        Op::Mxu(mxu) => {
            explicit.get_or_insert(op.loc);
            check_op(context, target, chip, mxu, op);
        }
        Op::Dot(_) => {
            product.get_or_insert(op.loc);
        }
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Convert(_)
        | Op::Random(_)
        | Op::Reduce(_)
        | Op::Memory(_)
        | Op::Dma(_)
        | Op::Sync(_)
        | Op::Sparse(_)
        | Op::Control(_)
        | Op::Debug(_) => {}
    });
    if let (Some(_), Some(dot)) = (explicit, product) {
        wrong(
            context,
            dot,
            "`dot` stands in a kernel that controls the matrix units by itself".into(),
            "make it of `matmul_push_rhs`, `matmul_acc_lhs` and `matmul_pop` too, or none",
        );
    }
}

fn check_op(context: &mut Context<'_>, target: &Target, chip: &Chip, mxu: &MxuOp, op: &OpData) {
    let (name, kernel) = (mxu.mnemonic(), context.kernel);
    let Some(sums) = chip.mxu_sums else {
        let others =
            Target::TPUS.iter().filter(|other| other.chip.is_some_and(|c| c.mxu_sums.is_some()));
        let others: Vec<&str> = others.map(|other| other.name).collect();
        let message = format!("`{name}` needs matrix units that keep sums, which {target} has not");
        let error = Diagnostic::error(Code::VALID_UNSUPPORTED_MXU, message)
            .note(format!("{} has", others.join(", ")))
            .help("use `dot`");
        return context.report_at(op.loc, error);
    };
    let size = chip.mxu_size;
    let mut tell = |message: String, help: &str| wrong(context, op.loc, message, help);
    if mxu.unit() >= chip.n_mxus {
        tell(
            format!("`{name}` names matrix unit {} of {}", mxu.unit(), chip.n_mxus),
            "units are counted from 0",
        );
    }
    let tile = op.operands.first().map(|&value| kernel.ty(value));
    if let Some(dtype) = tile.map(|ty| ty.dtype())
        && !matches!(dtype, DType::BF16 | DType::F8E4M3FN | DType::F8E5M2)
    {
        tell(format!("`{name}` does not take `{dtype}`"), "cast to bf16 first");
    }
    let columns = match (mxu, tile) {
        (MxuOp::Pop { shape, .. }, _) => shape[1],
        (MxuOp::PushRhs { .. } | MxuOp::AccLhs { .. }, Some(ty)) => ty.shape()[1],
        (MxuOp::PushRhs { .. } | MxuOp::AccLhs { .. }, None) => size,
    };
    if columns != size {
        tell(
            format!("`{name}` has {columns} columns, and the matrix unit {size}"),
            "pad to the size of the unit",
        );
    }
    let registers = match mxu {
        MxuOp::PushRhs { register, .. } => Some(*register),
        MxuOp::AccLhs { load, .. } => *load,
        MxuOp::Pop { .. } => None,
    };
    if let Some(register) = registers.filter(|&register| register >= sums.n_registers) {
        tell(
            format!("`{name}` names staging register {register} of {}", sums.n_registers),
            "registers are counted from 0",
        );
    }
    let (row, m, multiple) = match (mxu, tile) {
        (MxuOp::Pop { row, shape, .. }, _) => (*row, shape[0], ROWS),
        (MxuOp::AccLhs { row, .. }, Some(ty)) => {
            (*row, ty.shape()[0], ROWS.max(8 * chip.packing(ty.dtype())))
        }
        (MxuOp::AccLhs { .. } | MxuOp::PushRhs { .. }, _) => return,
    };
    if !m.is_multiple_of(multiple) || !row.is_multiple_of(ROWS) {
        tell(
            format!("`{name}` has {m} rows from {row} on"),
            &format!("take a multiple of {multiple} rows, from a multiple of {ROWS} on"),
        );
    }
    if row.saturating_add(m) > sums.n_rows {
        tell(
            format!("`{name}` reaches row {} of {}", row.saturating_add(m), sums.n_rows),
            "pop sums before others take their place, or use the other unit",
        );
    }
}

fn wrong(context: &mut Context<'_>, loc: LocId, message: String, help: &str) {
    context.report_at(loc, Diagnostic::error(Code::VALID_MXU, message).help(help));
}
