//! Host memory that buffers can share.
use crate::ir::Array;

mod sealed {
    pub trait Sealed {}
}

/// Bytes that stay where they are, unchanged, for as long as the value lives and is shared: what
/// [`Client::buffer_sharing`](super::Client::buffer_sharing) relies on, and so nobody else can
/// implement.
pub trait HostBytes: sealed::Sealed + Send + Sync + 'static {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

impl sealed::Sealed for Array {}

impl HostBytes for Array {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

/// As much as a CPU plugin wants host memory to be aligned to use it as it is.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Bytes that begin at a multiple of 64, so that buffers on the CPU can share them.
#[derive(Clone, Debug)]
pub struct AlignedBytes {
    lines: Vec<Line>,
    len: usize,
}

impl AlignedBytes {
    /// So many zeros.
    pub fn zeroed(len: usize) -> AlignedBytes {
        AlignedBytes { lines: vec![Line([0; 64]); len.div_ceil(64)], len }
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines);
        &mut bytes[..self.len]
    }
}

impl sealed::Sealed for AlignedBytes {}

impl HostBytes for AlignedBytes {
    fn bytes(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.lines);
        &bytes[..self.len]
    }
}
