//! One step of an optimizer: the gradients of the rows that a batch names, and their update.
//!
//! The gradient of a row is a weighted bag of rows of the output's gradient, so that a lookup sums
//! it. A second kernel fetches the rows, changes them and sends them back. No row is named twice, so
//! that rows may be on their way in and out in any order.

use super::super::rounded;
use super::{BagBatch, BagForm, BagLookup, CHUNK, TableShape, step};
use crate::embedding::sparse_core::{self, integers};
use crate::embedding::{Bags, Combiner, Optimizer, UpdatePlan, UpdateShape};
use systole::diag::Diagnostics;
use systole::ir::{Array, DType, Kernel};
use systole::target::Target;

/// What a step is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepShape {
    /// The table, of `f32`.
    pub table: TableShape,
    /// Samples of the output's gradient.
    pub n_samples: usize,
    /// The most rows that a batch names.
    pub n_rows: usize,
    /// The most entries of a batch: pairs of a sample and a row.
    pub n_entries: usize,
}

/// One step of an optimizer, in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    shape: StepShape,
    optimizer: Optimizer,
    gradient: BagLookup,
}

impl Step {
    /// A step of this shape; the number of rows is rounded up as the lookup of bags needs it.
    ///
    /// # Errors
    /// If the table is not `f32` or has fewer rows than [`Step::n_rows`], or what is needed of a
    /// batch is too much for one call.
    pub fn new(
        target: &Target,
        shape: StepShape,
        optimizer: Optimizer,
    ) -> Result<Step, Diagnostics> {
        shape.table.check()?;
        if shape.table.dtype != DType::F32 {
            // Two units of work may have the halves of one word.
            let message = format!("rows of {} cannot be updated in place", shape.table.dtype);
            return Err(crate::refuse(message, "keep the table in f32 while it is trained"));
        }
        let form = sparse_core::BagForm::Weighted;
        // Lists of a plan end at multiples of 8.
        let n_entries = rounded(shape.n_entries, 8);
        let form = BagForm::Ragged { n_ids: n_entries, form };
        let samples = TableShape::f32(shape.n_samples, shape.table.width);
        let n_rows = Step::n_rows(target, shape.n_rows);
        if n_rows > shape.table.rows {
            let message = format!(
                "a step of {} rows works on {n_rows} different ones, and the table has {}",
                shape.n_rows, shape.table.rows
            );
            return Err(crate::refuse(message, "give the table's array rows that no id names"));
        }
        let gradient = BagLookup::new(target, samples, n_rows, form)?;
        Ok(Step { shape: StepShape { n_rows, n_entries, ..shape }, optimizer, gradient })
    }

    /// The rows that a step for so many works on, those that pad the last unit included: a table
    /// has at least as many.
    pub fn n_rows(target: &Target, n: usize) -> usize {
        rounded(n, super::n_cores(target) * CHUNK)
    }

    /// What a batch is planned for.
    pub fn plan_shape(&self) -> UpdateShape {
        UpdateShape {
            n_lists: 1,
            table_rows: self.shape.table.rows,
            rows_per_list: Some(self.shape.n_rows),
            entries_per_list: Some(self.shape.n_entries),
        }
    }

    /// The lookup that sums the gradients of rows: its kernel takes the arrays of
    /// [`UpdateRows::gradient`] and the output's gradient `f32[n_samples, width]`.
    pub fn gradient(&self) -> BagLookup {
        self.gradient
    }

    /// Traces the update: it takes the rows, `i32[n_rows]`; the table; for Adagrad the accumulator,
    /// `f32` of the table's shape or `[rows, 128]` by rows; and the gradient of each row.
    ///
    /// # Errors
    /// If the shape makes no kernel.
    pub fn kernel(&self) -> Result<Kernel, Diagnostics> {
        let StepShape { table: TableShape { rows, width, .. }, n_rows, .. } = self.shape;
        let table = (DType::F32, &[rows, width][..]);
        let by_row = (DType::F32, &[rows, super::ROW_ACCUMULATOR_WIDTH][..]);
        let (ids, gradient) = ((DType::I32, &[n_rows][..]), (DType::F32, &[n_rows, width][..]));
        match self.optimizer {
            Optimizer::Sgd { rate } => {
                crate::trace(&step::sgd(CHUNK, rate), &[ids, table, gradient])
            }
            Optimizer::Adagrad { rate, eps } => {
                let kernel = step::adagrad(CHUNK, rate, eps, false);
                crate::trace(&kernel, &[ids, table, table, gradient])
            }
            Optimizer::RowAdagrad { rate, eps } => {
                let kernel = step::adagrad(CHUNK, rate, eps, true);
                crate::trace(&kernel, &[ids, table, by_row, gradient])
            }
        }
    }
}

/// A plan as the kernels of a [`Step`] take it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateRows {
    /// The rows.
    pub rows: Array,
    /// The samples of each row, and their factors.
    pub gradient: BagBatch,
}

impl UpdateRows {
    /// Lays a plan out that was made for [`Step::plan_shape`].
    ///
    /// # Errors
    /// If it was not.
    pub fn new(step: &Step, plan: &UpdatePlan) -> Result<UpdateRows, Diagnostics> {
        let StepShape { table, n_rows, n_samples, .. } = step.shape;
        if plan.n_lists != 1 || plan.rows_per_list != n_rows {
            return Err(crate::refuse(
                format!(
                    "the plan has {} lists of {} rows, not one of {n_rows}",
                    plan.n_lists, plan.rows_per_list
                ),
                "plan the update with `Step::plan_shape`",
            ));
        }
        let is_within = |ids: &[i32], n: usize| ids.iter().all(|&id| (id as usize) < n);
        if !is_within(&plan.rows, table.rows) || !is_within(&plan.samples, n_samples) {
            return Err(crate::refuse(
                format!(
                    "the plan names rows or samples beyond the {} and {n_samples} of the step",
                    table.rows
                ),
                "plan the update with `Step::plan_shape`, of bags of as many samples",
            ));
        }
        let offsets: Vec<u32> = plan.starts.iter().map(|&start| start as u32).collect();
        // What pads the list belongs to no row.
        let n_entries = offsets.last().map_or(0, |&end| end as usize);
        let (samples, gains) = (&plan.samples[..n_entries], &plan.gains[..n_entries]);
        let bags = Bags::from_parts(n_samples, offsets, samples.to_vec(), Some(gains.to_vec()));
        let gradient = step.gradient.batch(&bags, Combiner::Sum)?;
        Ok(UpdateRows { rows: integers(plan.rows.clone()), gradient })
    }
}
