//! Gradients of a batch grouped by row, ready for the units that update a table.

use super::entries::{Entries, Entry, Gains};
use super::{Bags, Combiner, over_limit};
use systole::diag::Diagnostics;

/// Lists of rows begin at multiples of this many: 32 bytes, the granule of a DMA.
const ALIGN: usize = 8;

/// The most units that update rows at the same time: the subcores of the largest pod.
const MAX_LISTS: usize = 1 << 20;

/// How rows change by their gradients `g`, all in `f32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimizer {
    /// `w -= rate g`.
    Sgd {
        /// Learning rate.
        rate: f32,
    },
    /// `a += g^2; w -= rate g / (sqrt(a) + eps)`, an accumulator per element.
    Adagrad {
        /// Learning rate.
        rate: f32,
        /// Keeps the divisor from 0.
        eps: f32,
    },
    /// `a += mean(g^2); w -= rate g / (sqrt(a) + eps)`, an accumulator per row.
    RowAdagrad {
        /// Learning rate.
        rate: f32,
        /// Keeps the divisor from 0.
        eps: f32,
    },
}

impl Optimizer {
    /// Its name: `sgd`, `adagrad` or `row_adagrad`.
    pub fn name(self) -> &'static str {
        match self {
            Optimizer::Sgd { .. } => "sgd",
            Optimizer::Adagrad { .. } => "adagrad",
            Optimizer::RowAdagrad { .. } => "row_adagrad",
        }
    }
}

/// What an update is planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateShape {
    /// Units that update rows at the same time: subcores, or 1.
    pub n_lists: usize,
    /// Rows that the table's array has, at least those that ids name. The rest may pad lists.
    pub table_rows: usize,
    /// Rows per list, a multiple of 8; as few as the batch allows if not given.
    pub rows_per_list: Option<usize>,
    /// Entries per list, a multiple of 8; as few as the batch allows if not given.
    pub entries_per_list: Option<usize>,
}

/// The gradient of each row of a batch, as a sum over samples, in lists that can be worked through
/// at the same time.
///
/// Row `rows[list * rows_per_list + k]` gets the sum over its entries `e` of
/// `gains[e] * output_gradient[samples[e]]`. Its entries begin at `starts[..][k]` and end before
/// `starts[..][k + 1]`, counted from the list's own first entry at `list * entries_per_list`.
///
/// No row is named twice, in whichever list, so that the units need no locks. That includes the
/// rows that pad a list: they have no entries, and their update must leave them as they are. SGD
/// does; Adagrad does if `eps` or the accumulator is above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatePlan {
    /// Number of lists.
    pub n_lists: usize,
    /// Rows per list, padding included.
    pub rows_per_list: usize,
    /// Entries per list, padding included.
    pub entries_per_list: usize,
    /// Rows of the table, `[n_lists, rows_per_list]`; rising within a list up to its padding.
    pub rows: Vec<i32>,
    /// How many rows of each list are no padding.
    pub n_rows: Vec<usize>,
    /// Where the entries of each row begin, `[n_lists, rows_per_list + 1]`.
    pub starts: Vec<i32>,
    /// Sample of each entry, `[n_lists, entries_per_list]`; padding is sample 0.
    pub samples: Vec<i32>,
    /// Factor of each entry, `[n_lists, entries_per_list]`; padding is 0.
    pub gains: Vec<f32>,
}

impl Bags {
    /// Plans the update of the rows that the bags name.
    ///
    /// Lists get about equally many entries, as far as rows with many entries allow.
    ///
    /// # Errors
    /// As [`Bags::gains`]; if the shape has no list, or fewer table rows than ids may name; if rows
    /// or entries do not fit their lists; if the table has too few other rows to pad with.
    pub fn plan_update(
        &self,
        combiner: Combiner,
        shape: &UpdateShape,
    ) -> Result<UpdatePlan, Diagnostics> {
        shape.check(self.rows())?;
        let merged = Merged::of(self, &Gains::of(self, combiner)?);
        let ends = list_ends(&merged.starts, shape)?;
        let longest = |of: &dyn Fn(usize) -> usize| {
            let lengths = ends.windows(2).map(|pair| of(pair[1]) - of(pair[0]));
            lengths.max().unwrap_or(0).next_multiple_of(ALIGN).max(ALIGN)
        };
        let rows_per_list = shape.rows_per_list.unwrap_or(longest(&|row| row));
        let needed = longest(&|row| merged.starts[row] as usize);
        let entries_per_list = shape.entries_per_list.unwrap_or(needed);
        if entries_per_list < needed {
            return Err(over_limit(
                format!("a list needs room for {needed} entries, and has {entries_per_list}"),
                "give lists more entries, or update by smaller batches",
            ));
        }
        let spare = spare_rows(&merged.rows, shape, rows_per_list)?;
        Ok(merged.into_plan(&ends, rows_per_list, entries_per_list, spare))
    }
}

/// The entries of a batch by row, no row and sample twice.
struct Merged {
    /// The distinct rows, rising.
    rows: Vec<i32>,
    /// Where the entries of each row begin, and where the last ones end.
    starts: Vec<u32>,
    samples: Vec<i32>,
    gains: Vec<f32>,
}

impl Merged {
    fn of(bags: &Bags, gains: &Gains) -> Merged {
        let rows = bags.rows() as u64;
        let entries = Entries::sorted(bags, 0..bags.n_bags(), gains, |id| id, rows);
        let mut merged = Merged {
            rows: Vec::new(),
            starts: Vec::new(),
            samples: Vec::with_capacity(entries.len()),
            gains: Vec::with_capacity(entries.len()),
        };
        let mut last = None;
        for Entry { key, sample, gain } in entries.iter() {
            if let (Some(sum), true) = (merged.gains.last_mut(), last == Some((key, sample))) {
                *sum += gain;
                continue;
            }
            if last.is_none_or(|(row, _)| row != key) {
                merged.rows.push(key as i32);
                merged.starts.push(merged.samples.len() as u32);
            }
            merged.samples.push(sample as i32);
            merged.gains.push(gain);
            last = Some((key, sample));
        }
        merged.starts.push(merged.samples.len() as u32);
        merged
    }

    /// Deals the rows out to lists that end at `ends`.
    fn into_plan(
        self,
        ends: &[usize],
        rows_per_list: usize,
        entries_per_list: usize,
        spare: Vec<i32>,
    ) -> UpdatePlan {
        let n_lists = ends.len() - 1;
        let mut plan = UpdatePlan {
            n_lists,
            rows_per_list,
            entries_per_list,
            rows: Vec::with_capacity(n_lists * rows_per_list),
            n_rows: ends.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            starts: Vec::with_capacity(n_lists * (rows_per_list + 1)),
            samples: Vec::with_capacity(n_lists * entries_per_list),
            gains: Vec::with_capacity(n_lists * entries_per_list),
        };
        let mut spare = spare.into_iter();
        for (list, pair) in (1..).zip(ends.windows(2)) {
            plan.rows.extend(&self.rows[pair[0]..pair[1]]);
            plan.rows.extend(spare.by_ref().take(list * rows_per_list - plan.rows.len()));
            let starts = &self.starts[pair[0]..=pair[1]];
            let (first, end) = (starts[0], starts[starts.len() - 1]);
            plan.starts.extend(starts.iter().map(|start| (start - first) as i32));
            plan.starts.resize(list * (rows_per_list + 1), (end - first) as i32);
            let entries = first as usize..end as usize;
            plan.samples.extend(&self.samples[entries.clone()]);
            plan.samples.resize(list * entries_per_list, 0);
            plan.gains.extend(&self.gains[entries]);
            plan.gains.resize(list * entries_per_list, 0.0);
        }
        plan
    }
}

impl UpdateShape {
    fn check(&self, rows: usize) -> Result<(), Diagnostics> {
        let n_entries = self.entries_per_list.unwrap_or(0).saturating_mul(self.n_lists);
        crate::check_most(&[
            ("lists", self.n_lists, MAX_LISTS),
            ("rows of a list", self.rows_per_list.unwrap_or(0), crate::MAX_SIZE),
            ("entries of all lists", n_entries, crate::MAX_SIZE),
        ])?;
        if self.n_lists == 0 || self.table_rows < rows || self.table_rows > i32::MAX as usize {
            return Err(crate::refuse(
                format!(
                    "{} lists cannot update {} rows of which ids name {rows}",
                    self.n_lists, self.table_rows
                ),
                "give at least 1 list, and as many rows as the table's array has",
            ));
        }
        for n in [self.rows_per_list, self.entries_per_list].into_iter().flatten() {
            if n == 0 || !n.is_multiple_of(ALIGN) {
                return Err(crate::refuse(
                    format!("a list of {n} does not end at a multiple of {ALIGN}"),
                    "round its length up",
                ));
            }
        }
        Ok(())
    }
}

/// Where each list ends among the distinct rows, and 0 before them.
fn list_ends(starts: &[u32], shape: &UpdateShape) -> Result<Vec<usize>, Diagnostics> {
    let n_rows = starts.len() - 1;
    let most = shape.rows_per_list.unwrap_or(n_rows);
    if n_rows > shape.n_lists.saturating_mul(most) {
        return Err(over_limit(
            format!("the batch names {n_rows} rows, {} lists of {most} hold fewer", shape.n_lists),
            "give lists more rows, or update by smaller batches",
        ));
    }
    let mut ends = vec![0];
    let mut end = 0;
    for list in 1..=shape.n_lists {
        let fair = starts[n_rows] as usize * list / shape.n_lists;
        let balanced = starts.partition_point(|&start| (start as usize) < fair).min(n_rows);
        // What the later lists cannot hold must be in this one or before it.
        let least = n_rows.saturating_sub(most * (shape.n_lists - list)).max(end);
        end = balanced.clamp(least, least.max(n_rows.min(end + most)));
        ends.push(end);
    }
    Ok(ends)
}

/// Rows that the batch does not name, for the padding of all lists.
fn spare_rows(
    named: &[i32],
    shape: &UpdateShape,
    rows_per_list: usize,
) -> Result<Vec<i32>, Diagnostics> {
    let n_spare = shape.n_lists * rows_per_list - named.len();
    let mut named = named.iter().rev().peekable();
    // From the end, where arrays often have rows that no id names.
    let rows = (0..shape.table_rows as i32).rev();
    let spare: Vec<i32> =
        rows.filter(|row| named.next_if_eq(&row).is_none()).take(n_spare).collect();
    if spare.len() < n_spare {
        return Err(over_limit(
            format!(
                "{n_spare} rows are needed to pad {} lists of {rows_per_list}, and the batch leaves \
                 {} of {} alone",
                shape.n_lists,
                spare.len(),
                shape.table_rows
            ),
            "give the table's array more rows, or the update fewer or shorter lists",
        ));
    }
    Ok(spare)
}
