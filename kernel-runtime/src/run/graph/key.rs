//! Keys: the bytes that tell one program from another.

use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Collects what `Hash` implementations write, so that `#[derive(Hash)]` gives an op's attributes
/// to the key. The bytes themselves are the key of the first cache tier: equal keys mean equal
/// programs, not just equal hashes. A number is written in little-endian order; a list, a string
/// and an enum write their length or variant first, so no two programs write the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyWriter {
    bytes: SmallVec<[u8; 256]>,
}

impl KeyWriter {
    /// What was written.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Hasher for KeyWriter {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn write_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn write_u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn write_u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

/// Attributes that go into keys: whatever derives `Hash`.
pub(crate) trait Attrs {
    /// Writes every attribute.
    fn write_attrs(&self, key: &mut KeyWriter);
}

impl<T: Hash> Attrs for T {
    fn write_attrs(&self, key: &mut KeyWriter) {
        self.hash(key);
    }
}
