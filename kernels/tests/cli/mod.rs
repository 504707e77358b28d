//! The binary `kernels`: every subcommand, exit codes, and the fields of its JSON.

mod bad_input;
#[cfg(feature = "mlir")]
mod compile;
mod run;
mod show;

use serde_json::{Map, Value};
use std::process::{Command, Stdio};

/// What the binary did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernels"));
    command.args(args).stdin(Stdio::null());
    command
}

/// Runs the binary.
pub(crate) fn kernels(args: &[&str]) -> Ran {
    let output = command(args).output().expect("the binary starts");
    Ran {
        code: output.status.code().expect("an exit code and no signal"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The type of a JSON field.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "mlir"),
    allow(dead_code, reason = "`check` and `bench`, whose rows have them all, need MLIR")
)]
pub(crate) enum Kind {
    Text,
    Bool,
    Count,
    Number,
    Array,
    OneOf(&'static [&'static str]),
}

/// Asserts that an object has these fields and no others, of these types; `null` where the name
/// ends with `?`.
pub(crate) fn assert_fields(object: &Value, fields: &[(&str, Kind)]) {
    let object: &Map<String, Value> = object.as_object().expect("an object");
    let mut found: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut expected: Vec<&str> =
        fields.iter().map(|(name, _)| name.trim_end_matches('?')).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for (name, kind) in fields {
        let value = &object[name.trim_end_matches('?')];
        let fits = match kind {
            Kind::Text => value.is_string(),
            Kind::Bool => value.is_boolean(),
            Kind::Count => value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::Array => value.is_array(),
            Kind::OneOf(names) => value.as_str().is_some_and(|text| names.contains(&text)),
        };
        assert!(fits || (name.ends_with('?') && value.is_null()), "{name}: {kind:?}: {value}");
    }
}

#[test]
fn list_names_every_spec() {
    let rows = kernels(&["list", "--json"]).json();
    let rows = rows.as_array().expect("an array");
    let n_specs: usize = systole_kernels::KERNELS.iter().map(|entry| (entry.specs)().len()).sum();
    assert_eq!(rows.len(), n_specs);
    for row in rows {
        assert_fields(
            row,
            &[
                ("kernel", Kind::Text),
                ("spec", Kind::Text),
                ("dtype", Kind::Text),
                ("flops", Kind::Count),
                ("bytes", Kind::Count),
                ("doc", Kind::Text),
            ],
        );
    }
}

#[test]
fn reader_that_stops_early_is_no_error() {
    // The pipe's reading end is closed before the tool writes to it.
    let mut child = command(&["list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
