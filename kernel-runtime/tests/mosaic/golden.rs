//! Recorded modules: `BLESS=1 cargo test golden` rewrites them.

use super::cases;
use std::path::PathBuf;
use systole::back::mosaic::{self, Options};
use systole::ir::Kernel;
use systole::target::V5E;
use systole::valid;

fn path(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mosaic");
    dir.join(format!("{name}.mlir"))
}

fn text(kernel: &Kernel) -> String {
    let valid = valid::check(kernel.clone(), &V5E).unwrap_or_else(|errors| panic!("{errors}"));
    let module = mosaic::lower(&valid, &Options::default());
    module.unwrap_or_else(|errors| panic!("{errors}")).text
}

#[test]
fn golden_modules_are_as_blessed() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for kernel in cases::all() {
        let (name, text) = (&kernel.name, text(&kernel));
        let path = path(name);
        if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden != text {
            let line = golden.lines().zip(text.lines()).position(|(a, b)| a != b);
            let line = line.unwrap_or(golden.lines().count().min(text.lines().count()));
            wrong.push(format!(
                "{name}, line {}:\n  - {}\n  + {}",
                line + 1,
                golden.lines().nth(line).unwrap_or("(end)"),
                text.lines().nth(line).unwrap_or("(end)")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}\nBLESS=1 cargo test golden", wrong.join("\n"));
}

#[test]
fn golden_directory_has_no_orphans() {
    let names: Vec<String> =
        cases::all().iter().map(|kernel| format!("{}.mlir", kernel.name)).collect();
    for entry in std::fs::read_dir(path("x").parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}
