//! Bags of ids: what a batch looks up in a table.
//!
//! [`RawBags`] borrows what a caller has; [`RawBags::check`] turns it into [`Bags`], in which every
//! id is a row of the table. All that follows takes `Bags` and need not check again.

use super::{OutOfRange, bad_bags};
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;
use systole::diag::{Code, Diagnostic, Diagnostics};

/// Ids per task of a parallel loop.
pub(crate) const CHUNK: usize = 1 << 16;

/// An integer that a caller may have ids or offsets in.
pub trait Id: Copy + Send + Sync + fmt::Display {
    /// Its value; one beyond `i64` counts as the largest `i64`, which no table reaches.
    fn to_i64(self) -> i64;
}

macro_rules! ids {
    ($($ty:ty),*) => {
        $(impl Id for $ty {
            fn to_i64(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        })*
    };
}
ids!(i32, u32, i64, u64, usize);

/// Where bags begin and end in a list of ids.
#[derive(Clone, Copy, Debug)]
enum Layout<'a, O> {
    Fixed { hot: usize },
    Ragged { offsets: &'a [O] },
}

/// Bags as a caller has them, not yet looked at.
///
/// ```
/// use systole_kernels::embedding::{OutOfRange, RawBags};
///
/// // Three bags: [7, 1], [], [4]; the table has 8 rows.
/// let bags = RawBags::ragged(&[7, 1, 4], &[0, 2, 2, 3]).check(8, OutOfRange::Error)?;
/// assert_eq!(bags.n_bags(), 3);
/// assert_eq!(bags.bag(0), [7, 1]);
/// // Two bags of two ids each, with a weight per id.
/// let bags = RawBags::fixed(&[7_i64, 1, 4, 4], 2).weights(&[0.5, 1.0, 1.0, 2.0]);
/// assert_eq!(bags.check(8, OutOfRange::Error)?.fixed_hot(), Some(2));
/// # Ok::<(), systole::diag::Diagnostics>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RawBags<'a, I, O = u32> {
    ids: &'a [I],
    layout: Layout<'a, O>,
    weights: Option<&'a [f32]>,
}

impl<'a, I: Id> RawBags<'a, I> {
    /// Bags of `hot` ids each, one after the other.
    pub fn fixed(ids: &'a [I], hot: usize) -> RawBags<'a, I> {
        RawBags { ids, layout: Layout::Fixed { hot }, weights: None }
    }
}

impl<'a, I: Id, O: Id> RawBags<'a, I, O> {
    /// Bag `i` is `ids[offsets[i]..offsets[i + 1]]`: there is one offset more than bags.
    pub fn ragged(ids: &'a [I], offsets: &'a [O]) -> RawBags<'a, I, O> {
        RawBags { ids, layout: Layout::Ragged { offsets }, weights: None }
    }

    /// A weight for each id.
    pub fn weights(mut self, weights: &'a [f32]) -> RawBags<'a, I, O> {
        self.weights = Some(weights);
        self
    }

    /// Checks the bags against a table of `rows` rows.
    ///
    /// # Errors
    /// If the offsets fall, do not begin at 0 or do not end at the number of ids; if there are not
    /// as many weights as ids, or one is not finite; if an id is no row and `out_of_range` does not
    /// allow that; if the table has no row, or more than `i32` ids can name.
    pub fn check(self, rows: usize, out_of_range: OutOfRange) -> Result<Bags, Diagnostics> {
        if rows == 0 || rows > i32::MAX as usize {
            let message = format!("a table of {rows} rows cannot be looked up with `i32` ids");
            return Err(crate::refuse(message, "give it between 1 and 2^31 - 1 rows"));
        }
        let offsets = self.checked_offsets()?;
        if let Some(weights) = self.weights {
            check_weights(weights, self.ids.len())?;
        }
        let (ids, n_out_of_range) = clamped(self.ids, rows);
        let hot = match self.layout {
            Layout::Fixed { hot } => Some(hot),
            Layout::Ragged { .. } => None,
        };
        let weights = self.weights.map(<[f32]>::to_vec);
        let bags = Bags { rows, hot, offsets, ids, weights, n_out_of_range };
        match out_of_range {
            _ if n_out_of_range == 0 => Ok(bags),
            OutOfRange::Clamp => Ok(bags),
            OutOfRange::Drop => Ok(bags.without(|at| outside(self.ids[at], rows))),
            OutOfRange::Error => Err(self.out_of_range(&bags)),
        }
    }

    fn checked_offsets(&self) -> Result<Vec<u32>, Diagnostics> {
        let n_ids = self.ids.len();
        if n_ids > i32::MAX as usize {
            return Err(bad_bags(
                format!("{n_ids} ids are more than 2^31 - 1"),
                "look them up in several batches",
            ));
        }
        match self.layout {
            Layout::Fixed { hot } if hot == 0 || !n_ids.is_multiple_of(hot) => Err(bad_bags(
                format!("{n_ids} ids make no bags of {hot} ids each"),
                "give a length of at least 1 that divides the number of ids, or offsets",
            )),
            Layout::Fixed { hot } => Ok((0..=n_ids).step_by(hot).map(|at| at as u32).collect()),
            Layout::Ragged { offsets } => ragged_offsets(offsets, n_ids),
        }
    }

    fn out_of_range(&self, bags: &Bags) -> Diagnostics {
        let (rows, n_bad) = (bags.rows, bags.n_out_of_range);
        let at = self.ids.iter().position(|&id| outside(id, rows)).unwrap_or(0);
        let bag = bags.offsets.partition_point(|&start| start as usize <= at) - 1;
        let message = format!(
            "id {} of bag {bag} is no row of a table of {rows} rows; of {} ids, {n_bad} are none",
            self.ids[at],
            self.ids.len(),
        );
        Diagnostic::error(Code::EMBEDDING_ID_RANGE, message)
            .help("give ids in 0..rows, or say `OutOfRange::Clamp` or `OutOfRange::Drop`")
            .into()
    }
}

fn outside<I: Id>(id: I, rows: usize) -> bool {
    !(0..rows as i64).contains(&id.to_i64())
}

/// The ids, those outside moved to the nearest row, and how many those are.
fn clamped<I: Id>(ids: &[I], rows: usize) -> (Vec<i32>, usize) {
    let last = rows as i64 - 1;
    let mut result = vec![0; ids.len()];
    let chunks = result.par_chunks_mut(CHUNK).zip(ids.par_chunks(CHUNK));
    let n_out_of_range = chunks.map(|(to, from)| {
        let mut n_moved = 0;
        for (to, from) in to.iter_mut().zip(from) {
            let (id, row) = (from.to_i64(), from.to_i64().clamp(0, last));
            n_moved += usize::from(id != row);
            *to = row as i32;
        }
        n_moved
    });
    let n_out_of_range = n_out_of_range.sum();
    (result, n_out_of_range)
}

fn ragged_offsets<O: Id>(offsets: &[O], n_ids: usize) -> Result<Vec<u32>, Diagnostics> {
    let help = "bag i is ids[offsets[i]..offsets[i + 1]]: give 0, then where each bag ends";
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return Err(bad_bags("there are no offsets, not even the leading 0".to_owned(), help));
    };
    if first.to_i64() != 0 || last.to_i64() != n_ids as i64 {
        let message = format!("offsets go from {first} to {last}, but ids from 0 to {n_ids}");
        return Err(bad_bags(message, help));
    }
    if let Some(bag) = offsets.windows(2).position(|pair| pair[0].to_i64() > pair[1].to_i64()) {
        let (start, end) = (offsets[bag], offsets[bag + 1]);
        return Err(bad_bags(format!("bag {bag} begins at {start} and ends at {end}"), help));
    }
    // They rise from 0 to the number of ids, which fits.
    Ok(offsets.iter().map(|offset| offset.to_i64() as u32).collect())
}

fn check_weights(weights: &[f32], n_ids: usize) -> Result<(), Diagnostics> {
    if weights.len() != n_ids {
        let message = format!("there are {} weights for {n_ids} ids", weights.len());
        return Err(bad_bags(message, "give one weight per id, or none at all"));
    }
    match weights.iter().position(|weight| !weight.is_finite()) {
        None => Ok(()),
        Some(at) => Err(bad_bags(
            format!("weight {at} is {}", weights[at]),
            "give finite weights; one of 0 takes an id out of its bag",
        )),
    }
}

/// Bags of ids, each id a row of the table: a matrix in CSR form, samples by rows of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Bags {
    rows: usize,
    hot: Option<usize>,
    /// One more than bags.
    offsets: Vec<u32>,
    ids: Vec<i32>,
    weights: Option<Vec<f32>>,
    n_out_of_range: usize,
}

impl Bags {
    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of bags: samples of the batch.
    pub fn n_bags(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The length that all bags were made with, unless they are ragged. Bags out of which ids were
    /// dropped are ragged.
    pub fn fixed_hot(&self) -> Option<usize> {
        self.hot
    }

    /// Length of the longest bag.
    pub fn max_hot(&self) -> usize {
        let lengths = self.offsets.windows(2).map(|pair| pair[1] - pair[0]);
        self.hot.unwrap_or_else(|| lengths.max().unwrap_or(0) as usize)
    }

    /// Where bags begin: one more than bags, the last is the number of ids.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// All ids, bag after bag, each in `0..rows`.
    pub fn ids(&self) -> &[i32] {
        &self.ids
    }

    /// The weight of each id; without weights all are 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// How many ids were out of range, and so clamped or dropped.
    pub fn n_out_of_range(&self) -> usize {
        self.n_out_of_range
    }

    /// Where bag `bag` lies among the ids.
    ///
    /// # Panics
    /// If there is no such bag, as an index into a slice does.
    pub fn range(&self, bag: usize) -> Range<usize> {
        self.offsets[bag] as usize..self.offsets[bag + 1] as usize
    }

    /// The ids of a bag.
    ///
    /// # Panics
    /// If there is no such bag, as an index into a slice does.
    pub fn bag(&self, bag: usize) -> &[i32] {
        &self.ids[self.range(bag)]
    }

    /// The bag of each id.
    pub fn samples(&self) -> Vec<u32> {
        let mut samples = Vec::with_capacity(self.ids.len());
        for (bag, pair) in (0..).zip(self.offsets.windows(2)) {
            samples.resize(pair[1] as usize, bag);
        }
        samples
    }

    /// The same bags with other weights.
    ///
    /// # Errors
    /// If there are not as many as ids, or one is not finite.
    pub fn with_weights(mut self, weights: Vec<f32>) -> Result<Bags, Diagnostics> {
        check_weights(&weights, self.ids.len())?;
        self.weights = Some(weights);
        Ok(self)
    }

    /// Bags that were made from checked ones: `ids` are rows of a table of `rows`, `offsets` rise
    /// from 0 to their number.
    pub(crate) fn from_parts(
        rows: usize,
        offsets: Vec<u32>,
        ids: Vec<i32>,
        weights: Option<Vec<f32>>,
    ) -> Bags {
        Bags { rows, hot: None, offsets, ids, weights, n_out_of_range: 0 }
    }

    /// Some of the bags, one after the other.
    pub(crate) fn part(&self, bags: Range<usize>) -> Bags {
        let offsets = &self.offsets[bags.start..=bags.end];
        let (start, end) = (offsets[0], offsets[bags.len()]);
        let ids = start as usize..end as usize;
        Bags {
            rows: self.rows,
            hot: self.hot,
            offsets: offsets.iter().map(|offset| offset - start).collect(),
            ids: self.ids[ids.clone()].to_vec(),
            weights: self.weights.as_ref().map(|weights| weights[ids].to_vec()),
            n_out_of_range: self.n_out_of_range,
        }
    }

    /// The bags without the ids at some positions.
    fn without(mut self, leave_out: impl Fn(usize) -> bool) -> Bags {
        let (mut n_kept, mut end) = (0, 0);
        for bag in 0..self.n_bags() {
            let range = end..self.offsets[bag + 1] as usize;
            end = range.end;
            for at in range.filter(|&at| !leave_out(at)) {
                self.ids[n_kept] = self.ids[at];
                if let Some(weights) = &mut self.weights {
                    weights[n_kept] = weights[at];
                }
                n_kept += 1;
            }
            self.offsets[bag + 1] = n_kept as u32;
        }
        self.ids.truncate(n_kept);
        if let Some(weights) = &mut self.weights {
            weights.truncate(n_kept);
        }
        Bags { hot: None, ..self }
    }
}
