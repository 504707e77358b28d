//! One entry as a file: a head with length and checksum, then the value.
use super::key::Key;
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Write};
use std::path::Path;

/// Begins every entry. A change of the layout below gets another one, so older entries count as
/// damaged and are replaced.
const MAGIC: [u8; 16] = *b"systole entry 1\n";
const HEAD_BYTES: usize = MAGIC.len() + size_of::<u64>() + blake3::OUT_LEN;

/// What is at an entry's path.
#[derive(Debug)]
pub(super) enum Content {
    /// The value, and the open file.
    Value(Vec<u8>, File),
    /// Something else than what was written there under this key.
    Damaged,
    Missing,
}

/// Bytes of the file for a value of `value_bytes`.
pub(super) fn file_bytes(value_bytes: usize) -> u64 {
    (HEAD_BYTES + value_bytes) as u64
}

fn head(key: &Key, value: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    let (magic, rest) = head.split_at_mut(MAGIC.len());
    let (len, sum) = rest.split_at_mut(size_of::<u64>());
    magic.copy_from_slice(&MAGIC);
    len.copy_from_slice(&(value.len() as u64).to_le_bytes());
    // Over the key too: an entry under another's name is damaged as well.
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes());
    hasher.update(value);
    sum.copy_from_slice(hasher.finalize().as_bytes());
    head
}

pub(super) fn write(file: &mut File, key: &Key, value: &[u8]) -> Result<()> {
    file.write_all(&head(key, value))?;
    file.write_all(value)
}

/// What [`write`] writes.
pub(super) fn encode(key: &Key, value: &[u8]) -> Vec<u8> {
    [&head(key, value), value].concat()
}

/// The value of an encoded entry; `None` if it is damaged.
pub(super) fn decode(key: &Key, mut entry: Vec<u8>) -> Option<Vec<u8>> {
    let value = (entry.len() >= HEAD_BYTES).then(|| entry.split_off(HEAD_BYTES))?;
    (entry == head(key, &value)).then_some(value)
}

/// Reads the entry at `path`.
pub(super) fn read(path: &Path, key: &Key) -> Result<Content> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::Missing),
        Err(error) => return Err(error),
    };
    let mut found = [0; HEAD_BYTES];
    match file.read_exact(&mut found) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Content::Damaged),
        Err(error) => return Err(error),
    }
    // The length that the file has, not the one that it claims: a damaged one could be anything.
    let value_bytes = file.metadata()?.len().saturating_sub(HEAD_BYTES as u64);
    let mut value = Vec::with_capacity(usize::try_from(value_bytes).unwrap_or_default());
    file.read_to_end(&mut value)?;
    if found != head(key, &value) {
        return Ok(Content::Damaged);
    }
    Ok(Content::Value(value, file))
}

/// Marks an entry as used now. By the time of modification: access times are often off.
pub(super) fn mark_used(file: &File) {
    // That fails where the folder is not ours to write; the entry is as good without.
    let _not_ours = file.set_modified(std::time::SystemTime::now());
}
