//! Element types, as data ([`DType`]) and as Rust types ([`Element`]).

use super::narrow::{f8e4m3fn, f8e5m2, i4};
use half::{bf16, f16};
use std::fmt;

/// The element type of a tile, scalar, reference or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// A truth value; one byte in arrays.
    Bool,
    /// Signed 4-bit integer; one byte in arrays of the host. It [only stores](DType::only_stores).
    I4,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Unsigned 32-bit integer.
    U32,
    /// 8-bit float: 4 exponent bits, 3 fraction bits, no infinity. It
    /// [only stores](DType::only_stores).
    F8E4M3FN,
    /// 8-bit float: 5 exponent bits, 2 fraction bits. It [only stores](DType::only_stores).
    F8E5M2,
    /// bfloat16: 8 exponent bits, 7 fraction bits.
    BF16,
    /// IEEE binary16.
    F16,
    /// IEEE binary32.
    F32,
}

impl DType {
    /// Every element type.
    pub const ALL: &[DType] = &[
        DType::Bool,
        DType::I4,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::F8E4M3FN,
        DType::F8E5M2,
        DType::BF16,
        DType::F16,
        DType::F32,
    ];

    /// The element types that ops compute with: every one that does not
    /// [only store](DType::only_stores).
    pub const COMPUTED: &[DType] = &[
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::BF16,
        DType::F16,
        DType::F32,
    ];

    /// The name in the text form, in spec names and in StableHLO-like notation: `bf16`, `i32`.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I4 => "i4",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::F8E4M3FN => "f8e4m3fn",
            DType::F8E5M2 => "f8e5m2",
            DType::BF16 => "bf16",
            DType::F16 => "f16",
            DType::F32 => "f32",
        }
    }

    /// The element type of this name.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// Bytes of one element in an array of the host.
    pub fn size_bytes(self) -> usize {
        self.size_bits().div_ceil(8)
    }

    /// Bits of one element in an array of a device.
    pub fn size_bits(self) -> usize {
        match self {
            DType::I4 => 4,
            DType::Bool | DType::I8 | DType::U8 | DType::F8E4M3FN | DType::F8E5M2 => 8,
            DType::I16 | DType::U16 | DType::BF16 | DType::F16 => 16,
            DType::I32 | DType::U32 | DType::F32 => 32,
        }
    }

    /// Bits of one element in the memory of a TPU's core, where each `bool` is a word.
    pub fn memory_bits(self) -> usize {
        if self == DType::Bool { 32 } else { self.size_bits() }
    }

    /// Whether it is a type to store numbers in alone: loads, stores, copies, `cast` and `dot` take
    /// it, and nothing else computes with it.
    pub fn only_stores(self) -> bool {
        !DType::COMPUTED.contains(&self)
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        match self {
            DType::F8E4M3FN | DType::F8E5M2 | DType::BF16 | DType::F16 | DType::F32 => true,
            DType::Bool
            | DType::I4
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::U8
            | DType::U16
            | DType::U32 => false,
        }
    }

    /// Whether it is an integer type (`bool` is none).
    pub fn is_int(self) -> bool {
        !self.is_float() && self != DType::Bool
    }

    /// Whether it is a signed integer type.
    pub fn is_signed_int(self) -> bool {
        matches!(self, DType::I4 | DType::I8 | DType::I16 | DType::I32)
    }

    /// Reduces a mathematical integer to this integer type, wrapping; `bool` keeps the lowest bit.
    /// That is the result of an op, whose `!x` is the bitwise one; a `cast` to `bool` is
    /// [`DType::cast_int`].
    ///
    /// Float types return the value unchanged.
    pub fn wrap_int(self, value: i64) -> i64 {
        match self {
            DType::Bool => value & 1,
            DType::I4 => i4::from_low_bits(value).into(),
            DType::I8 => i64::from(value as i8),
            DType::I16 => i64::from(value as i16),
            DType::I32 => i64::from(value as i32),
            DType::U8 => i64::from(value as u8),
            DType::U16 => i64::from(value as u16),
            DType::U32 => i64::from(value as u32),
            DType::F8E4M3FN | DType::F8E5M2 | DType::BF16 | DType::F16 | DType::F32 => value,
        }
    }

    /// Converts an integer to this integer type or `bool`, by the rules of `cast`.
    pub fn cast_int(self, value: i64) -> i64 {
        if self == DType::Bool { i64::from(value != 0) } else { self.wrap_int(value) }
    }

    /// The smallest and largest value of an integer type.
    pub fn int_range(self) -> Option<(i64, i64)> {
        Some(match self {
            DType::I4 => (i4::MIN.into(), i4::MAX.into()),
            DType::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
            DType::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            DType::U8 => (0, i64::from(u8::MAX)),
            DType::U16 => (0, i64::from(u16::MAX)),
            DType::U32 => (0, i64::from(u32::MAX)),
            DType::Bool
            | DType::F8E4M3FN
            | DType::F8E5M2
            | DType::BF16
            | DType::F16
            | DType::F32 => return None,
        })
    }

    /// Rounds an `f32` to this float type, to nearest even. Other types return it unchanged.
    pub fn round_f32(self, value: f32) -> f32 {
        match self {
            DType::BF16 => bf16::from_f32(value).to_f32(),
            DType::F16 => f16::from_f32(value).to_f32(),
            DType::F8E4M3FN => f8e4m3fn::from_f32(value).to_f32(),
            DType::F8E5M2 => f8e5m2::from_f32(value).to_f32(),
            DType::F32
            | DType::Bool
            | DType::I4
            | DType::I8
            | DType::I16
            | DType::I32
            | DType::U8
            | DType::U16
            | DType::U32 => value,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that stands for a [`DType`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of a tile",
    note = "element types are f32, bf16, f16, i8, i16, i32, u8, u16, u32, bool, f8e4m3fn, f8e5m2 and i4"
)]
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The element type it stands for.
    const DTYPE: DType;
    /// The value as `f64` (exact for every element type).
    fn to_f64(self) -> f64;
    /// From `f64`, by the rules of `cast`.
    fn from_f64(value: f64) -> Self;
}

/// An element type that `dot` multiplies: one with arithmetic, or one that only stores.
pub trait Factor: Element {
    /// The element type in which `dot` accumulates: `f32` for floats, `i32` for integers.
    type Acc: Num;
}
/// An element type with arithmetic.
pub trait Num: Factor {}
/// A floating-point element type.
pub trait Float: Num<Acc = f32> {}
/// An integer element type.
pub trait Int: Num<Acc = i32> {}

macro_rules! elements {
    ($($ty:ty, $dtype:ident, $class:ident, $acc:ty, |$x:ident| $to:expr, |$y:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
            fn to_f64(self) -> f64 { let $x = self; $to }
            fn from_f64($y: f64) -> Self { $from }
        }
        impl Factor for $ty {
            type Acc = $acc;
        }
        elements!(@arithmetic $class $ty);
    )*};
    (@arithmetic Storage $ty:ty) => {};
    (@arithmetic $class:ident $ty:ty) => {
        impl Num for $ty {}
        impl $class for $ty {}
    };
}

elements! {
    i4, I4, Storage, i32, |x| f64::from(x.get()), |y| i4::from_low_bits((y as i64).clamp(-8, 7));
    f8e4m3fn, F8E4M3FN, Storage, f32, |x| x.to_f64(), |y| f8e4m3fn::from_f64(y);
    f8e5m2, F8E5M2, Storage, f32, |x| x.to_f64(), |y| f8e5m2::from_f64(y);
    i8, I8, Int, i32, |x| f64::from(x), |y| y as i8;
    i16, I16, Int, i32, |x| f64::from(x), |y| y as i16;
    i32, I32, Int, i32, |x| f64::from(x), |y| y as i32;
    u8, U8, Int, i32, |x| f64::from(x), |y| y as u8;
    u16, U16, Int, i32, |x| f64::from(x), |y| y as u16;
    u32, U32, Int, i32, |x| f64::from(x), |y| y as u32;
    bf16, BF16, Float, f32, |x| x.to_f64(), |y| bf16::from_f32(to_odd_f32(y));
    f16, F16, Float, f32, |x| x.to_f64(), |y| f16::from_f32(to_odd_f32(y));
    f32, F32, Float, f32, |x| f64::from(x), |y| y as f32;
}

/// An `f64` as the `f32` that rounds to the same narrower number: inexact ones get an odd last bit, so
/// that they are no ties. (`half` looks at the upper half of an `f64` alone.)
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    let towards_zero = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(towards_zero | 1)
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn from_f64(value: f64) -> bool {
        value != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_are_rounded_once() {
        let ulp = 2_f64.powi(-7);
        // A tie goes to even, what is above it by the least goes up.
        let tie = 1.0 + ulp / 2.0;
        for (value, expected) in [
            (tie, 1.0),
            (tie + 2_f64.powi(-23), 1.0 + ulp),
            (tie + 2_f64.powi(-50), 1.0 + ulp),
            (tie - 2_f64.powi(-50), 1.0),
            (1.0 + 1.5 * ulp, 1.0 + 2.0 * ulp),
            (-tie - 2_f64.powi(-40), -1.0 - ulp),
            (1e300, f64::INFINITY),
            (1e-300, 0.0),
        ] {
            assert_eq!(<bf16 as Element>::from_f64(value).to_f64(), expected, "{value}");
        }
        let tie = 1.0 + 2_f64.powi(-11);
        let above = <f16 as Element>::from_f64(tie + 2_f64.powi(-23));
        assert_eq!(above.to_f64(), 1.0 + 2_f64.powi(-10));
        assert!(<bf16 as Element>::from_f64(f64::NAN).is_nan());
    }
}
