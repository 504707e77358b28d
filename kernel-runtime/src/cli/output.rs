//! Where results and messages go.

use super::table::Table;
use crate::diag::{Diagnostics, render};
use serde::Serialize;
use std::io::{ErrorKind, Write};

/// The two streams, and the form of results.
///
/// A reader that closes the pipe early (`kernels list | head -1`) is no error: what is written
/// afterwards is dropped. Any other write error makes the tool end with 1.
pub(crate) struct Output<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    json: bool,
    color: bool,
    state: State,
}

enum State {
    Open,
    Closed,
    Broken(std::io::Error),
}

impl<'a> Output<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, err: &'a mut dyn Write) -> Output<'a> {
        Output { out, err, json: false, color: false, state: State::Open }
    }

    /// Whether diagnostics are coloured.
    pub(crate) fn set_color(&mut self, color: bool) {
        self.color = color;
    }

    pub(crate) fn set_json(&mut self, json: bool) {
        self.json = json;
    }

    /// Whether results are to be JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Writes to standard output; ends with a newline if the text does not.
    pub(crate) fn text(&mut self, text: &str) {
        if !matches!(self.state, State::Open) {
            return;
        }
        let end = if text.ends_with('\n') { "" } else { "\n" };
        if let Err(error) = write!(self.out, "{text}{end}") {
            self.state = match error.kind() {
                ErrorKind::BrokenPipe => State::Closed,
                _ => State::Broken(error),
            };
        }
    }

    /// Writes a value as JSON.
    pub(crate) fn value(&mut self, value: &impl Serialize) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.text(&text),
            Err(error) => self.state = State::Broken(error.into()),
        }
    }

    /// Writes a table.
    pub(crate) fn table(&mut self, table: &Table) {
        self.text(&table.to_string());
    }

    /// Writes to standard error; nobody can be told if that fails.
    pub(crate) fn error_text(&mut self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(self.err, "{text}{end}");
    }

    /// Writes diagnostics to standard error.
    pub(crate) fn diagnostics(&mut self, diagnostics: &Diagnostics) {
        if !diagnostics.is_empty() {
            self.error_text(&render::render(diagnostics, self.color));
        }
    }

    /// Says why there is no result: to people on standard error, and if results are to be JSON, also
    /// in their place. The shape is the same for all commands.
    pub(crate) fn failure(&mut self, diagnostics: &Diagnostics) {
        #[derive(Serialize)]
        struct Failed<'a> {
            diagnostics: &'a Diagnostics,
        }
        if self.json {
            self.value(&Failed { diagnostics });
        }
        self.diagnostics(diagnostics);
    }

    /// Flushes, and gives the exit code: `code` unless results could not be written.
    pub(crate) fn finish(mut self, code: u8) -> u8 {
        if matches!(self.state, State::Open)
            && let Err(error) = self.out.flush()
            && error.kind() != ErrorKind::BrokenPipe
        {
            self.state = State::Broken(error);
        }
        if let State::Broken(error) = &self.state {
            let text = format!("error: the results could not be written: {error}");
            self.error_text(&text);
            return code.max(1);
        }
        code
    }
}
