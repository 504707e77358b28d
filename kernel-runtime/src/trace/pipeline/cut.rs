//! Blocks that reach over the end of their array: their copies take what is there.
//!
//! Where a block is cut decides the sizes of its copies, so each combination of axes that are cut
//! has copies of its own, under a condition. A wait takes off what its copy added, so a table in
//! SMEM remembers for each slot how its block was cut.

use super::ring::Copies;
use crate::ir::DType;
use crate::trace::convert::Operand;
use crate::trace::handle::Scalar;
use crate::trace::refs::{Memory, load, store};
use smallvec::{SmallVec, smallvec};

/// Copies take rows of an array by eights, or fewer within a tile.
const ROWS: usize = 8;

/// An axis along which the last block is shorter than the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// Which axis of the array.
    pub(super) axis: usize,
    /// The number of the last block.
    pub(super) last: usize,
    /// How many elements of it are there.
    pub(super) rest: usize,
}

/// What one copy takes of a block.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Per axis of the array: the number of the block, if the end cuts it.
    pub(super) blocks: SmallVec<[Option<usize>; 4]>,
    /// Per axis: the first element of the block, and how many.
    pub(super) spans: SmallVec<[(usize, usize); 4]>,
    /// Whether it is the first of a block that is cut: the others, and the rest, come after it.
    pub(super) begins_cut: bool,
}

impl<const N: usize> Copies<'_, N> {
    /// Calls `act` on what is there of a block that is copied into a slot or out of it, and
    /// remembers how it is cut.
    pub(super) fn pieces_of(&self, block: &[Scalar<i32>], slot: Scalar<i32>, act: &dyn Fn(&Piece)) {
        if self.ring.cuts.is_empty() {
            return self.pieces(0).iter().for_each(act);
        }
        let number = self.cut_number(block);
        let at = self.ring.about.at;
        store(self.cut_of(slot), &(), Operand::Handle(number.handle), None, DType::I32, at);
        self.by_number(number, act);
    }

    /// Calls `act` on what was copied into a slot or out of it.
    pub(super) fn pieces_in(&self, slot: Scalar<i32>, act: &dyn Fn(&Piece)) {
        if self.ring.cuts.is_empty() {
            return self.pieces(0).iter().for_each(act);
        }
        let number = load(self.cut_of(slot), &(), None, self.ring.about.at);
        self.by_number(Scalar::new(number), act);
    }

    /// Where the number of a slot's block is remembered.
    fn cut_of(&self, slot: Scalar<i32>) -> Memory {
        Memory { reference: self.ring.cut, slot: Some(slot.handle) }
    }

    /// Which axes the end of the array cuts of a block, as bits.
    fn cut_number(&self, block: &[Scalar<i32>]) -> Scalar<i32> {
        let math = self.math;
        let bits = self.ring.cuts.iter().enumerate().map(|(bit, cut)| {
            let is_last = math.eq(block[cut.axis], cut.last);
            math.pick(is_last, math.int(1 << bit), math.int(0))
        });
        bits.reduce(|number, bit| math.add(number, bit)).unwrap_or_else(|| math.int(0))
    }

    fn by_number(&self, number: Scalar<i32>, act: &dyn Fn(&Piece)) {
        if let Some(known) = self.math.known(number) {
            return self.pieces(known as usize).iter().for_each(act);
        }
        for cut in 0..1_usize << self.ring.cuts.len() {
            self.when(self.math.eq(number, cut), || self.pieces(cut).iter().for_each(act));
        }
    }

    /// The copies of a block that is cut along the axes that these bits say.
    fn pieces(&self, number: usize) -> SmallVec<[Piece; 2]> {
        let sizes = &self.ring.about.sizes;
        let mut whole = Piece {
            blocks: sizes.iter().map(|_| None).collect(),
            spans: sizes.iter().map(|size| (0, size.unwrap_or(1))).collect(),
            begins_cut: number != 0,
        };
        for (bit, cut) in self.ring.cuts.iter().enumerate() {
            if number >> bit & 1 == 1 {
                whole.blocks[cut.axis] = Some(cut.last);
                whole.spans[cut.axis].1 = cut.rest;
            }
        }
        let Some(rows) = sizes.len().checked_sub(2) else { return smallvec![whole] };
        let n = whole.spans[rows].1;
        if whole.blocks[rows].is_none() || n < ROWS || n.is_multiple_of(ROWS) {
            return smallvec![whole];
        }
        // What no copy takes at once, two do: whole tiles, and rows of the last one.
        let tiles = n / ROWS * ROWS;
        let mut last = Piece { begins_cut: false, ..whole.clone() };
        last.spans[rows] = (tiles, n - tiles);
        whole.spans[rows] = (0, tiles);
        smallvec![whole, last]
    }
}
