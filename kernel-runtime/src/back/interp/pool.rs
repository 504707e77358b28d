//! Buffers that are used again, within a run and from run to run.

use super::tile::{Data, Storage, slice_mut};
use std::sync::{Arc, Mutex, PoisonError};

/// The pools of runs that have ended: fresh memory costs a run of a few milliseconds as much as its
/// work does, for the system clears each page when it is first touched.
static RESERVE: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

/// So many pools are kept,
const MAX_POOLS: usize = 8;

/// each with at most so many bytes.
const MAX_POOL_BYTES: usize = 16 << 20;

/// Buffers that are free to be used again, by element kind and length.
#[derive(Debug, Default)]
pub(super) struct Pool {
    f32s: Vec<(usize, Vec<Arc<Vec<f32>>>)>,
    i32s: Vec<(usize, Vec<Arc<Vec<i32>>>)>,
    u8s: Vec<(usize, Vec<Arc<Vec<u8>>>)>,
}

/// What a buffer holds before the caller writes it, in builds that check: nothing that an op would
/// give, so that an element that no op writes shows, whatever ran before.
trait Junk: Clone + Default {
    const JUNK: Self;
}

impl Junk for f32 {
    const JUNK: f32 = f32::from_bits(0x7fc0_dead);
}

impl Junk for i32 {
    const JUNK: i32 = 0x5bad_5bad;
}

impl Junk for u8 {
    const JUNK: u8 = 1;
}

fn take<T: Junk>(shelves: &mut [(usize, Vec<Arc<Vec<T>>>)], len: usize) -> Arc<Vec<T>> {
    let shelf = shelves.iter_mut().find(|shelf| shelf.0 == len);
    let kept = shelf.and_then(|shelf| shelf.1.pop());
    if cfg!(debug_assertions) {
        let mut buffer = kept.unwrap_or_else(|| Arc::new(vec![T::JUNK; len]));
        slice_mut(&mut buffer).fill(T::JUNK);
        return buffer;
    }
    kept.unwrap_or_else(|| Arc::new(vec![T::default(); len]))
}

fn give<T>(shelves: &mut Vec<(usize, Vec<Arc<Vec<T>>>)>, mut buffer: Arc<Vec<T>>) {
    // A bound, so that a long loop over many shapes does not hoard.
    const MAX_PER_SHELF: usize = 16;
    if Arc::get_mut(&mut buffer).is_none() {
        return;
    }
    match shelves.iter_mut().find(|shelf| shelf.0 == buffer.len()) {
        Some(shelf) if shelf.1.len() < MAX_PER_SHELF => shelf.1.push(buffer),
        Some(_) => {}
        None => shelves.push((buffer.len(), vec![buffer])),
    }
}

/// The same elements in a buffer nobody else holds.
fn own<T: Junk + Copy>(
    shelves: &mut [(usize, Vec<Arc<Vec<T>>>)],
    mut buffer: Arc<Vec<T>>,
) -> Arc<Vec<T>> {
    if Arc::get_mut(&mut buffer).is_some() {
        return buffer;
    }
    let mut own = take(shelves, buffer.len());
    slice_mut(&mut own).copy_from_slice(&buffer);
    own
}

fn bytes<T>(shelves: &[(usize, Vec<Arc<Vec<T>>>)]) -> usize {
    shelves.iter().map(|(len, buffers)| len * buffers.len() * size_of::<T>()).sum()
}

impl Pool {
    /// The pool of a run that has ended, or an empty one.
    pub(super) fn from_reserve() -> Pool {
        RESERVE.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Keeps the buffers for a later run, unless they are many.
    pub(super) fn into_reserve(self) {
        if bytes(&self.f32s) + bytes(&self.i32s) + bytes(&self.u8s) > MAX_POOL_BYTES {
            return;
        }
        let mut reserve = RESERVE.lock().unwrap_or_else(PoisonError::into_inner);
        if reserve.len() < MAX_POOLS {
            reserve.push(self);
        }
    }

    /// A buffer nobody else holds, with undefined contents: the caller writes every element.
    pub(super) fn f32s(&mut self, len: usize) -> Arc<Vec<f32>> {
        take(&mut self.f32s, len)
    }

    /// As [`Pool::f32s`], for integers.
    pub(super) fn i32s(&mut self, len: usize) -> Arc<Vec<i32>> {
        take(&mut self.i32s, len)
    }

    /// As [`Pool::f32s`], for truth values.
    pub(super) fn u8s(&mut self, len: usize) -> Arc<Vec<u8>> {
        take(&mut self.u8s, len)
    }

    /// Takes a buffer back, unless somebody still shares it.
    pub(super) fn give(&mut self, data: Data) {
        match data {
            Data::F32(buffer) => give(&mut self.f32s, buffer),
            Data::I32(buffer) => give(&mut self.i32s, buffer),
            Data::U8(buffer) => give(&mut self.u8s, buffer),
        }
    }

    /// A buffer for elements held this way, as [`Pool::f32s`].
    pub(super) fn data(&mut self, storage: Storage, len: usize) -> Data {
        match storage {
            Storage::Float => Data::F32(self.f32s(len)),
            Storage::Int => Data::I32(self.i32s(len)),
            Storage::Bool => Data::U8(self.u8s(len)),
        }
    }

    /// The same elements in a buffer nobody else holds; empty for other kinds, which types rule out.
    pub(super) fn own_f32(&mut self, data: Data) -> Arc<Vec<f32>> {
        match data {
            Data::F32(buffer) => own(&mut self.f32s, buffer),
            Data::I32(_) | Data::U8(_) => Arc::default(),
        }
    }

    /// As [`Pool::own_f32`], for integers.
    pub(super) fn own_i32(&mut self, data: Data) -> Arc<Vec<i32>> {
        match data {
            Data::I32(buffer) => own(&mut self.i32s, buffer),
            Data::F32(_) | Data::U8(_) => Arc::default(),
        }
    }

    /// As [`Pool::own_f32`], for truth values.
    pub(super) fn own_u8(&mut self, data: Data) -> Arc<Vec<u8>> {
        match data {
            Data::U8(buffer) => own(&mut self.u8s, buffer),
            Data::F32(_) | Data::I32(_) => Arc::default(),
        }
    }
}
