//! The command-line tool on a tiny registry, in process. The binary itself is tested in the crate
//! `systole-kernels`, which builds one.

#[cfg(feature = "mlir")]
mod compile;
mod explain;
mod list;
mod registry;
mod run;
mod show;
mod streams;

use registry::KERNELS;
use std::ffi::OsString;

/// What the tool did.
struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Ran {
    /// Standard output as JSON.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.out, self.err))
    }
}

/// Runs the tool on the test registry.
fn kernels(args: &[&str]) -> Ran {
    let args = std::iter::once("kernels").chain(args.iter().copied()).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = systole::cli::run_with(KERNELS, args, &mut out, &mut err);
    Ran { code, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

#[test]
fn usage_mistakes_end_with_2_and_say_what_is_near() {
    for (args, expected) in [
        (&["list", "scalle"][..], "error[cli::unknown_kernel]: there is no kernel `scalle`"),
        (&["list", "scalle"], "did you mean `scale`?"),
        (&["list", "scale/f32_16x129"], "error[cli::unknown_spec]"),
        (&["list", "scale/f32_16x129"], "did you mean `f32_16x128` or"),
        (&["list", "zebra"], "kernels: scale"),
        (&["explain", "ir::shap"], "error[cli::unknown_code]"),
        (&["explain", "ir::shap"], "did you mean `ir::shape`?"),
        (&["check", "scale", "--target", "v9"], "error[target::unknown]"),
        (&["check", "scale", "--target", "generic"], "error[cli::no_tpu]"),
        (&["lst"], "list"),
        (&["list", "--jsom"], "--json"),
        (&[], "Usage"),
    ] {
        let ran = kernels(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(ran.err.contains(expected), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty(), "{args:?}: {}", ran.out);
    }
}

#[test]
fn help_and_version_end_with_0_on_standard_output() {
    for args in [&["--help"][..], &["list", "--help"], &["--version"]] {
        let ran = kernels(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(!ran.out.is_empty());
    }
}

#[cfg(not(feature = "mlir"))]
#[test]
fn what_needs_mlir_says_so() {
    for args in [
        &["show", "scale", "--stage", "mosaic"][..],
        &["show", "scale", "--stage", "call"],
        &["check", "scale"],
        &["bench", "scale"],
    ] {
        let ran = kernels(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.out);
        assert!(ran.err.contains("cli::missing_feature"), "{}", ran.err);
    }
}
