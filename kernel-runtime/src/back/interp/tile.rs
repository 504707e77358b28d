//! Values at run time: scalars, and tiles with an optional poison mask.
//!
//! Floats of every type are held as `f32` that are exact in their type, integers as `i32` bits
//! (narrow types extended by their sign rule, `u32` as its bits), truth values as bytes 0 and 1.
//! A tile whose elements are all defined carries no mask, so that clean code pays nothing for
//! the check.

use super::memory;
use crate::ir::{DType, LocId};
use std::sync::Arc;

/// Why an element is undefined: an index into the executor's table of origins; 0 is defined.
pub(super) type PoisonId = u16;

/// The elements of a tile or of memory, shared until somebody writes.
#[derive(Clone, Debug)]
pub(super) enum Data {
    /// Any float type.
    F32(Arc<Vec<f32>>),
    /// Any integer type.
    I32(Arc<Vec<i32>>),
    /// Truth values.
    U8(Arc<Vec<u8>>),
}

/// How a type's elements are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// [`Data::F32`].
    Float,
    /// [`Data::I32`].
    Int,
    /// [`Data::U8`].
    Bool,
}

impl Storage {
    /// The bytes of an element held this way.
    pub(super) fn element_bytes(self) -> u64 {
        match self {
            Storage::Float | Storage::Int => 4,
            Storage::Bool => 1,
        }
    }

    /// How elements of this type are held.
    pub(super) fn of(dtype: DType) -> Storage {
        if dtype.is_float() {
            Storage::Float
        } else if dtype == DType::Bool {
            Storage::Bool
        } else {
            Storage::Int
        }
    }
}

/// The mathematical value of held integer bits.
#[inline(always)]
pub(super) fn decode_int(dtype: DType, bits: i32) -> i64 {
    if dtype == DType::U32 { i64::from(bits as u32) } else { i64::from(bits) }
}

/// The held bits of a mathematical integer, wrapped to its type.
#[inline(always)]
pub(super) fn encode_int(dtype: DType, value: i64) -> i32 {
    dtype.wrap_int(value) as i32
}

/// Which elements are undefined, and why.
#[derive(Clone, Debug)]
pub(super) enum Poison {
    /// All of them, for one reason.
    Uniform(PoisonId),
    /// Per element.
    Each(Arc<Vec<PoisonId>>),
}

impl Poison {
    /// A mask of these ids; `None` if they are all 0.
    pub(super) fn from_ids(ids: Vec<PoisonId>) -> Option<Poison> {
        ids.iter().any(|&id| id != 0).then(|| Poison::Each(Arc::new(ids)))
    }

    /// The id of an element.
    pub(super) fn get(&self, idx: usize) -> PoisonId {
        match self {
            Poison::Uniform(id) => *id,
            Poison::Each(ids) => ids[idx],
        }
    }

    /// The ids of `n` elements.
    pub(super) fn to_ids(&self, n: usize) -> Vec<PoisonId> {
        match self {
            Poison::Uniform(id) => vec![*id; n],
            Poison::Each(ids) => ids.to_vec(),
        }
    }

    /// The first undefined element's id, and how many there are.
    pub(super) fn any(&self) -> PoisonId {
        match self {
            Poison::Uniform(id) => *id,
            Poison::Each(ids) => ids.iter().copied().find(|&id| id != 0).unwrap_or(0),
        }
    }

    /// The mask of a result whose every element comes from the same elements of two operands.
    pub(super) fn merge(lhs: Option<Poison>, rhs: Option<Poison>) -> Option<Poison> {
        match (lhs, rhs) {
            (None, other) | (other, None) => other,
            (Some(Poison::Uniform(id)), Some(_)) | (Some(_), Some(Poison::Uniform(id))) => {
                Some(Poison::Uniform(id))
            }
            (Some(Poison::Each(lhs)), Some(Poison::Each(rhs))) => {
                let ids =
                    lhs.iter().zip(rhs.iter()).map(|(&a, &b)| if a == 0 { b } else { a }).collect();
                Poison::from_ids(ids)
            }
        }
    }

    /// The mask of elements copied from place to place; `None` if the part is clean.
    pub(super) fn copied(&self, n_to: usize, copy: &memory::Copy) -> Option<Poison> {
        match self {
            Poison::Uniform(id) => Some(Poison::Uniform(*id)),
            Poison::Each(ids) => {
                let mut to = vec![0; n_to];
                copy.run(ids, &mut to);
                Poison::from_ids(to)
            }
        }
    }
}

/// A tile. Its shape and element type are the plan's.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    /// The elements, row-major.
    pub(super) data: Data,
    /// Which are undefined.
    pub(super) poison: Option<Poison>,
}

/// The value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Of a float type.
    Float(f32),
    /// Of an integer type, or 0 and 1.
    Int(i64),
}

/// A scalar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar {
    /// Its value.
    pub(super) value: Number,
    /// Why it is undefined, or 0.
    pub(super) poison: PoisonId,
    /// The result on the way here that left the range of `i32`, if any.
    pub(super) overflow: Option<Overflow>,
}

/// A result that left the range of `i32` and wrapped around.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overflow {
    /// The op.
    pub(super) loc: LocId,
    /// Its value before wrapping.
    pub(super) exact: i64,
}

impl Scalar {
    /// A defined integer or truth value.
    pub(super) fn int(value: i64) -> Scalar {
        Scalar { value: Number::Int(value), poison: 0, overflow: None }
    }

    /// A defined float.
    pub(super) fn float(value: f32) -> Scalar {
        Scalar { value: Number::Float(value), poison: 0, overflow: None }
    }

    /// The integer; 0 for a float, which types rule out.
    pub(super) fn as_int(self) -> i64 {
        match self.value {
            Number::Int(value) => value,
            Number::Float(_) => 0,
        }
    }
}

/// What a value's place holds.
#[derive(Clone, Debug, Default)]
pub(super) enum Held {
    /// Nothing: not computed yet, or used for the last time.
    #[default]
    Nothing,
    /// A scalar.
    Scalar(Scalar),
    /// A tile.
    Tile(Tile),
}

/// The elements for writing; copies them first if they are shared.
pub(super) fn slice_mut<T: Clone>(buffer: &mut Arc<Vec<T>>) -> &mut [T] {
    let elements: &mut Vec<T> = Arc::make_mut(buffer);
    elements
}

impl Data {
    /// The elements as floats; empty for other kinds, which types rule out.
    pub(super) fn f32s(&self) -> &[f32] {
        match self {
            Data::F32(buffer) => buffer,
            Data::I32(_) | Data::U8(_) => &[],
        }
    }

    /// The elements as held integers; empty for other kinds, which types rule out.
    pub(super) fn i32s(&self) -> &[i32] {
        match self {
            Data::I32(buffer) => buffer,
            Data::F32(_) | Data::U8(_) => &[],
        }
    }

    /// The elements as truth values; empty for other kinds, which types rule out.
    pub(super) fn u8s(&self) -> &[u8] {
        match self {
            Data::U8(buffer) => buffer,
            Data::F32(_) | Data::I32(_) => &[],
        }
    }

    /// An element as a number.
    pub(super) fn number(&self, dtype: DType, idx: usize) -> Number {
        match self {
            Data::F32(buffer) => Number::Float(buffer[idx]),
            Data::I32(buffer) => Number::Int(decode_int(dtype, buffer[idx])),
            Data::U8(buffer) => Number::Int(i64::from(buffer[idx])),
        }
    }

    /// Sets an element.
    pub(super) fn set_number(&mut self, dtype: DType, idx: usize, value: Number) {
        match (self, value) {
            (Data::F32(buffer), Number::Float(value)) => slice_mut(buffer)[idx] = value,
            (Data::I32(buffer), Number::Int(value)) => {
                slice_mut(buffer)[idx] = encode_int(dtype, value);
            }
            (Data::U8(buffer), Number::Int(value)) => slice_mut(buffer)[idx] = u8::from(value != 0),
            (Data::F32(_), Number::Int(_)) | (Data::I32(_) | Data::U8(_), Number::Float(_)) => {}
        }
    }

    /// Copies elements from place to place; both are held the same way.
    pub(super) fn copy_from(&mut self, from: &Data, copy: &memory::Copy) {
        match (self, from) {
            (Data::F32(to), Data::F32(from)) => copy.run(from, slice_mut(to)),
            (Data::I32(to), Data::I32(from)) => copy.run(from, slice_mut(to)),
            (Data::U8(to), Data::U8(from)) => copy.run(from, slice_mut(to)),
            _ => {}
        }
    }

    /// Sets every element to zero.
    pub(super) fn clear(&mut self) {
        match self {
            Data::F32(buffer) => slice_mut(buffer).fill(0.0),
            Data::I32(buffer) => slice_mut(buffer).fill(0),
            Data::U8(buffer) => slice_mut(buffer).fill(0),
        }
    }
}
