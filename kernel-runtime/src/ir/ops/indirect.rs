//! Indirect copies of a SparseCore: rows of a table that a list of ids names.

use super::memory::{Access, AccessDim};
use super::{InferError, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::{MemorySpace, Sizes, Type};

/// Which way rows move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the table to the subcore's own memory.
    Gather,
    /// From the subcore's own memory to the table.
    Scatter,
}

/// Both ends of an indirect copy, and the semaphore that counts it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Indirect {
    /// Which way.
    pub direction: Direction,
    /// The table, in HBM or Spmem. Its first kept axis is whole: ids number it.
    pub table: Access,
    /// The rows in TileSpmem: as many along the first kept axis as there are ids.
    pub rows: Access,
    /// The semaphore: it counts the bytes of all rows, those that are skipped included.
    pub semaphore: Access,
}

/// The start of an indirect copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndirectStart {
    /// Both ends.
    pub copy: Indirect,
    /// The part of TileSpmem that lists the ids; `None` if they are a tile.
    pub ids: Option<Access>,
    /// Whether what arrives is added to what is there. Each row is added as often as its id is
    /// listed, in no defined order.
    pub add: bool,
    /// Whether rows of one id are left out.
    pub skip: bool,
}

/// The operands of an indirect copy by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct IndirectOperands<'a, V> {
    /// The table.
    pub table: V,
    /// The rows.
    pub rows: V,
    /// The memory that lists the ids.
    pub ids: Option<V>,
    /// The semaphores.
    pub semaphore: V,
    /// The others.
    pub values: IndirectValues<'a, V>,
}

/// The operands of an indirect copy that are no references, by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct IndirectValues<'a, V> {
    /// Dynamic starts of the table.
    pub table: &'a [V],
    /// Dynamic starts of the rows.
    pub rows: &'a [V],
    /// Dynamic starts of the ids.
    pub ids: &'a [V],
    /// The index of the semaphore.
    pub semaphore: &'a [V],
    /// The ids, if they are a tile.
    pub tile: Option<V>,
    /// The id that is left out.
    pub skip: Option<V>,
}

/// An indirect copy where it is started, or waited for.
#[derive(Clone, Copy, Debug)]
pub enum IndirectRef<'o> {
    /// Where it is started.
    Start(&'o IndirectStart),
    /// Where it is waited for.
    Wait(&'o Indirect),
}

impl<'o> IndirectRef<'o> {
    /// Both ends.
    pub fn copy(self) -> &'o Indirect {
        match self {
            IndirectRef::Start(start) => &start.copy,
            IndirectRef::Wait(copy) => copy,
        }
    }

    fn start(self) -> Option<&'o IndirectStart> {
        match self {
            IndirectRef::Start(start) => Some(start),
            IndirectRef::Wait(_) => None,
        }
    }

    /// The part of memory that lists the ids.
    pub fn ids(self) -> Option<&'o Access> {
        self.start().and_then(|start| start.ids.as_ref())
    }

    /// The name in the text form.
    pub fn mnemonic(self) -> &'static str {
        match (self, self.copy().direction) {
            (IndirectRef::Start(_), Direction::Gather) => "gather_start",
            (IndirectRef::Wait(_), Direction::Gather) => "gather_wait",
            (IndirectRef::Start(_), Direction::Scatter) => "scatter_start",
            (IndirectRef::Wait(_), Direction::Scatter) => "scatter_wait",
        }
    }

    /// The operands by what they are for; `None` if there are more or fewer.
    pub fn split<'a, V: Copy>(self, operands: &'a [V]) -> Option<IndirectOperands<'a, V>> {
        let n_refs = 3 + usize::from(self.ids().is_some());
        let (refs, values) = operands.split_at_checked(n_refs)?;
        Some(IndirectOperands {
            table: *refs.first()?,
            rows: *refs.get(1)?,
            ids: self.ids().and_then(|_| refs.get(2).copied()),
            semaphore: *refs.last()?,
            values: self.split_values(values)?,
        })
    }

    /// The operands that are no references by what they are for; `None` if there are more or
    /// fewer.
    pub fn split_values<'a, V: Copy>(self, mut values: &'a [V]) -> Option<IndirectValues<'a, V>> {
        let mut take = |n: usize| {
            let (taken, rest) = values.split_at_checked(n)?;
            values = rest;
            Some(taken)
        };
        let copy = self.copy();
        let has_tile = self.start().is_some_and(|start| start.ids.is_none());
        let skips = self.start().is_some_and(|start| start.skip);
        let split = IndirectValues {
            table: take(copy.table.n_dynamic())?,
            rows: take(copy.rows.n_dynamic())?,
            ids: take(self.ids().map_or(0, Access::n_dynamic))?,
            semaphore: take(copy.semaphore.n_dynamic())?,
            tile: take(usize::from(has_tile))?.first().copied(),
            skip: take(usize::from(skips))?.first().copied(),
        };
        values.is_empty().then_some(split)
    }

    /// The type rule; see [`super::Op::infer`].
    pub(super) fn infer(self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        let Some(parts) = self.split(operands) else {
            return Err(InferError::ty(format!(
                "`{name}` was given {} operands, which do not fit its index and attributes",
                operands.len()
            )));
        };
        self.check_ends(&parts)?;
        self.check_ids(&parts)?;
        let copy = self.copy();
        super::dma::check_semaphore(
            name,
            &copy.semaphore,
            parts.semaphore,
            parts.values.semaphore,
        )?;
        match parts.values.skip {
            Some(skip) if *skip != Type::Scalar(DType::I32) => Err(InferError::ty(format!(
                "the id that `{name}` skips is an `i32` scalar, not `{skip}`"
            ))),
            _ => Ok(Results::new()),
        }
    }

    fn check_ends(self, parts: &IndirectOperands<'_, &Type>) -> Result<(), InferError> {
        let (name, copy) = (self.mnemonic(), self.copy());
        let in_table = |space: &MemorySpace| {
            matches!(space, MemorySpace::Hbm | MemorySpace::Any | MemorySpace::Spmem)
        };
        match parts.table {
            Type::Ref { space, .. } if in_table(space) => {}
            other => {
                return Err(InferError::ty(format!(
                    "the table of `{name}` lies in HBM or Spmem, not `{other}`"
                ))
                .help("ids choose rows of an array in HBM or of scratch in Spmem"));
            }
        }
        if !matches!(parts.rows, Type::Ref { space: MemorySpace::Vmem, .. }) {
            return Err(InferError::ty(format!(
                "the rows of `{name}` lie in the subcore's own memory, not `{}`",
                parts.rows
            ))
            .help("take them from `Buffers` or `Vmem`"));
        }
        if parts.table.dtype() != parts.rows.dtype() {
            return Err(InferError::ty(format!(
                "`{name}` copies bytes as they are, but the table has elements of `{}` and the \
                 rows of `{}`",
                parts.table.dtype(),
                parts.rows.dtype()
            )));
        }
        copy.table.check(name, parts.table, parts.values.table)?;
        copy.rows.check(name, parts.rows, parts.values.rows)?;
        let numbered = copy.table.dims.iter().zip(parts.table.shape()).find(|(dim, _)| dim.keep);
        match numbered {
            Some((dim, &size)) if *dim == AccessDim::full(size) => {}
            _ => {
                return Err(InferError::index(format!(
                    "`{name}` numbers the rows of an axis by ids: that axis is taken whole"
                ))
                .help("ids count from the first row of the table; add an offset to them"));
            }
        }
        let (table, rows) = (copy.table.tile_shape(), copy.rows.tile_shape());
        if rows.is_empty() || table[1..] != rows[1..] {
            return Err(InferError::shape(format!(
                "`{name}`: a row of the table is {}, but the rows are {}",
                Sizes(&table[1..]),
                Sizes(&rows)
            ))
            .help("rows have one axis more than a row of the table, the ids'"));
        }
        Ok(())
    }

    fn check_ids(self, parts: &IndirectOperands<'_, &Type>) -> Result<(), InferError> {
        let IndirectRef::Start(start) = self else { return Ok(()) };
        let name = self.mnemonic();
        let n_rows = start.copy.rows.tile_shape().first().copied().unwrap_or(0);
        let (what, shape) = match (&start.ids, parts.ids, parts.values.tile) {
            (Some(access), Some(ty), _) => {
                access.check(name, ty, parts.values.ids)?;
                if !matches!(ty, Type::Ref { space: MemorySpace::Vmem, .. }) {
                    return Err(InferError::ty(format!(
                        "the ids of `{name}` lie in the subcore's own memory, not `{ty}`"
                    ))
                    .help("copy them into `Buffers` or `Vmem` first"));
                }
                (ty, access.tile_shape())
            }
            (None, _, Some(ty)) if ty.is_tile() => (ty, ty.shape().iter().copied().collect()),
            _ => return Err(InferError::ty(format!("`{name}` takes ids, from memory or a tile"))),
        };
        if what.dtype() != DType::I32 {
            return Err(InferError::ty(format!("ids are `i32`, not `{}`", what.dtype())));
        }
        if shape[..] != [n_rows] {
            return Err(InferError::shape(format!(
                "`{name}` moves {n_rows} rows, but the ids are {}",
                Sizes(&shape)
            ))
            .help("give one id per row, in a list of one axis"));
        }
        Ok(())
    }
}
