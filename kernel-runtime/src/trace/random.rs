//! Random numbers: the core's own generator, and generators that give the same numbers everywhere.

use super::context;
use super::convert::{IntoScalar, Operand};
use super::handle::{Scalar, Tile};
use super::shape::{emit, iota};
use crate::ir::ops::RandomOp;
use crate::ir::{DType, Op, Shape, Value};
use smallvec::SmallVec;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Shl, Shr};
use std::panic::Location;

/// One or two seeds: `prng_seed(7)`, `prng_seed((seed, i))`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a seed",
    note = "a seed is an `i32` number or scalar, or two of them: `prng_seed((seed, i))`"
)]
pub trait Seeds {
    /// The operands.
    #[doc(hidden)]
    fn operands(self) -> SmallVec<[Operand; 2]>;
}

impl Seeds for i32 {
    fn operands(self) -> SmallVec<[Operand; 2]> {
        smallvec::smallvec![IntoScalar::<i32>::operand(self)]
    }
}

impl Seeds for Scalar<i32> {
    fn operands(self) -> SmallVec<[Operand; 2]> {
        smallvec::smallvec![IntoScalar::<i32>::operand(self)]
    }
}

impl<A: IntoScalar<i32>, B: IntoScalar<i32>> Seeds for (A, B) {
    fn operands(self) -> SmallVec<[Operand; 2]> {
        smallvec::smallvec![self.0.operand(), self.1.operand()]
    }
}

/// Seeds the core's generator. Steps that should differ need seeds of their own: their grid index.
#[track_caller]
pub fn prng_seed(seeds: impl Seeds) {
    let at = Location::caller();
    let operands = seeds.operands();
    context::with(|t| {
        let seeds: Option<SmallVec<[Value; 2]>> =
            operands.into_iter().map(|seed| t.value(seed, DType::I32, at)).collect();
        t.push_all(Op::Random(RandomOp::Seed), &seeds?, &[], at)
    });
}

/// Random bits from the core's generator, which [`prng_seed`] must have seeded. The interpreter has
/// real random numbers too, but not those of a chip; where the same numbers are needed everywhere,
/// use [`threefry_bits`].
#[track_caller]
pub fn prng_bits(shape: impl AsRef<[usize]>) -> Tile<u32> {
    let op = RandomOp::Bits(Shape::from_slice(shape.as_ref()));
    emit(Op::Random(op), &[], Location::caller())
}

/// A word of a counter: `Tile<u32>` or `Scalar<u32>`.
pub trait Word:
    Copy
    + Add<Output = Self>
    + Add<Scalar<u32>, Output = Self>
    + Add<u32, Output = Self>
    + BitAnd<u32, Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitXor<Scalar<u32>, Output = Self>
    + Mul<u32, Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
}

impl Word for Tile<u32> {}
impl Word for Scalar<u32> {}

/// One block of Threefry 2x32 with 20 rounds: the numbers of `jax.random`'s default generator, bit
/// by bit. `jax.random.key(seed)` is the key `[0, seed]`.
#[track_caller]
pub fn threefry_2x32<W: Word>(key: [Scalar<u32>; 2], [mut x, mut y]: [W; 2]) -> [W; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA_u32];
    (x, y) = (x + keys[0], y + keys[1]);
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            x = x + y;
            y = (y << by | y >> (32 - by)) ^ x;
        }
        x = x + keys[(group + 1) % 3];
        y = y + keys[(group + 2) % 3] + (group as u32 + 1);
    }
    [x, y]
}

/// Random bits, one word per count: those of `jax.random.bits(key, shape)` where the counts number
/// the elements of the shape row by row, as [`row_major`] does for a whole tile.
#[track_caller]
pub fn threefry_bits(key: [Scalar<u32>; 2], counts: Tile<u32>) -> Tile<u32> {
    let high = super::handle::zeros::<u32>(counts.shape());
    let [x, y] = threefry_2x32(key, [high, counts]);
    x ^ y
}

/// The key of a stream of its own: `jax.random.fold_in(key, data)`.
#[track_caller]
pub fn threefry_fold_in(key: [Scalar<u32>; 2], data: impl IntoScalar<u32>) -> [Scalar<u32>; 2] {
    let zero = super::handle::scalar::<u32>(0_u32);
    threefry_2x32(key, [zero, super::handle::scalar::<u32>(data)])
}

/// The number of each element, counted row by row.
#[track_caller]
pub fn row_major(shape: impl AsRef<[usize]>) -> Tile<u32> {
    let shape = shape.as_ref();
    let mut size = 1;
    let mut counts: Option<Tile<i32>> = None;
    for axis in (0..shape.len()).rev() {
        let along = iota(shape, axis) * size;
        counts = Some(counts.map_or(along, |counts| counts + along));
        size *= shape[axis];
    }
    counts.unwrap_or_else(|| iota(shape, 0)).bitcast()
}

/// One block of Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
/// 2, 3", 2011).
#[track_caller]
pub fn philox_4x32<W: Word>(key: [Scalar<u32>; 2], counter: [W; 4]) -> [W; 4] {
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let [mut a, mut b, mut c, mut d] = counter;
    let mut key = key;
    for _ in 0..10 {
        let ((x_high, x_low), (y_high, y_low)) =
            (wide_product(a, 0xD251_1F53), wide_product(c, 0xCD9E_8D57));
        (a, b, c, d) = (y_high ^ b ^ key[0], y_low, x_high ^ d ^ key[1], x_low);
        key = [key[0] + WEYL[0], key[1] + WEYL[1]];
    }
    [a, b, c, d]
}

/// The upper and lower words of a product, by halves: there are no words of 64 bits.
#[track_caller]
fn wide_product<W: Word>(x: W, by: u32) -> (W, W) {
    let (low, high) = (by & 0xFFFF, by >> 16);
    let (x_low, x_high) = (x & 0xFFFF, x >> 16);
    let middle = x_high * low + ((x_low * low) >> 16);
    let carry = x_low * high + (middle & 0xFFFF);
    (x_high * high + (middle >> 16) + (carry >> 16), x * by)
}

/// Numbers from 0 up to, but not including, 1, from random bits: those of `jax.random.uniform`.
#[track_caller]
pub fn uniform(random_bits: Tile<u32>) -> Tile<f32> {
    (random_bits >> 9_u32 | 0x3F80_0000_u32).bitcast::<f32>() - 1.0
}

/// Numbers of the standard normal distribution from random bits: those of `jax.random.normal`, up
/// to the rounding of `erf_inv`.
#[track_caller]
pub fn normal(random_bits: Tile<u32>) -> Tile<f32> {
    let low = -(1.0_f32.next_down());
    let symmetric = (uniform(random_bits) * (1.0 - low) + low).max(low);
    symmetric.erf_inv() * std::f32::consts::SQRT_2
}
