//! The matrix units, where a kernel controls them: what is staged, in use, and summed up.

use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::tile::{Data, Poison, PoisonId, Tile, slice_mut};
use super::dot::{dot_poison, float_dot};
use super::gemm::Sizes;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{DotOp, MxuOp};
use crate::ir::{DType, LocId};
use std::collections::BTreeMap;

/// The state of the units of a core, by unit and register or row.
#[derive(Debug, Default)]
pub(in super::super) struct MatrixUnits {
    staged: BTreeMap<(usize, usize), Rhs>,
    in_use: BTreeMap<usize, Rhs>,
    rows: BTreeMap<(usize, usize), Row>,
}

/// A right operand.
#[derive(Clone, Debug)]
struct Rhs {
    tile: Tile,
    dtype: DType,
    size: usize,
    transpose: bool,
    loc: LocId,
}

/// A row of sums.
#[derive(Debug)]
struct Row {
    sums: Vec<f32>,
    poison: Vec<PoisonId>,
    loc: LocId,
}

impl Executor<'_> {
    /// Runs an op on a matrix unit.
    pub(in super::super) fn mxu(&mut self, inst: &Inst<'_>, op: &MxuOp) -> Result<(), Stop> {
        match op {
            MxuOp::PushRhs { unit, register, transpose } => {
                let ty = self.run.plan.ty(inst.uses[0].value);
                let (dtype, size) = (ty.dtype(), ty.shape()[0]);
                let tile = self.tile(inst, 0)?;
                let rhs = Rhs { tile, dtype, size, transpose: *transpose, loc: inst.loc };
                match self.units.staged.insert((*unit, *register), rhs) {
                    None => Ok(()),
                    Some(old) => {
                        let message = format!(
                            "register {register} of matrix unit {unit} is staged twice: what it \
                             has was never loaded"
                        );
                        Err(self.misuse(inst.loc, message, Some((old.loc, "staged here before"))))
                    }
                }
            }
            MxuOp::AccLhs { unit, row, load } => self.acc_lhs(inst, *unit, *row, *load),
            MxuOp::Pop { unit, row, shape } => self.pop(inst, *unit, *row, [shape[0], shape[1]]),
        }
    }

    fn acc_lhs(
        &mut self,
        inst: &Inst<'_>,
        unit: usize,
        first_row: usize,
        load: Option<usize>,
    ) -> Result<(), Stop> {
        if let Some(register) = load {
            let Some(rhs) = self.units.staged.remove(&(unit, register)) else {
                let message = format!("register {register} of matrix unit {unit} is empty");
                return Err(self.misuse(inst.loc, message, None));
            };
            self.units.in_use.insert(unit, rhs);
        }
        let Some(rhs) = self.units.in_use.get(&unit).cloned() else {
            let message = format!("matrix unit {unit} has no right operand yet");
            return Err(self.misuse(inst.loc, message, None));
        };
        let ty = self.run.plan.ty(inst.uses[0].value);
        let (dtype, m, k) = (ty.dtype(), ty.shape()[0], ty.shape()[1]);
        if k != rhs.size {
            let message = format!(
                "the left operand has {k} columns, but the right one of matrix unit {unit} {} rows",
                rhs.size
            );
            return Err(self.misuse(inst.loc, message, Some((rhs.loc, "staged here"))));
        }
        let lhs = self.tile(inst, 0)?;
        let (n, sizes) = (rhs.size, Sizes { m, k, n: rhs.size });
        let op = DotOp { transpose_rhs: rhs.transpose, ..DotOp::default() };
        let dtypes = (dtype, rhs.dtype);
        self.count_product(&op, sizes, dtypes, true);
        let sums = float_dot(&mut self.pool, &op, sizes, dtypes, (&lhs.data, &rhs.tile.data));
        let poison = dot_poison(&op, sizes, lhs.poison.as_ref(), rhs.tile.poison.as_ref());
        let ids = poison.map_or_else(|| vec![0; m * n], |poison| poison.to_ids(m * n));
        for idx in 0..m {
            let span = idx * n..(idx + 1) * n;
            let row = self.units.rows.entry((unit, first_row + idx)).or_insert_with(|| Row {
                sums: vec![0.0; n],
                poison: vec![0; n],
                loc: inst.loc,
            });
            if row.sums.len() != n {
                let message = format!(
                    "row {} of matrix unit {unit} has sums of {} columns, not {n}",
                    first_row + idx,
                    row.sums.len()
                );
                let at = row.loc;
                return Err(self.misuse(inst.loc, message, Some((at, "summed up here"))));
            }
            row.sums.iter_mut().zip(&sums[span.clone()]).for_each(|(sum, x)| *sum += x);
            for (old, &new) in row.poison.iter_mut().zip(&ids[span]) {
                *old = if *old == 0 { new } else { *old };
            }
        }
        self.pool.give(Data::F32(sums));
        self.pool.give(lhs.data);
        Ok(())
    }

    fn pop(
        &mut self,
        inst: &Inst<'_>,
        unit: usize,
        first_row: usize,
        [m, n]: [usize; 2],
    ) -> Result<(), Stop> {
        let mut sums = self.pool.f32s(m * n);
        let mut ids = vec![0; m * n];
        for idx in 0..m {
            let at = first_row + idx;
            let Some(row) = self.units.rows.remove(&(unit, at)) else {
                let message = format!("row {at} of matrix unit {unit} has no sums");
                return Err(self.misuse(inst.loc, message, None));
            };
            if row.sums.len() != n {
                let message = format!(
                    "row {at} of matrix unit {unit} has sums of {} columns, not {n}",
                    row.sums.len()
                );
                return Err(self.misuse(inst.loc, message, Some((row.loc, "summed up here"))));
            }
            slice_mut(&mut sums)[idx * n..(idx + 1) * n].copy_from_slice(&row.sums);
            ids[idx * n..(idx + 1) * n].copy_from_slice(&row.poison);
        }
        self.set_tile(inst, Data::F32(sums), Poison::from_ids(ids));
        Ok(())
    }

    /// Tells of what a segment leaves in the units, and empties them.
    pub(in super::super) fn empty_units(&mut self) -> Result<(), Stop> {
        let units = std::mem::take(&mut self.units);
        if let Some(((unit, register), rhs)) = units.staged.first_key_value() {
            let message =
                format!("register {register} of matrix unit {unit} is left full at the end");
            return Err(self.misuse(rhs.loc, message, None));
        }
        match units.rows.first_key_value() {
            None => Ok(()),
            Some(((unit, at), row)) => {
                let message =
                    format!("row {at} of matrix unit {unit} is left with sums at the end");
                Err(self.misuse(row.loc, message, None))
            }
        }
    }

    fn misuse(&mut self, loc: LocId, message: String, other: Option<(LocId, &str)>) -> Stop {
        let kernel = self.run.kernel();
        let mut diagnostic = Diagnostic::error(Code::INTERP_MXU, message)
            .at_opt(kernel.span(loc), "")
            .help("stage, load and pop in turn: each register is loaded, each row popped, once");
        if let Some((at, text)) = other {
            diagnostic = diagnostic.at_opt(kernel.span(at), text);
        }
        self.report(loc, diagnostic)
    }
}
