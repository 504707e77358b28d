//! `explain`: the long text of a diagnostic code.

use super::args::ExplainArgs;
use super::output::Output;
use super::select::suggestion;
use super::table::{Align, Table};
use super::{Failure, Verdict};
use crate::diag::{CODES, Code, CodeEntry, Diagnostic};
use serde::Serialize;

#[derive(Serialize)]
struct Explanation {
    code: &'static str,
    explanation: &'static str,
}

impl From<&CodeEntry> for Explanation {
    fn from(entry: &CodeEntry) -> Explanation {
        Explanation { code: entry.code.as_str(), explanation: entry.explanation }
    }
}

pub(crate) fn run(args: &ExplainArgs, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let Some(text) = &args.code else {
        list(output);
        return Ok(Verdict::Good);
    };
    // People paste what the terminal shows: `error[valid::vmem_overflow]`.
    let name = text.rsplit_once('[').map_or(text.as_str(), |(_, end)| end.trim_end_matches(']'));
    let Some(entry) = Code::parse(name).and_then(Code::entry) else {
        return Err(Failure::usage(unknown_code(name)));
    };
    if output.json() {
        output.value(&Explanation::from(entry));
    } else {
        output.text(&format!("{}\n\n{}", entry.code, wrapped(entry.explanation, 100)));
    }
    Ok(Verdict::Good)
}

fn unknown_code(name: &str) -> Diagnostic {
    let names: Vec<&str> = CODES.iter().map(|entry| entry.code.as_str()).collect();
    let mut stages: Vec<&str> =
        names.iter().filter_map(|name| Some(name.split_once("::")?.0)).collect();
    stages.dedup();
    let more = format!(
        "`explain` without a code lists all {}, which begin with {}",
        names.len(),
        stages.join(", ")
    );
    Diagnostic::error(Code::CLI_UNKNOWN_CODE, format!("there is no code `{name}`"))
        .help(suggestion(name, &names, "some codes", &more))
}

fn list(output: &mut Output<'_>) {
    let all: Vec<Explanation> = CODES.iter().map(Explanation::from).collect();
    if output.json() {
        output.value(&all);
        return;
    }
    let mut table = Table::new(&[("code", Align::Left), ("", Align::Left)]);
    for entry in &all {
        let first = entry.explanation.split_inclusive(". ").next().unwrap_or_default();
        table.row(vec![entry.code.into(), first.trim_end().into()]);
    }
    output.table(&table);
}

/// Breaks lines at spaces so that none is longer than `width`, words apart.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn wraps_at_spaces_and_keeps_paragraphs() {
        assert_eq!(wrapped("aa bb cc\ndd", 5), "aa bb\ncc\ndd");
        assert_eq!(wrapped("abcdefgh", 3), "abcdefgh");
    }
}
