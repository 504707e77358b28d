//! The result cache, seen from outside.
use super::{DOT, fresh, ok};
use systole::aot::{Report, cache_counters, compile, compile_many};
use systole::target::V5E;

#[test]
fn compiles_once_and_survives_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = fresh(&V5E, DOT);
    request.options.cache = Some(dir.path().to_path_buf());
    let first = ok(compile(&request));
    assert!(!first.from_cache);
    request.name = "another name".into();
    let second = compile(&request);
    assert!(second.from_cache);
    assert_eq!(second.name, "another name");
    assert_eq!(Report { name: first.name.clone(), from_cache: false, ..second }, first);
    let file = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{\"checksum\":\"beef").unwrap();
    let healed = cache_counters().healed;
    assert!(!compile(&request).from_cache);
    assert!(cache_counters().healed > healed);
    assert!(compile(&request).from_cache);
    request.options.operands_in_hbm = false;
    assert!(!compile(&request).from_cache);
}

#[test]
fn is_shared_by_compiles_at_the_same_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut request = fresh(&V5E, DOT);
    request.options.cache = Some(dir.path().to_path_buf());
    request.options.cycles = false;
    let reports = compile_many(&vec![request; 4], 4, |_idx, _report| {});
    for report in reports {
        ok(report);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
