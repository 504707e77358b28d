//! Which elements of a value are real, and which are padding.

use crate::ir::Shape;
use smallvec::{SmallVec, smallvec};

/// A bounded dim of a function: its place in the function's list of them.
pub(crate) type DimIdx = usize;

/// A part of an axis. An axis that came of several by `reshape` has several, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Factor {
    /// Its size, padding included.
    pub(crate) size: usize,
    /// The dim whose real size says how far it is real; none if all of it is.
    pub(crate) dim: Option<DimIdx>,
}

/// One axis: its index is made of the indices of its factors, and an element is real if each of
/// these is. Fixed factors never stand side by side, and none of size 1 is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Axis {
    factors: SmallVec<[Factor; 2]>,
}

impl Axis {
    /// An axis without padding.
    pub(crate) fn fixed(size: usize) -> Axis {
        Axis::of([Factor { size, dim: None }])
    }

    /// An axis padded to `size`, of which as much is real as the dim says.
    pub(crate) fn bounded(size: usize, dim: DimIdx) -> Axis {
        Axis::of([Factor { size, dim: Some(dim) }])
    }

    fn of(factors: impl IntoIterator<Item = Factor>) -> Axis {
        let mut axis = Axis { factors: SmallVec::new() };
        for factor in factors {
            axis.push(factor);
        }
        axis
    }

    fn push(&mut self, factor: Factor) {
        match (self.factors.last_mut(), factor.dim) {
            (_, None) if factor.size == 1 => {}
            (Some(last), None) if last.dim.is_none() => last.size *= factor.size,
            _ => self.factors.push(factor),
        }
    }

    /// Its parts, outermost first; none for a fixed axis of size 1.
    pub(crate) fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// Its size, padding included.
    pub(crate) fn size(&self) -> usize {
        self.factors.iter().map(|factor| factor.size).product()
    }

    /// Its size with each dim at `size_of`.
    pub(crate) fn size_with(&self, size_of: impl Fn(DimIdx) -> usize) -> usize {
        self.factors.iter().map(|factor| factor.dim.map_or(factor.size, &size_of)).product()
    }

    /// Whether all of it is real.
    pub(crate) fn is_fixed(&self) -> bool {
        self.factors.iter().all(|factor| factor.dim.is_none())
    }

    /// The whole of it `whole` times, each element `each` times.
    pub(crate) fn repeated(&self, whole: usize, each: usize) -> Axis {
        let fixed = |size| Factor { size, dim: None };
        let own = self.factors.iter().copied();
        Axis::of([fixed(whole)].into_iter().chain(own).chain([fixed(each)]))
    }

    /// The dim whose real size is the number of its real elements, if there is such a dim.
    pub(crate) fn plain_dim(&self) -> Option<DimIdx> {
        match self.factors.as_slice() {
            [Factor { dim, .. }] => *dim,
            _ => None,
        }
    }

    /// Whether its real elements come first, in one piece.
    pub(crate) fn is_dense(&self) -> bool {
        self.factors.iter().skip(1).all(|factor| factor.dim.is_none())
    }

    /// The dims in it.
    pub(crate) fn dims(&self) -> impl Iterator<Item = DimIdx> + '_ {
        self.factors.iter().filter_map(|factor| factor.dim)
    }

    /// The product of what of it does not depend on a dim.
    pub(crate) fn n_fixed(&self) -> usize {
        let fixed = self.factors.iter().filter(|factor| factor.dim.is_none());
        fixed.map(|factor| factor.size).product()
    }
}

/// The axes of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Layout {
    /// One per axis, outermost first.
    pub(crate) axes: SmallVec<[Axis; 4]>,
}

impl Layout {
    /// A value without padding.
    pub(crate) fn fixed(shape: &[usize]) -> Layout {
        shape.iter().map(|&size| Axis::fixed(size)).collect()
    }

    /// Whether there is no padding.
    pub(crate) fn is_fixed(&self) -> bool {
        self.axes.iter().all(Axis::is_fixed)
    }

    /// The shape, padding included.
    pub(crate) fn shape(&self) -> Shape {
        self.axes.iter().map(Axis::size).collect()
    }

    /// The shape with each dim at `size_of`: with real sizes, that of the real elements.
    pub(crate) fn shape_with(&self, size_of: impl Fn(DimIdx) -> usize + Copy) -> Shape {
        self.axes.iter().map(|axis| axis.size_with(size_of)).collect()
    }

    /// The dims in it, each once.
    pub(crate) fn dims(&self) -> SmallVec<[DimIdx; 2]> {
        let mut dims: SmallVec<[DimIdx; 2]> = self.axes.iter().flat_map(Axis::dims).collect();
        dims.sort_unstable();
        dims.dedup();
        dims
    }

    /// The value as an array with an axis per factor, in which the real elements are those with
    /// the lowest indices along each axis: its shape, and theirs.
    pub(crate) fn corner(&self, size_of: impl Fn(DimIdx) -> usize) -> (Shape, Shape) {
        let factors = || self.axes.iter().flat_map(|axis| axis.factors.iter());
        let real = factors().map(|factor| factor.dim.map_or(factor.size, &size_of));
        (factors().map(|factor| factor.size).collect(), real.collect())
    }

    /// The same elements under another shape (padding included) with as many; none if an axis of
    /// it would end within a padded one.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Option<Layout> {
        if self.is_fixed() {
            return Some(Layout::fixed(shape));
        }
        let whole = Axis::of(self.axes.iter().flat_map(|axis| axis.factors.iter().copied()));
        let mut factors = whole.factors.into_iter();
        let mut rest: Option<Factor> = None;
        let mut axes: SmallVec<[Axis; 4]> = smallvec![];
        for &size in shape {
            let mut axis = Axis::of([]);
            let mut missing = size;
            while missing != 1 {
                let factor = match rest.take() {
                    Some(rest) => rest,
                    None => factors.next()?,
                };
                if factor.size != 0 && missing.is_multiple_of(factor.size) && missing != 0 {
                    missing /= factor.size;
                    axis.push(factor);
                } else if factor.dim.is_none() && missing != 0 && factor.size % missing == 0 {
                    rest = Some(Factor { size: factor.size / missing, dim: None });
                    axis.push(Factor { size: missing, dim: None });
                    missing = 1;
                } else {
                    return None;
                }
            }
            axes.push(axis);
        }
        (rest.is_none() && factors.next().is_none()).then_some(Layout { axes })
    }
}

impl FromIterator<Axis> for Layout {
    fn from_iter<I: IntoIterator<Item = Axis>>(axes: I) -> Layout {
        Layout { axes: axes.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[4, s of 8, 6]`.
    fn layout() -> Layout {
        [Axis::fixed(4), Axis::bounded(8, 0), Axis::fixed(6)].into_iter().collect()
    }

    #[test]
    fn reshapes_merge_and_split_around_padded_axes() {
        let merged = layout().reshaped(&[32, 6]).unwrap();
        assert_eq!(merged.axes[0].factors().len(), 2);
        assert_eq!(merged.shape_with(|_| 3).as_slice(), [12, 6]);
        assert_eq!(merged.reshaped(&[4, 8, 6]).unwrap(), layout());
        assert_eq!(merged.reshaped(&[2, 1, 2, 8, 3, 2]).unwrap().shape_with(|_| 5)[3], 5);
        let inner = layout().reshaped(&[2, 2, 48]).unwrap();
        assert!(inner.axes[2].is_dense() && !merged.axes[0].is_dense());
        let swapped = [Axis::bounded(8, 0), Axis::fixed(4), Axis::fixed(6)].into_iter();
        assert_eq!(swapped.collect::<Layout>().reshaped(&[8, 6, 4]).unwrap().shape()[1], 6);
        assert_eq!(layout().reshaped(&[64, 3]).unwrap().shape_with(|_| 3).as_slice(), [24, 3]);
        for wrong in [[8, 24], [24, 8], [16, 12]] {
            assert!(layout().reshaped(&wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn the_corner_of_merged_axes_is_one_of_their_parts() {
        let merged = layout().reshaped(&[32, 6]).unwrap();
        let (padded, real) = merged.corner(|_| 3);
        assert_eq!(
            (padded.as_slice(), real.as_slice()),
            ([4, 8, 6].as_slice(), [4, 3, 6].as_slice())
        );
    }
}
