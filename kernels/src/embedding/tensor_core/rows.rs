//! Rows of a table in HBM, fetched one by one into a ring of buffers.
//!
//! A unit of work is as many rows as a buffer holds. The copies of the next units run while one is
//! worked on, each unit counted by a semaphore of its own.

use systole::prelude::*;

/// Buffers of the ring, one of which is worked on while the others fill.
pub(super) const SLOTS: usize = 4;
/// Units whose copies run ahead.
pub(super) const AHEAD: usize = SLOTS - 1;
/// Rows of a register of 32-bit elements.
pub(super) const TILE: usize = 8;

/// Copies that are started in one turn of a loop: a turn costs as much as many of them.
const BATCH: usize = 32;

/// How units are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ring {
    /// TensorCores that share the work.
    pub(super) n_cores: usize,
    /// Rows of a unit.
    pub(super) n_rows: usize,
}

/// Elements of a type that share a word of 32 bits, and so rows that a copy cannot take apart.
pub(super) fn packing<T: Element>() -> usize {
    super::packing(T::DTYPE)
}

/// What is fetched, from where, and to where.
pub(super) struct Rows<T> {
    pub(super) ids: Smem<i32>,
    pub(super) table: Hbm<T>,
    pub(super) buf: Vmem<T>,
    pub(super) done: DmaSemaphore,
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Rows<T> {
        *self
    }
}

impl<T> Copy for Rows<T> {}

/// Starts the copies of a unit's rows.
#[tpu_fn]
pub(super) fn fetch<T: Float>(ring: Ring, rows: Rows<T>, unit: Scalar<i32>) {
    let slot = unit % SLOTS;
    let batch = if ring.n_rows.is_multiple_of(BATCH) { BATCH } else { TILE };
    for group in 0..ring.n_rows / batch {
        #[unroll]
        for k in 0..batch {
            let at = group * batch + k;
            let id = rows.ids[unit * ring.n_rows + at];
            if comptime!(packing::<T>() == 1) {
                let to = rows.buf.at((slot, ds(at, 1), ..));
                start_copy(rows.table.rows(id, 1), to, rows.done.at(slot));
            } else {
                let to = rows.buf.at((slot, ds(at * 2, 2), ..));
                start_copy(rows.table.rows((id >> 1) * 2, 2), to, rows.done.at(slot));
            }
        }
    }
}

/// Waits for all rows of a unit.
#[tpu_fn]
pub(super) fn arrive<T: Float>(rows: Rows<T>, unit: Scalar<i32>) {
    let slot = unit % SLOTS;
    // A wait takes the bytes of its target off, wherever they came from.
    let all = rows.buf.at((slot, .., ..));
    wait_copy(all, all, rows.done.at(slot));
}

/// Eight rows of a unit that has arrived.
#[tpu_fn]
pub(super) fn eight<T: Float>(
    ring: Ring,
    rows: Rows<T>,
    unit: Scalar<i32>,
    group: Scalar<i32>,
) -> Tile<f32> {
    let slot = unit % SLOTS;
    if comptime!(packing::<T>() == 1) {
        rows.buf[(slot, ds(group * TILE, TILE), ..)].cast::<f32>()
    } else {
        // Of each pair the row that was asked for: pairs lie in words, the even row in the lower half.
        let pairs = rows.buf[(slot, ds(group * (2 * TILE), 2 * TILE), ..)];
        let words = pairs.bitcast_rows::<u32>();
        let first = unit * ring.n_rows + group * TILE;
        let odd = column(|k| rows.ids[first + k] & 1, words.shape()[1]);
        select(odd == 1, words.unpack::<bf16>(1), words.unpack::<bf16>(0))
    }
}

/// Eight rows of which each has one value everywhere.
#[tpu_fn]
pub(super) fn column<T: Num>(value: impl Fn(usize) -> Scalar<T>, width: usize) -> Tile<T> {
    const LANES: usize = 128;
    let lanes = if width.is_multiple_of(LANES) { LANES } else { width };
    let row = iota([TILE, lanes], 0);
    let mut tile = value(0).splat([TILE, lanes]);
    #[unroll]
    for k in 1..TILE {
        tile = select(row == k, value(k).splat([TILE, lanes]), tile);
    }
    // The registers of one column are all alike.
    concat(&vec![tile; width / lanes], 1)
}

/// Stores what `eight` gives for each eight rows of a block.
#[tpu_fn]
pub(super) fn store<T: Float>(
    out: Out<T>,
    n_rows: usize,
    eight: impl Fn(Scalar<i32>) -> Tile<f32>,
) {
    if comptime!(packing::<T>() == 1) {
        for group in 0..n_rows / TILE {
            out[(ds(group * TILE, TILE), ..)] = eight(group).cast();
        }
    } else {
        for pair in 0..n_rows / (2 * TILE) {
            let rows = concat(&[eight(pair * 2), eight(pair * 2 + 1)], 0);
            out[(ds(pair * (2 * TILE), 2 * TILE), ..)] = rows.cast();
        }
    }
}
