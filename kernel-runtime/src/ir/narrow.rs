//! Host types of the element types that store numbers in fewer bits than anything computes with.
//!
//! Their values are converted, never computed with: what the bits mean and how a number is rounded
//! to them is the same as of `ml_dtypes`, which JAX and XLA use.

use std::fmt;

/// A floating-point format of 8 bits: a sign, an exponent and a fraction.
struct Format {
    fraction_bits: u32,
    /// The exponent of the smallest normal number.
    min_exponent: i32,
    /// The code of the largest finite number.
    max_finite: u8,
    /// The code that a number above all finite ones becomes.
    overflow: u8,
    /// A code of NaN.
    nan: u8,
}

const SIGN: u8 = 0x80;

impl Format {
    /// The number of a code.
    const fn decode(&self, code: u8) -> f32 {
        let magnitude = code & !SIGN;
        let value = if magnitude > self.max_finite {
            if magnitude == self.overflow && self.overflow != self.nan {
                f32::INFINITY
            } else {
                f32::NAN
            }
        } else {
            let exponent = (magnitude >> self.fraction_bits) as i32;
            let fraction = magnitude & ((1 << self.fraction_bits) - 1);
            // A subnormal number has the exponent of the smallest normal one, and no leading one.
            let (exponent, units) = if exponent == 0 {
                (0, fraction)
            } else {
                (exponent - 1, fraction | (1 << self.fraction_bits))
            };
            // All of these are normal numbers of `f32`.
            let scale = exponent + self.min_exponent - self.fraction_bits as i32;
            units as f32 * f32::from_bits(((scale + 127) as u32) << 23)
        };
        if code & SIGN == 0 { value } else { -value }
    }

    /// The numbers of all codes.
    const fn table(&self) -> [f32; 256] {
        let mut table = [0.0; 256];
        let mut code = 0;
        while code < 256 {
            table[code] = self.decode(code as u8);
            code += 1;
        }
        table
    }

    /// The code of the nearest number, ties to the even code.
    fn encode(&self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { SIGN } else { 0 };
        if value.is_nan() {
            return sign | self.nan;
        }
        if value.is_infinite() {
            return sign | self.overflow;
        }
        let size = value.abs();
        let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(self.min_exponent);
        // The number in units of its last place; the scale is a power of two, so this is exact.
        let scale = exponent - self.fraction_bits as i32;
        let units = (size * 2f64.powi(-scale)).round_ties_even() as u32;
        // The leading one of a normal number adds 1 to the exponent.
        let code = (((exponent - self.min_exponent) as u32) << self.fraction_bits) + units;
        sign | u8::try_from(code)
            .ok()
            .filter(|&code| code <= self.max_finite)
            .unwrap_or(self.overflow)
    }
}

const E4M3FN: Format =
    Format { fraction_bits: 3, min_exponent: -6, max_finite: 0x7E, overflow: 0x7F, nan: 0x7F };
const E5M2: Format =
    Format { fraction_bits: 2, min_exponent: -14, max_finite: 0x7B, overflow: 0x7C, nan: 0x7E };

macro_rules! float8 {
    ($($(#[$doc:meta])* $name:ident, $format:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
        #[expect(non_camel_case_types, reason = "named as `bf16` and `f16` are")]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The number of these bits.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits)
            }

            /// Its bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, ties to even.
            pub fn from_f32(value: f32) -> $name {
                $name::from_f64(f64::from(value))
            }

            /// The nearest number, ties to even; rounded once.
            pub fn from_f64(value: f64) -> $name {
                $name($format.encode(value))
            }

            /// Its value, exactly.
            pub fn to_f32(self) -> f32 {
                const TABLE: [f32; 256] = $format.table();
                TABLE[usize::from(self.0)]
            }

            /// Its value, exactly.
            pub fn to_f64(self) -> f64 {
                f64::from(self.to_f32())
            }

            /// Whether it is no number.
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

float8! {
    /// A float of 8 bits, 4 of them the exponent and 3 the fraction, up to 448. It has NaN and no
    /// infinity: larger numbers become NaN.
    f8e4m3fn, E4M3FN;
    /// A float of 8 bits, 5 of them the exponent and 2 the fraction, up to 57344, with infinities.
    f8e5m2, E5M2;
}

/// An integer of 4 bits, from -8 to 7. It takes a byte in host memory.
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[expect(non_camel_case_types, reason = "named as `i8` is")]
#[repr(transparent)]
// The upper half of the byte means nothing: it comes from files and devices.
pub struct i4(i8);

impl i4 {
    /// The smallest.
    pub const MIN: i4 = i4(-8);
    /// The largest.
    pub const MAX: i4 = i4(7);

    /// The integer, if it is one of -8 to 7.
    pub const fn new(value: i8) -> Option<i4> {
        if value >= -8 && value <= 7 { Some(i4(value)) } else { None }
    }

    /// The integer of the low 4 bits.
    pub const fn from_low_bits(value: i64) -> i4 {
        i4(((value as i8) << 4) >> 4)
    }

    /// Its value.
    pub const fn get(self) -> i8 {
        (self.0 << 4) >> 4
    }
}

impl PartialEq for i4 {
    fn eq(&self, other: &i4) -> bool {
        self.get() == other.get()
    }
}

impl Eq for i4 {}

impl From<i4> for i64 {
    fn from(value: i4) -> i64 {
        i64::from(value.get())
    }
}

impl fmt::Debug for i4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for i4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}
