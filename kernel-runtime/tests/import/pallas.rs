//! Kernels of JAX's own library and others, lowered by JAX when the test runs, give what JAX gives.

use super::fixtures::path as committed;
use super::python;
use super::support::{check_case, tensors};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use systole::ir::Array;

const SCRIPT: &str = include_str!("pallas.py");

/// The folder with what the script writes; kept from one run of the tests to the next.
fn cases() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(make_cases).clone()
}

fn make_cases() -> PathBuf {
    let hash = blake3::hash(SCRIPT.as_bytes()).to_hex();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pallas-{}", &hash[..16]));
    if folder.join("complete").is_file() {
        return folder;
    }
    let python = python::with_jax().unwrap_or_else(|why| panic!("{why}"));
    let staged = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/pallas.py");
    let output = python.command().arg(script).arg(staged.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "pallas.py failed:\n{text}");
    std::fs::write(staged.path().join("complete"), "").unwrap();
    // Another test process may have been faster: then its folder is as good.
    let _lost_the_race = std::fs::rename(staged.keep(), &folder);
    folder
}

#[test]
fn kernels_of_jax_give_what_jax_gives() {
    let mut mistakes = Vec::new();
    let paths = modules();
    for path in &paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let file = path.with_extension("safetensors");
        let expected = tensors(&file, "out");
        let outcome = check_case(
            &name,
            &std::fs::read(path).unwrap(),
            &|_| tensors(&file, "arg"),
            &|idx, found| (prefix(found, expected[idx].shape()), expected[idx].clone()),
        );
        match outcome {
            Ok(line) => println!("{line}"),
            Err(how) => mistakes.push(format!("{name}: {how}")),
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    let n_cases = SCRIPT.matches("\n@case\n").count();
    assert!(paths.len() >= n_cases, "{} of {n_cases} cases", paths.len());
}

/// The first elements, of which there may be more than the reference has.
fn prefix(array: &Array, shape: &[usize]) -> Array {
    let n_bytes = shape.iter().product::<usize>() * array.dtype().size_bytes();
    Array::from_bytes(array.dtype(), shape, &array.as_bytes()[..n_bytes]).unwrap()
}

/// Every module that the script wrote.
fn modules() -> Vec<PathBuf> {
    let files = std::fs::read_dir(cases()).unwrap().map(|entry| entry.unwrap().path());
    let is_module = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "mlir");
    let mut paths: Vec<PathBuf> = files.filter(is_module).collect();
    paths.sort();
    paths
}

/// The committed modules are those that JAX makes. `BLESS=1` replaces them.
#[test]
fn golden_modules_are_those_of_jax() {
    let folder = cases();
    let mut files = modules();
    files.push(folder.join("cases.json"));
    let bless = std::env::var_os("BLESS").is_some();
    if bless {
        // What they gave may differ in the last bits from processor to processor.
        let arrays = "cases.safetensors";
        std::fs::copy(folder.join(arrays), committed(arrays)).unwrap();
    }
    let mut stale = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let made = std::fs::read(&file).unwrap();
        if bless {
            std::fs::write(committed(&name), made).unwrap();
        } else if std::fs::read(committed(&name)).ok() != Some(made) {
            stale.push(name);
        }
    }
    let cure = "are not what `pallas.py` makes: run `BLESS=1 cargo test -p systole golden`";
    assert!(stale.is_empty(), "{stale:?} {cure}");
}
