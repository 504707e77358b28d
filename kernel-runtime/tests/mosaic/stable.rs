//! Determinism: one kernel, one sequence of bytes.

use super::cases;
use systole::back::mosaic::{self, Options};
use systole::target::{Target, V6E};
use systole::valid;

/// Every case's call on every target it is for, as one digest.
fn digest() -> String {
    let mut hasher = blake3::Hasher::new();
    for kernel in cases::all() {
        for &target in Target::TPUS {
            let Ok(valid) = valid::check(kernel.clone(), target) else { continue };
            if let Ok(text) = mosaic::call(&valid, &Options::default()) {
                hasher.update(text.as_bytes());
            }
        }
    }
    hasher.finalize().to_string()
}

#[test]
fn bytes_are_the_same_twice_and_in_another_thread() {
    // A context that has served other kernels must not show in the bytes of the next one.
    let first = digest();
    assert_eq!(first, digest());
    let other = std::thread::spawn(digest).join().unwrap();
    assert_eq!(first, other);
}

#[test]
fn bytes_are_the_same_in_another_process() {
    const CHILD: &str = "SYSTOLE_MOSAIC_DIGEST";
    if let Some(path) = std::env::var_os(CHILD) {
        std::fs::write(path, digest()).unwrap();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("digest");
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mosaic::stable::bytes_are_the_same_in_another_process"])
        .env(CHILD, &path)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(path).unwrap(), digest());
}

#[test]
fn every_version_is_written_and_differs() {
    let kernel = cases::scale_add(systole::ir::DType::F32);
    let valid = valid::check(kernel, &V6E).unwrap();
    let mut seen = Vec::new();
    for version in mosaic::VERSIONS {
        let bytes = mosaic::lower(&valid, &Options { version }).unwrap();
        assert!(!seen.contains(&bytes), "version {version}");
        assert_eq!(&bytes[..4], b"ML\xefR");
        seen.push(bytes);
    }
}
