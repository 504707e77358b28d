//! House rules that rustc and clippy do not know, checked over every file of the repository.
//!
//! `rules` has one function per rule, from sources to findings; `source` splits Rust into code and comments;
//! `bites` proves of each rule that it finds what it is for. A finding says the rule, the place and the cure.

mod bites;
mod repo;
mod rules;
mod source;

use rules::Finding;
use source::Source;

/// Runs one rule over the repository and fails with all that it finds.
fn enforce(rule: fn(&[Source]) -> Vec<Finding>) {
    let findings = rule(repo::sources());
    let report: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(report.is_empty(), "{} broken house rules:\n{}", report.len(), report.join("\n"));
}

#[test]
fn modules_depend_only_on_those_below() {
    enforce(rules::layering);
}

#[test]
fn only_back_mlir_knows_melior() {
    enforce(rules::melior_placement);
}

#[test]
fn unsafe_code_is_fenced_and_justified() {
    enforce(rules::unsafe_placement);
}

#[test]
fn files_are_short() {
    enforce(rules::file_length);
}

#[test]
fn functions_are_short() {
    enforce(rules::function_length);
}

#[test]
fn every_diagnostic_code_has_a_test() {
    enforce(rules::tested_codes);
}

#[test]
fn names_say_what_is_inside() {
    enforce(rules::file_names);
}

#[test]
fn todos_link_an_issue() {
    enforce(rules::linked_todos);
}

#[test]
fn no_path_of_one_machine() {
    enforce(rules::machine_paths);
}

#[test]
fn the_rust_of_the_readme_is_compiled() {
    enforce(rules::readme_blocks);
}

#[test]
fn no_test_is_switched_off() {
    enforce(rules::tests_run);
}

#[test]
fn crates_inherit_the_lints() {
    enforce(rules::inherited_lints);
}

#[test]
fn top_level_is_as_designed() {
    let findings = rules::top_level(&repo::tracked_paths());
    let report: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(report.is_empty(), "{}", report.join("\n"));
}
