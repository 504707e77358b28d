//! Several processes at one cache. Each is this test binary, told by a variable to do a job.
use super::{AMPLE, at_length, file, key, names, value};
use crate::jobs::{self, finish};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use systole::cache::{DiskCache, Lookup};

/// Job and folder of a child.
const JOB: &str = "CACHE_TEST_JOB";
const DIR: &str = "CACHE_TEST_DIR";
const N_THREADS: u64 = 8;
const N_KEYS: u64 = 60;
const MAX_BYTES: u64 = 3000;
/// Less than all values together take, so that there is always something to evict.
const SMALL: u64 = N_KEYS * MAX_BYTES / 4;

fn command(job: &str, dir: &Path) -> Command {
    let mut command = jobs::command("cache::processes::child", JOB, job);
    command.env(DIR, dir);
    command
}

/// Does the job it was started for; as one test among others, nothing.
#[test]
fn child() {
    let (Ok(job), Some(dir)) = (std::env::var(JOB), std::env::var_os(DIR)) else { return };
    let dir = Path::new(&dir);
    match job.as_str() {
        "write" => write_for_ever(dir),
        "hammer" => hammer(dir),
        "share" => share(dir),
        "limited" => meet_a_limit(dir),
        "full" => meet_a_full_disk(dir),
        other => panic!("no job {other}"),
    }
}

/// A sequence of numbers that looks random, one per process and thread.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut reader = blake3::Hasher::new();
    reader.update(&seed.to_le_bytes()).update(&std::process::id().to_le_bytes());
    let mut reader = reader.finalize_xof();
    std::iter::repeat_with(move || {
        let mut bytes = [0; 8];
        reader.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    })
}

fn write_for_ever(dir: &Path) {
    let cache = DiskCache::open(dir, SMALL);
    for n in numbers(0) {
        let key = key(n % N_KEYS);
        cache.put(&key, &value(&key, MAX_BYTES));
        if let Some(found) = cache.get(&key) {
            assert_eq!(found, value(&key, MAX_BYTES));
        }
    }
}

#[test]
fn a_kill_at_any_time_leaves_whole_entries() {
    let dir = tempfile::tempdir().unwrap();
    let cache = DiskCache::open(dir.path(), SMALL);
    let mut pause = numbers(1);
    let mut n_seen = 0;
    for _kill in 0..at_length(30, 200) {
        let mut child = command("write", dir.path()).spawn().unwrap();
        // Long enough for the process to start, most of the time.
        std::thread::sleep(Duration::from_micros(10_000 + pause.next().unwrap() % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = cache.verify().unwrap();
        assert_eq!((verified.n_damaged, verified.n_unreadable), (0, 0));
        assert!(cache.stats().unwrap().bytes <= SMALL);
        n_seen += verified.n_good;
        // Locks of the dead block nobody.
        cache.put(&key(N_KEYS), b"alive");
        assert!(cache.get(&key(N_KEYS)).is_some());
    }
    assert!(n_seen > 0);
    assert_eq!((cache.counters().healed, cache.problem()), (0, None));
    for n in 0..N_KEYS {
        if let Some(found) = cache.get(&key(n)) {
            assert_eq!(found, value(&key(n), MAX_BYTES));
        }
    }
}

fn hammer(dir: &Path) {
    // One cache for half of the threads, one each for the others.
    let shared = DiskCache::open(dir, SMALL);
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let own = DiskCache::open(dir, SMALL);
            let cache = if thread % 2 == 0 { shared.clone() } else { own };
            scope.spawn(move || {
                for n in numbers(thread).take(250) {
                    hammer_once(&cache, n);
                }
                assert_eq!(cache.problem(), None);
            });
        }
    });
}

fn hammer_once(cache: &DiskCache, n: u64) {
    let key = key((n >> 8) % N_KEYS);
    let expected = value(&key, MAX_BYTES);
    match n % 16 {
        0..4 => cache.put(&key, &expected),
        4..9 => assert!(cache.get(&key).is_none_or(|found| found == expected)),
        9..14 => match cache.lookup(&key, Duration::from_secs(20)) {
            Lookup::Found(found) => assert_eq!(found, expected),
            Lookup::Vacant(vacant) => vacant.fill(&expected),
        },
        // Damage, where there is an entry.
        14 => {
            if let Ok(mut entry) = std::fs::OpenOptions::new().write(true).open(file(cache, &key)) {
                entry.write_all(b"rubbish").unwrap();
            }
        }
        _ => assert!(cache.stats().unwrap().bytes <= SMALL),
    }
}

#[test]
fn processes_and_threads_at_one_cache_see_only_whole_values() {
    let dir = tempfile::tempdir().unwrap();
    finish((0..4).map(|_| command("hammer", dir.path()).spawn().unwrap()));
    let cache = DiskCache::open(dir.path(), SMALL);
    cache.verify().unwrap();
    let (verified, stats) = (cache.verify().unwrap(), cache.stats().unwrap());
    assert_eq!((verified.n_damaged, verified.n_unreadable), (0, 0));
    assert_eq!(verified.n_good, stats.n_entries);
    assert!(stats.n_entries > 0 && stats.bytes <= SMALL, "{stats:?}");
    for left in ["staged", "keys"] {
        assert_eq!(names(&cache, left), [""; 0]);
    }
}

/// Makes every value, and writes a byte for each that it had to make.
fn share(dir: &Path) {
    let cache = DiskCache::open(dir.join("cache"), AMPLE);
    let make = |n: u64| {
        let key = key(n);
        match cache.lookup(&key, Duration::from_secs(60)) {
            Lookup::Found(found) => assert_eq!(found, value(&key, MAX_BYTES)),
            Lookup::Vacant(vacant) => {
                let mut log = std::fs::OpenOptions::new();
                let mut log = log.create(true).append(true).open(dir.join(n.to_string())).unwrap();
                log.write_all(b"x").unwrap();
                vacant.fill(&value(&key, MAX_BYTES));
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            scope.spawn(move || (0..N_KEYS).for_each(|n| make((n + 7 * thread) % N_KEYS)));
        }
    });
    assert_eq!(cache.problem(), None);
}

#[test]
fn one_of_all_processes_and_threads_makes_each_value() {
    let dir = tempfile::tempdir().unwrap();
    finish((0..4).map(|_| command("share", dir.path()).spawn().unwrap()));
    for n in 0..N_KEYS {
        let made = std::fs::read(dir.path().join(n.to_string())).unwrap();
        assert_eq!(made, b"x", "{n}");
    }
}

/// Run with a limit on the size of files, which fails a write in the middle.
fn meet_a_limit(dir: &Path) {
    let cache = DiskCache::open(dir, AMPLE);
    cache.put(&key(0), b"small");
    let large = vec![7; 3000];
    cache.put(&key(1), &large);
    let problem = cache.problem().unwrap();
    assert!(problem.contains("cannot write") && problem.contains("staged"), "{problem}");
    assert_eq!((cache.counters().failures, cache.counters().stored), (1, 1));
    assert_eq!(cache.get(&key(1)), None);
    assert_eq!(cache.get(&key(0)).as_deref(), Some(&b"small"[..]));
    assert_eq!(names(&cache, "staged"), [""; 0]);
}

/// Runs a job of this binary behind some lines of bash, which get the program as `$0`.
fn behind(script: &str, job: &str, dir: &Path) -> std::process::Output {
    let script = format!("{script}; exec \"$0\" --exact cache::processes::child --nocapture");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    bash.env(JOB, job).env(DIR, dir).output().unwrap()
}

#[test]
fn a_write_that_fails_loses_the_value_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    // Of 1024 bytes each, in bash. Ignored, the signal becomes an error of the write.
    let output = behind("trap '' XFSZ; ulimit -f 2", "limited", dir.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Run where the disk is full long before the cap is reached.
fn meet_a_full_disk(dir: &Path) {
    let cache = DiskCache::open(dir, AMPLE);
    for n in 0..400 {
        cache.put(&key(n), &[n as u8; 5000]);
        assert_eq!(cache.get(&key(n)), Some(vec![n as u8; 5000]));
    }
    let counters = cache.counters();
    assert_eq!((counters.stored, counters.failures), (400, 0), "{:?}", cache.problem());
    assert!(counters.evicted > 300, "{counters:?}");
    // What does not fit at all is lost, and costs the others nothing.
    cache.put(&key(400), &vec![0; 1 << 20]);
    assert_eq!((cache.get(&key(400)), cache.counters().failures), (None, 1));
    assert!(cache.problem().unwrap().contains("No space left"), "{:?}", cache.problem());
    assert!(cache.get(&key(399)).is_some());
    assert_eq!(cache.verify().unwrap().n_damaged, 0);
    assert_eq!(names(&cache, "staged"), [""; 0]);
}

#[test]
fn on_a_full_disk_old_values_make_room() {
    let dir = tempfile::tempdir().unwrap();
    // A disk of our own, in a namespace that ends with the process.
    let mount = "unshare --user --map-root-user --mount bash -c";
    let script = format!(
        "cd \"${DIR}\" && exec {mount} 'mount -t tmpfs -o size=512k none \"${DIR}\" && \
         exec \"$0\" --exact cache::processes::child --nocapture' \"$0\""
    );
    let output = behind(&script, "full", dir.path());
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Where namespaces are forbidden there is no such disk to be had without being root.
    let is_forbidden = stderr.contains("unshare:") || stderr.contains("mount:");
    assert!(output.status.success() || is_forbidden, "{stderr}");
}
