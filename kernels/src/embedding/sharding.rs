//! Tables cut into shards by row number, modulo the number of shards.
//!
//! Ids that are asked for often tend to be neighbours (small ones, mostly), so that neighbours go to
//! different shards. The same cut serves cores that share a table, and a table that is too large
//! for one tensor.

use super::{Bags, Combiner};
use rayon::prelude::*;
use systole::diag::Diagnostics;
use systole::ir::{Array, DType};

/// The largest array that libtpu compiles a program for.
pub const TENSOR_LIMIT_BYTES: u64 = 16 << 30;

/// Row `r` of a table is row `r / n` of shard `r % n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharding {
    n_shards: u32,
}

impl Sharding {
    /// A cut into `n_shards` shards.
    ///
    /// # Errors
    /// If that is 0 or more than 65,536, the cores of the largest pod.
    pub fn new(n_shards: usize) -> Result<Sharding, Diagnostics> {
        match u32::try_from(n_shards) {
            Ok(n_shards) if (1..=1 << 16).contains(&n_shards) => Ok(Sharding { n_shards }),
            _ => Err(crate::refuse(
                format!("a table cannot be cut into {n_shards} shards"),
                "give between 1 and 65536",
            )),
        }
    }

    /// The fewest shards of a table of `rows` rows that each fit in `limit_bytes`; for one device
    /// that is [`TENSOR_LIMIT_BYTES`].
    ///
    /// # Errors
    /// If one row is larger than that, or more than 65,536 shards are needed.
    pub fn fitting(
        rows: usize,
        row_bytes: usize,
        limit_bytes: u64,
    ) -> Result<Sharding, Diagnostics> {
        let rows_per_shard = limit_bytes / (row_bytes as u64).max(1);
        if rows_per_shard == 0 {
            return Err(crate::refuse(
                format!("a row of {row_bytes} bytes is larger than the limit of {limit_bytes}"),
                "cut the table by columns",
            ));
        }
        Sharding::new((rows as u64).div_ceil(rows_per_shard).max(1) as usize)
    }

    /// Number of shards.
    pub fn n_shards(self) -> usize {
        self.n_shards as usize
    }

    /// Shard and row within it.
    pub fn locate(self, row: u32) -> (u32, u32) {
        // A shift is several times as fast as a division.
        if self.n_shards.is_power_of_two() {
            (row & (self.n_shards - 1), row >> self.n_shards.trailing_zeros())
        } else {
            (row % self.n_shards, row / self.n_shards)
        }
    }

    /// The row of the table at a place of a shard: the inverse of [`Sharding::locate`].
    pub fn row(self, shard: u32, local: u32) -> u32 {
        local * self.n_shards + shard
    }

    /// Rows of the first shard of a table of `rows` rows. Later ones may have one row less.
    pub fn rows_per_shard(self, rows: usize) -> usize {
        rows.div_ceil(self.n_shards())
    }

    /// A table `[rows, width]` as shards, all of [`Sharding::rows_per_shard`] rows; rows that the
    /// table does not have are zero.
    ///
    /// # Errors
    /// If the table does not have two axes.
    pub fn cut(self, table: &Array) -> Result<Vec<Array>, Diagnostics> {
        let (rows, row_bytes) = matrix(table)?;
        let shape = [self.rows_per_shard(rows), table.shape()[1]];
        let mut shards = vec![Array::zeros(table.dtype(), &shape); self.n_shards()];
        for (row, from) in (0..).zip(table.as_bytes().chunks_exact(row_bytes)) {
            let (shard, local) = self.locate(row);
            let to = local as usize * row_bytes;
            shards[shard as usize].as_bytes_mut()[to..][..row_bytes].copy_from_slice(from);
        }
        Ok(shards)
    }

    /// The table of `rows` rows that was cut into `shards`.
    ///
    /// # Errors
    /// If these are no shards of such a table.
    pub fn join(self, shards: &[Array], rows: usize) -> Result<Array, Diagnostics> {
        let expected = |width| [self.rows_per_shard(rows), width];
        let width = shards.first().and_then(|shard| shard.shape().get(1)).copied().unwrap_or(0);
        let dtype = shards.first().map_or(DType::F32, Array::dtype);
        let fits = |shard: &Array| shard.shape() == expected(width) && shard.dtype() == dtype;
        if shards.len() != self.n_shards() || !shards.iter().all(fits) {
            let found: Vec<&[usize]> = shards.iter().map(Array::shape).collect();
            let [rows_each, _] = expected(width);
            return Err(crate::refuse(
                format!(
                    "{rows} rows make {} shards of {rows_each} rows, not {found:?}",
                    self.n_shards
                ),
                "give the shards that `cut` gave",
            ));
        }
        let mut table = Array::zeros(dtype, &[rows, width]);
        let (_, row_bytes) = matrix(&table)?;
        for (row, to) in (0..).zip(table.as_bytes_mut().chunks_exact_mut(row_bytes)) {
            let (shard, local) = self.locate(row);
            let from = local as usize * row_bytes;
            to.copy_from_slice(&shards[shard as usize].as_bytes()[from..][..row_bytes]);
        }
        Ok(table)
    }
}

/// Rows of a matrix, and bytes per row.
pub(crate) fn matrix(table: &Array) -> Result<(usize, usize), Diagnostics> {
    match *table.shape() {
        [rows, width] if rows * width > 0 => Ok((rows, width * table.dtype().size_bytes())),
        ref shape => Err(crate::refuse(
            format!("a table has rows and columns, not the shape {shape:?}"),
            "give an array of shape [rows, width]",
        )),
    }
}

impl Bags {
    /// The bags by shard: part `s` has the ids on shard `s`, as rows of it. The rows of a bag,
    /// combined, are the sum over the shards of what each gives for its part.
    ///
    /// The parts are weighted by the gains of `combiner`, unless all those are 1.
    ///
    /// # Errors
    /// As [`Bags::gains`].
    pub fn by_shard(
        &self,
        combiner: Combiner,
        sharding: Sharding,
    ) -> Result<Vec<Bags>, Diagnostics> {
        let plain = combiner == Combiner::Sum && self.weights().is_none();
        let gains = if plain { None } else { Some(self.gains(combiner)?) };
        let part = |shard: u32| {
            let mut offsets = Vec::with_capacity(self.offsets().len());
            offsets.push(0);
            let (mut ids, mut weights) = (Vec::new(), Vec::new());
            for bag in 0..self.n_bags() {
                for at in self.range(bag) {
                    let (of, local) = sharding.locate(self.ids()[at] as u32);
                    if of == shard {
                        ids.push(local as i32);
                        weights.extend(gains.as_ref().map(|gains| gains[at]));
                    }
                }
                offsets.push(ids.len() as u32);
            }
            let rows = sharding.rows_per_shard(self.rows());
            Bags::from_parts(rows, offsets, ids, gains.as_ref().map(|_| weights))
        };
        Ok((0..sharding.n_shards).into_par_iter().map(part).collect())
    }
}
