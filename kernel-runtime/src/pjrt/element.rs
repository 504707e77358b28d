//! Element types of buffers, as PJRT numbers them.

macro_rules! element_types {
    ($($(#[$doc:meta])* $name:ident = $raw:literal, $text:literal, $bits:literal;)*) => {
        /// The element type of a buffer, with the numbers of `PJRT_Buffer_Type`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum ElementType { $($(#[$doc])* $name = $raw,)* }

        impl ElementType {
            /// All element types that this module knows.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$name),*];

            /// The name of the type in StableHLO text, such as `bf16` or `i8`.
            pub fn stablehlo_name(self) -> &'static str {
                match self { $(ElementType::$name => $text,)* }
            }

            /// How many bits one element means; types below one byte take a whole byte on the host.
            pub fn bits(self) -> usize {
                match self { $(ElementType::$name => $bits,)* }
            }
        }
    };
}

element_types! {
    /// Booleans, one byte each.
    Pred = 1, "i1", 8;
    /// Signed 8-bit integers.
    S8 = 2, "i8", 8;
    /// Signed 16-bit integers.
    S16 = 3, "i16", 16;
    /// Signed 32-bit integers.
    S32 = 4, "i32", 32;
    /// Signed 64-bit integers.
    S64 = 5, "i64", 64;
    /// Unsigned 8-bit integers.
    U8 = 6, "ui8", 8;
    /// Unsigned 16-bit integers.
    U16 = 7, "ui16", 16;
    /// Unsigned 32-bit integers.
    U32 = 8, "ui32", 32;
    /// Unsigned 64-bit integers.
    U64 = 9, "ui64", 64;
    /// IEEE 754 half precision.
    F16 = 10, "f16", 16;
    /// IEEE 754 single precision.
    F32 = 11, "f32", 32;
    /// IEEE 754 double precision.
    F64 = 12, "f64", 64;
    /// The upper half of an `f32`.
    Bf16 = 13, "bf16", 16;
    /// Pairs of `f32`.
    C64 = 14, "complex<f32>", 64;
    /// Pairs of `f64`.
    C128 = 15, "complex<f64>", 128;
    /// 8-bit float, 5 exponent bits, with infinities.
    F8E5M2 = 16, "f8E5M2", 8;
    /// 8-bit float, 4 exponent bits, finite.
    F8E4M3Fn = 17, "f8E4M3FN", 8;
    /// 8-bit float, 4 exponent bits, bias 11, no negative zero.
    F8E4M3B11Fnuz = 18, "f8E4M3B11FNUZ", 8;
    /// 8-bit float, 5 exponent bits, no negative zero.
    F8E5M2Fnuz = 19, "f8E5M2FNUZ", 8;
    /// 8-bit float, 4 exponent bits, no negative zero.
    F8E4M3Fnuz = 20, "f8E4M3FNUZ", 8;
    /// Signed 4-bit integers.
    S4 = 21, "i4", 4;
    /// Unsigned 4-bit integers.
    U4 = 22, "ui4", 4;
    /// Signed 2-bit integers.
    S2 = 24, "i2", 2;
    /// Unsigned 2-bit integers.
    U2 = 25, "ui2", 2;
    /// 8-bit float, 4 exponent bits, with infinities.
    F8E4M3 = 26, "f8E4M3", 8;
    /// 8-bit float, 3 exponent bits.
    F8E3M4 = 27, "f8E3M4", 8;
    /// 8-bit power of two, the scale of microscaling formats.
    F8E8M0Fnu = 28, "f8E8M0FNU", 8;
    /// 4-bit float, 2 exponent bits.
    F4E2M1Fn = 29, "f4E2M1FN", 4;
}

impl ElementType {
    /// How many bytes one element takes in host memory.
    pub fn host_bytes(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The type with this number of XLA's `PrimitiveType`, which the FFI uses.
    pub(crate) fn from_xla(raw: u32) -> Option<Self> {
        Some(match raw {
            1..=12 => return Self::from_raw(raw),
            15 => Self::C64,
            16 => Self::Bf16,
            18 => Self::C128,
            19 => Self::F8E5M2,
            20 => Self::F8E4M3Fn,
            21 => Self::S4,
            22 => Self::U4,
            23 => Self::F8E4M3B11Fnuz,
            24 => Self::F8E5M2Fnuz,
            25 => Self::F8E4M3Fnuz,
            26 => Self::S2,
            27 => Self::U2,
            28 => Self::F8E4M3,
            29 => Self::F8E3M4,
            32 => Self::F4E2M1Fn,
            33 => Self::F8E8M0Fnu,
            _ => return None,
        })
    }

    pub(crate) fn from_raw(raw: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| *ty as u32 == raw)
    }
}
