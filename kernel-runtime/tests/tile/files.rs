//! Runs the `.tile` files.
//!
//! * `roundtrip/`: printing the parsed file gives the file.
//! * `valid/`: the file is valid for its targets, with exactly the warnings it says.
//! * `invalid/`: parsing or validation fails with exactly the errors (and warnings) it says.
//! * `run/`: for the tests of `conformance`, which run each file on every back end; `// seed: 3` names
//!   the inputs.
//!
//! What a file says stands on the offending line, `//~ error[code]: part of the message`, or
//! `//~^` on the line below it (`//~^^` two lines below), or `//~?` anywhere for a diagnostic without a place. The line
//! `// target: v5e, v6e` names the targets; v5e if there is none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use systole::diag::{Diagnostics, Severity};
use systole::ir::Kernel;
use systole::target::Target;
use systole::valid;

/// What a file says about one diagnostic.
#[derive(Debug)]
struct Expected {
    /// 0 for a diagnostic without a place.
    line: u32,
    /// `error[code]` or `warning[code]`.
    head: String,
    text: String,
}

pub(super) fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tile").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

fn expectations(text: &str) -> Vec<Expected> {
    let mut expected = Vec::new();
    for (line, content) in (1u32..).zip(text.lines()) {
        for note in content.split("//~").skip(1) {
            let above = note.chars().take_while(|c| *c == '^').count();
            let (line, note) = match note.strip_prefix('?') {
                Some(rest) => (0, rest),
                None => (line - above as u32, &note[above..]),
            };
            let (head, text) = note.split_once(": ").unwrap_or((note, ""));
            expected.push(Expected {
                line,
                head: head.trim().to_string(),
                text: text.trim().to_string(),
            });
        }
    }
    expected
}

fn targets(text: &str) -> Vec<&'static Target> {
    let line = text.lines().find_map(|line| line.strip_prefix("// target:")).unwrap_or("v5e");
    line.split(',').map(|name| Target::parse(name.trim()).unwrap()).collect()
}

/// What differs between the diagnostics of a file and what it says.
fn differences(actual: &Diagnostics, expected: &[Expected]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut met = BTreeSet::new();
    for diagnostic in actual.iter() {
        let line = diagnostic.labels.first().map_or(0, |label| label.span.line);
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let head = format!("{severity}[{}]", diagnostic.code);
        let found = expected.iter().enumerate().find(|(idx, e)| {
            e.line == line
                && e.head == head
                && diagnostic.message.contains(&e.text)
                && !met.contains(idx)
        });
        match found {
            Some((idx, _)) => drop(met.insert(idx)),
            None => differences.push(format!("line {line}: not expected: {diagnostic}")),
        }
    }
    for (idx, e) in expected.iter().enumerate().filter(|(idx, _)| !met.contains(idx)) {
        let _ = idx;
        differences.push(format!("line {}: missing: {}: {}", e.line, e.head, e.text));
    }
    differences
}

fn report(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn roundtrip_files_print_as_they_stand() {
    let mut failures = Vec::new();
    for (path, text) in files("roundtrip") {
        let name = path.display();
        match Kernel::parse(&text).map(|kernel| kernel.to_string()) {
            Ok(printed) if printed == text => {}
            Ok(printed) => failures.push(format!("{name} prints as\n{printed}")),
            Err(error) => failures.push(format!("{name}: {error}")),
        }
    }
    report(&failures);
}

#[test]
fn valid_files_are_valid() {
    let mut failures = Vec::new();
    for (path, text) in files("valid") {
        let expected = expectations(&text);
        let file = path.display().to_string();
        for target in targets(&text) {
            let checked =
                Kernel::parse_file(&file, &text).and_then(|kernel| valid::check(kernel, target));
            let found = match &checked {
                Ok(valid) => differences(valid.warnings(), &expected),
                Err(errors) => vec![errors.to_string()],
            };
            failures.extend(found.iter().map(|what| format!("{file} for {target}: {what}")));
        }
    }
    report(&failures);
}

#[test]
fn invalid_files_give_their_errors() {
    let mut failures = Vec::new();
    for (path, text) in files("invalid") {
        let expected = expectations(&text);
        let file = path.display().to_string();
        for target in targets(&text) {
            let checked =
                Kernel::parse_file(&file, &text).and_then(|kernel| valid::check(kernel, target));
            let found = match &checked {
                Ok(_) => vec!["it is valid".to_string()],
                Err(errors) => differences(errors, &expected),
            };
            failures.extend(found.iter().map(|what| format!("{file} for {target}: {what}")));
        }
    }
    report(&failures);
}

#[test]
fn every_code_of_the_ir_and_the_validator_has_an_invalid_file() {
    let mut said = String::new();
    for folder in ["invalid", "valid"] {
        said.extend(files(folder).into_iter().map(|(_, text)| text));
    }
    let missing: Vec<&str> = systole::diag::CODES
        .iter()
        .map(|entry| entry.code.as_str())
        .filter(|code| code.starts_with("ir::") || code.starts_with("valid::"))
        .filter(|code| !said.contains(&format!("[{code}]")) && !NOT_IN_TEXT.contains(code))
        .collect();
    assert!(missing.is_empty(), "no `.tile` file provokes {missing:?}");
}

/// Codes whose mistake the text form cannot say; `valid::tests` has them.
const NOT_IN_TEXT: &[&str] = &["valid::structure", "valid::dominance", "valid::stale_type"];
