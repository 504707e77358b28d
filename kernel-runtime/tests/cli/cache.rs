//! `cache`, in processes of its own: where the caches are is in the environment.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use systole::cache::{DiskCache, Key};

const ARGS: &str = "CLI_CACHE_ARGS";

/// Runs the tool on the arguments of a variable; without it, does nothing.
#[test]
fn probe() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let args: Vec<&str> = args.split(' ').collect();
    let ran = super::kernels(&args);
    std::fs::write(std::env::var_os("CLI_CACHE_OUT").unwrap(), &ran.out).unwrap();
    eprintln!("{}", ran.err);
    std::process::exit(ran.code.into());
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn rows(&self) -> Vec<Value> {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }

    /// What is told of this cache.
    fn of(&self, cache: &str) -> Value {
        self.rows().into_iter().find(|row| row["cache"] == cache).unwrap()
    }
}

fn run(args: &str, dir: &Path, variables: &[(&str, &str)]) -> Ran {
    let out = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cli::cache::probe", "--nocapture"]).env(ARGS, args);
    command.env("CLI_CACHE_OUT", out.path()).env("SYSTOLE_CACHE_DIR", dir);
    let Output { status, stderr, .. } = command.envs(variables.iter().copied()).output().unwrap();
    Ran {
        code: status.code(),
        out: std::fs::read_to_string(out.path()).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

fn named(name: &str, dir: &Path) -> (PathBuf, DiskCache) {
    let dir = dir.join(name);
    (dir.clone(), DiskCache::open(dir, 1 << 20))
}

#[test]
fn stats_verify_and_clear_have_the_fields_promised() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["aot", "programs"] {
        let (folder, cache) = named(name, dir.path());
        for n in 0..4_u8 {
            cache.put(&Key::of(&[&[n]]), &[n; 44]);
        }
        let key = Key::of(&[&[2]]).to_string();
        let damaged = folder.join(&key[..2]).join(&key[2..]);
        let stats = run("cache stats --json", dir.path(), &[("SYSTOLE_CACHE_LIMIT", "3 MiB")]);
        assert_eq!((stats.code, stats.rows().len()), (Some(0), 2), "{}", stats.err);
        let expected = serde_json::json!({
            "cache": name, "dir": folder, "n_entries": 4, "bytes": 400, "cap_bytes": 3 << 20
        });
        assert_eq!(stats.of(name), expected);
        std::fs::write(&damaged, "rubbish").unwrap();
        let verified = run("cache verify --json", dir.path(), &[]);
        assert_eq!(verified.code, Some(0), "{}", verified.err);
        let expected = serde_json::json!({
            "cache": name, "dir": folder, "n_good": 3, "n_damaged": 1, "n_unreadable": 0
        });
        assert_eq!(verified.of(name), expected);
        assert!(!damaged.exists());
        let cleared = run("cache clear --json", dir.path(), &[]);
        let expected =
            serde_json::json!({"cache": name, "dir": folder, "n_entries": 3, "bytes": 300});
        assert_eq!(cleared.of(name), expected);
        assert_eq!(run("cache stats --json", dir.path(), &[]).of(name)["n_entries"], 0);
    }
}

#[test]
fn programs_are_where_the_variable_says_or_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let variable = systole::run::PROGRAM_CACHE_VARIABLE;
    let elsewhere = dir.path().join("elsewhere");
    let at = [(variable, elsewhere.to_str().unwrap())];
    assert_eq!(run("cache stats --json", dir.path(), &at).of("programs")["dir"], at[0].1);
    let off = run("cache stats --json", dir.path(), &[(variable, "off")]);
    assert_eq!((off.code, off.rows().len()), (Some(0), 1));
}

#[test]
fn the_help_tells_of_every_variable() {
    use systole::cache::{LIMIT_VARIABLE, REMOTE_TIMEOUT_VARIABLE, REMOTE_VARIABLE};
    let help = super::kernels(&["--help"]).out;
    for variable in [
        systole::run::PROGRAM_CACHE_VARIABLE,
        LIMIT_VARIABLE,
        REMOTE_VARIABLE,
        REMOTE_TIMEOUT_VARIABLE,
    ] {
        assert!(
            help.contains(&format!("  {variable} ")) || help.contains(&format!("  {variable}\n"))
        );
    }
}

#[test]
fn tables_name_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    for (command, part) in [("stats", "2.0 GiB"), ("verify", "damaged"), ("clear", "removed")] {
        let ran = run(&format!("cache {command}"), dir.path(), &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let folder = named("aot", dir.path()).0;
        assert!(
            ran.out.contains(folder.to_str().unwrap()) && ran.out.contains(part),
            "{}",
            ran.out
        );
    }
    // Looking makes nothing.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_cache_that_cannot_be_used_is_told_with_the_cure() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for command in ["stats", "verify"] {
        let ran = run(&format!("cache {command} --json"), file.path(), &[]);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.out.contains("\"cache::unusable\"") && ran.err.contains("SYSTOLE_CACHE_DIR"));
        assert!(ran.out.contains(file.path().to_str().unwrap()), "{}", ran.out);
    }
    let dir = tempfile::tempdir().unwrap();
    let ran = run("cache stats --json", dir.path(), &[("SYSTOLE_CACHE_LIMIT", "2 apples")]);
    assert_eq!((ran.code, &ran.of("aot")["cap_bytes"]), (Some(0), &(2_u64 << 30).into()));
    let what = "warning[cache::unusable]";
    assert!(ran.err.contains(what) && ran.err.contains("SYSTOLE_CACHE_LIMIT=2 apples is no size"));
}

#[cfg(feature = "mlir")]
#[test]
fn check_tells_of_damage() {
    let dir = tempfile::tempdir().unwrap();
    // The plugins are in the cache folder too, unless told otherwise.
    let libtpu = systole::pjrt::Plugin::tpu_path().unwrap();
    let worker = env!("CARGO_BIN_EXE_systole-aot-worker");
    let variables =
        [("TPU_LIBRARY_PATH", libtpu.to_str().unwrap()), ("SYSTOLE_AOT_WORKER_BIN", worker)];
    let check = || run("check scale/f32_16x128 --target v5e --json", dir.path(), &variables);
    let first = check();
    assert_eq!(
        (first.code, first.rows()[0]["status"].as_str()),
        (Some(0), Some("ok")),
        "{}",
        first.err
    );
    assert!(!first.err.contains("cache::"), "{}", first.err);
    let (folder, cache) = named("aot", dir.path());
    assert_eq!(cache.stats().unwrap().n_entries, 1);
    for shard in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if shard.file_name().is_some_and(|name| name.len() == 2) {
            let entry = std::fs::read_dir(shard).unwrap().next().unwrap().unwrap().path();
            std::fs::write(entry, "rubbish").unwrap();
        }
    }
    let again = check();
    assert_eq!((again.code, again.rows()[0]["status"].as_str()), (Some(0), Some("ok")));
    assert!(again.err.contains("warning[cache::damaged]: 1 of 1 results in"), "{}", again.err);
    assert!(again.err.contains("scale/f32_16x128 on v5e"), "{}", again.err);
    assert!(!check().err.contains("cache::"));
}
