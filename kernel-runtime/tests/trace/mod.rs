//! Kernels written with the macros, traced.

mod errors;
mod surface;

use systole::diag::{Diagnostic, Diagnostics};
use systole::prelude::*;

/// The one diagnostic of a trace that fails.
fn only(result: Result<systole::ir::Kernel, Diagnostics>) -> Diagnostic {
    let mut diagnostics = result.expect_err("the kernel has a mistake").0;
    assert_eq!(diagnostics.len(), 1, "{}", Diagnostics(diagnostics.clone()));
    diagnostics.remove(0)
}

/// Asserts the code, the start of the message and the line, counted from the line of `line!()`.
fn assert_error(error: &Diagnostic, code: systole::diag::Code, message: &str) {
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.starts_with(message), "{error}");
    assert!(!error.labels.is_empty(), "{error}");
}

fn f32s(shape: &[usize]) -> ArgSpec {
    ArgSpec::of::<f32>(shape)
}
