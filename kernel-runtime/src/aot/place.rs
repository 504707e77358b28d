//! Source places as MLIR and libtpu print them.
use serde::{Deserialize, Serialize};
use std::fmt;

/// A place in the user's source, 1-based.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Path, as rustc gave it to the kernel.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What separates the callers of an operation from its own file in [`chained_file`].
const CALLS: &str = " > ";

/// A file name for an MLIR location that also says through which lines the operation was reached,
/// the outermost first: `kernel.rs:5:14 > helper.rs`. libtpu keeps only the innermost file, line and
/// column of a location, so `callsite` locations lose their callers; this name does not.
///
/// ```
/// use systole::aot::{Place, chained_file};
/// let caller = Place { file: "kernel.rs".into(), line: 5, column: 14 };
/// assert_eq!(chained_file("helper.rs", &[caller]), "kernel.rs:5:14 > helper.rs");
/// assert_eq!(chained_file("kernel.rs", &[]), "kernel.rs");
/// ```
pub fn chained_file(file: &str, callers: &[Place]) -> String {
    let mut name = String::new();
    for caller in callers {
        name.push_str(&caller.to_string());
        name.push_str(CALLS);
    }
    name + file
}

/// Every place that `text` names, without repetition, the innermost of a chain of callers first:
/// `"file":1:2` as in MLIR locations, and `file.rs:1:2` as in messages.
pub(crate) fn places_in(text: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find([':', '"']) {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let is_quote = rest[at..].starts_with('"');
        let found = if is_quote { quoted_chain(after) } else { bare_place(before, after) };
        rest = after;
        if let Some((chain, tail)) = found {
            rest = tail;
            for place in chain {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
    }
    places
}

/// `outer.rs:1:2 > inner.rs":3:4...` behind the opening quote: the chain, and what follows.
fn quoted_chain(text: &str) -> Option<(Vec<Place>, &str)> {
    let (name, rest) = text.split_once('"')?;
    let (line, column, tail) = line_and_column(rest.strip_prefix(':')?)?;
    // "-" is what libtpu calls a program that it was handed as text.
    if name.is_empty() || name == "-" {
        return Some((Vec::new(), tail));
    }
    let mut links = name.rsplit(CALLS);
    let file = links.next().unwrap_or(name).to_owned();
    let mut chain = vec![Place { file, line, column }];
    chain.extend(links.filter_map(|link| {
        let mut parts = link.rsplitn(3, ':');
        let column = parts.next()?.parse().ok()?;
        let line = parts.next()?.parse().ok()?;
        Some(Place { file: parts.next()?.to_owned(), line, column })
    }));
    Some((chain, tail))
}

/// `file.rs` before a colon and `1:2...` behind it.
fn bare_place<'a>(before: &str, after: &'a str) -> Option<(Vec<Place>, &'a str)> {
    let (line, column, tail) = line_and_column(after)?;
    let is_outside = |c: char| c.is_whitespace() || "('\"`,;:".contains(c);
    let file = before.rsplit(is_outside).next()?;
    let place = Place { file: file.to_owned(), line, column };
    (file.len() > 3 && file.ends_with(".rs")).then(|| (vec![place], tail))
}

/// `12:5...`: both numbers, and what follows.
fn line_and_column(text: &str) -> Option<(u32, u32, &str)> {
    let (line, rest) = number(text)?;
    let (column, rest) = number(rest.strip_prefix(':')?)?;
    Some((line, column, rest))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        places_in(text).iter().map(Place::to_string).collect()
    }

    #[test]
    fn finds_quoted_and_bare_places() {
        assert_eq!(shown(r#"loc("src/a b.rs":12:5) x"#), ["src/a b.rs:12:5"]);
        assert_eq!(
            shown("error: kernels/src/x.rs:3:14: bad op, t 1:2:3"),
            ["kernels/src/x.rs:3:14"]
        );
    }

    #[test]
    fn keeps_the_chain_of_callers() {
        let text = r#"loc(callsite("in.rs":1:2 at "out.rs":30:4)) and "in.rs":1:2"#;
        assert_eq!(shown(text), ["in.rs:1:2", "out.rs:30:4"]);
    }

    #[test]
    fn reads_chained_file_names() {
        let outer = Place { file: "a b.rs".into(), line: 5, column: 14 };
        let middle = Place { file: "m.rs".into(), line: 7, column: 1 };
        let text = format!("loc(\"{}\":9:5)", chained_file("in.rs", &[outer, middle]));
        assert_eq!(shown(&text), ["in.rs:9:5", "m.rs:7:1", "a b.rs:5:14"]);
    }

    #[test]
    fn ignores_what_is_no_place() {
        assert!(shown(r#"loc("-":41:5) xla.cc:7] 10:20:30 loc(unknown) "x":y:z"#).is_empty());
        assert!(shown("").is_empty());
        assert!(shown("\"\":1:1 é:1:2").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn reads_any_text(text in r#"([a-z>: "\n\u{a0}é()]|\.rs|[0-9]|:1:2){0,60}"#) {
            for place in places_in(&text) {
                assert!(!place.file.is_empty());
            }
        }
    }
}
