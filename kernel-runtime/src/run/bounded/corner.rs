//! Arrays in the corner of larger ones: the elements of the lowest indices along each axis.

use super::layout::{DimIdx, Layout};
use crate::ir::Array;
use crate::pjrt::{self, Buffer};
use crate::run::graph::Ty;

/// Elements on a device in the corner of a larger array, as a bounded program gives them.
#[derive(Clone, Debug)]
pub(crate) struct Padded {
    /// The larger array.
    pub(crate) buffer: Buffer,
    /// Which of its elements are real.
    pub(crate) layout: Layout,
    /// By dim: how many are.
    pub(crate) sizes: Vec<usize>,
}

impl Padded {
    fn size_of(&self, dim: DimIdx) -> usize {
        self.sizes.get(dim).copied().unwrap_or(0)
    }

    /// The real elements, on the host: waits for the buffer.
    pub(crate) fn cut(&self, ty: &Ty) -> Result<Array, pjrt::Error> {
        let bytes = self.buffer.to_host()?;
        let (padded, real) = self.layout.corner(|dim| self.size_of(dim));
        let mut cut = Array::zeros(ty.dtype, &ty.shape);
        let n_bytes = ty.dtype.size_bytes();
        copy_corner(&bytes, &padded, cut.as_bytes_mut(), &real, n_bytes);
        Ok(cut)
    }

    /// Whether it is what an array would be if it were padded to this shape.
    pub(crate) fn is_corner_of(&self, shape: &[usize]) -> bool {
        let one_factor = |axis: &super::layout::Axis| axis.factors().len() <= 1;
        self.layout.axes.iter().all(one_factor) && self.layout.shape().as_slice() == shape
    }
}

/// An array with zeros after its elements along each axis, so that it has this shape.
pub(crate) fn pad(array: &Array, shape: &[usize]) -> Array {
    let mut padded = Array::zeros(array.dtype(), shape);
    let n_bytes = array.dtype().size_bytes();
    copy_corner(array.as_bytes(), array.shape(), padded.as_bytes_mut(), shape, n_bytes);
    padded
}

/// Copies the elements that two arrays of one rank share, row by row.
fn copy_corner(
    from: &[u8],
    from_shape: &[usize],
    to: &mut [u8],
    to_shape: &[usize],
    n_bytes: usize,
) {
    let counts: Vec<usize> = from_shape.iter().zip(to_shape).map(|(&a, &b)| a.min(b)).collect();
    let (outer, row) = match counts.split_last() {
        Some((&last, outer)) => (outer, last * n_bytes),
        None => (counts.as_slice(), n_bytes),
    };
    if counts.contains(&0) {
        return;
    }
    let offset = |shape: &[usize], index: &[usize]| {
        let last = shape.last().copied().unwrap_or(1);
        index.iter().zip(shape).fold(0, |sum, (&i, &size)| sum * size + i) * last * n_bytes
    };
    let mut index = vec![0; outer.len()];
    loop {
        let (source, target) = (offset(from_shape, &index), offset(to_shape, &index));
        to[target..target + row].copy_from_slice(&from[source..source + row]);
        let next = (0..outer.len()).rev().find(|&axis| index[axis] + 1 < outer[axis]);
        let Some(axis) = next else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_cutting_give_the_array_back() {
        let values: Vec<f32> = (0..12).map(|x| x as f32).collect();
        let array = Array::from_f32(&[2, 3, 2], values).unwrap();
        let padded = pad(&array, &[2, 5, 4]);
        assert_eq!(padded.to_f32()[..12], [0., 1., 0., 0., 2., 3., 0., 0., 4., 5., 0., 0.]);
        let mut back = Array::zeros(array.dtype(), &[2, 3, 2]);
        copy_corner(padded.as_bytes(), &[2, 5, 4], back.as_bytes_mut(), &[2, 3, 2], 4);
        assert_eq!(back, array);
    }

    #[test]
    fn nothing_has_a_corner_of_zeros() {
        let empty = Array::zeros(crate::ir::DType::F32, &[0, 2]);
        assert_eq!(pad(&empty, &[2, 2]).to_f32(), [0.0; 4]);
    }
}
