//! Programs that machines share: each machine is a folder of its own here.
use super::{entries, expected, in_folder, numbered, run};
use std::path::Path;
use systole::cache::{RemoteCache, RemoteOptions};
use systole::run::ProgramCache;

fn machine(dir: &Path, remote: &RemoteCache) -> ProgramCache {
    in_folder(dir).shared(remote.clone())
}

fn at(dir: &Path) -> RemoteCache {
    RemoteCache::open(dir.to_str().unwrap(), RemoteOptions::default())
}

#[test]
fn what_one_machine_compiled_another_loads() {
    let dir = tempfile::tempdir().unwrap();
    let all = || (0..4).map(numbered).collect::<Vec<_>>();
    let right: Vec<_> = (0..4).map(expected).collect();
    let [one, other, shared] = ["one", "other", "shared"].map(|name| dir.path().join(name));
    let (results, stats) = run(&machine(&one, &at(&shared)), all);
    assert_eq!((results, stats.compiles, stats.loads), (right.clone(), 4, 0));
    let remote = at(&shared);
    // The thread of `run` is this one, which has not ended.
    while entries(&shared).len() < 4 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let (results, stats) = run(&machine(&other, &remote), all);
    assert_eq!((results, stats.compiles, stats.loads), (right.clone(), 0, 4));
    let (disk, counters) = (stats.disk.unwrap(), stats.remote.unwrap());
    assert_eq!((disk.hits, disk.misses, disk.stored), (0, 4, 4));
    assert_eq!((counters.hits, counters.misses, counters.stored), (4, 0, 0));
    assert_eq!(counters.bytes_read, disk.bytes_written);
    // Now they are on its disk.
    let (results, stats) = run(&machine(&other, &remote), all);
    assert_eq!((results, stats.compiles, stats.loads), (right.clone(), 0, 4));
    assert_eq!(stats.remote.unwrap().hits, 4);
    assert_eq!(stats.disk.unwrap().hits, 4);
    // With no disk of its own, they come from the others.
    let (results, stats) = run(&ProgramCache::off().shared(remote), all);
    assert_eq!((results, stats.compiles, stats.loads), (right, 0, 4));
    assert_eq!((stats.remote.unwrap().hits, stats.disk), (8, None));
}

#[test]
fn shared_programs_that_are_damaged_or_of_no_use_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (shared, other) = (dir.path().join("shared"), dir.path().join("other"));
    let remote = at(&shared);
    run(&machine(&dir.path().join("one"), &remote), || numbered(5));
    assert!(remote.flush());
    let [path] = &entries(&shared)[..] else { panic!("one program") };
    let good = std::fs::read(path).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let key = name(path.parent().unwrap()) + &name(path);
    let key = systole::cache::Key::parse(&key).unwrap();
    let cut = good[..good.len() / 2].to_vec();
    let flipped = [&good[..9], &[good[9] ^ 1], &good[10..]].concat();
    for bad in [cut, flipped, Vec::new(), b"rubbish".to_vec()] {
        std::fs::write(path, bad).unwrap();
        let _nothing_yet = std::fs::remove_dir_all(&other);
        let remote = at(&shared);
        let (result, stats) = run(&machine(&other, &remote), || numbered(5));
        assert_eq!((result, stats.compiles), (expected(5), 1));
        assert!(remote.flush());
        let counters = remote.counters();
        assert_eq!((counters.damaged, counters.failures, counters.stored), (1, 0, 1));
    }
    // Whole, but nothing that can be loaded.
    remote.put(&key, b"rubbish");
    assert!(remote.flush());
    std::fs::remove_dir_all(&other).unwrap();
    let (result, stats) = run(&machine(&other, &remote), || numbered(5));
    assert_eq!((result, stats.compiles), (expected(5), 1));
    assert!(remote.flush());
    assert_eq!(remote.counters().damaged, 1);
    std::fs::remove_dir_all(&other).unwrap();
    let (result, stats) = run(&machine(&other, &at(&shared)), || numbered(5));
    assert_eq!((result, stats.loads), (expected(5), 1));
}

#[cfg(feature = "remote-cache")]
#[test]
fn an_object_store_serves_programs_and_fails_no_run() {
    use crate::cache::remote::server::{Mood, Server};
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start();
    let remote = server.open("s3://bucket/programs", 60_000);
    let all = || (0..3).map(numbered).collect::<Vec<_>>();
    let right: Vec<_> = (0..3).map(expected).collect();
    run(&machine(&dir.path().join("one"), &remote), all);
    assert!(remote.flush());
    assert_eq!(server.objects().len(), 3);
    let moods = [
        (Mood::Well, 60_000),
        (Mood::Silent, 50),
        (Mood::Status(500), 60_000),
        (Mood::Corrupt, 60_000),
        (Mood::HangsUp, 60_000),
        (Mood::Babbles, 60_000),
    ];
    for (mood, limit_ms) in moods {
        server.set(mood);
        let other = tempfile::tempdir().unwrap();
        let remote = server.open("s3://bucket/programs", limit_ms);
        let (results, stats) = run(&machine(other.path(), &remote), all);
        assert_eq!(results, right, "{mood:?}");
        let compiles = if mood == Mood::Well { 0 } else { 3 };
        assert_eq!((stats.compiles, stats.loads), (compiles, 3 - compiles), "{mood:?}");
        // Kept on disk all the same.
        let (results, stats) = run(&machine(other.path(), &remote), all);
        assert_eq!((results, stats.loads), (right.clone(), 3), "{mood:?}");
    }
}
