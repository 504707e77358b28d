//! The cache on disk, seen from outside: every damage, every failure of the disk, and many processes.
mod disk;
mod processes;
pub(crate) mod remote;

use std::path::PathBuf;
use systole::cache::{DiskCache, Key};

/// A cap that nothing here reaches.
const AMPLE: u64 = 1 << 30;

/// The number of turns of a test that is as good as it is long: the second under `./x stress`.
pub(crate) fn at_length(short: usize, long: usize) -> usize {
    if std::env::var_os("SYSTOLE_STRESS").is_some() { long } else { short }
}

fn key(n: u64) -> Key {
    Key::of(&[b"test", &n.to_le_bytes()])
}

/// The one value that belongs to a key, of up to `max_bytes` bytes: any other one is a mistake.
fn value(key: &Key, max_bytes: u64) -> Vec<u8> {
    let mut reader = blake3::Hasher::new_keyed(key.as_bytes()).finalize_xof();
    let mut bytes = [0; 8];
    reader.fill(&mut bytes);
    let mut value = vec![0; (u64::from_le_bytes(bytes) % (max_bytes + 1)) as usize];
    reader.fill(&mut value);
    value
}

/// The file of a key's entry. Where it is, is the cache's own business; here it is to be damaged.
fn file(cache: &DiskCache, key: &Key) -> PathBuf {
    let text = key.to_string();
    cache.dir().join(&text[..2]).join(&text[2..])
}

/// Names of the files in a folder of the cache; none if there is no such folder.
fn names(cache: &DiskCache, folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(cache.dir().join(folder)).into_iter().flatten();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}
