//! Tables of one width stacked into one, so that one lookup serves many of them.
//!
//! A stack of `S` shards gives each table a run of rows, a multiple of `8 S` long, and turns the ids
//! of each table by a number of shards of its own: small tables, which have rows for the first few
//! shards alone, would otherwise all burden those.

use super::sharding::matrix;
use super::{Bags, Combiner};
use systole::diag::Diagnostics;
use systole::ir::{Array, DType};

/// A table to stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, for messages.
    pub name: String,
    /// Rows.
    pub rows: usize,
    /// Columns, of `f32`.
    pub width: usize,
}

/// How large a stack may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackLimits {
    /// Bytes of one shard of the stack.
    pub shard_bytes: u64,
    /// Bytes of the combined rows of one core's samples, for all tables of the stack.
    pub activation_bytes: u64,
    /// Samples per core.
    pub samples_per_core: usize,
}

/// A table within a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackedTable {
    /// Its place in the list that was stacked.
    pub table: usize,
    /// Its own rows.
    pub rows: usize,
    /// Its own columns; the stack may have more.
    pub width: usize,
    /// Where its rows begin in the stack, a multiple of 8 times the number of shards.
    pub offset: usize,
    /// By how many shards its ids are turned.
    pub shift: usize,
}

/// Tables that lie in one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Columns: those of its tables, rounded up to a multiple of 8.
    pub width: usize,
    /// Number of shards, a power of two.
    pub n_shards: usize,
    /// Rows of all tables with what pads them.
    pub rows: usize,
    /// The tables, in order.
    pub tables: Vec<StackedTable>,
}

impl Stack {
    /// Stacks tables: those of one width, in the order given, until a limit is reached.
    ///
    /// # Errors
    /// If the number of shards is no power of two, a table has no elements, or one alone exceeds a
    /// limit.
    pub fn plan(
        tables: &[Table],
        n_shards: usize,
        limits: &StackLimits,
    ) -> Result<Vec<Stack>, Diagnostics> {
        if !n_shards.is_power_of_two() || n_shards > 1 << 16 {
            return Err(crate::refuse(
                format!("ids cannot be turned among {n_shards} shards"),
                "stack for a power of two of shards, at most 65536",
            ));
        }
        let mut stacks: Vec<Stack> = Vec::new();
        for (idx, table) in tables.iter().enumerate() {
            if table.rows == 0 || table.width == 0 {
                let Table { name, rows, width } = table;
                let message = format!("table `{name}` has {rows} rows of {width} columns");
                return Err(crate::refuse(message, "leave tables without elements out"));
            }
            crate::check_most(&[
                ("columns of a table", table.width, crate::MAX_SIZE),
                ("rows of a table", table.rows, crate::MAX_SIZE),
            ])?;
            let width = table.width.next_multiple_of(8);
            // Only the last stack of a width has room: tables are taken in order.
            let open = stacks.iter_mut().rev().find(|stack| stack.width == width);
            if let Some(stack) = open
                && stack.with(idx, table).is_within(limits)
            {
                *stack = stack.with(idx, table);
                continue;
            }
            let stack = Stack { width, n_shards, rows: 0, tables: Vec::new() }.with(idx, table);
            if !stack.is_within(limits) {
                return Err(stack.too_large(table, limits));
            }
            stacks.push(stack);
        }
        Ok(stacks)
    }

    fn with(&self, table: usize, Table { rows, width, .. }: &Table) -> Stack {
        let mut stack = self.clone();
        // Each table begins on the shard after the one before it ended on, so that rows spread
        // evenly whatever the sizes.
        let rows_before: usize = self.tables.iter().map(|table| table.rows).sum();
        stack.tables.push(StackedTable {
            table,
            rows: *rows,
            width: *width,
            offset: self.rows,
            shift: rows_before % self.n_shards,
        });
        stack.rows += rows.next_multiple_of(8 * self.n_shards);
        stack
    }

    fn shard_bytes(&self) -> u64 {
        ((self.rows / self.n_shards) as u64).saturating_mul(4 * self.width as u64)
    }

    fn activation_bytes(&self, samples_per_core: usize) -> u64 {
        let sizes = [samples_per_core, self.tables.len(), self.width];
        sizes.iter().fold(4, |n, &size| n.saturating_mul(size as u64))
    }

    fn is_within(&self, limits: &StackLimits) -> bool {
        self.rows <= i32::MAX as usize
            && self.shard_bytes() <= limits.shard_bytes
            && self.activation_bytes(limits.samples_per_core) <= limits.activation_bytes
    }

    fn too_large(&self, table: &Table, limits: &StackLimits) -> Diagnostics {
        let Table { name, rows, width } = table;
        let activations = self.activation_bytes(limits.samples_per_core);
        super::over_limit(
            format!(
                "table `{name}` of {rows} rows of {width} columns takes {} bytes per shard of {} and \
                 {activations} bytes per core for its results, the limits are {} and {}",
                self.shard_bytes(),
                self.n_shards,
                limits.shard_bytes,
                limits.activation_bytes
            ),
            "raise the limits, or use more shards and fewer samples per core",
        )
    }

    /// The row of the stack that has row `id` of its table number `at`.
    pub fn row(&self, at: usize, id: u32) -> u32 {
        let StackedTable { offset, shift, .. } = self.tables[at];
        let low = self.n_shards as u32 - 1;
        ((id + shift as u32) & low) + (id & !low) + offset as u32
    }

    /// The table (by its place in the stack) and the id of a row of the stack, unless that row only
    /// pads.
    pub fn origin(&self, row: u32) -> Option<(usize, u32)> {
        let after = self.tables.partition_point(|table| table.offset <= row as usize);
        let at = after.checked_sub(1)?;
        let StackedTable { rows, offset, shift, .. } = self.tables[at];
        let (row, low) = (row - offset as u32, self.n_shards as u32 - 1);
        let id = (row.wrapping_sub(shift as u32) & low) + (row & !low);
        ((id as usize) < rows).then_some((at, id))
    }

    /// The tables as one array `[rows, width]`; rows and columns that only pad are zero.
    ///
    /// # Errors
    /// If `tables`, in the order of the stack, are not `f32` arrays of its tables' shapes.
    pub fn assemble(&self, tables: &[&Array]) -> Result<Array, Diagnostics> {
        let found: Vec<_> = tables.iter().map(|table| (table.dtype(), table.shape())).collect();
        let fits = |(found, table): (&(DType, &[usize]), &StackedTable)| {
            *found == (DType::F32, &[table.rows, table.width][..])
        };
        if found.len() != self.tables.len() || !found.iter().zip(&self.tables).all(fits) {
            let expected: Vec<_> = self.tables.iter().map(|t| [t.rows, t.width]).collect();
            return Err(crate::refuse(
                format!("the stack is of tables of f32 {expected:?}, but {found:?} are given"),
                "give the tables in the stack's order",
            ));
        }
        let mut stack = Array::zeros(DType::F32, &[self.rows, self.width]);
        let to = stack.as_bytes_mut();
        for (at, table) in tables.iter().enumerate() {
            let (_, row_bytes) = matrix(table)?;
            for (id, from) in (0..).zip(table.as_bytes().chunks_exact(row_bytes)) {
                let start = self.row(at, id) as usize * self.width * 4;
                to[start..][..row_bytes].copy_from_slice(from);
            }
        }
        Ok(stack)
    }

    /// The tables out of a stack: the inverse of [`Stack::assemble`].
    ///
    /// # Errors
    /// If the array is not `f32[rows, width]`.
    pub fn take_apart(&self, stack: &Array) -> Result<Vec<Array>, Diagnostics> {
        if stack.dtype() != DType::F32 || stack.shape() != [self.rows, self.width] {
            let (dtype, shape) = (stack.dtype(), stack.shape());
            let expected = [self.rows, self.width];
            return Err(crate::refuse(
                format!("the stack is f32{expected:?}, not {dtype}{shape:?}"),
                "give the array that `assemble` gave, or an update of it",
            ));
        }
        let from = stack.as_bytes();
        let table = |(at, table): (usize, &StackedTable)| {
            let mut array = Array::zeros(DType::F32, &[table.rows, table.width]);
            for (id, to) in (0..).zip(array.as_bytes_mut().chunks_exact_mut(table.width * 4)) {
                let start = self.row(at, id) as usize * self.width * 4;
                to.copy_from_slice(&from[start..][..to.len()]);
            }
            array
        };
        Ok(self.tables.iter().enumerate().map(table).collect())
    }

    /// The batches of all tables as one batch of the stack, for samples that `n_cores` cores share.
    ///
    /// Each core's bags lie together: for its first table those of its samples, then for the next.
    /// Bag `s` of table `t` is bag `(core * n_tables + t) * n + s % n` of the result, where `n` is
    /// the number of samples per core and `core = s / n`. Bags are weighted by the gains of their
    /// combiner, unless all those are 1.
    ///
    /// # Errors
    /// If there is not one batch per table, each with the table's rows and the same number of bags,
    /// which the cores share evenly; or as [`Bags::gains`].
    pub fn bags(&self, batches: &[(&Bags, Combiner)], n_cores: usize) -> Result<Bags, Diagnostics> {
        let n_bags = self.check_batches(batches, n_cores)?;
        let plain = |(bags, combiner): &(&Bags, Combiner)| {
            *combiner == Combiner::Sum && bags.weights().is_none()
        };
        let gains: Option<Vec<Vec<f32>>> = if batches.iter().all(plain) {
            None
        } else {
            let gains = batches.iter().map(|(bags, combiner)| bags.gains(*combiner));
            Some(gains.collect::<Result<_, _>>()?)
        };
        let n_ids = batches.iter().map(|(bags, _)| bags.ids().len()).sum();
        let mut offsets = Vec::with_capacity(n_bags * batches.len() + 1);
        offsets.push(0);
        let mut ids = Vec::with_capacity(n_ids);
        let mut weights = Vec::with_capacity(if gains.is_some() { n_ids } else { 0 });
        let n_per_core = n_bags / n_cores;
        for core in 0..n_cores {
            for (at, (bags, _)) in batches.iter().enumerate() {
                for bag in core * n_per_core..(core + 1) * n_per_core {
                    let range = bags.range(bag);
                    let from = &bags.ids()[range.clone()];
                    ids.extend(from.iter().map(|&id| self.row(at, id as u32) as i32));
                    if let Some(gains) = &gains {
                        weights.extend(&gains[at][range]);
                    }
                    offsets.push(ids.len() as u32);
                }
            }
        }
        Ok(Bags::from_parts(self.rows, offsets, ids, gains.map(|_| weights)))
    }

    fn check_batches(
        &self,
        batches: &[(&Bags, Combiner)],
        n_cores: usize,
    ) -> Result<usize, Diagnostics> {
        let n_bags = batches.first().map_or(0, |(bags, _)| bags.n_bags());
        let found: Vec<_> = batches.iter().map(|(bags, _)| (bags.rows(), bags.n_bags())).collect();
        let expected: Vec<_> = self.tables.iter().map(|table| (table.rows, n_bags)).collect();
        if found != expected || n_cores == 0 || !n_bags.is_multiple_of(n_cores) {
            return Err(super::bad_bags(
                format!(
                    "(rows, bags) of the batches are {found:?}, but {expected:?} are needed, and \
                     {n_cores} cores share them"
                ),
                "give a batch per table, in the stack's order, for the same number of samples, a \
                 multiple of the number of cores",
            ));
        }
        let n_ids: usize = batches.iter().map(|(bags, _)| bags.ids().len()).sum();
        if n_ids > i32::MAX as usize {
            let message = format!("the batches have {n_ids} ids, more than 2^31 - 1");
            return Err(super::bad_bags(message, "use smaller batches"));
        }
        Ok(n_bags)
    }
}
