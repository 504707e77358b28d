//! A folder, as another machine sees it.
use super::{fill, found, key, open, value};
use std::time::{Duration, SystemTime};
use systole::cache::DiskCache;

#[test]
fn machines_find_what_others_stored() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("made when needed");
    let url = format!("file://{}", folder.to_str().unwrap().replace(' ', "%20"));
    let (one, other) = (open(&url), open(folder.to_str().unwrap()));
    assert!(!found(&other, &key(0)) && !folder.exists());
    fill(&one, 20);
    assert!((0..20).all(|n| found(&other, &key(n))));
    let (wrote, read) = (one.counters(), other.counters());
    assert_eq!((wrote.stored, read.hits, read.misses), (20, 20, 1));
    assert_eq!(wrote.bytes_written, read.bytes_read);
    assert_eq!((wrote.failures, read.failures, one.problem(), other.problem()), (0, 0, None, None));
    assert_eq!(std::fs::read_dir(folder.join("staged")).unwrap().count(), 0);
    // The same files as on disk.
    let disk = DiskCache::open(&folder, 1 << 30);
    assert!((0..20).all(|n| disk.get(&key(n)) == Some(value(&key(n), 5000))));
}

#[test]
fn damage_at_every_byte_is_nothing_found() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path().to_str().unwrap());
    cache.put(&key(0), b"some value");
    assert!(cache.flush());
    let text = key(0).to_string();
    let path = dir.path().join(&text[..2]).join(&text[2..]);
    let good = std::fs::read(&path).unwrap();
    let flipped = (0..good.len()).map(|at| {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        bad
    });
    let cut = (0..good.len()).map(|len| good[..len].to_vec());
    let longer = std::iter::once([&good[..], b"\0"].concat());
    for bad in flipped.chain(cut).chain(longer) {
        std::fs::write(&path, &bad).unwrap();
        assert_eq!(cache.get(&key(0)), None, "{bad:?}");
    }
    let counters = cache.counters();
    assert_eq!((counters.damaged, counters.failures), (2 * good.len() as u64 + 1, 0));
    cache.put(&key(0), b"some value");
    assert!(cache.flush());
    assert_eq!(cache.get(&key(0)).as_deref(), Some(&b"some value"[..]));
}

#[test]
fn what_killed_writers_left_goes_after_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let staged = dir.path().join("staged");
    std::fs::create_dir(&staged).unwrap();
    for (name, hours) in [("old", 25), ("young", 1)] {
        let file = std::fs::File::create(staged.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    }
    fill(&open(dir.path().to_str().unwrap()), 1);
    assert!(!staged.join("old").exists() && staged.join("young").exists());
}
