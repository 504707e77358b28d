//! Checks `fail/*.rs` and `pass/*.rs`, all in one run of cargo.
//!
//! A file in `fail` marks each line that gets an error with `//~ text`; the error's message must
//! contain the text. Only the head of a message is compared, so that another compiler's notes do
//! not matter. Lines without a mark must get no error, so that one mistake is one message. Files
//! in `pass` must compile without a warning; those in `pass/renamed` know `systole` as `tpu`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An error or warning: the line, and the message.
type Message = (usize, String);

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(here().join(folder)).unwrap();
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    cases
}

/// Writes a workspace with an example per case; gives its folder.
fn generate(fail: &[PathBuf], pass: &[PathBuf], renamed: &[PathBuf]) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let runtime = repository.join("kernel-runtime");
    let package = |name: &str, dependency: &str, cases: &[&[PathBuf]]| {
        let mut manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [lib]\npath = \"lib.rs\"\n\n[dependencies]\n{dependency}\n"
        );
        for case in cases.iter().copied().flatten() {
            let folder = case.parent().unwrap().file_name().unwrap().to_str().unwrap();
            let stem = case.file_stem().unwrap().to_str().unwrap();
            write!(manifest, "\n[[example]]\nname = \"{folder}-{stem}\"\npath = {case:?}\n")
                .unwrap();
        }
        let folder = root.join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(folder.join("lib.rs"), "").unwrap();
    };
    let path = format!("path = {runtime:?}, default-features = false");
    package("cases", &format!("systole = {{ {path} }}"), &[fail, pass]);
    package("renamed", &format!("tpu = {{ package = \"systole\", {path} }}"), &[renamed]);
    let workspace = "[workspace]\nresolver = \"3\"\nmembers = [\"cases\", \"renamed\"]\n\n\
                     [profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\nlto = \"off\"\n";
    std::fs::write(root.join("Cargo.toml"), workspace).unwrap();
    std::fs::copy(repository.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
    root
}

/// The errors and warnings of each case.
fn check(root: &Path) -> BTreeMap<String, Vec<Message>> {
    // The tests' own build folder already holds the dependencies, or soon does.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--examples", "--keep-going", "--message-format=json"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(root)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let mut messages: BTreeMap<String, Vec<Message>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let Ok(json) = serde_json::from_str::<Value>(line) else { continue };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_case = json["target"]["kind"][0] == "example";
        if json["reason"] == "compiler-artifact" && is_case {
            messages.entry(text(&json["target"]["name"])).or_default();
        }
        if json["reason"] != "compiler-message" || !is_case {
            continue;
        }
        let message = &json["message"];
        let spans = message["spans"].as_array().unwrap();
        let Some(span) = spans.iter().find(|span| span["is_primary"] == true) else { continue };
        let place = span["line_start"].as_u64().unwrap() as usize;
        messages
            .entry(text(&json["target"]["name"]))
            .or_default()
            .push((place, text(&message["message"])));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!messages.is_empty(), "cargo checked nothing:\n{stderr}");
    messages
}

/// What differs between the marks of a case and what was said of it.
fn differences(case: &Path, messages: &[Message]) -> Vec<String> {
    let source = std::fs::read_to_string(case).unwrap();
    let marks: Vec<Message> = source
        .lines()
        .enumerate()
        .filter_map(|(idx, line)| Some((idx + 1, line.split_once("//~ ")?.1.to_owned())))
        .collect();
    let mut differences = Vec::new();
    for (line, text) in &marks {
        let found = messages.iter().any(|(at, message)| at == line && message.contains(text));
        if !found {
            differences.push(format!("line {line}: no error with {text:?}"));
        }
    }
    for (line, message) in messages {
        if !marks.iter().any(|(at, _)| at == line) {
            differences.push(format!("line {line}: unexpected {message:?}"));
        }
    }
    if !differences.is_empty() {
        differences.push(format!("said: {messages:#?}"));
    }
    differences
}

#[test]
fn rustc_and_macros_say_what_the_cases_expect() {
    let (fail, pass, renamed) = (cases("fail"), cases("pass"), cases("pass/renamed"));
    assert!(fail.len() >= 60 && pass.len() >= 4 && !renamed.is_empty());
    let root = generate(&fail, &pass, &renamed);
    let messages = check(&root);
    let mut report = String::new();
    for case in fail.iter().chain(&pass).chain(&renamed) {
        let folder = case.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = format!("{folder}-{}", case.file_stem().unwrap().to_str().unwrap());
        let found = match messages.get(&name) {
            Some(messages) => differences(case, messages),
            None => vec!["it was not checked".to_owned()],
        };
        if !found.is_empty() {
            writeln!(report, "{name}:\n  {}", found.join("\n  ")).unwrap();
        }
    }
    assert!(report.is_empty(), "\n{report}");
}
