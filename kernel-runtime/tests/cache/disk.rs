use super::{AMPLE, file, key, names, value};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};
use systole::cache::{Absence, DiskCache, Key, Lookup};

/// Bytes that an entry takes besides its value.
const HEAD_BYTES: u64 = 56;

fn open(cap_bytes: u64) -> (tempfile::TempDir, DiskCache) {
    let dir = tempfile::tempdir().unwrap();
    let cache = DiskCache::open(dir.path().join("some/folder"), cap_bytes);
    (dir, cache)
}

/// As if the entry of this key were last used so long ago.
fn age(cache: &DiskCache, key: &Key, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::open(file(cache, key)).unwrap().set_modified(time).unwrap();
}

#[test]
fn keeps_values_of_any_size_over_processes() {
    let (_dir, cache) = open(AMPLE);
    for (n, bytes) in [(0, 0), (1, 1), (2, 4096), (3, 3 << 20)] {
        let value: Vec<u8> = (0..bytes).map(|i| (i * 7) as u8).collect();
        assert_eq!(cache.get(&key(n)), None);
        cache.put(&key(n), &value);
        assert_eq!(cache.get(&key(n)), Some(value.clone()));
        // What another process would see.
        assert_eq!(DiskCache::open(cache.dir(), AMPLE).get(&key(n)), Some(value));
    }
    cache.put(&key(1), b"another");
    assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"another"[..]));
    let (counters, stats) = (cache.counters(), cache.stats().unwrap());
    assert_eq!((counters.hits, counters.misses, counters.stored), (5, 4, 5));
    assert_eq!((counters.failures, cache.problem()), (0, None));
    assert_eq!((stats.n_entries, stats.bytes), (4, 4 * HEAD_BYTES + 7 + 4096 + (3 << 20)));
    assert_eq!(names(&cache, "staged"), [""; 0]);
}

#[test]
fn opening_and_looking_leave_no_trace() {
    let (dir, cache) = open(AMPLE);
    assert_eq!(cache.get(&key(0)), None);
    assert_eq!(cache.stats().unwrap().n_entries, 0);
    assert_eq!(cache.verify().unwrap().n_good, 0);
    assert_eq!(cache.clear().unwrap().n_entries, 0);
    assert_eq!(cache.counters().failures, 0);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn heals_damage_at_every_byte() {
    let (_dir, cache) = open(AMPLE);
    let (key, value) = (key(0), b"some value of little length");
    cache.put(&key, value);
    let path = file(&cache, &key);
    let good = std::fs::read(&path).unwrap();
    let flipped = (0..good.len()).flat_map(|at| {
        [0x01, 0x80, 0xff].map(|bits| {
            let mut bad = good.clone();
            bad[at] ^= bits;
            bad
        })
    });
    let cut = (0..good.len()).map(|len| good[..len].to_vec());
    let longer = std::iter::once([&good[..], b"\0"].concat());
    let mut n_damaged = 0;
    for bad in flipped.chain(cut).chain(longer) {
        std::fs::write(&path, &bad).unwrap();
        assert_eq!(cache.get(&key), None, "{bad:?}");
        assert!(!path.exists());
        n_damaged += 1;
        assert_eq!(cache.counters().healed, n_damaged);
        assert_eq!(cache.get(&key), None);
        assert_eq!(cache.counters().healed, n_damaged);
        cache.put(&key, value);
        assert_eq!(cache.get(&key).as_deref(), Some(&value[..]));
    }
    assert_eq!(cache.counters().failures, 0);
}

#[test]
fn an_entry_under_another_name_is_damaged() {
    let (_dir, cache) = open(AMPLE);
    cache.put(&key(0), b"0");
    cache.put(&key(1), b"1");
    std::fs::copy(file(&cache, &key(0)), file(&cache, &key(1))).unwrap();
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(cache.counters().healed, 1);
}

#[test]
fn lookup_says_why_there_is_nothing_and_fills_the_gap() {
    let (_dir, cache) = open(AMPLE);
    let vacant = |n: u64| match cache.lookup(&key(n), Duration::from_secs(9)) {
        Lookup::Vacant(vacant) => vacant,
        Lookup::Found(value) => panic!("{value:?}"),
    };
    let first = vacant(0);
    assert_eq!(first.absence(), Absence::Missing);
    // Other keys need not wait, and neither does who has no patience.
    assert_eq!(vacant(1).absence(), Absence::Missing);
    assert_eq!(cache.counters().waits, 0);
    assert!(matches!(cache.lookup(&key(0), Duration::ZERO), Lookup::Vacant(_)));
    assert_eq!(cache.counters().waits, 1);
    first.fill(b"value");
    assert!(matches!(cache.lookup(&key(0), Duration::ZERO), Lookup::Found(v) if v == b"value"));
    std::fs::write(file(&cache, &key(0)), "rubbish").unwrap();
    assert_eq!(vacant(0).absence(), Absence::Damaged);
    cache.put(&key(2), b"");
    cache.discard(&key(2));
    assert_eq!(vacant(2).absence(), Absence::Missing);
    assert_eq!((cache.counters().healed, cache.counters().failures), (2, 0));
    assert_eq!(names(&cache, "keys"), [""; 0]);
}

#[test]
fn the_least_recently_used_make_room() {
    let bytes = HEAD_BYTES + 100;
    let (_dir, cache) = open(10 * bytes);
    for n in 0..10 {
        cache.put(&key(n), &[n as u8; 100]);
        age(&cache, &key(n), 1000 - 10 * n);
    }
    assert_eq!((cache.counters().evicted, cache.stats().unwrap().bytes), (0, 10 * bytes));
    // Used just now, the oldest is the youngest.
    assert!(cache.get(&key(0)).is_some());
    cache.put(&key(10), &[10; 100]);
    // One more than needed goes, so that the next value need not count them all.
    assert_eq!((cache.counters().evicted, cache.stats().unwrap().n_entries), (2, 9));
    for n in 0..=10 {
        assert_eq!(cache.get(&key(n)).is_some(), n != 1 && n != 2, "{n}");
    }
    // A value as large as the cap takes all of it; a larger one is not stored.
    cache.put(&key(11), &vec![0; (10 * bytes - HEAD_BYTES) as usize]);
    assert_eq!(cache.stats().unwrap().n_entries, 1);
    cache.put(&key(12), &vec![0; (10 * bytes) as usize]);
    assert!(cache.get(&key(11)).is_some() && cache.get(&key(12)).is_none());
    assert_eq!((cache.counters().oversized, cache.counters().failures), (1, 0));
}

#[test]
fn the_cap_holds_whatever_the_record_of_the_size_says() {
    let bytes = HEAD_BYTES + 100;
    let (_dir, cache) = open(5 * bytes);
    for (n, record) in
        ["", "0", "0 0000000000000000\n", "\u{0}", "-1 x", "garbage"].iter().enumerate()
    {
        for i in 0..7 {
            cache.put(&key(10 * n as u64 + i), &[0; 100]);
            assert!(cache.stats().unwrap().bytes <= 5 * bytes);
        }
        std::fs::write(cache.dir().join("size"), record).unwrap();
    }
    // Replacing an entry takes no more room, however often.
    let evicted = cache.counters().evicted;
    for _again in 0..50 {
        cache.put(&key(56), &[1; 100]);
    }
    assert_eq!(cache.counters().evicted, evicted);
    // With a smaller cap, what is too much goes with the next value.
    let smaller = DiskCache::open(cache.dir(), 2 * bytes);
    smaller.put(&key(1000), &[0; 100]);
    assert!(smaller.stats().unwrap().bytes <= 2 * bytes);
    assert!(smaller.get(&key(1000)).is_some());
    let none = DiskCache::open(cache.dir(), 0);
    none.put(&key(1001), b"");
    assert_eq!((none.get(&key(1001)), none.counters().oversized), (None, 1));
    assert_eq!(none.verify().unwrap().n_good, 1);
    assert_eq!(none.stats().unwrap().n_entries, 0);
}

#[test]
fn what_comes_and_goes_is_not_counted_in_between() {
    let bytes = HEAD_BYTES + 100;
    let (_dir, cache) = open(2 * bytes);
    cache.put(&key(0), &[0; 100]);
    cache.put(&key(1), &[1; 100]);
    // As another process that has yet to remove what makes room for its entry.
    let other = File::open(cache.dir().join("lock")).unwrap();
    other.lock().unwrap();
    let incoming = file(&cache, &key(2));
    std::fs::create_dir_all(incoming.parent().unwrap()).unwrap();
    std::fs::copy(file(&cache, &key(0)), &incoming).unwrap();
    let counting = cache.clone();
    let counted = std::thread::spawn(move || counting.stats().unwrap());
    std::thread::sleep(Duration::from_millis(50));
    assert!(!counted.is_finished());
    std::fs::remove_file(incoming).unwrap();
    drop(other);
    assert_eq!(counted.join().unwrap().bytes, 2 * bytes);
}

#[test]
fn verify_finds_what_nobody_asked_for() {
    let (_dir, cache) = open(AMPLE);
    for n in 0..9 {
        cache.put(&key(n), &value(&key(n), 300));
        age(&cache, &key(n), 1000 - 10 * n);
    }
    std::fs::write(file(&cache, &key(3)), "").unwrap();
    std::fs::remove_file(file(&cache, &key(4))).unwrap();
    std::fs::create_dir(file(&cache, &key(4))).unwrap();
    // Files of others are none of our business.
    std::fs::write(cache.dir().join("README"), "").unwrap();
    std::fs::write(file(&cache, &key(0)).with_file_name("no entry"), "").unwrap();
    let used = |n: u64| std::fs::metadata(file(&cache, &key(n))).unwrap().modified().unwrap();
    let before = used(8);
    let verified = cache.verify().unwrap();
    assert_eq!((verified.n_good, verified.n_damaged, verified.n_unreadable), (7, 1, 0));
    assert_eq!(used(8), before);
    assert_eq!(cache.verify().unwrap().n_damaged, 0);
    assert_eq!(cache.get(&key(4)), None);
    let removed = cache.clear().unwrap();
    assert_eq!(removed.n_entries, 7);
    assert!(removed.bytes > 7 * HEAD_BYTES);
    assert_eq!(cache.stats().unwrap().n_entries, 0);
    assert!(cache.dir().join("README").exists());
    cache.put(&key(4), b"again");
    assert!(cache.get(&key(4)).is_some());
}

#[test]
fn what_killed_processes_left_is_swept() {
    let (_dir, cache) = open(AMPLE);
    cache.put(&key(0), b"");
    let locked = cache.lock(&key(1), Duration::ZERO).unwrap();
    let make = |folder: &str, name: &str, seconds: u64| {
        let path = cache.dir().join(folder).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
        file
    };
    make("staged", "dead", 3600);
    make("staged", "young", 0);
    let living = make("staged", "living", 3600);
    living.lock().unwrap();
    make("keys", "dead", 0);
    cache.verify().unwrap();
    let mut staged = names(&cache, "staged");
    staged.sort();
    assert_eq!(staged, ["living", "young"]);
    assert_eq!(names(&cache, "keys"), [key(1).to_string()]);
    drop(locked);
    assert_eq!(names(&cache, "keys"), [""; 0]);
}

#[test]
fn a_broken_folder_fails_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // Not even root may make a folder in the second one.
    for folder in [file.join("cache"), file.clone(), "/proc/no/cache".into()] {
        let cache = DiskCache::open(&folder, AMPLE);
        cache.put(&key(0), b"value");
        assert_eq!(cache.get(&key(0)), None);
        let Lookup::Vacant(vacant) = cache.lookup(&key(0), Duration::from_secs(9)) else {
            panic!("nothing can be there")
        };
        vacant.fill(b"value");
        cache.discard(&key(0));
        assert!(cache.counters().failures >= 3, "{folder:?}: {:?}", cache.counters());
        let problem = cache.problem().unwrap();
        assert!(problem.contains(folder.to_str().unwrap()), "{problem}");
        assert_eq!((cache.counters().stored, cache.counters().hits), (0, 0));
    }
    assert!(DiskCache::open(&file, AMPLE).stats().is_err());
}

#[test]
fn a_folder_that_vanishes_comes_back() {
    let (dir, cache) = open(AMPLE);
    for _again in 0..3 {
        cache.put(&key(0), b"value");
        assert!(cache.get(&key(0)).is_some());
        let lock = cache.lock(&key(0), Duration::ZERO);
        assert!(lock.is_some());
        std::fs::remove_dir_all(dir.path().join("some")).unwrap();
        assert_eq!(cache.get(&key(0)), None);
    }
    assert_eq!((cache.counters().failures, cache.counters().stored), (0, 3));
}

#[test]
fn a_folder_that_is_read_only_still_gives() {
    let (_dir, cache) = open(AMPLE);
    cache.put(&key(0), b"value");
    let folders = [cache.dir().to_owned(), file(&cache, &key(0)).parent().unwrap().to_owned()];
    let allow = |mode: u32| {
        for folder in &folders {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    allow(0o500);
    assert_eq!(cache.get(&key(0)).as_deref(), Some(&b"value"[..]));
    cache.put(&key(1), b"value");
    // Root may write there all the same.
    assert_eq!(cache.get(&key(1)).is_some(), cache.counters().failures == 0);
    allow(0o700);
}
