//! The table of features in `systole::pallas`, and what proves its rows.
//!
//! Each row names, in its last column, the cases of this suite that prove what it says. Where no case can, a
//! row names another test, as `folder/file::function` below `kernel-runtime/tests`, or a mistake that
//! the macros refuse, as `ui/name` of `dsl-macros/tests/ui/fail`. All of them must exist.

use super::{Case, missing};
use libtest_mimic::Trial;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const TABLE: &str = include_str!("../../../src/pallas.rs");

/// The table has at least so many rows: one that is not read must not pass.
const MIN_ROWS: usize = 60;

/// One row of the table.
struct Row<'a> {
    feature: &'a str,
    status: &'a str,
    proofs: Vec<&'a str>,
}

/// Checks the table, and that the check finds what it is for.
pub(super) fn trial(cases: &[Arc<Case>]) -> Trial {
    let names: BTreeSet<String> = cases.iter().map(|case| case.name.clone()).collect();
    Trial::test("pallas::every_feature_has_a_case", move || {
        missing::text_is_sound()?;
        bites(&names)?;
        let (n_rows, problems) = check(TABLE, &names);
        if n_rows < MIN_ROWS {
            return Err(format!("{n_rows} rows were read, not {MIN_ROWS}").into());
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
    })
}

/// The number of rows, and what is wrong with them.
fn check(table: &str, names: &BTreeSet<String>) -> (usize, Vec<String>) {
    let (mut n_rows, mut problems) = (0, Vec::new());
    for line in table.lines().filter_map(|line| line.strip_prefix("//! |")) {
        if line.starts_with("---") || line.starts_with(" Pallas |") {
            continue;
        }
        n_rows += 1;
        match read(line) {
            Ok(row) => problems.extend(check_row(&row, names)),
            Err(problem) => problems.push(problem),
        }
    }
    (n_rows, problems)
}

fn read(line: &str) -> Result<Row<'_>, String> {
    let cells: Vec<&str> = line.trim_end_matches('|').split('|').map(str::trim).collect();
    let [feature, status, _how, proofs] = cells[..] else {
        return Err(format!("a row has {} columns, not 4: {line}", cells.len()));
    };
    let proofs = proofs.split(',').map(|name| name.trim().trim_matches('`'));
    Ok(Row { feature, status, proofs: proofs.filter(|name| !name.is_empty()).collect() })
}

fn check_row(row: &Row<'_>, names: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    if !matches!(row.status, "same" | "better" | "not yet") {
        problems.push(format!("{}: `{}` is no status", row.feature, row.status));
    }
    if row.proofs.is_empty() {
        problems.push(format!("{}: no case proves it", row.feature));
    }
    let unknown = row.proofs.iter().filter(|proof| !exists(proof, names));
    problems.extend(unknown.map(|proof| format!("{}: there is no `{proof}`", row.feature)));
    problems
}

/// Whether there is such a case, test or mistake.
fn exists(proof: &str, names: &BTreeSet<String>) -> bool {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Some(name) = proof.strip_prefix("ui/") {
        return runtime.join(format!("../dsl-macros/tests/ui/fail/{name}.rs")).is_file();
    }
    let Some((file, function)) = proof.split_once("::") else { return names.contains(proof) };
    let text = std::fs::read_to_string(runtime.join(format!("tests/{file}.rs")));
    text.is_ok_and(|text| text.contains(&format!("fn {function}(")))
}

/// The check must refuse rows that are wrong, each in its own way.
fn bites(names: &BTreeSet<String>) -> Result<(), String> {
    let wrong = [
        ("//! | grids | same | `grid(i)` | |", "no case proves it"),
        ("//! | grids | same | `grid(i)` | `no_such_case` |", "there is no `no_such_case`"),
        ("//! | grids | same | `grid(i)` | `ui/no_such_mistake` |", "there is no `ui/"),
        ("//! | grids | same | `grid(i)` | `aot/pinned::no_such_test` |", "there is no `aot/"),
        ("//! | grids | perhaps | `grid(i)` | `add_one` |", "`perhaps` is no status"),
        ("//! | grids | same | `grid(i)` |", "a row has 3 columns"),
    ];
    for (row, expected) in wrong {
        let (_, problems) = check(row, names);
        if !problems.iter().any(|problem| problem.contains(expected)) {
            return Err(format!("{row}\nshould be refused with {expected:?}, not {problems:?}"));
        }
    }
    let right = "//! | grids | same | `grid(i)` | `add_one`, `ui/unknown_key` |";
    match check(right, names) {
        (1, problems) if problems.is_empty() => Ok(()),
        (_, problems) => Err(format!("{right}\nis refused with {problems:?}")),
    }
}
