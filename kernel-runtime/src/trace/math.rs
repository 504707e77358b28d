//! Functions that are a few ops each.

use super::convert::{IntoScalar, IntoTile};
use super::handle::{Scalar, Tile, select};
use crate::ir::{Float, Num};

macro_rules! limits {
    ($($handle:ident $into:ident;)*) => {$(
        impl<T: Num> $handle<T> {
            /// The element, or the nearest of the two limits if it is outside; NaN stays.
            #[track_caller]
            pub fn clamp(self, low: impl $into<T>, high: impl $into<T>) -> $handle<T> {
                self.max(low).min(high)
            }
        }

        impl<T: Float> $handle<T> {
            /// Whether an element is NaN.
            #[track_caller]
            pub fn is_nan(self) -> $handle<bool> {
                self.ne(self)
            }

            /// Whether an element is neither infinite nor NaN.
            #[track_caller]
            pub fn is_finite(self) -> $handle<bool> {
                self.abs().lt(f32::INFINITY)
            }
        }

        impl $handle<u32> {
            /// The number of bits that are 1.
            #[track_caller]
            pub fn count_ones(self) -> $handle<u32> {
                let pairs = self - (self >> 1_u32 & 0x5555_5555_u32);
                let fours = (pairs & 0x3333_3333_u32) + (pairs >> 2_u32 & 0x3333_3333_u32);
                let bytes = fours + (fours >> 4_u32) & 0x0F0F_0F0F_u32;
                bytes * 0x0101_0101_u32 >> 24_u32
            }

            /// The number of bits above the highest that is 1; 32 for zero.
            #[track_caller]
            pub fn leading_zeros(self) -> $handle<u32> {
                let mut below = self;
                for by in [1_u32, 2, 4, 8, 16] {
                    below = below | below >> by;
                }
                (!below).count_ones()
            }
        }
    )*};
}
limits! {
    Tile IntoTile;
    Scalar IntoScalar;
}

impl Tile<f32> {
    /// The inverse of the error function, on -1 to 1 (Giles, "Approximating the erfinv function",
    /// 2012; good to some 4 ULP); infinite at the ends.
    #[track_caller]
    pub fn erf_inv(self) -> Tile<f32> {
        // Coefficients in the middle and towards the ends, highest power first.
        const COEFFICIENTS: [[f32; 2]; 9] = [
            [2.810_226_4e-8, -0.000_200_214_26],
            [3.432_739_4e-7, 0.000_100_950_56],
            [-3.523_387_7e-6, 0.001_349_343_2],
            [-4.391_506_5e-6, -0.003_673_428_4],
            [0.000_218_580_87, 0.005_739_507_7],
            [-0.001_253_725, -0.007_622_461_3],
            [-0.004_177_681_6, 0.009_438_87],
            [0.246_640_73, 1.001_674],
            [1.501_409_4, 2.832_976_8],
        ];
        let w = -(-self * self).log1p();
        let middle = w.lt(5.0);
        let w = select(middle, w - 2.5, w.sqrt() - 3.0);
        let shape = self.shape();
        let coefficient = |[inner, outer]: [f32; 2]| {
            select(middle, super::handle::full(shape.clone(), inner), outer)
        };
        let (first, rest) = COEFFICIENTS.split_at(1);
        let polynomial =
            rest.iter().fold(coefficient(first[0]), |sum, &c| sum * w + coefficient(c));
        let at_end = self.abs().eq(1.0);
        select(at_end, self * f32::INFINITY, polynomial * self)
    }
}
