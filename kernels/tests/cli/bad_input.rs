use super::{command, kernels};

/// Arguments, exit code, and what standard error must say.
type Case = (&'static [&'static str], i32, &'static [&'static str]);

const CASES: &[Case] = &[
    (&["run", "scale_ad"], 2, &["cli::unknown_kernel", "did you mean `scale_add`?"]),
    (&["check", "scale_ad", "mat"], 2, &["cli::unknown_kernel"]),
    (&["bench", "scale_ad"], 2, &["cli::unknown_kernel"]),
    (&["show", "scale_ad", "--stage", "ir"], 2, &["cli::unknown_kernel"]),
    (&["run", "scale_add", "--spec", "f32_1024x1025"], 2, &["cli::unknown_spec", "f32_1024x1024"]),
    (&["run", "scale_add/f32_1024x1025"], 2, &["cli::unknown_spec"]),
    (&["check", "--spec", "f33_1024x1024"], 2, &["cli::unknown_spec"]),
    (&["check", "scale_add", "--target", "v9"], 2, &["target::unknown", "v5e"]),
    (&["check", "scale_add", "--target", "v5e,generic"], 2, &["cli::no_tpu"]),
    (&["show", "scale_add", "--stage", "call", "--target", "generic"], 2, &["cli::no_tpu"]),
    (&["show", "scale_add", "--stage", "llvm"], 2, &["llvm", "mosaic"]),
    (&["show", "scale_add"], 2, &["--stage"]),
    (&["run", "scale_add", "--on", "gpu"], 2, &["gpu", "xla-cpu"]),
    (&["run", "scale_add", "--seed", "x"], 2, &["--seed"]),
    (&["run"], 2, &["NAME"]),
    (&["bench", "--against", "triton"], 2, &["triton"]),
    (&["explain", "valid::nonsense"], 2, &["cli::unknown_code"]),
    (&["frobnicate"], 2, &["frobnicate"]),
    (&[], 2, &["Usage"]),
    (&["run", "scale_add", "--input", "/no/such/file"], 2, &["run::input_file"]),
    (&["run", "scale_add", "--output", "/no/such/folder/f"], 1, &["run::output_file"]),
];

#[test]
fn each_mistake_is_diagnosed() {
    for (args, code, expected) in CASES {
        let ran = kernels(args);
        assert_eq!(ran.code, *code, "{args:?}: {}{}", ran.out, ran.err);
        for part in *expected {
            assert!(ran.err.contains(part), "{args:?}: no `{part}` in {}", ran.err);
        }
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    }
}

#[test]
fn bad_files_are_diagnosed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.safetensors");
    for bytes in [&b""[..], &[0xff; 64], b"{}", &[8, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']] {
        std::fs::write(&path, bytes).unwrap();
        let ran = kernels(&["run", "scale_add", "--json", "--input", path.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("run::input_"), "{}", ran.err);
        let code = ran.json()["diagnostics"][0]["code"].clone();
        assert!(code.as_str().is_some_and(|code| code.starts_with("run::input_")), "{code}");
    }
}

#[test]
fn wrong_cpu_plugin_fails_the_kernel_with_the_cure() {
    // Loaded, libtpu would ask a metadata server for minutes where there is none.
    let libtpu = systole::pjrt::Plugin::tpu_path().unwrap();
    for (path, what) in [
        ("/no/such/plugin.so", "there is no such file"),
        (libtpu.to_str().unwrap(), "it is libtpu"),
    ] {
        let mut command = command(&["run", "scale_add", "--on", "xla-cpu", "--json"]);
        let output = command.env("SYSTOLE_PJRT_CPU", path).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{err}");
        let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(row["ok"] == false && row["max_ulp"].is_null(), "{row}");
        assert_eq!(row["diagnostics"][0]["code"], "run::device", "{row}");
        for part in [&format!("SYSTOLE_PJRT_CPU={path}: {what}"), "unset it", "./x setup"] {
            assert!(err.contains(part) && row["diagnostics"].to_string().contains(part), "{err}");
        }
    }
}
