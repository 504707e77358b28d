//! The result cache: reports on disk, by the content of what was compiled.
//!
//! A file is written under another name and renamed, so readers in other processes see all of it or
//! nothing. It carries a checksum; one that does not fit is removed and counted. Nothing that goes
//! wrong here fails a run: a result that cannot be read is computed, and one that cannot be written
//! is lost.
use super::report::Report;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes when the meaning of a report changes, so older files are left alone.
const FORMAT: &str = "systole-aot-1";
const HEAD: &str = "{\"checksum\":\"";
const MIDDLE: &str = "\",\"report\":";

static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);
static HEALED: AtomicU64 = AtomicU64::new(0);
static FAILURES: AtomicU64 = AtomicU64::new(0);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What the result cache did in this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheCounters {
    /// Reports that were read.
    pub hits: u64,
    /// Reports that were not there.
    pub misses: u64,
    /// Damaged files that were removed.
    pub healed: u64,
    /// Reads and writes that failed.
    pub failures: u64,
}

/// What the result cache did in this process so far.
pub fn cache_counters() -> CacheCounters {
    CacheCounters {
        hits: HITS.load(Ordering::Relaxed),
        misses: MISSES.load(Ordering::Relaxed),
        healed: HEALED.load(Ordering::Relaxed),
        failures: FAILURES.load(Ordering::Relaxed),
    }
}

/// The key of a compile: everything that its report depends on.
pub(crate) fn key(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [FORMAT.as_bytes()].iter().chain(parts) {
        // With lengths, no two lists of parts are the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}

fn file(dir: &Path, key: &str) -> PathBuf {
    dir.join(format!("{key}.json"))
}

/// The report of this key, if it is there and whole.
pub(crate) fn load(dir: &Path, key: &str) -> Option<Report> {
    let path = file(dir, key);
    let text = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let counter =
                if error.kind() == std::io::ErrorKind::NotFound { &MISSES } else { &FAILURES };
            counter.fetch_add(1, Ordering::Relaxed);
            return None;
        }
    };
    let report = unwrap(&text);
    match report {
        Some(_) => HITS.fetch_add(1, Ordering::Relaxed),
        None => {
            // Another process may have healed it already; then this removes a good file, which
            // costs one compile and loses nothing.
            let _gone = std::fs::remove_file(&path);
            HEALED.fetch_add(1, Ordering::Relaxed)
        }
    };
    report.map(|report| Report { from_cache: true, ..report })
}

/// Takes the report out of a file, if the checksum fits.
fn unwrap(bytes: &[u8]) -> Option<Report> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (checksum, body) = text.strip_prefix(HEAD)?.split_once(MIDDLE)?;
    let body = body.strip_suffix('}')?;
    if blake3::hash(body.as_bytes()).to_hex().as_str() != checksum {
        return None;
    }
    serde_json::from_str(body).ok()
}

/// Writes a report.
pub(crate) fn store(dir: &Path, key: &str, report: &Report) {
    if try_store(dir, key, report).is_err() {
        FAILURES.fetch_add(1, Ordering::Relaxed);
    }
}

fn try_store(dir: &Path, key: &str, report: &Report) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let body = serde_json::to_string(report)?;
    let checksum = blake3::hash(body.as_bytes()).to_hex();
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!("{key}.{}-{n}.tmp", std::process::id()));
    std::fs::write(&temporary, format!("{HEAD}{checksum}{MIDDLE}{body}}}"))?;
    std::fs::rename(&temporary, file(dir, key)).inspect_err(|_error| {
        let _left_behind = std::fs::remove_file(&temporary);
    })
}

/// What tells one build of libtpu from another, without reading half a gigabyte: its size and
/// samples of its content.
pub(crate) fn identity(library: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::FileExt;
    const N_SAMPLES: u64 = 64;
    const SAMPLE_BYTES: u64 = 4096;
    let file = std::fs::File::open(library)?;
    let size = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&size.to_le_bytes());
    let step = (size / N_SAMPLES).max(SAMPLE_BYTES);
    let mut offset = 0;
    while offset < size {
        let mut sample = vec![0; SAMPLE_BYTES.min(size - offset) as usize];
        file.read_exact_at(&mut sample, offset)?;
        hasher.update(&sample);
        offset += step;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::report::Status;
    use super::*;
    use crate::target::V5E;

    #[test]
    fn returns_what_was_stored_and_heals_what_was_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let report = Report { cycles: Some(7), ..Report::new("k", &V5E, Status::Ok) };
        let key = key(&[b"a", b"b"]);
        assert_eq!(load(dir.path(), &key), None);
        store(dir.path(), &key, &report);
        assert_eq!(load(dir.path(), &key), Some(Report { from_cache: true, ..report.clone() }));
        let path = file(dir.path(), &key);
        let text = std::fs::read_to_string(&path).unwrap();
        for damaged in [&text[..text.len() - 2], &text.replace("\"cycles\":7", "\"cycles\":8"), ""]
        {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(load(dir.path(), &key), None);
            assert!(!path.exists());
        }
        assert!(cache_counters().healed >= 3);
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_ne!(key(&[b"ab", b"c"]), key(&[b"a", b"bc"]));
        assert_ne!(key(&[b"a"]), key(&[b"a", b""]));
    }

    #[test]
    fn never_fails_a_run() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a file");
        std::fs::write(&file, "").unwrap();
        let before = cache_counters().failures;
        store(&file, "k", &Report::new("k", &V5E, Status::Ok));
        assert_eq!(load(&file, "k"), None);
        assert!(cache_counters().failures >= before + 2);
    }
}
