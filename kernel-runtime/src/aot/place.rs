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

/// Every place that `text` names, in order and without repetition: `"file":1:2` as in MLIR
/// locations, and `file.rs:1:2` as in messages.
pub(crate) fn places_in(text: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let mut rest = text;
    while let Some(colon) = rest.find(':') {
        let (before, after) = (&rest[..colon], &rest[colon + 1..]);
        rest = after;
        let Some((line, column, tail)) = line_and_column(after) else { continue };
        let Some(file) = file_name_at_end(before) else { continue };
        rest = tail;
        let place = Place { file: file.to_owned(), line, column };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
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

/// The file name that ends `text`: quoted, or a bare path of a Rust file.
fn file_name_at_end(text: &str) -> Option<&str> {
    let file = match text.strip_suffix('"') {
        Some(quoted) => &quoted[quoted.rfind('"')? + 1..],
        None => {
            let start = text.rfind(|c: char| c.is_whitespace() || "('\"`,;:".contains(c));
            let bare = &text[start.map_or(0, |at| at + 1)..];
            if !bare.ends_with(".rs") {
                return None;
            }
            bare
        }
    };
    // "-" is what libtpu calls a program that it was handed as text.
    (!file.is_empty() && file != "-").then_some(file)
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
    fn ignores_what_is_no_place() {
        assert!(shown(r#"loc("-":41:5) xla.cc:7] 10:20:30 loc(unknown) "x":y:z"#).is_empty());
        assert!(shown("").is_empty());
        assert!(shown("\"\":1:1 é:1:2").is_empty());
    }
}
