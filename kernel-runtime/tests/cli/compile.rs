//! `check` and `bench` compile with libtpu; a missing libtpu fails these tests.

use super::{Ran, kernels};
use serde_json::Value;

fn compiling(args: &[&str]) -> Ran {
    systole::aot::use_worker(env!("CARGO_BIN_EXE_systole-aot-worker"));
    kernels(args)
}

fn statuses(rows: &Value) -> Vec<(&str, &str, &str)> {
    let rows = rows.as_array().expect("an array");
    let field = |row: usize, name: &str| rows[row][name].as_str().expect("text");
    (0..rows.len())
        .map(|row| (field(row, "kernel"), field(row, "target"), field(row, "status")))
        .collect()
}

#[test]
fn check_reports_every_status() {
    let ran = compiling(&["check", "scale/f32_16x128", "half", "--target", "v4,v5e", "--json"]);
    // A kernel that a target does not support is no failure.
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        statuses(&ran.json()),
        [
            ("scale", "v4", "ok"),
            ("scale", "v5e", "ok"),
            ("half", "v4", "unsupported"),
            ("half", "v5e", "unsupported")
        ]
    );
    let broken = compiling(&["check", "scale/f32_16x128", "broken", "--target", "v5e", "--json"]);
    assert_eq!(broken.code, 1);
    let rows = broken.json();
    assert_eq!(statuses(&rows), [("scale", "v5e", "ok"), ("broken", "v5e", "error")]);
    assert_eq!(rows[1]["diagnostics"][0]["code"], "ir::shape");
}

#[test]
fn check_without_names_leaves_extra_specs_out_and_says_so() {
    let specs = |args: &[&str]| {
        let ran = compiling(args);
        let rows = ran.json();
        let names = rows.as_array().expect("an array").iter().map(|row| row["spec"].to_string());
        (names.collect::<Vec<_>>().join(" "), ran.err)
    };
    let (of_all, told) = specs(&["check", "--target", "v5e", "--json"]);
    assert!(!of_all.contains("bf16_32x128") && of_all.contains("f32_64x128"), "{of_all}");
    assert!(told.contains("1 of 6 specs are extra ones and left out: `--all`"), "{told}");
    let asked: [&[&str]; 3] = [&["--all"], &["scale"], &["--spec", "bf16_32x128"]];
    for asked in asked {
        let args = [&["check", "--target", "v5e", "--json"], asked].concat();
        let (of_asked, told) = specs(&args);
        assert!(of_asked.contains("bf16_32x128") && !told.contains("left out"), "{asked:?} {told}");
    }
}

#[test]
fn check_shows_errors_below_the_table() {
    let ran = compiling(&["check", "half", "--target", "v5e"]);
    assert!(ran.out.contains("unsupported"), "{}", ran.out);
    assert!(ran.err.contains("half/f16_16x128 on v5e:"), "{}", ran.err);
    assert!(ran.err.contains("valid::unsupported_dtype"), "{}", ran.err);
    // Many of one kind are a line, and no page of errors.
    let ran = compiling(&["check", "half"]);
    let line = "  half/f16_16x128 on v4 and 4 more: valid::unsupported_dtype: ";
    assert!(ran.out.contains(line) && ran.err.is_empty(), "{}{}", ran.out, ran.err);
}

#[test]
fn bench_says_why_there_is_nothing_to_compare() {
    let ran = compiling(&["bench", "half", "scale/f32_16x128", "--target", "v4", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = ran.json();
    let note = |row: usize| rows[row]["note"].as_str().unwrap_or_default().to_owned();
    assert!(note(0).contains("no cycle model") && rows[0]["ratio"].is_null(), "{rows}");
    assert!(note(1).starts_with("unsupported: "), "{rows}");
    let failed = compiling(&["bench", "broken", "--json"]);
    assert!(failed.code == 1 && failed.err.contains("this kernel is broken"), "{}", failed.err);
    assert_eq!(failed.json()[0]["diagnostics"][0]["code"], "ir::shape");
}
