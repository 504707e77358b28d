//! Explicit control of the matrix units.

use super::context;
use super::handle::Tile;
use super::shape::emit;
use crate::ir::ops::MxuOp;
use crate::ir::{Factor, Op, Shape};
use std::panic::Location;

/// A matrix unit of a chip whose units keep sums by themselves: `tpu7x`.
///
/// Right operands are put into a staging register, and from there into use while rows of another
/// left operand are still multiplied; sums stay in the unit until they are popped, so that a
/// contraction in several steps has no accumulator in VMEM. A kernel that uses it has no `dot`.
///
/// ```
/// use systole::prelude::*;
///
/// #[tpu_kernel]
/// fn product(#[block(m, k)] a: In<bf16>, #[block(k, n)] b: In<bf16>, #[block(m, n)] c: Out<f32>) {
///     let mxu = MatrixUnit::new(0);
///     for l in 0..k / 256 {
///         #![unroll]
///         mxu.push_rhs(b[(ds(l * 256, 256), ..)], l % 2);
///         mxu.acc_lhs(0, a[(.., ds(l * 256, 256))], Some(l % 2));
///     }
///     c[..] = mxu.pop(0, [m, n]);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixUnit(usize);

impl MatrixUnit {
    /// The unit of this number, from 0.
    pub fn new(unit: usize) -> MatrixUnit {
        MatrixUnit(unit)
    }

    /// Puts a right operand, a square as large as the unit, into a staging register that is empty.
    #[track_caller]
    pub fn push_rhs<T: Factor>(self, rhs: Tile<T>, register: usize) {
        let op = MxuOp::PushRhs { unit: self.0, register, transpose: false };
        push(op, rhs, Location::caller());
    }

    /// As [`MatrixUnit::push_rhs`], of a tile that is the right operand transposed.
    #[track_caller]
    pub fn push_rhs_t<T: Factor>(self, rhs: Tile<T>, register: usize) {
        let op = MxuOp::PushRhs { unit: self.0, register, transpose: true };
        push(op, rhs, Location::caller());
    }

    /// Adds the product of `lhs` and the right operand to the sums from `row` on, one row for each
    /// of `lhs`. The right operand is taken from register `load` before, if it is given.
    #[track_caller]
    pub fn acc_lhs<T: Factor>(self, row: usize, lhs: Tile<T>, load: Option<usize>) {
        push(MxuOp::AccLhs { unit: self.0, row, load }, lhs, Location::caller());
    }

    /// Takes the sums of the rows from `row` on, which are empty then.
    #[track_caller]
    pub fn pop(self, row: usize, shape: impl AsRef<[usize]>) -> Tile<f32> {
        let op = MxuOp::Pop { unit: self.0, row, shape: Shape::from_slice(shape.as_ref()) };
        emit(Op::Mxu(op), &[], Location::caller())
    }
}

fn push<T>(op: MxuOp, tile: Tile<T>, at: &'static Location<'static>) {
    context::with(|t| {
        let value = t.operand(tile.handle, at)?;
        t.push_all(Op::Mxu(op), &[value], &[], at)
    });
}
