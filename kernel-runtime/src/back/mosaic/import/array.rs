//! Arrays of a call and of the kernel: the kernel's integers have no sign of their own.

use super::read::ast::{Sign, Type};
use crate::ir::ty::Sizes;
use crate::ir::{Array, DType};
use std::fmt;

/// Element type and shape of an operand or result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayType {
    /// Element type; an unsigned one is `i32` and the like in the kernel.
    pub dtype: DType,
    /// Sizes; none for a single number.
    pub shape: Vec<usize>,
}

impl fmt::Display for ArrayType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, Sizes(&self.shape))
    }
}

/// The element type that a number type of MLIR is, if there is one.
pub(super) fn dtype_of(ty: &Type) -> Option<DType> {
    match ty {
        Type::Index => Some(DType::I32),
        Type::Int { width: 1, .. } => Some(DType::Bool),
        Type::Int { width, sign: Sign::Unsigned } => match width {
            8 => Some(DType::U8),
            16 => Some(DType::U16),
            32 => Some(DType::U32),
            _ => None,
        },
        Type::Int { width, sign: Sign::Signless | Sign::Signed } => match width {
            4 => Some(DType::I4),
            8 => Some(DType::I8),
            16 => Some(DType::I16),
            32 => Some(DType::I32),
            _ => None,
        },
        Type::Float(name) => {
            DType::parse(&name.to_ascii_lowercase()).filter(|dtype| dtype.is_float())
        }
        Type::Vector { .. }
        | Type::MemRef { .. }
        | Type::Tensor { .. }
        | Type::Function { .. }
        | Type::Other(_) => None,
    }
}

/// The signed integer type of the same size; other types are their own.
pub(super) fn signed(dtype: DType) -> DType {
    match dtype {
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        DType::Bool
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::F8E4M3FN
        | DType::F8E5M2
        | DType::BF16
        | DType::F16
        | DType::F32 => dtype,
    }
}

/// The unsigned integer type of the same size; other types are their own.
pub(super) fn unsigned(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::Bool
        | DType::I4
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::F8E4M3FN
        | DType::F8E5M2
        | DType::BF16
        | DType::F16
        | DType::F32 => dtype,
    }
}

/// An array as the kernel takes it: the same bits without a sign, and at least one axis.
pub(super) fn signless(array: &Array) -> Array {
    let shape = if array.shape().is_empty() { vec![1] } else { array.shape().to_vec() };
    with_type(array, &ArrayType { dtype: signed(array.dtype()), shape })
}

/// What one of several devices gets of an operand: its part along the first axis, or all of it.
pub(super) fn shard(array: &Array, ty: &ArrayType, device: usize, n_devices: usize) -> Array {
    let whole = array.shape();
    let is_split = whole.len() == ty.shape.len()
        && whole
            .first()
            .zip(ty.shape.first())
            .is_some_and(|(all, own)| own.checked_mul(n_devices) == Some(*all))
        && whole[1..] == ty.shape[1..];
    if !is_split {
        return array.clone();
    }
    let n_bytes = array.as_bytes().len() / n_devices;
    let own = &array.as_bytes()[device * n_bytes..][..n_bytes];
    // The sizes are equal by construction, so the fallback is never taken.
    Array::from_bytes(array.dtype(), &ty.shape, own).unwrap_or_else(|_| array.clone())
}

/// The arrays of several devices one after the other along the first axis.
pub(super) fn joined<'a>(shards: impl Iterator<Item = &'a Array>) -> Array {
    let shards: Vec<&Array> = shards.collect();
    let first = shards[0];
    let mut shape = first.shape().to_vec();
    match shape.first_mut() {
        Some(n_rows) => *n_rows *= shards.len(),
        None => shape.push(shards.len()),
    }
    let bytes: Vec<u8> = shards.iter().flat_map(|shard| shard.as_bytes()).copied().collect();
    // The sizes are equal by construction, so the fallback is never taken.
    Array::from_bytes(first.dtype(), &shape, &bytes).unwrap_or_else(|_| first.clone())
}

/// The bits of an array under another type of the same size.
pub(super) fn with_type(array: &Array, ty: &ArrayType) -> Array {
    // The sizes are equal by construction, so the fallback is never taken.
    Array::from_bytes(ty.dtype, &ty.shape, array.as_bytes()).unwrap_or_else(|_| array.clone())
}
