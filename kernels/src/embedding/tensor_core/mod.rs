//! Embedding lookups and updates on TensorCores: every TPU, and off TPUs by way of StableHLO.
//!
//! Ids are read from scalar memory, and each starts a copy of its row out of HBM; a ring of buffers
//! lets four units of rows be in flight or at work. Batches are prepared on the host:
//! [`BagLookup::batch`] and [`UpdateRows`] make the arrays that the kernels take, tables first.
//!
//! Scalar memory holds [`SMEM_WORDS`] words of ids and what goes with them, per call: larger batches
//! are cut, which [`Lookup`](super::Lookup) does. Tables are `f32` or `bf16`. Rows of `bf16` lie in
//! pairs, one word having an element of each, and no TPU copies half a word: their pair is fetched
//! and the row picked out of it, so that such a table has an even number of rows.
//!
//! Rows of a multiple of 128 elements are stored as they are; others are padded to that.

mod lookup;
mod rows;
mod step;
mod update;

pub use update::{Step, StepShape, UpdateRows};

use super::sparse_core::{self, floats, integers};
use super::{Bags, Combiner};
use rows::Ring;
use systole::diag::Diagnostics;
use systole::ir::{Array, DType, Kernel};
use systole::target::Target;

/// The words of scalar memory that ids, and what goes with them, may take in one call. libtpu
/// 0.0.51 accepts 261,000 of the 262,144 that there are, on v4, v5e, v5p, v6e and 7x.
pub const SMEM_WORDS: usize = 240 << 10;

/// Elements of a row of row-wise Adagrad's accumulator, all of which have its value: what a row
/// takes in HBM in any case.
pub const ROW_ACCUMULATOR_WIDTH: usize = 128;

/// Bytes of the buffers that rows are fetched into.
const BUFFER_BYTES: usize = 2 << 20;
/// Rows of a unit, at most and at least.
const UNIT_ROWS: std::ops::RangeInclusive<usize> = 16..=128;
/// Rows of a unit of ragged bags: at the end of each chunk of bags half of one is wasted.
const RAGGED_UNIT_ROWS: usize = 32;
/// Ragged bags of a grid step.
const CHUNK: usize = 64;

/// Elements of a type that share a word of 32 bits.
fn packing(dtype: DType) -> usize {
    4 / dtype.size_bytes().clamp(1, 4)
}

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableShape {
    /// Element type: `f32` or `bf16`.
    pub dtype: DType,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
}

impl TableShape {
    /// A table of `f32`.
    pub fn f32(rows: usize, width: usize) -> TableShape {
        TableShape { dtype: DType::F32, rows, width }
    }

    pub(super) fn check(&self) -> Result<(), Diagnostics> {
        crate::check_most(&[("elements of a row", self.width, crate::MAX_SIZE)])?;
        if self.rows == 0 || self.width == 0 || self.rows > crate::MAX_SIZE {
            let message =
                format!("a table of {} x {} has no rows to look up", self.rows, self.width);
            return Err(crate::refuse(message, "give it between 1 and 2^31 - 1 rows"));
        }
        if !matches!(self.dtype, DType::F32 | DType::BF16) {
            let message = format!("there is no lookup in a table of {}", self.dtype);
            return Err(crate::refuse(message, "use f32 or bf16"));
        }
        if !self.rows.is_multiple_of(packing(self.dtype)) {
            return Err(crate::refuse(
                format!("a table of {} rows of {} ends in half a pair", self.rows, self.dtype),
                "give the table one more row, which no id names",
            ));
        }
        if self.unit_rows() < *UNIT_ROWS.start() {
            return Err(crate::refuse(
                format!("rows of {} elements are too long to fetch 16 at a time", self.width),
                "cut the table by columns",
            ));
        }
        Ok(())
    }

    /// Rows of a unit: as many as the buffers have room for.
    fn unit_rows(&self) -> usize {
        // Every row of a pair takes room, and rows are padded to whole registers.
        let row_bytes = super::rounded(self.width, 128).saturating_mul(4 * rows::SLOTS);
        let fitting = BUFFER_BYTES / row_bytes;
        let fitting = if fitting == 0 { 0 } else { 1 << fitting.ilog2() };
        fitting.min(*UNIT_ROWS.end())
    }

    fn ring(&self, target: &Target) -> Ring {
        Ring { n_cores: n_cores(target), n_rows: self.unit_rows() }
    }

    /// The number of ids, or bags of a fixed length, that a kernel for this target takes for `n`:
    /// whole units, as many on each core.
    pub fn padded(&self, target: &Target, n: usize) -> usize {
        super::rounded(n, n_cores(target) * self.unit_rows().max(1))
    }

    /// The most ids, or bags of `hot` ids each, of one call.
    pub fn most_per_call(&self, target: &Target, hot: usize) -> usize {
        let step = self.padded(target, 1);
        (SMEM_WORDS / hot.max(1) / step).max(1) * step
    }
}

/// TensorCores that share the steps of a parallel axis.
fn n_cores(target: &Target) -> usize {
    target.chip.map_or(1, |chip| chip.n_cores)
}

fn check_words(n_words: usize) -> Result<(), Diagnostics> {
    if n_words <= SMEM_WORDS {
        return Ok(());
    }
    Err(super::over_limit(
        format!("{n_words} words of ids and the like do not fit the {SMEM_WORDS} of scalar memory"),
        "look them up in several batches",
    ))
}

/// Traces the lookup of `n_ids` rows: it takes `i32[n_ids]` and the table, and gives
/// `[n_ids, width]`. Ids are rows of the table: check them with [`super::RawBags::check`].
///
/// # Errors
/// If the number of ids is not [`TableShape::padded`], there are too many for one call, or the table
/// cannot be looked up.
pub fn gather(target: &Target, table: TableShape, n_ids: usize) -> Result<Kernel, Diagnostics> {
    table.check()?;
    check_padded(table.padded(target, n_ids), n_ids, "ids")?;
    check_words(n_ids)?;
    let TableShape { dtype, rows, width } = table;
    let ring = table.ring(target);
    crate::by_float!(dtype, T => {
        let inputs = [(DType::I32, &[n_ids][..]), (dtype, &[rows, width][..])];
        crate::trace(&lookup::gather_rows::<T>(ring), &inputs)
    })
}

fn check_padded(padded: usize, n: usize, what: &str) -> Result<(), Diagnostics> {
    if n > 0 && n == padded {
        return Ok(());
    }
    Err(crate::refuse(
        format!("{n} {what} are no whole units of work"),
        &format!("pad them to {padded}"),
    ))
}

/// How bags are laid out, and combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BagForm {
    /// All of one length, without weights.
    Fixed {
        /// Ids per bag.
        hot: usize,
        /// How rows are combined.
        combiner: Combiner,
    },
    /// Of any lengths.
    Ragged {
        /// The most ids of all bags together.
        n_ids: usize,
        /// How rows are combined.
        form: sparse_core::BagForm,
    },
}

impl BagForm {
    /// The form that combines bags as asked, with room for these.
    pub fn of(bags: &Bags, combiner: Combiner) -> BagForm {
        match (bags.fixed_hot(), bags.weights()) {
            (Some(hot), None) => BagForm::Fixed { hot, combiner },
            _ => BagForm::Ragged {
                n_ids: bags.ids().len(),
                form: sparse_core::BagForm::of(bags, combiner),
            },
        }
    }
}

/// A lookup of bags: its kernel, and the batches that it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BagLookup {
    table: TableShape,
    n_bags: usize,
    form: BagForm,
    ring: Ring,
}

impl BagLookup {
    /// A lookup of `n_bags` bags, [`BagLookup::padded`].
    ///
    /// # Errors
    /// If the number of bags is not padded, ids and factors are too many for one call, bags of a
    /// fixed length have no ids, or the table cannot be looked up.
    pub fn new(
        target: &Target,
        table: TableShape,
        n_bags: usize,
        form: BagForm,
    ) -> Result<BagLookup, Diagnostics> {
        table.check()?;
        check_padded(BagLookup::padded(target, table, n_bags, form), n_bags, "bags")?;
        let mut ring = table.ring(target);
        if let BagForm::Ragged { .. } = form {
            ring.n_rows = ring.n_rows.min(RAGGED_UNIT_ROWS);
        }
        let lookup = BagLookup { table, n_bags, form, ring };
        if let BagForm::Fixed { hot: 0, .. } = form {
            return Err(crate::refuse(
                "bags of no ids need no lookup".to_owned(),
                "give zeros, or a length of at least 1",
            ));
        }
        check_words(lookup.tables().iter().fold(0, |sum, (_, n)| n.saturating_add(sum)))?;
        Ok(lookup)
    }

    /// The number of bags that a kernel for this target takes for `n`.
    pub fn padded(target: &Target, table: TableShape, n: usize, form: BagForm) -> usize {
        match form {
            BagForm::Fixed { .. } => table.padded(target, n),
            BagForm::Ragged { .. } => super::rounded(n, n_cores(target) * CHUNK),
        }
    }

    /// Rows that ragged bags may fill, the waste at the end of each chunk included.
    fn n_places(&self, n_ids: usize) -> usize {
        let n_rows = self.ring.n_rows;
        n_ids.div_ceil(n_rows).saturating_add(self.n_bags / CHUNK).saturating_mul(n_rows)
    }

    /// Types and lengths of the arrays that it takes before the table.
    fn tables(&self) -> Vec<(DType, usize)> {
        match self.form {
            BagForm::Fixed { hot, .. } => vec![(DType::I32, hot.saturating_mul(self.n_bags))],
            BagForm::Ragged { n_ids, form } => {
                let n_places = self.n_places(n_ids);
                let n_factors = match form {
                    sparse_core::BagForm::Sum => 1,
                    sparse_core::BagForm::Scaled => self.n_bags,
                    sparse_core::BagForm::Weighted => n_places,
                };
                vec![
                    (DType::I32, self.n_bags / CHUNK + 1),
                    (DType::I32, n_places),
                    (DType::I32, n_places),
                    (DType::F32, n_factors),
                ]
            }
        }
    }

    /// Traces the kernel: it takes the arrays of a [`BagBatch`], then the table, and gives
    /// `[n_bags, width]`.
    ///
    /// # Errors
    /// If the shape makes no kernel.
    pub fn kernel(&self) -> Result<Kernel, Diagnostics> {
        let BagLookup { table: TableShape { dtype, rows, width }, form, ring, .. } = *self;
        let shapes: Vec<(DType, [usize; 1])> =
            self.tables().into_iter().map(|(dtype, n)| (dtype, [n])).collect();
        let tables = shapes.iter().map(|(dtype, shape)| (*dtype, &shape[..]));
        let table = [rows, width];
        let inputs: Vec<_> = tables.chain([(dtype, &table[..])]).collect();
        crate::by_float!(dtype, T => match form {
            BagForm::Fixed { hot, combiner } => {
                crate::trace(&lookup::sum_bags::<T>(ring, hot, combiner.gain(hot)), &inputs)
            }
            BagForm::Ragged { form, .. } => {
                crate::trace(&lookup::sum_ragged_bags::<T>(ring, CHUNK, form), &inputs)
            }
        })
    }

    /// Lays bags out for the kernel, the rest of its bags empty; empty bags give zeros. (Of a fixed
    /// length, the rest are bags of row 0.)
    ///
    /// # Errors
    /// As [`Bags::gains`]; if there are more bags or ids, or ids of another table; if the form is
    /// not theirs.
    pub fn batch(&self, bags: &Bags, combiner: Combiner) -> Result<BagBatch, Diagnostics> {
        super::check_rows(bags, self.table.rows)?;
        if bags.n_bags() > self.n_bags {
            return Err(super::over_limit(
                format!("{} bags do not fit {}", bags.n_bags(), self.n_bags),
                "look them up in several batches, or build the kernel for more",
            ));
        }
        match self.form {
            BagForm::Fixed { hot, combiner: own } => {
                let theirs = BagForm::of(bags, combiner);
                if theirs != (BagForm::Fixed { hot, combiner: own }) {
                    return Err(misfit(self.form, theirs));
                }
                Ok(BagBatch { tables: vec![integers(self.fixed(bags, hot))] })
            }
            BagForm::Ragged { n_ids, form } => self.ragged(bags, combiner, n_ids, form),
        }
    }

    /// Of each unit's bags the first id of all, then the second, and so on.
    fn fixed(&self, bags: &Bags, hot: usize) -> Vec<i32> {
        let n_rows = self.ring.n_rows;
        let mut ids = vec![0; hot * self.n_bags];
        for bag in 0..bags.n_bags() {
            let first = bag / n_rows * (hot * n_rows) + bag % n_rows;
            for (j, &id) in bags.bag(bag).iter().enumerate() {
                ids[first + j * n_rows] = id;
            }
        }
        ids
    }

    fn ragged(
        &self,
        bags: &Bags,
        combiner: Combiner,
        n_ids: usize,
        form: sparse_core::BagForm,
    ) -> Result<BagBatch, Diagnostics> {
        if bags.ids().len() > n_ids {
            return Err(super::over_limit(
                format!("{} ids do not fit a lookup of {n_ids}", bags.ids().len()),
                "look them up in several batches, or build the kernel for more",
            ));
        }
        if !form.serves(sparse_core::BagForm::of(bags, combiner)) {
            return Err(misfit(self.form, BagForm::of(bags, combiner)));
        }
        let (n_rows, n_places) = (self.ring.n_rows, self.n_places(n_ids));
        let weighted = form == sparse_core::BagForm::Weighted;
        let gains = bags.gains(combiner)?;
        let (mut starts, mut ids) = (vec![0], Vec::with_capacity(n_places));
        let (mut places, mut factors) = (Vec::with_capacity(n_places), Vec::new());
        for first in (0..self.n_bags).step_by(CHUNK) {
            for bag in first..(first + CHUNK).min(bags.n_bags()) {
                let range = bags.range(bag);
                ids.extend(&bags.ids()[range.clone()]);
                places.resize(ids.len(), (bag - first) as i32);
                match form {
                    sparse_core::BagForm::Sum => {}
                    // Those of a bag are equal.
                    sparse_core::BagForm::Scaled => {
                        factors.push(gains.get(range.start).copied().unwrap_or(0.0));
                    }
                    sparse_core::BagForm::Weighted => factors.extend(&gains[range]),
                }
            }
            // Whole units: the rest are rows of no bag.
            ids.resize(ids.len().next_multiple_of(n_rows), 0);
            places.resize(ids.len(), CHUNK as i32);
            if weighted {
                factors.resize(ids.len(), 0.0);
            }
            starts.push((ids.len() / n_rows) as i32);
        }
        ids.resize(n_places, 0);
        places.resize(n_places, CHUNK as i32);
        let n_factors = self.tables().last().map_or(1, |(_, n)| *n);
        factors.resize(n_factors, 0.0);
        let tables = vec![integers(starts), integers(ids), integers(places), floats(factors)];
        Ok(BagBatch { tables })
    }
}

fn misfit(own: BagForm, theirs: BagForm) -> Diagnostics {
    crate::refuse(
        format!("a lookup of form {own:?} cannot combine bags of form {theirs:?}"),
        "build the kernel for the form of the bags: `BagForm::of`",
    )
}

/// A batch of bags as the kernel of a [`BagLookup`] takes it: the arrays before the table.
#[derive(Clone, Debug, PartialEq)]
pub struct BagBatch {
    /// Ids, and what goes with them.
    pub tables: Vec<Array>,
}
