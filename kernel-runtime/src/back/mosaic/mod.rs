//! Mosaic: the tile IR as the module that libtpu compiles for a TensorCore.
//!
//! [`lower`] builds a module from upstream MLIR dialects (`func arith math vector scf memref cf`,
//! which MLIR verifies) and libtpu's `tpu` dialect (which no MLIR release has: its ops are checked
//! here by construction), in the versioned `stable_mosaic` form, as bytecode.
//! [`call`] wraps that in a StableHLO module with one `tpu_custom_call`.
//!
//! # How the IR maps
//!
//! * The function takes the grid indices, prefetch tables, inputs, outputs, scratch and semaphores,
//!   in this order. A parameter that is updated in place (`InOut`) has an input and an output window that
//!   alias: the first step that sees a block copies it from the one to the other, and the body
//!   works on the output window.
//! * Scalars are 32 bits wide: narrower types are kept as `i32` or `f32` and rounded after each
//!   op. Tiles have their own type, but arithmetic on 8- and 16-bit types is done on 32 bits and
//!   rounded, unless the chip has a bf16 vector unit and the op is exact in it.
//! * `bool` lives in memory as `i32`, since libtpu has no memory of `i1`; the call converts.
//! * Both ends of a copy are slices of a memref (`memref_slice`, then `memref_squeeze` for the axes
//!   that are dropped), and so is its semaphore.
//! * Every op carries its Rust location, so libtpu's messages name the user's line.
//!
//! What libtpu cannot do is reported here as [`Code::MOSAIC_UNSUPPORTED`], with the line and a
//! cure. If our own module fails MLIR's verifier, that is [`Code::MOSAIC_INTERNAL`]; the verifier
//! runs in debug builds, which all tests are, and for [`text`].

mod call;
mod func;
pub mod import;
mod lower;
mod ops;

use super::mlir::{Complaint, Session};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::valid::Valid;
use std::sync::Arc;

/// The versions of the `stable_mosaic` form that can be written.
pub const VERSIONS: std::ops::RangeInclusive<i64> = 11..=15;

/// How a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The version of the `stable_mosaic` form, one of [`VERSIONS`]. Readers upgrade older ones;
    /// 13 is the oldest that has all we use, so the most compilers read it.
    pub version: i64,
}

impl Default for Options {
    fn default() -> Options {
        Options { version: 13 }
    }
}

/// Lowers a kernel to what libtpu reads: the bytecode of `stable_mosaic` ops.
///
/// # Errors
/// Every op that the target's compiler cannot do, at its line.
pub fn lower(valid: &Valid, options: &Options) -> Result<Vec<u8>, Diagnostics> {
    // MLIR's verifier takes longer than writing the module, and whoever reads that verifies it
    // again: it is for finding our own mistakes.
    if cfg!(debug_assertions) {
        verified(&Session::new(), valid, options)?;
    }
    check_version(options)?;
    let session = Session::stable();
    let module = func::build(&session, valid, options)?;
    module.stamp(&session, options.version);
    // Version 0 of the bytecode format is what JAX writes, so every reader has it.
    module.bytecode(0).ok_or_else(|| {
        let complaint =
            Complaint { place: None, message: "the bytecode could not be written".to_owned() };
        internal(valid, &[complaint])
    })
}

/// The module of [`lower`] as text, for people: verified, upstream ops in their usual syntax.
///
/// # Errors
/// As [`lower`].
pub fn text(valid: &Valid, options: &Options) -> Result<String, Diagnostics> {
    let session = Session::new();
    Ok(verified(&session, valid, options)?.text())
}

/// The whole StableHLO module: `@main` takes the kernel's inputs in parameter order and gives its
/// outputs in parameter order.
///
/// # Errors
/// As [`lower`].
pub fn call(valid: &Valid, options: &Options) -> Result<String, Diagnostics> {
    Ok(call::emit(valid, &lower(valid, options)?))
}

/// As [`call`], but a private function of this name without a module around it, for a module that
/// calls it.
///
/// # Errors
/// As [`lower`].
pub(crate) fn call_function(
    valid: &Valid,
    name: &str,
    options: &Options,
) -> Result<String, Diagnostics> {
    Ok(call::emit_function(valid, &lower(valid, options)?, &format!("private @{name}")))
}

fn check_version(options: &Options) -> Result<(), Diagnostic> {
    if VERSIONS.contains(&options.version) {
        return Ok(());
    }
    let message = format!(
        "version {} of the Mosaic form cannot be written: {} to {} can",
        options.version,
        VERSIONS.start(),
        VERSIONS.end()
    );
    Err(Diagnostic::error(Code::MOSAIC_UNSUPPORTED, message))
}

/// The module before it is brought into the stable form, found good by MLIR.
fn verified<'s>(
    session: &'s Session,
    valid: &Valid,
    options: &Options,
) -> Result<super::mlir::Module<'s>, Diagnostics> {
    check_version(options)?;
    let module = func::build(session, valid, options)?;
    match module.verify(session) {
        Ok(()) => Ok(module),
        Err(complaints) => Err(internal(valid, &complaints)),
    }
}

fn internal(valid: &Valid, complaints: &[Complaint]) -> Diagnostics {
    let name = &valid.kernel().name;
    let unexplained = [Complaint { place: None, message: "it does not say why".to_owned() }];
    let complaints = if complaints.is_empty() { &unexplained } else { complaints };
    let diagnostics = complaints.iter().map(|complaint| {
        let span = complaint.place.as_ref().map(|(file, line, column)| Span {
            file: Arc::from(file.as_str()),
            line: *line,
            column: *column,
        });
        Diagnostic::error(
            Code::MOSAIC_INTERNAL,
            format!("the module made for `{name}` fails MLIR's verifier: {}", complaint.message),
        )
        .at_opt(span, "lowered from here")
        .help("this is a mistake of the toolkit: please report it with the output of `show --stage ir`")
    });
    Diagnostics(diagnostics.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Kernel;
    use crate::target::V5E;
    use crate::valid::check;

    #[test]
    fn own_mistakes_are_internal_errors_at_the_users_line() {
        let valid = check(Kernel::new("k"), &V5E).expect("an empty kernel is valid");
        let complaint = Complaint {
            place: Some(("kernel.rs".to_owned(), 7, 9)),
            message: "op requires the same type".to_owned(),
        };
        let errors = internal(&valid, &[complaint]);
        assert_eq!(errors.0[0].code.as_str(), "mosaic::internal");
        assert_eq!(errors.0[0].labels[0].span.to_string(), "kernel.rs:7:9");
        assert!(errors.0[0].message.contains("`k` fails MLIR's verifier: op requires"));
        // A verifier that says nothing is still an error.
        assert_eq!(internal(&valid, &[]).0.len(), 1);
    }
}
