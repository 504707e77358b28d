//! Recorded modules, one file per case: `BLESS=1 cargo test golden` rewrites them.

use std::path::PathBuf;

fn directory(back_end: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(back_end)
}

/// Compares the text of each case with its file, and names the first line that differs.
pub(crate) fn assert_as_blessed(back_end: &str, cases: impl IntoIterator<Item = (String, String)>) {
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, text) in cases {
        let path = directory(back_end).join(format!("{name}.mlir"));
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

/// Every file belongs to a case.
pub(crate) fn assert_no_orphans(back_end: &str, names: impl IntoIterator<Item = String>) {
    let names: Vec<String> = names.into_iter().map(|name| format!("{name}.mlir")).collect();
    for entry in std::fs::read_dir(directory(back_end)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(names.contains(&name), "{name} belongs to no case");
    }
}
