//! Registers of a SparseCore: scans, sorts, and loads and stores by indices.

use super::buffers::Slot;
use super::context::{self, At, Handle, Tracer, with};
use super::convert::{IntoTile, Operand};
use super::handle::Tile;
use super::index::RefIndex;
use super::refs::{Memory, Vmem};
use crate::ir::ops::{Op, ScanKind, ShapeOp, SparseOp};
use crate::ir::{DType, Element, Num, Shape, Value};
use smallvec::SmallVec;
use std::panic::Location;

/// Waits until every subcore of the SparseCore has come to a barrier.
///
/// Every subcore must come to it as often as the others.
#[track_caller]
pub fn subcore_barrier() {
    let at = Location::caller();
    with(|t| t.push_all(Op::Sparse(SparseOp::Barrier), &[], &[], at));
}

/// Adds an op that may have several results.
fn emit<const N: usize>(op: SparseOp, operands: &[Handle], at: At) -> [Handle; N] {
    let handles = with(|t| {
        let values: Option<SmallVec<[Value; 4]>> =
            operands.iter().map(|&operand| t.operand(operand, at)).collect();
        let results = t.push_all(Op::Sparse(op), &values?, &[], at)?;
        Some(results.iter().map(|&value| t.handle(value)).collect::<SmallVec<[Handle; 3]>>())
    });
    let handles = handles.flatten().unwrap_or_default();
    std::array::from_fn(|idx| handles.get(idx).copied().unwrap_or(Handle::POISON))
}

macro_rules! scans {
    ($($name:ident $masked:ident $kind:ident $what:literal;)*) => {
        impl<T: Num> Tile<T> {$(
            #[doc = concat!("Element `n` is the ", $what, " of the elements up to `n`.")]
            ///
            /// # Types
            /// `i32`, `u32` and `f32`, one axis. What comes of NaN is not defined for the largest
            /// and smallest.
            #[track_caller]
            pub fn $name(self) -> Tile<T> {
                let op = SparseOp::Scan { kind: ScanKind::$kind, masked: false };
                let [result] = emit(op, &[self.handle], Location::caller());
                Tile::new(result)
            }

            #[doc = concat!("As [`Tile::", stringify!($name), "`], of the elements where the mask is true.")]
            /// Before the first of them a sum is 0, and the others are the element itself.
            #[track_caller]
            pub fn $masked(self, mask: Tile<bool>) -> Tile<T> {
                let op = SparseOp::Scan { kind: ScanKind::$kind, masked: true };
                let [result] = emit(op, &[self.handle, mask.handle], Location::caller());
                Tile::new(result)
            }
        )*}
    };
}
scans! {
    scan_sum scan_sum_masked Sum "sum";
    scan_max scan_max_masked Max "largest";
    scan_min scan_min_masked Min "smallest";
}

/// Keys and their values, sorted by the keys, the smallest first. Values of equal keys keep their order.
///
/// # Types
/// Both `i32`, `u32` or `f32`, one axis of one size. NaN has no place among keys.
#[track_caller]
pub fn sort<K: Num, V: Num>(keys: Tile<K>, values: Tile<V>) -> (Tile<K>, Tile<V>) {
    sort_by(keys, values, false, Location::caller())
}

/// As [`sort`], the largest key first.
#[track_caller]
pub fn sort_descending<K: Num, V: Num>(keys: Tile<K>, values: Tile<V>) -> (Tile<K>, Tile<V>) {
    sort_by(keys, values, true, Location::caller())
}

fn sort_by<K, V>(keys: Tile<K>, values: Tile<V>, descending: bool, at: At) -> (Tile<K>, Tile<V>) {
    let op = SparseOp::Sort { descending, masked: false };
    let [keys, values] = emit(op, &[keys.handle, values.handle], at);
    (Tile::new(keys), Tile::new(values))
}

/// As [`sort`], of the elements where the mask is true. The others go last, where they are
/// undefined; the mask that comes back is true where there are elements.
#[track_caller]
pub fn sort_masked<K: Num, V: Num>(
    keys: Tile<K>,
    values: Tile<V>,
    mask: Tile<bool>,
) -> (Tile<K>, Tile<V>, Tile<bool>) {
    let op = SparseOp::Sort { descending: false, masked: true };
    let operands = [keys.handle, values.handle, mask.handle];
    let [keys, values, mask] = emit(op, &operands, Location::caller());
    (Tile::new(keys), Tile::new(values), Tile::new(mask))
}

impl<T: Num> Tile<T> {
    /// The how-manieth of its value each element is, beginning with 1, and whether it is the last
    /// one: what a histogram adds, and where.
    ///
    /// # Types
    /// `i32`, `u32` and `f32`, one axis.
    #[track_caller]
    pub fn scan_count(self) -> (Tile<i32>, Tile<bool>) {
        let op = SparseOp::ScanCount { masked: false };
        let [counts, last] = emit(op, &[self.handle], Location::caller());
        (Tile::new(counts), Tile::new(last))
    }

    /// As [`Tile::scan_count`], of the elements where the mask is true. The number of another is
    /// undefined, and it is not the last one.
    #[track_caller]
    pub fn scan_count_masked(self, mask: Tile<bool>) -> (Tile<i32>, Tile<bool>) {
        let op = SparseOp::ScanCount { masked: true };
        let [counts, last] = emit(op, &[self.handle, mask.handle], Location::caller());
        (Tile::new(counts), Tile::new(last))
    }
}

impl Tile<bool> {
    /// How many elements are true, in every place.
    #[track_caller]
    pub fn count(self) -> Tile<i32> {
        let [result] = emit(SparseOp::MaskCount, &[self.handle], Location::caller());
        Tile::new(result)
    }

    /// The place of the first true element, or the number of elements if there is none; in every
    /// place.
    #[track_caller]
    pub fn first_true(self) -> Tile<i32> {
        let [result] = emit(SparseOp::MaskFirst, &[self.handle], Location::caller());
        Tile::new(result)
    }
}

/// What a load or store by indices does.
#[derive(Clone, Copy)]
struct ByIndex<'a> {
    memory: Memory,
    indices: &'a [Tile<i32>],
    mask: Option<Tile<bool>>,
}

impl ByIndex<'_> {
    /// The reference, and what comes after the value: an index per axis, then the mask.
    fn operands(self, t: &mut Tracer, at: At) -> Option<(Value, SmallVec<[Value; 8]>)> {
        let mut operands = SmallVec::new();
        let reference = t.operand(self.memory.reference, at)?;
        if let (Some(slot), Some(first)) = (self.memory.slot, self.indices.first()) {
            // The number of the buffer is one more index.
            let shape = t.shape(first.handle);
            let slot = t.operand(slot, at)?;
            operands.push(t.push(Op::Shape(ShapeOp::Splat(shape)), &[slot], at)?);
        }
        for index in self.indices {
            operands.push(t.operand(index.handle, at)?);
        }
        if let Some(mask) = self.mask {
            operands.push(t.operand(mask.handle, at)?);
        }
        Some((reference, operands))
    }

    fn load<T>(self, at: At) -> Tile<T> {
        Tile::new(context::make(|t| {
            let Some((reference, rest)) = self.operands(t, at) else { return Handle::POISON };
            let operands: SmallVec<[Value; 8]> = std::iter::once(reference).chain(rest).collect();
            let op = SparseOp::LoadIdx { masked: self.mask.is_some() };
            t.push(Op::Sparse(op), &operands, at).map_or(Handle::POISON, |value| t.handle(value))
        }))
    }

    fn store(self, value: Operand, dtype: DType, add: bool, at: At) {
        with(|t| {
            let (reference, rest) = self.operands(t, at)?;
            let shape: Shape = self.indices.first().map(|index| t.shape(index.handle))?;
            let value = t.value(value, dtype, at)?;
            let value = t.fit(value, &shape, at)?;
            let operands: SmallVec<[Value; 8]> =
                [reference, value].into_iter().chain(rest).collect();
            let op = SparseOp::StoreIdx { add, masked: self.mask.is_some() };
            t.push_all(Op::Sparse(op), &operands, &[], at)
        });
    }
}

/// The part of memory that a packed load or store begins at.
fn packed(
    memory: Memory,
    index: &dyn RefIndex,
    value: Option<(Operand, DType)>,
    mask: Tile<bool>,
    at: At,
) -> Handle {
    let parts = index.parts();
    context::make(|t| {
        let mut add = || {
            let taken = memory.taken(t, &parts, at)?;
            let reference = t.operand(memory.reference, at)?;
            let (access, starts) = t.known_access(&taken);
            let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(&[reference]);
            if let Some((value, dtype)) = value {
                let value = t.value(value, dtype, at)?;
                operands.push(t.fit(value, &access.tile_shape(), at)?);
            }
            operands.extend(starts);
            operands.push(t.operand(mask.handle, at)?);
            let op = match value {
                Some(_) => SparseOp::StoreCompressed { access },
                None => SparseOp::LoadExpanded { access },
            };
            let results = t.push_all(Op::Sparse(op), &operands, &[], at)?;
            results.first().copied()
        };
        let result = add();
        result.map_or(Handle::POISON, |value| t.handle(value))
    })
}

macro_rules! by_index {
    ($($name:ident)*) => {$(
        impl<T: Element> $name<T> {
            /// Element `n` is the one at element `n` of each index, of which there is one per axis:
            /// `x.load_idx(&[rows, columns])`.
            #[track_caller]
            pub fn load_idx(&self, indices: &[Tile<i32>]) -> Tile<T> {
                ByIndex { memory: self.memory(), indices, mask: None }.load(Location::caller())
            }

            /// As `load_idx` where the mask is true; the others are undefined.
            #[track_caller]
            pub fn load_idx_masked(&self, indices: &[Tile<i32>], mask: Tile<bool>) -> Tile<T> {
                let by_index = ByIndex { memory: self.memory(), indices, mask: Some(mask) };
                by_index.load(Location::caller())
            }

            /// Stores element `n` where element `n` of each index says. No place is there twice.
            #[track_caller]
            pub fn store_idx(&self, indices: &[Tile<i32>], value: impl IntoTile<T>) {
                let by_index = ByIndex { memory: self.memory(), indices, mask: None };
                by_index.store(value.operand(), T::DTYPE, false, Location::caller());
            }

            /// As `store_idx` where the mask is true.
            #[track_caller]
            pub fn store_idx_masked(
                &self,
                indices: &[Tile<i32>],
                value: impl IntoTile<T>,
                mask: Tile<bool>,
            ) {
                let by_index = ByIndex { memory: self.memory(), indices, mask: Some(mask) };
                by_index.store(value.operand(), T::DTYPE, false, Location::caller());
            }

            /// Adds element `n` to what is where element `n` of each index says, as often as a place
            /// is named.
            #[track_caller]
            pub fn add_idx(&self, indices: &[Tile<i32>], value: impl IntoTile<T>) {
                let by_index = ByIndex { memory: self.memory(), indices, mask: None };
                by_index.store(value.operand(), T::DTYPE, true, Location::caller());
            }

            /// As `add_idx` where the mask is true.
            #[track_caller]
            pub fn add_idx_masked(
                &self,
                indices: &[Tile<i32>],
                value: impl IntoTile<T>,
                mask: Tile<bool>,
            ) {
                let by_index = ByIndex { memory: self.memory(), indices, mask: Some(mask) };
                by_index.store(value.operand(), T::DTYPE, true, Location::caller());
            }

            /// Elements that follow each other in memory, each where the next true element of the mask
            /// is; the others are undefined.
            #[track_caller]
            pub fn load_expanded(&self, index: impl RefIndex, mask: Tile<bool>) -> Tile<T> {
                Tile::new(packed(self.memory(), &index, None, mask, Location::caller()))
            }

            /// Stores the elements where the mask is true, one after the other.
            #[track_caller]
            pub fn store_compressed(
                &self,
                index: impl RefIndex,
                value: impl IntoTile<T>,
                mask: Tile<bool>,
            ) {
                let value = Some((value.operand(), T::DTYPE));
                packed(self.memory(), &index, value, mask, Location::caller());
            }
        }
    )*};
}
by_index!(Vmem Slot);
