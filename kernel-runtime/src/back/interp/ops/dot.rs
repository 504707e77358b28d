//! Matrix products: operands as bf16 parts, by the precision's passes.

use super::super::Product;
use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::pool::Pool;
use super::super::tile::{Data, Poison, PoisonId, slice_mut};
use super::elementwise::round_bf16;
use super::gemm::{Matrix, Panels, Sizes, multiply_f32, multiply_i32};
use crate::ir::DType;
use crate::ir::ops::{DotOp, Precision};
use std::sync::Arc;

thread_local! {
    /// Kept from dot to dot: the operands' panels are as large as the operands.
    static PANELS: std::cell::RefCell<Panels> = std::cell::RefCell::default();
}

impl Executor<'_> {
    /// Runs a matrix product.
    pub(in super::super) fn dot(&mut self, inst: &Inst<'_>, op: &DotOp) -> Result<(), Stop> {
        let [Some(lhs_use), Some(rhs_use)] = [inst.uses.first(), inst.uses.get(1)] else {
            return Ok(());
        };
        let (lhs_ty, rhs_ty) = (self.run.plan.ty(lhs_use.value), self.run.plan.ty(rhs_use.value));
        let (m, k, n) = op.sizes(lhs_ty.shape(), rhs_ty.shape());
        let sizes = Sizes { m, k, n };
        let dtypes = (lhs_ty.dtype(), rhs_ty.dtype());
        self.count_product(op, sizes, dtypes, false);
        let (lhs, rhs) = (self.tile(inst, 0)?, self.tile(inst, 1)?);
        let data = match (&lhs.data, &rhs.data) {
            (Data::I32(x), Data::I32(y)) => {
                let mut to = self.pool.i32s(m * n);
                let lhs = Matrix { values: x.as_slice(), transposed: op.transpose_lhs };
                let rhs = Matrix { values: y.as_slice(), transposed: op.transpose_rhs };
                multiply_i32(sizes, lhs, rhs, slice_mut(&mut to));
                Data::I32(to)
            }
            _ => Data::F32(float_dot(&mut self.pool, op, sizes, dtypes, (&lhs.data, &rhs.data))),
        };
        let poison = dot_poison(op, sizes, lhs.poison.as_ref(), rhs.poison.as_ref());
        if self.run.options.trap_non_finite && poison.is_none() {
            let finite = |data: &Data| data.f32s().iter().all(|x| x.is_finite());
            let bad = data.f32s().iter().position(|x| !x.is_finite());
            if let (Some(idx), true) = (bad, finite(&lhs.data) && finite(&rhs.data)) {
                return Err(self.report_non_finite(inst, idx, data.f32s()[idx], 1));
            }
        }
        self.pool.give(lhs.data);
        self.pool.give(rhs.data);
        self.set_tile(inst, data, poison);
        Ok(())
    }

    /// Notes that a product was run, on a unit under the kernel's own control or by `dot`.
    pub(super) fn count_product(
        &mut self,
        op: &DotOp,
        Sizes { m, k, n }: Sizes,
        (lhs, rhs): (DType, DType),
        on_unit: bool,
    ) {
        let product = Product { op: *op, sizes: [m, k, n], lhs, rhs, on_unit };
        *self.found.products.entry(product).or_default() += 1;
    }
}

pub(super) fn float_dot(
    pool: &mut Pool,
    op: &DotOp,
    sizes: Sizes,
    (lhs_dtype, rhs_dtype): (DType, DType),
    (lhs, rhs): (&Data, &Data),
) -> Arc<Vec<f32>> {
    let mut to = pool.f32s(sizes.m * sizes.n);
    let lhs_parts = parts(pool, op.precision, lhs_dtype, lhs);
    let rhs_parts = parts(pool, op.precision, rhs_dtype, rhs);
    let mut adds = false;
    PANELS.with_borrow_mut(|panels| {
        // The smallest products first, so that the large ones do not swallow them.
        for (idx, &(x, y)) in passes(op.precision).iter().enumerate().rev() {
            if let (Some(x), Some(y)) = (lhs_parts.get(x), rhs_parts.get(y)) {
                let lhs = Matrix { values: x.f32s(), transposed: op.transpose_lhs };
                let rhs = Matrix { values: y.f32s(), transposed: op.transpose_rhs };
                if idx == 0 && lhs_parts.len() + rhs_parts.len() > 2 {
                    // An infinity times a small part that is zero is NaN; only the large parts'
                    // product says what becomes of it. XLA's emulation does the same.
                    let small = slice_mut(&mut to).iter_mut();
                    small.for_each(|sum| *sum = if sum.is_nan() { 0.0 } else { *sum });
                }
                multiply_f32(sizes, lhs, rhs, (slice_mut(&mut to), adds), panels);
                adds = true;
            }
        }
    });
    lhs_parts.into_iter().chain(rhs_parts).for_each(|part| pool.give(part));
    to
}

/// Which parts are multiplied, largest products first.
fn passes(precision: Precision) -> &'static [(usize, usize)] {
    match precision {
        Precision::Medium => &[(0, 0)],
        Precision::High => &[(0, 0), (0, 1), (1, 0)],
        Precision::Highest => &[(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)],
    }
}

/// An operand as a sum of bf16 parts, or as it is if its products are exact in `f32` anyway.
fn parts(pool: &mut Pool, precision: Precision, dtype: DType, data: &Data) -> Vec<Data> {
    if dtype != DType::F32 {
        return vec![data.clone()];
    }
    let n_parts = match precision {
        Precision::Medium => 1,
        Precision::High => 2,
        Precision::Highest => 3,
    };
    let values = data.f32s();
    let mut all = Vec::with_capacity(n_parts);
    let mut rest = pool.f32s(values.len());
    slice_mut(&mut rest).copy_from_slice(values);
    for part in 0..n_parts {
        let mut head = pool.f32s(values.len());
        let pairs = slice_mut(&mut head).iter_mut().zip(slice_mut(&mut rest));
        if part + 1 == n_parts {
            pairs.for_each(|(head, rest)| *head = round_bf16(*rest));
        } else {
            for (head, rest) in pairs {
                *head = round_bf16(*rest);
                // An infinity or NaN is all in its first part; inf - inf would make it NaN.
                *rest = if head.is_finite() { *rest - *head } else { 0.0 };
            }
        }
        all.push(Data::F32(head));
    }
    pool.give(Data::F32(rest));
    all
}

/// An undefined element of the left operand spoils its row, one of the right its column.
pub(super) fn dot_poison(
    op: &DotOp,
    sizes: Sizes,
    lhs: Option<&Poison>,
    rhs: Option<&Poison>,
) -> Option<Poison> {
    if lhs.is_none() && rhs.is_none() {
        return None;
    }
    let Sizes { m, k, n } = sizes;
    let lines = |poison: Option<&Poison>, n_lines: usize, line_is_outer: bool| -> Vec<PoisonId> {
        let mut ids = vec![0; n_lines];
        let Some(poison) = poison else { return ids };
        for idx in 0..n_lines * k {
            let line = if line_is_outer { idx / k } else { idx % n_lines };
            if ids[line] == 0 {
                ids[line] = poison.get(idx);
            }
        }
        ids
    };
    let rows = lines(lhs, m, !op.transpose_lhs);
    let columns = lines(rhs, n, op.transpose_rhs);
    let ids = rows
        .iter()
        .flat_map(|&row| columns.iter().map(move |&column| if row == 0 { column } else { row }));
    Poison::from_ids(ids.collect())
}
