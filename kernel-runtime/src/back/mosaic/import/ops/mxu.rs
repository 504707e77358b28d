//! Explicit control of the matrix units.

use super::super::body::{Importer, Outcome};
use super::super::header::short_name;
use super::super::read::ast::{Op, find};
use crate::ir::ops::MxuOp;
use crate::ir::{self, Shape};

/// Rows of sums per number of their address: it counts registers of 8 rows and 128 columns, two of
/// which make 8 rows.
pub(in crate::back::mosaic) const ROWS_PER_ADDRESS: usize = 4;

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "tpu.matmul_push_rhs" => importer.push_rhs(op),
        "tpu.matmul_acc_lhs" => importer.acc_lhs(op),
        "tpu.matmul_pop" => importer.pop_sums(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn place_attr(&self, op: &Op, name: &str) -> Outcome<usize> {
        let value = self.int_attr(op, name)?;
        usize::try_from(value).map_err(|_| {
            self.wrong(format!("`{}` has {value} for `{name}`", short_name(op))).into()
        })
    }

    fn first_row(&self, op: &Op) -> Outcome<usize> {
        let address = self.place_attr(op, "acc")?;
        address.checked_mul(ROWS_PER_ADDRESS).ok_or_else(|| {
            self.wrong(format!("`{}` has {address} for `acc`", short_name(op))).into()
        })
    }

    fn push_rhs(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["mxu_index", "staging_register", "transpose"])?;
        let (unit, register) =
            (self.place_attr(op, "mxu_index")?, self.place_attr(op, "staging_register")?);
        let transpose = self.flag(op, "transpose")?;
        let operands = self.operand_values(op)?;
        let push = ir::Op::Mxu(MxuOp::PushRhs { unit, register, transpose });
        self.push_all(op, push, &operands, &[])?;
        self.results(op, &[])
    }

    fn acc_lhs(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["mxu_index", "acc", "load_staged_rhs"])?;
        let (unit, row) = (self.place_attr(op, "mxu_index")?, self.first_row(op)?);
        let load = match find(&op.attrs, "load_staged_rhs") {
            Some(_) => Some(self.place_attr(op, "load_staged_rhs")?),
            None => None,
        };
        let operands = self.operand_values(op)?;
        self.push_all(op, ir::Op::Mxu(MxuOp::AccLhs { unit, row, load }), &operands, &[])?;
        self.results(op, &[])
    }

    fn pop_sums(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["mxu_index", "acc"])?;
        let (unit, row) = (self.place_attr(op, "mxu_index")?, self.first_row(op)?);
        let shape = Shape::from_slice(self.result_ty(op)?.shape());
        let sums = self.push(op, ir::Op::Mxu(MxuOp::Pop { unit, row, shape }), &[])?;
        self.result(op, sums)
    }
}
