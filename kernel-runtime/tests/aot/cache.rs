//! The result cache, seen from outside.
use super::{DOT, fresh, ok};
use systole::aot::{Report, compile, compile_many, result_cache};
use systole::target::V5E;

#[test]
fn compiles_once_and_tells_of_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = fresh(&V5E, DOT);
    request.options.cache = Some(dir.path().to_path_buf());
    let first = ok(compile(&request));
    assert!(!first.from_cache && !first.cache_was_damaged);
    request.name = "another name".into();
    let second = compile(&request);
    assert!(second.from_cache);
    assert_eq!(second.name, "another name");
    assert_eq!(Report { name: first.name.clone(), from_cache: false, ..second }, first);
    let entry = entries(dir.path()).pop().unwrap();
    std::fs::write(&entry, "{\"checksum\":\"beef").unwrap();
    let damaged = compile(&request);
    assert!(!damaged.from_cache && damaged.cache_was_damaged);
    let again = compile(&request);
    assert!(again.from_cache && !again.cache_was_damaged);
    request.options.operands_in_hbm = false;
    assert!(!compile(&request).from_cache);
    let counters = result_cache(dir.path()).counters();
    assert_eq!((counters.hits, counters.misses, counters.healed), (2, 3, 1));
}

/// The files of a cache's entries.
fn entries(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let files = |dir: &std::path::Path| {
        std::fs::read_dir(dir).into_iter().flatten().map(|file| file.unwrap().path())
    };
    let is_shard = |path: &std::path::PathBuf| path.file_name().is_some_and(|name| name.len() == 2);
    files(dir).filter(is_shard).flat_map(|shard| files(&shard)).collect()
}

#[test]
fn equal_compiles_at_the_same_time_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = fresh(&V5E, DOT);
    request.options.cache = Some(dir.path().to_path_buf());
    request.options.cycles = false;
    let reports = compile_many(&vec![request; 4], 4, |_idx, _report| {});
    let n_compiled = reports.into_iter().filter(|report| !ok(report.clone()).from_cache).count();
    assert_eq!((n_compiled, entries(dir.path()).len()), (1, 1));
}

#[test]
fn a_cache_that_cannot_be_used_costs_nothing_but_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut request = fresh(&V5E, DOT);
    request.options.cache = Some(file.path().to_path_buf());
    request.options.cycles = false;
    assert!(!ok(compile(&request)).from_cache);
    let problem = result_cache(file.path()).problem().unwrap();
    assert!(problem.contains(file.path().to_str().unwrap()), "{problem}");
}
