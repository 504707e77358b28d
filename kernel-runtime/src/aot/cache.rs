//! The result cache: reports on disk, by the content of what was compiled.
use super::report::Report;
use crate::cache::{Absence, DiskCache, Key, Lookup, Vacant};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// Changes when the meaning of a report changes, so that older ones are not found.
const FORMAT: &str = "systole-aot-6";

/// Caches by folder, so that all compiles of this process count together.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, DiskCache>>> = LazyLock::new(Mutex::default);

/// Where results are kept unless [`super::Options::cache`] says otherwise: `aot` in the cache folder.
pub fn result_cache_dir() -> PathBuf {
    crate::pjrt::cache_dir().join("aot")
}

/// The result cache in this folder, one per process and folder. Its size is limited by the variable
/// [`crate::cache::LIMIT_VARIABLE`] as it was at the first use.
pub fn result_cache(dir: &Path) -> DiskCache {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.entry(dir.to_owned()).or_insert_with(|| DiskCache::open_limited(dir)).clone()
}

/// The key of a compile: everything that its report depends on.
pub(super) fn key(parts: &[&[u8]]) -> Key {
    let parts: Vec<&[u8]> =
        std::iter::once(FORMAT.as_bytes()).chain(parts.iter().copied()).collect();
    Key::of(&parts)
}

/// What the cache has for a compile.
pub(super) enum Found {
    Report(Box<Report>),
    Nothing(Gap),
}

/// No report: compile, and fill the gap. Others that want the report wait for it.
#[derive(Default)]
pub(super) struct Gap {
    place: Option<Vacant>,
    /// Whether there was a damaged report, which was removed.
    pub(super) was_damaged: bool,
}

impl Gap {
    /// Stores the report.
    pub(super) fn fill(self, report: &Report) {
        // A report is plain data: it always has a JSON form.
        if let (Some(place), Ok(bytes)) = (self.place, serde_json::to_vec(report)) {
            place.fill(&bytes);
        }
    }
}

/// Looks for a report; waits for at most `patience` if another thread or process is compiling it.
pub(super) fn find(cache: &DiskCache, key: &Key, patience: Duration) -> Found {
    let mut was_damaged = false;
    loop {
        match cache.lookup(key, patience) {
            Lookup::Vacant(place) => {
                was_damaged |= place.absence() == Absence::Damaged;
                return Found::Nothing(Gap { place: Some(place), was_damaged });
            }
            Lookup::Found(bytes) => match serde_json::from_slice(&bytes) {
                Ok(report) => {
                    return Found::Report(Box::new(Report { from_cache: true, ..report }));
                }
                // It was removed and is there again: the folder is not ours to change.
                Err(_) if was_damaged => return Found::Nothing(Gap { place: None, was_damaged }),
                // Whole, but no report: of another build with the same `FORMAT`.
                Err(_) => {
                    cache.discard(key);
                    was_damaged = true;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Status;
    use super::*;
    use crate::target::V5E;

    fn gap(found: Found) -> Gap {
        match found {
            Found::Nothing(gap) => gap,
            Found::Report(report) => panic!("{report:?}"),
        }
    }

    #[test]
    fn returns_what_was_stored_and_tells_of_damage() {
        let dir = tempfile::tempdir().unwrap();
        let cache = result_cache(dir.path());
        let report = Report { cycles: Some(7), ..Report::new("k", &V5E, Status::Ok) };
        let key = key(&[b"a", b"b"]);
        let find = || find(&cache, &key, Duration::ZERO);
        let missing = gap(find());
        assert!(!missing.was_damaged);
        missing.fill(&report);
        let Found::Report(found) = find() else { panic!("it was stored") };
        assert_eq!(*found, Report { from_cache: true, ..report });
        // Whole, as far as the cache can tell.
        cache.put(&key, b"{}");
        let damaged = gap(find());
        assert!(damaged.was_damaged);
        damaged.fill(&found);
        assert!(matches!(find(), Found::Report(_)));
        assert_eq!(result_cache(dir.path()).counters().healed, 1);
    }
}
