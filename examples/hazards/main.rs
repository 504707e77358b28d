//! A tour of seeded bugs: each is caught at its line, and its correct twin passes.
//!
//! `cargo run --release -p systole-examples --example hazards` prints a table; with `-- --json`
//! `[{bug, caught, line_ok, code, twin_passes, pallas_catches, ..}]`. Exit status 1 if anything is
//! missed. What Pallas' own interpreter says of the same bugs is on record in `pallas.json`, which
//! the package `pallas` in this folder writes.
#![expect(clippy::print_stdout, reason = "an example shows what it found")]

mod body;
mod case;
mod chip;
mod copies;
mod grid;
mod memory;
mod numbers;
mod rings;
mod semaphores;
mod transfers;

use case::{Case, Family};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

/// What came of a case.
#[derive(Serialize)]
struct Row {
    /// The bug's name.
    bug: &'static str,
    /// Whether the first thing told has the expected code, whatever the seed.
    caught: bool,
    /// Whether it points to the faulty line, whatever the seed.
    line_ok: bool,
    /// The code that was told.
    code: &'static str,
    /// Whether the twin without the bug runs, with one result for all seeds.
    twin_passes: bool,
    /// `yes`, `no` or `not expressible`; `unknown` if nobody has tried, which is a failure too.
    pallas_catches: String,
    /// `tried` if a Pallas kernel was run, `read` if the answer is from its documentation and source.
    pallas_evidence: String,
    /// What Pallas says, or why there is nothing to try.
    pallas_says: String,
    /// What the bug has in common with its neighbors.
    family: &'static str,
    /// The faulty line.
    line: String,
    /// The first line of what was told.
    message: String,
    /// What was told of the twin.
    twin_complaint: Option<String>,
}

/// The record that the package `pallas` writes.
#[derive(Deserialize)]
struct Pallas {
    bugs: BTreeMap<String, Verdict>,
}

/// What Pallas makes of one bug.
#[derive(Deserialize)]
struct Verdict {
    catches: String,
    how: String,
    what: String,
}

impl Verdict {
    fn unknown() -> Verdict {
        Verdict {
            catches: "unknown".to_owned(),
            how: "read".to_owned(),
            what: "`pallas.json` says nothing of it".to_owned(),
        }
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut pallas: Pallas = serde_json::from_str(include_str!("pallas.json"))?;
    let families = [
        copies::family(),
        rings::family(),
        transfers::family(),
        semaphores::family(),
        grid::family(),
        memory::family(),
        numbers::family(),
        chip::family(),
        body::family(),
    ];
    let mut rows = Vec::new();
    for family in &families {
        for case in &family.cases {
            let verdict = pallas.bugs.remove(case.bug).unwrap_or_else(Verdict::unknown);
            rows.push(try_case(family, case, verdict)?);
        }
    }
    if let Some(bug) = pallas.bugs.keys().next() {
        return Err(format!("`pallas.json` speaks of `{bug}`, which is no bug here").into());
    }
    if std::env::args().any(|arg| arg == "--json") {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        print_table(&rows);
    }
    let all_well = rows.iter().all(Row::is_well);
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn try_case(family: &Family, case: &Case, pallas: Verdict) -> Result<Row, Box<dyn Error>> {
    let line = family.line(case.bug)?;
    let (broken, twin) = ((case.run)(true), (case.run)(false));
    let told = broken.told();
    let (caught, line_ok) = broken.is_always(case.code, family.file, line);
    Ok(Row {
        bug: case.bug,
        caught,
        line_ok,
        code: told.map_or("", |told| told.code.as_str()),
        twin_passes: twin.passes(),
        pallas_catches: pallas.catches,
        pallas_evidence: pallas.how,
        pallas_says: pallas.what,
        family: family.name,
        line: format!("{}:{line}", family.file),
        message: told.map_or_else(|| "nothing is told".to_owned(), |told| told.message.clone()),
        twin_complaint: twin.complaint().map(ToString::to_string),
    })
}

impl Row {
    fn is_well(&self) -> bool {
        self.caught && self.line_ok && self.twin_passes && self.pallas_catches != "unknown"
    }

    /// What is wrong, if anything is.
    fn misses(&self) -> String {
        let misses = [
            (!self.caught).then_some("NOT CAUGHT"),
            (!self.line_ok).then_some("OTHER LINE"),
            (!self.twin_passes).then_some("TWIN BLAMED"),
            (self.pallas_catches == "unknown").then_some("NO RECORD OF PALLAS"),
        ];
        misses.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn print_table(rows: &[Row]) {
    println!("{:<29} {:<29} {:<16} what is told", "bug", "code", "Pallas");
    let mut family = "";
    for row in rows {
        if row.family != family {
            family = row.family;
            println!("\n{family}");
        }
        let by_reading = if row.pallas_evidence == "read" { "*" } else { "" };
        let pallas = format!("{}{by_reading}", row.pallas_catches);
        println!("{:<29} {:<29} {pallas:<16} {}", row.bug, row.code, short(&row.message));
        if !row.is_well() {
            println!("  {} at {}", row.misses(), row.line);
            println!(
                "  {}",
                row.twin_complaint.as_deref().unwrap_or("nothing is told of the twin")
            );
        }
    }
    let count = |holds: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| holds(row)).count();
    println!(
        "\n{} bugs: {} caught, {} at the faulty line, {} correct twins pass",
        rows.len(),
        count(&|row| row.caught),
        count(&|row| row.line_ok),
        count(&|row| row.twin_passes),
    );
    println!(
        "Pallas' interpreter with detect_races: {} caught, {} not, {} not expressible ({} tried, * read)",
        count(&|row| row.pallas_catches == "yes"),
        count(&|row| row.pallas_catches == "no"),
        count(&|row| row.pallas_catches == "not expressible"),
        count(&|row| row.pallas_evidence == "tried"),
    );
}

/// As much of a message as fits a line.
fn short(message: &str) -> String {
    const N_CHARS: usize = 96;
    match message.char_indices().nth(N_CHARS) {
        Some((end, _)) => format!("{}..", &message[..end]),
        None => message.to_owned(),
    }
}
