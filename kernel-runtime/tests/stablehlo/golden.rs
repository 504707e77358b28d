//! Golden texts: `BLESS=1 cargo test golden` rewrites them.

use super::kernels;
use std::path::PathBuf;
use systole::back::stablehlo::{self, Options};
use systole::ir::DType;
use systole::ir::ops::Precision;
use systole::valid::Valid;

fn cases() -> Vec<(&'static str, Valid)> {
    vec![
        (
            "matmul_unrolled",
            kernels::matmul(DType::BF16, [32, 256, 256], [16, 128, 128], Precision::Medium),
        ),
        (
            "matmul_loops_highest",
            kernels::matmul(DType::F32, [128, 1024, 1024], [16, 128, 128], Precision::Highest),
        ),
        ("softmax_edge_block", kernels::softmax(DType::BF16, [100, 256], 16)),
        ("revisit", kernels::revisit(100)),
        ("gather", kernels::gather(500, 300)),
        ("loops", kernels::loops()),
    ]
}

fn path(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/stablehlo");
    dir.join(format!("{name}.mlir"))
}

#[test]
fn golden_texts_are_as_blessed() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, valid) in cases() {
        let text = stablehlo::lower(&valid, &Options::default()).unwrap();
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
    let names: Vec<String> = cases().iter().map(|(name, _)| format!("{name}.mlir")).collect();
    for entry in std::fs::read_dir(path("x").parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}

#[test]
fn text_is_the_same_twice() {
    for (first, second) in cases().into_iter().zip(cases()) {
        let lower = |valid| stablehlo::lower(valid, &Options::default()).unwrap();
        assert_eq!(lower(&first.1), lower(&second.1), "{}", first.0);
    }
}
