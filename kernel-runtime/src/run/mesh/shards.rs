//! The parts of a tensor that is split over a mesh.

use super::axes::Axes;
use super::partition::Split;
use crate::ir::Array;
use crate::ir::array::LengthMismatch;
use crate::pjrt::{self, Buffer, HostCopy};
use crate::run::graph::Ty;

/// One part per device, in the order of the mesh.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    pub(crate) split: Split,
    /// Empty for a tensor that has a type alone.
    pub(crate) buffers: Vec<Buffer>,
}

impl Shards {
    /// The whole tensor, on the host. Parts that several devices have are copied once.
    pub(crate) fn to_array(&self, mesh: &Axes, ty: &Ty) -> pjrt::Result<Array> {
        let local = self.split.local(mesh, &ty.shape);
        let unused = self.split.unused(mesh);
        let is_first = |device: &usize| mesh.rank(*device, &unused) == 0;
        let copies: Vec<(usize, HostCopy)> = (0..self.buffers.len())
            .filter(is_first)
            .map(|device| Ok((device, self.buffers[device].start_to_host()?)))
            .collect::<pjrt::Result<_>>()?;
        let mut bytes = vec![0; ty.n_bytes()];
        for (device, copy) in copies {
            let part = copy.wait()?;
            let start = self.split.start(mesh, &ty.shape, device);
            let block = Block { shape: &ty.shape, start: &start, size: &local };
            block.rows(ty.dtype.size_bytes(), |whole, within| {
                if let (Some(to), Some(from)) = (bytes.get_mut(whole), part.get(within)) {
                    to.copy_from_slice(from);
                }
            });
        }
        Array::from_bytes(ty.dtype, &ty.shape, &bytes).map_err(|error| mismatch(&error))
    }

    /// Waits until every part is there.
    pub(crate) fn wait(&self) -> pjrt::Result<()> {
        self.buffers.iter().try_for_each(|buffer| buffer.ready()?.wait())
    }

    /// Whether every part is there.
    pub(crate) fn is_ready(&self) -> bool {
        let is_ready = |buffer: &Buffer| buffer.ready().and_then(|event| event.is_ready());
        self.buffers.iter().all(|buffer| is_ready(buffer).unwrap_or(true))
    }
}

fn mismatch(error: &LengthMismatch) -> pjrt::Error {
    pjrt::Error { code: pjrt::Code::Internal, message: error.to_string(), call: "gather" }
}

/// The bytes of each device's part of an array, in the order of the mesh; a part that several
/// devices have stands once, where the first of them is, and is empty for the others.
pub(crate) fn parts(array: &Array, mesh: &Axes, split: &Split) -> Vec<Vec<u8>> {
    let (shape, bytes) = (array.shape(), array.as_bytes());
    let local = split.local(mesh, shape);
    let part = |device: usize| {
        let start = split.start(mesh, shape, device);
        let elem_bytes = array.dtype().size_bytes();
        let mut part = Vec::with_capacity(local.iter().product::<usize>() * elem_bytes);
        let block = Block { shape, start: &start, size: &local };
        block.rows(elem_bytes, |whole, _| part.extend_from_slice(&bytes[whole]));
        part
    };
    let unused = split.unused(mesh);
    let is_first = |device| mesh.rank(device, &unused) == 0;
    let n_devices = mesh.n_devices();
    (0..n_devices).map(|device| if is_first(device) { part(device) } else { vec![] }).collect()
}

/// A part of an array.
struct Block<'a> {
    shape: &'a [usize],
    start: &'a [usize],
    size: &'a [usize],
}

impl Block<'_> {
    /// Calls `f` with the bytes of each contiguous run: those in the array, and those in the part.
    fn rows(
        &self,
        elem_bytes: usize,
        mut f: impl FnMut(std::ops::Range<usize>, std::ops::Range<usize>),
    ) {
        let n_elems: usize = self.size.iter().product();
        let row = self.size.last().copied().unwrap_or(1);
        let n_rows = n_elems.checked_div(row).unwrap_or(0);
        for idx in 0..n_rows {
            // The place of the row's first element, its axes from the last but one outwards.
            let (mut rest, mut stride) = (idx, self.shape.last().copied().unwrap_or(1));
            let mut offset = self.start.last().copied().unwrap_or(0);
            for axis in (0..self.size.len().saturating_sub(1)).rev() {
                offset += (self.start[axis] + rest % self.size[axis]) * stride;
                rest /= self.size[axis];
                stride *= self.shape[axis];
            }
            let whole = offset * elem_bytes;
            let within = idx * row * elem_bytes;
            let n_bytes = row * elem_bytes;
            f(whole..whole + n_bytes, within..within + n_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::DType;

    #[test]
    fn parts_are_blocks_of_the_whole() {
        let mesh = Axes::new(vec![("x".into(), 2), ("y".into(), 2)]);
        let values: Vec<f64> = (0..16).map(f64::from).collect();
        let array = Array::from_f64(DType::U8, &[2, 4, 2], &values).unwrap();
        let split = |dims: [&[usize]; 3]| {
            Split(dims.into_iter().map(|over| over.iter().copied().collect()).collect())
        };
        let of_rows = parts(&array, &mesh, &split([&[], &[1], &[]]));
        assert_eq!(of_rows[0], [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(of_rows[1], [4, 5, 6, 7, 12, 13, 14, 15]);
        // Devices that differ along `x` have the same.
        assert!(of_rows[2].is_empty() && of_rows[3].is_empty());
        let of_both = parts(&array, &mesh, &split([&[1], &[], &[0]]));
        assert_eq!(of_both, [[0, 2, 4, 6], [8, 10, 12, 14], [1, 3, 5, 7], [9, 11, 13, 15]]);
        let of_all = parts(&array, &mesh, &split([&[], &[0, 1], &[]]));
        assert_eq!(of_all, [[0, 1, 8, 9], [2, 3, 10, 11], [4, 5, 12, 13], [6, 7, 14, 15]]);
    }
}
