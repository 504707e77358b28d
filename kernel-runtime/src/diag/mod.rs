//! Diagnostics: what every stage says to the user.
//!
//! A [`Diagnostic`] is data: a code, a message with the numbers that clash, labels on the user's
//! Rust lines, and a help text that says what to write instead. Stages accumulate them in
//! [`Diagnostics`] and never stop at the first. This module depends on no other.
//!
//! # As JSON
//!
//! Everywhere that `--json` prints diagnostics they are an array of objects with all of these
//! fields; fields may be added, but none renamed, dropped or given another meaning:
//!
//! ```json
//! [{
//!   "code": "valid::vmem_overflow",
//!   "severity": "error",
//!   "message": "blocks and scratch need 18.0 MiB of VMEM, v4 allows 16.0 MiB",
//!   "labels": [{"span": {"file": "src/k.rs", "line": 7, "column": 5}, "text": ""}],
//!   "help": "use smaller blocks",
//!   "notes": ["18.0 MiB  x  2 x f32[2304, 1024]"]
//! }]
//! ```
//!
//! `severity` is `error` or `warning`, the first label is the primary one, `help` may be null.

mod codes;
pub mod render;

pub use codes::{CODES, Code, CodeEntry};

use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The kernel works, but wastes something that the message names.
    Warning,
    /// The kernel is wrong or cannot be compiled for this target.
    Error,
}

/// A place in the user's source: 1-based line and column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Span {
    /// Path as rustc gives it.
    pub file: Arc<str>,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}

impl Span {
    /// The span of a caller known through `#[track_caller]`.
    pub fn from_location(location: &'static std::panic::Location<'static>) -> Span {
        Span { file: Arc::from(location.file()), line: location.line(), column: location.column() }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A span with a few words on what stands there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What about it; may be empty for the primary label.
    pub text: String,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The code, explained by the `explain` subcommand.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, with the numbers.
    pub message: String,
    /// Places; the first is the primary one.
    pub labels: Vec<Label>,
    /// What to write instead.
    pub help: Option<String>,
    /// Further facts.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error with a code and a message.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
            notes: Vec::new(),
        }
    }

    /// A warning with a code and a message.
    pub fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// Adds a label.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a label if the place is known.
    pub fn at_opt(self, span: Option<Span>, text: impl Into<String>) -> Diagnostic {
        match span {
            Some(span) => self.at(span, text),
            None => self,
        }
    }

    /// Says what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}[{}]: {}", self.code, self.message)?;
        for label in &self.labels {
            write!(f, "\n  --> {}", label.span)?;
            if !label.text.is_empty() {
                write!(f, ": {}", label.text)?;
            }
        }
        for note in &self.notes {
            write!(f, "\n  = note: {note}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  = help: {help}")?;
        }
        Ok(())
    }
}

/// Every diagnostic of a stage; an error type.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether the errors all say that the target cannot do what the kernel asks for, though
    /// another target can.
    pub fn is_unsupported(&self) -> bool {
        let mut errors = self.0.iter().filter(|d| d.severity == Severity::Error).peekable();
        errors.peek().is_some() && errors.all(|d| d.code.is_unsupported())
    }

    /// Iterates over them in order.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics(vec![diagnostic])
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (idx, diagnostic) in self.0.iter().enumerate() {
            if idx > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

/// As [`Display`](fmt::Display): `main` and `unwrap` show errors by `Debug`, to people.
impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_what_people_read() {
        let found: Diagnostics = Diagnostic::error(Code::RUN_REGISTRY, "two kernels are named `a`")
            .help("rename one")
            .into();
        assert_eq!(format!("{found:?}"), found.to_string());
    }

    #[test]
    fn json_has_the_documented_fields() {
        let span = Span { file: Arc::from("src/k.rs"), line: 7, column: 5 };
        let error = Diagnostic::error(Code::VALID_VMEM_OVERFLOW, "too large").at(span, "here");
        let warning = Diagnostic::warning(Code::IR_TYPE, "odd").help("do").note("a fact");
        let json = serde_json::to_value(Diagnostics(vec![error, warning])).unwrap();
        let expected = serde_json::json!([
            {
                "code": "valid::vmem_overflow",
                "severity": "error",
                "message": "too large",
                "labels": [{"span": {"file": "src/k.rs", "line": 7, "column": 5}, "text": "here"}],
                "help": null,
                "notes": [],
            },
            {
                "code": "ir::type",
                "severity": "warning",
                "message": "odd",
                "labels": [],
                "help": "do",
                "notes": ["a fact"],
            },
        ]);
        assert_eq!(json, expected);
    }

    #[test]
    fn unsupported_means_that_nothing_else_is_wrong() {
        let unsupported = || Diagnostic::error(Code::VALID_UNSUPPORTED_MATMUL, "no int8");
        let warning = || Diagnostic::warning(Code::VALID_MXU_PADDING, "half idle");
        let wrong = || Diagnostic::error(Code::VALID_EMPTY, "no elements");
        assert!(Diagnostics(vec![warning(), unsupported()]).is_unsupported());
        assert!(!Diagnostics(vec![wrong(), unsupported()]).is_unsupported());
        assert!(!Diagnostics(vec![warning()]).is_unsupported());
        assert!(!Diagnostics::default().is_unsupported());
    }

    #[test]
    fn every_code_is_found_and_explained() {
        for entry in CODES {
            assert_eq!(Code::parse(entry.code.as_str()), Some(entry.code));
            assert_eq!(entry.code.entry().map(|found| found.explanation), Some(entry.explanation));
            assert!(entry.explanation.len() > 30, "{} is hardly explained", entry.code);
        }
    }
}
