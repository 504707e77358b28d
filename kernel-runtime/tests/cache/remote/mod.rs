//! The cache that machines share: in a folder, and in an object store that runs in this process.
mod folder;
#[cfg(feature = "remote-cache")]
mod object;
#[cfg(feature = "remote-cache")]
pub(crate) mod server;

use super::{key, value};
use std::time::Duration;
use systole::cache::{Key, RemoteCache, RemoteOptions};

fn open(url: &str) -> RemoteCache {
    RemoteCache::open(url, RemoteOptions::default())
}

/// Stores the values of keys `0..n` and waits for them.
fn fill(cache: &RemoteCache, n: u64) {
    for n in 0..n {
        cache.put(&key(n), &value(&key(n), 5000));
    }
    assert!(cache.flush());
}

fn found(cache: &RemoteCache, key: &Key) -> bool {
    match cache.get(key) {
        Some(found) => {
            assert_eq!(found, value(key, 5000));
            true
        }
        None => false,
    }
}

#[test]
fn a_place_that_cannot_be_is_told_and_left_alone() {
    for (url, part) in [
        ("ftp://host/x", "begins with file://, s3:// or gs://"),
        ("file://host/x", "write file:///some/folder"),
        #[cfg(not(feature = "remote-cache"))]
        ("s3://bucket/x", "feature `remote-cache`"),
        #[cfg(feature = "remote-cache")]
        ("s3://", "cannot be used"),
        #[cfg(feature = "remote-cache")]
        ("gs:///x", "cannot be used"),
    ] {
        let cache = open(url);
        assert_eq!(cache.problem(), None);
        assert_eq!(cache.get(&key(0)), None);
        let problem = cache.problem().unwrap();
        assert!(
            problem.contains(part) && problem.contains(url.split(':').next().unwrap()),
            "{problem}"
        );
        cache.put(&key(0), b"value");
        assert!(cache.flush());
        assert_eq!(cache.get(&key(0)), None);
        assert_eq!(cache.counters().failures, 3);
        // Three failures are enough for a while.
        cache.put(&key(0), b"value");
        assert!(cache.flush() && cache.get(&key(0)).is_none());
        let counters = cache.counters();
        assert_eq!((counters.failures, counters.skipped, counters.misses), (3, 2, 3));
        assert_eq!((counters.hits, counters.stored, cache.url()), (0, 0, url));
    }
}

#[test]
fn what_a_thread_gave_is_stored_when_it_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path().to_str().unwrap());
    let giver = cache.clone();
    let thread = std::thread::spawn(move || (0..50).for_each(|n| giver.put(&key(n), &[n as u8])));
    thread.join().unwrap();
    assert_eq!(cache.counters().stored, 50);
    // The time limit is for what hangs; nothing does here.
    let options = RemoteOptions::default();
    assert_eq!(options.time_limit, Duration::from_secs(5));
}
