//! Files that are not as they were written, and folders that cannot be written.
use super::{AMPLE, client, entries, expected, fresh, in_folder, numbered, run};
use crate::cache::at_length;
use systole::cache::{DiskCache, Key};
use systole::pjrt::Plugin;
use systole::run::{ProgramCache, with_device};

/// Bytes of an entry before its value.
const HEAD_BYTES: usize = 56;

#[test]
fn a_damaged_program_is_compiled_and_kept_again() {
    let dir = tempfile::tempdir().unwrap();
    run(&in_folder(dir.path()), || numbered(5));
    let [path] = &entries(dir.path())[..] else { panic!("one program") };
    let good = std::fs::read(path).unwrap();
    // Every byte at length.
    let step = (good.len() / at_length(40, good.len())).max(1);
    let flipped = (0..HEAD_BYTES).chain((HEAD_BYTES..good.len()).step_by(step)).map(|at| {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        bad
    });
    let cut = [0, 1, HEAD_BYTES - 1, HEAD_BYTES, good.len() / 2, good.len() - 1];
    let cut = cut.iter().map(|&len| good[..len].to_vec());
    let (mut loads, mut compiles) = (0, 0);
    for bad in flipped.chain(cut) {
        std::fs::write(path, bad).unwrap();
        for (heals, count) in [(1, &mut compiles), (0, &mut loads)] {
            let (result, stats) = run(&in_folder(dir.path()), || numbered(5));
            assert_eq!(result, expected(5));
            let disk = stats.disk.unwrap();
            assert_eq!((disk.healed, disk.failures, disk.stored), (heals, 0, heals));
            assert_eq!((stats.compiles, stats.loads), (heals, 1 - heals));
            *count += 1;
        }
    }
    assert!(loads >= HEAD_BYTES + 40 && compiles == loads);
}

#[test]
fn what_is_whole_but_no_program_of_this_plugin_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    run(&in_folder(dir.path()), || numbered(2));
    let [path] = &entries(dir.path())[..] else { panic!("one program") };
    let key = key_of(path);
    for rubbish in [&b""[..], b"rubbish", &[0; 5000], &[0xff; 5000]] {
        DiskCache::open(dir.path(), AMPLE).put(&key, rubbish);
        let (result, stats) = run(&in_folder(dir.path()), || numbered(2));
        assert_eq!((result, stats.compiles), (expected(2), 1));
        assert_eq!(stats.disk.unwrap().healed, 1);
        let (result, stats) = run(&in_folder(dir.path()), || numbered(2));
        assert_eq!((result, stats.loads), (expected(2), 1));
    }
}

#[test]
fn a_program_of_another_plugin_under_our_key_does_no_harm() {
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    run(&in_folder(ours.path()), || numbered(2));
    let other = client(&Plugin::cpu_second().unwrap(), 1);
    let device = fresh(&other, &in_folder(theirs.path())).remove(0);
    assert_eq!(with_device(&device, || numbered(2)), expected(2));
    let [our_path, their_path] =
        [&ours, &theirs].map(|dir| entries(dir.path()).into_iter().next().unwrap());
    // Never so by themselves: the plugin is a part of the key.
    assert_ne!(our_path.file_name(), their_path.file_name());
    let program = std::fs::read(their_path).unwrap().split_off(HEAD_BYTES);
    DiskCache::open(ours.path(), AMPLE).put(&key_of(&our_path), &program);
    let (result, stats) = run(&in_folder(ours.path()), || numbered(2));
    // Loaded where the two plugins are alike enough, and replaced where not.
    assert_eq!((result, stats.compiles + stats.loads), (expected(2), 1));
    assert_eq!(stats.disk.unwrap().healed, stats.compiles);
}

fn key_of(path: &std::path::Path) -> Key {
    let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    Key::parse(&(name(path.parent().unwrap()) + &name(path))).unwrap()
}

#[test]
fn a_folder_of_no_use_fails_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // Not even root may make a folder in the last one.
    for folder in [file.clone(), file.join("cache"), "/proc/no/cache".into()] {
        let cache = in_folder(&folder);
        let (result, stats) = run(&cache, || (numbered(1), numbered(4)));
        assert_eq!(result, (expected(1), expected(4)));
        assert_eq!((stats.compiles, stats.loads), (2, 0));
        assert!(stats.disk.unwrap().failures > 0);
        let problem = cache.disk().unwrap().problem().unwrap();
        assert!(problem.contains(folder.to_str().unwrap()), "{problem}");
    }
}

#[test]
fn a_folder_that_vanishes_or_shrinks_costs_compiles_only() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("programs");
    for _again in 0..2 {
        let (result, stats) = run(&in_folder(&folder), || {
            let before = numbered(1);
            std::fs::remove_dir_all(&folder).unwrap();
            (before, numbered(4))
        });
        assert_eq!((result, stats.compiles), ((expected(1), expected(4)), 2));
        assert_eq!(stats.disk.unwrap().failures, 0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    run(&in_folder(&folder), || numbered(1));
    let one = std::fs::metadata(&entries(&folder)[0]).unwrap().len();
    let small = ProgramCache::on_disk(DiskCache::open(&folder, 3 * one));
    let (_, stats) = run(&small, || (0..7).map(numbered).collect::<Vec<_>>());
    assert!(stats.disk.unwrap().evicted > 0);
    assert!(small.disk().unwrap().stats().unwrap().bytes <= 3 * one);
    let (result, stats) = run(&small, || (0..7).rev().map(numbered).collect::<Vec<_>>());
    assert_eq!(result, (0..7).rev().map(expected).collect::<Vec<_>>());
    assert!(stats.compiles > 0 && stats.loads > 0, "{stats:?}");
}
