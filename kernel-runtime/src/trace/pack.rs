//! Bits across rows and words, and rounding by chance.

use super::context::Handle;
use super::handle::Tile;
use super::shape::emit;
use crate::ir::ops::ConvertOp;
use crate::ir::{Element, Num, Op};
use half::bf16;
use smallvec::SmallVec;
use std::panic::Location;

mod sealed {
    pub trait Sealed {}
}

/// An element type of which several share a word of 32 bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be packed into words of 32 bits",
    note = "parts are bf16, i16, u16, i8 and u8"
)]
pub trait Packed: Num + sealed::Sealed {
    /// What it is packed from and unpacked to: `f32` or `i32`.
    type Wide: Num;
}

macro_rules! packed {
    ($($ty:ty => $wide:ty;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Packed for $ty {
            type Wide = $wide;
        }
    )*};
}
packed! {
    bf16 => f32;
    i16 => i32;
    u16 => i32;
    i8 => i32;
    u8 => i32;
}

/// Words of 32 bits, each of one element of every tile converted to `P`, the first tile's in the
/// lowest bits: two tiles for types of 16 bits, four for those of 8.
#[track_caller]
pub fn pack<P: Packed>(parts: &[Tile<P::Wide>]) -> Tile<u32> {
    let handles: SmallVec<[Handle; 4]> = parts.iter().map(|tile| tile.handle).collect();
    emit(Op::Convert(ConvertOp::Pack { dtype: P::DTYPE }), &handles, Location::caller())
}

impl Tile<u32> {
    /// Part number `index` of words made by [`pack`], the lowest first.
    #[track_caller]
    pub fn unpack<P: Packed>(self, index: usize) -> Tile<P::Wide> {
        let op = ConvertOp::Unpack { dtype: P::DTYPE, index };
        emit(Op::Convert(op), &[self.handle], Location::caller())
    }
}

impl<T: Num> Tile<T> {
    /// Reads the bits of each column as elements of another size: an `f32` tile of 8 rows has 16
    /// rows of `bf16`, row `2 * i` with the lower and row `2 * i + 1` with the upper halves of row
    /// `i`. Nothing moves.
    #[track_caller]
    pub fn bitcast_rows<U: Element>(self) -> Tile<U> {
        let op = ConvertOp::BitcastRows { dtype: U::DTYPE };
        emit(Op::Convert(op), &[self.handle], Location::caller())
    }
}

impl Tile<f32> {
    /// Rounds to `bf16`, up or down by chance: with uniform random bits, the expectation is the
    /// value itself.
    #[track_caller]
    pub fn stochastic_round(self, random_bits: Tile<u32>) -> Tile<bf16> {
        let op = ConvertOp::StochasticRound { dtype: crate::ir::DType::BF16 };
        emit(Op::Convert(op), &[self.handle, random_bits.handle], Location::caller())
    }
}
