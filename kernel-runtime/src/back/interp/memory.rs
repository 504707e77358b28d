//! Memory that references name, and rectangular copies.

use super::agents::history::History;
use super::plan::Plan;
use super::pool::Pool;
use super::tile::{Data, Poison, PoisonId, Storage, slice_mut};
use crate::ir::{DType, LocId, Shape};
use smallvec::SmallVec;
use std::sync::Arc;

/// Distances in elements, one per axis.
pub(super) type Strides = SmallVec<[usize; 4]>;

/// The distances of neighbours in a dense row-major array.
pub(super) fn dense_strides(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// A copy of a rectangle of elements between two arrays: loads, stores, slices, transposes,
/// broadcasts and window transfers are all of this form.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    sizes: Shape,
    from_strides: Strides,
    to_strides: Strides,
    from_start: usize,
    to_start: usize,
}

impl Copy {
    /// A copy of `sizes` elements; strides and starts are in elements of either array.
    pub(super) fn new(sizes: &[usize], from: (usize, &[usize]), to: (usize, &[usize])) -> Copy {
        let mut copy = Copy {
            sizes: Shape::new(),
            from_strides: Strides::new(),
            to_strides: Strides::new(),
            from_start: from.0,
            to_start: to.0,
        };
        for ((&size, &from), &to) in sizes.iter().zip(from.1).zip(to.1) {
            copy.push_axis(size, from, to);
        }
        if copy.sizes.is_empty() {
            copy.push_axis(1, 1, 1);
        }
        copy
    }

    /// Adds an inner axis, as part of the one before where both arrays go on without a gap.
    fn push_axis(&mut self, size: usize, from: usize, to: usize) {
        if size == 1 && !self.sizes.is_empty() {
            return;
        }
        if let (Some(outer), Some(outer_from), Some(outer_to)) =
            (self.sizes.last_mut(), self.from_strides.last_mut(), self.to_strides.last_mut())
        {
            let gapless = *outer_from == size * from && *outer_to == size * to;
            if gapless || *outer == 1 {
                *outer *= size;
                *outer_from = from;
                *outer_to = to;
                return;
            }
        }
        self.sizes.push(size);
        self.from_strides.push(from);
        self.to_strides.push(to);
    }

    /// Copies.
    pub(super) fn run<T: std::marker::Copy>(&self, from: &[T], to: &mut [T]) {
        self.rows(|from_at, to_at, n, from_stride, to_stride| {
            if from_stride == 1 && to_stride == 1 {
                to[to_at..to_at + n].copy_from_slice(&from[from_at..from_at + n]);
            } else if from_stride == 0 && to_stride == 1 {
                to[to_at..to_at + n].fill(from[from_at]);
            } else {
                for idx in 0..n {
                    to[to_at + idx * to_stride] = from[from_at + idx * from_stride];
                }
            }
        });
    }

    /// Copies with a conversion.
    #[inline(always)]
    pub(super) fn convert<F: std::marker::Copy, T>(
        &self,
        from: &[F],
        to: &mut [T],
        convert: impl Fn(F) -> T,
    ) {
        self.rows(|from_at, to_at, n, from_stride, to_stride| {
            if from_stride == 1 && to_stride == 1 {
                let from = &from[from_at..from_at + n];
                for (to, &from) in to[to_at..to_at + n].iter_mut().zip(from) {
                    *to = convert(from);
                }
            } else {
                for idx in 0..n {
                    to[to_at + idx * to_stride] = convert(from[from_at + idx * from_stride]);
                }
            }
        });
    }

    /// Copies where the mask, laid out like the dense rectangle in row-major order, is true.
    pub(super) fn run_masked<T: std::marker::Copy>(&self, from: &[T], to: &mut [T], mask: &[u8]) {
        let mut place = 0;
        self.rows(|from_at, to_at, n, from_stride, to_stride| {
            for idx in 0..n {
                if mask[place + idx] != 0 {
                    to[to_at + idx * to_stride] = from[from_at + idx * from_stride];
                }
            }
            place += n;
        });
    }

    /// Calls `visit` with start, start, number and strides of each innermost row.
    #[inline(always)]
    pub(super) fn rows(&self, mut visit: impl FnMut(usize, usize, usize, usize, usize)) {
        let Some((&n, outer)) = self.sizes.split_last() else { return };
        let inner = outer.len();
        let (from_stride, to_stride) = (self.from_strides[inner], self.to_strides[inner]);
        if self.sizes.contains(&0) {
            return;
        }
        let mut idx = SmallVec::<[usize; 4]>::from_elem(0, inner);
        let (mut from, mut to) = (self.from_start, self.to_start);
        loop {
            visit(from, to, n, from_stride, to_stride);
            let mut axis = inner;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                idx[axis] += 1;
                from += self.from_strides[axis];
                to += self.to_strides[axis];
                if idx[axis] < outer[axis] {
                    break;
                }
                from -= self.from_strides[axis] * outer[axis];
                to -= self.to_strides[axis] * outer[axis];
                idx[axis] = 0;
            }
        }
    }

    /// The same rectangle copied the other way.
    pub(super) fn reversed(&self) -> Copy {
        Copy {
            sizes: self.sizes.clone(),
            from_strides: self.to_strides.clone(),
            to_strides: self.from_strides.clone(),
            from_start: self.to_start,
            to_start: self.from_start,
        }
    }
}

/// The memory behind a reference: a parameter's block, or scratch.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    /// Element type.
    pub(super) dtype: DType,
    /// Sizes of the reference.
    pub(super) shape: Shape,
    /// The elements.
    pub(super) data: Data,
    /// Which are undefined.
    pub(super) poison: Option<Poison>,
    /// The last store since the block came in.
    pub(super) stored_at: Option<LocId>,
    /// How many ends of copies in flight are here.
    pub(super) in_flight: u32,
    /// Who touched it, if several agents may.
    pub(super) history: Option<Box<History>>,
}

impl Memory {
    /// The memories of a kernel: parameters, scratch, what scopes hold.
    pub(super) fn all_of(plan: &Plan<'_>) -> Vec<Memory> {
        let params = plan.kernel.params.iter().map(|param| {
            let ty = param.ref_type();
            Memory::new(ty.dtype(), ty.shape())
        });
        let scratch = plan.kernel.scratch.iter().map(|s| Memory::new(s.dtype, &s.shape));
        let scoped = plan.scoped.iter().map(|(dtype, shape)| Memory::new(*dtype, shape));
        params.chain(scratch).chain(scoped).collect()
    }

    /// Memory of this type that holds nothing yet.
    pub(super) fn new(dtype: DType, shape: &[usize]) -> Memory {
        let data = Pool::default().data(Storage::of(dtype), 0);
        Memory {
            dtype,
            shape: Shape::from_slice(shape),
            data,
            poison: None,
            stored_at: None,
            in_flight: 0,
            history: None,
        }
    }

    /// The number of elements.
    pub(super) fn n_elems(&self) -> usize {
        self.shape.iter().product()
    }

    /// Makes every element undefined for this reason.
    pub(super) fn reset(&mut self, id: PoisonId, pool: &mut Pool) {
        let n = self.n_elems();
        let fresh = pool.data(Storage::of(self.dtype), n);
        pool.give(std::mem::replace(&mut self.data, fresh));
        // Zeros, so that what a wrong kernel computes does not depend on what ran before it.
        self.data.clear();
        self.poison = Some(Poison::Uniform(id));
        self.stored_at = None;
    }

    /// Sets which elements are undefined after a store of these ids.
    pub(super) fn set_poison(
        &mut self,
        store: &Copy,
        mask: Option<&[u8]>,
        ids: Option<Vec<PoisonId>>,
    ) {
        if self.poison.is_none() && ids.is_none() {
            return;
        }
        let n = self.n_elems();
        let mut all = ids_of(self.poison.take(), n);
        let to = slice_mut(&mut all);
        match (ids, mask) {
            (Some(ids), None) => store.run(&ids, to),
            (Some(ids), Some(mask)) => store.run_masked(&ids, to, mask),
            (None, None) => store.rows(|_, at, n, _, stride| {
                for idx in 0..n {
                    to[at + idx * stride] = 0;
                }
            }),
            (None, Some(mask)) => {
                let clean = vec![0; mask.len()];
                store.run_masked(&clean, to, mask);
            }
        }
        // Looking through an array that copies fill bit by bit would cost more than it saves.
        const WORTH_LOOKING: usize = 1 << 16;
        let any = n > WORTH_LOOKING || all.iter().any(|&id| id != 0);
        self.poison = any.then_some(Poison::Each(all));
    }
}

/// The ids of `n` elements, ready to be changed.
pub(super) fn ids_of(poison: Option<Poison>, n: usize) -> Arc<Vec<PoisonId>> {
    match poison {
        None => Arc::new(vec![0; n]),
        Some(Poison::Uniform(id)) => Arc::new(vec![id; n]),
        Some(Poison::Each(ids)) => ids,
    }
}
