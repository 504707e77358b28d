//! The command-line tool on a tiny registry, in process. The binary itself is tested in the crate
//! `systole-kernels`, which builds one.

mod cache;
#[cfg(feature = "mlir")]
mod compile;
mod explain;
mod import;
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
        (&["list", "scalle"], "did you mean `scale`? `list` shows all kernels"),
        (&["list", "f32_16x128"], "is a spec of `scale`: write `scale/f32_16x128`"),
        (&["list", "scale/f32_16x129"], "error[cli::unknown_spec]"),
        (&["list", "scale/f32_16x129"], "did you mean `f32_16x128` or"),
        (&["list", "scale/f16_16x128"], "`f16_16x128` is a spec of half"),
        (&["list", "zebra"], "kernels: scale, wrong, half, broken"),
        (&["run", "scale/f32_16x128", "--spec", "bf16_32x128"], "error[cli::spec_conflict]"),
        (&["run", "scale/f32_16x128", "--spec", "bf16_32x128"], "or `scale --spec bf16_32x128`"),
        (&["run", "scale/f32_16x128", "--spec", "bf16_32x129"], "error[cli::unknown_spec]"),
        (&["list", "scale/"], "error[cli::unknown_spec]"),
        (&["list", "/"], "error[cli::unknown_kernel]"),
        (&["explain", "ir::shap"], "error[cli::unknown_code]"),
        (&["explain", "ir::shap"], "did you mean `ir::shape`? `explain` without a code lists all"),
        (&["explain", "SHAPE"], "did you mean `ir::shape`"),
        (&["explain", "NOSUCH"], "some codes: ir::type, ir::shape"),
        (&["explain", "NOSUCH"], "which begin with ir, valid, trace"),
        (&["check", "scale", "--target", "v9"], "error[target::unknown]"),
        (&["check", "scale", "--target", "v9"], "targets are v4, v5e"),
        (&["check", "scale", "--target", "v6"], "did you mean `v4` or `v6e`? targets are"),
        (&["show", "scale", "--stage", "ir", "--target", "genric"], "did you mean `generic`?"),
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
fn the_same_spec_twice_is_no_mistake() {
    let ran = kernels(&["run", "scale/f32_64x128", "--spec", "f32_64x128", "--json"]);
    assert_eq!((ran.code, &ran.json()["spec"]), (0, &"f32_64x128".into()), "{}", ran.err);
}

#[test]
fn with_json_every_failure_has_one_shape() {
    for (args, code, expected) in [
        (&["list", "scalle"][..], 2, "cli::unknown_kernel"),
        (&["check", "scalle"], 2, "cli::unknown_kernel"),
        (&["check", "scale", "--target", "v9"], 2, "target::unknown"),
        (&["bench", "scale", "--spec", "x"], 2, "cli::unknown_spec"),
        (&["run", "scale/f32_16x128", "--spec", "bf16_32x128"], 2, "cli::spec_conflict"),
        (&["run", "scale", "--input", "/no/such/file"], 2, "run::input_file"),
        (&["run", "scale", "--output", "/no/such/folder/file"], 1, "run::output_file"),
        (&["show", "broken", "--stage", "ir"], 1, "ir::shape"),
        (&["explain", "NOSUCH"], 2, "cli::unknown_code"),
        // What the parser of the command line says.
        (&["lst"], 2, "cli::usage"),
        (&["list", "--jsom"], 2, "cli::usage"),
        (&["run"], 2, "cli::usage"),
        (&["run", "scale", "--on", "gpu"], 2, "cli::usage"),
        (&["cache"], 2, "cli::usage"),
        (&["cache", "stat"], 2, "cli::usage"),
        (&[], 2, "cli::usage"),
    ] {
        let ran = kernels(&[&["--json"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {}", ran.err);
        let out = ran.json();
        assert_eq!(out.as_object().map(|object| object.len()), Some(1), "{args:?}: {out}");
        let diagnostic = &out["diagnostics"][0];
        assert_eq!(diagnostic["code"], expected, "{args:?}: {out}");
        assert_eq!(diagnostic["severity"], "error", "{args:?}: {out}");
        // People read the same on standard error.
        let message = diagnostic["message"].as_str().unwrap();
        assert!(!message.is_empty() && ran.err.contains(message), "{args:?}: {}", ran.err);
    }
    let after = kernels(&["run", "scale", "--on", "gpu", "--json"]);
    let diagnostic = &after.json()["diagnostics"][0];
    assert!(diagnostic["message"].as_str().unwrap().contains("'gpu'"), "{diagnostic}");
    assert!(diagnostic["help"].as_str().unwrap().contains("--help"), "{diagnostic}");
    let typo = kernels(&["list", "--json", "--jsom"]).json();
    assert!(typo["diagnostics"][0]["help"].as_str().unwrap().contains("'--json'"), "{typo}");
    // Behind `--` it is a name.
    assert_eq!(kernels(&["run", "--", "--json", "--json"]).out, "");
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
