use super::kernels;
use safetensors::tensor::{Dtype, TensorView};

#[test]
fn good_kernel_ends_with_0() {
    for args in [
        &["run", "scale", "--json"][..],
        &["run", "scale", "--spec", "bf16_32x128", "--json"],
        &["run", "scale/f32_64x128", "--seed", "7", "--json"],
        &["run", "scale", "--on", "xla-cpu", "--json"],
    ] {
        let ran = kernels(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        let row = ran.json();
        assert!(row["ok"] == true && row["max_ulp"] == 0 && row["max_abs_err"] == 0.0, "{row}");
        assert_eq!(row["diagnostics"], serde_json::json!([]));
    }
}

#[test]
fn wrong_result_ends_with_1_and_names_the_first_element() {
    let ran = kernels(&["run", "wrong", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["ok"] == false && ran.json()["max_ulp"].as_u64() > Some(0), "{}", ran.out);
    assert!(ran.err.contains("the first, at [0, 0], is"), "{}", ran.err);
    assert_eq!(ran.json()["diagnostics"][0]["code"], "run::wrong_result");
}

#[test]
fn kernel_that_does_not_build_ends_with_1_and_its_diagnostic() {
    let ran = kernels(&["run", "broken", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["ok"] == false && ran.json()["max_ulp"].is_null(), "{}", ran.out);
    assert!(ran.err.contains("error[ir::shape]: this kernel is broken"), "{}", ran.err);
    assert_eq!(ran.json()["diagnostics"][0]["message"], "this kernel is broken");
}

#[test]
fn outputs_never_replace_the_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (input, other) = (path("in.safetensors"), path("out.safetensors"));
    let x = 1.5_f32.to_le_bytes().repeat(16 * 128);
    let view = TensorView::new(Dtype::F32, vec![16, 128], &x).unwrap();
    let bytes = safetensors::serialize([("x", view)], None).unwrap();
    std::fs::write(&input, &bytes).unwrap();
    std::os::unix::fs::symlink(&input, path("link")).unwrap();
    std::os::unix::fs::symlink("link", path("link to link")).unwrap();
    std::fs::hard_link(&input, path("hard link")).unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    std::os::unix::fs::symlink(dir.path(), path("folder/up")).unwrap();
    let run = |input: &str, output: &str| {
        kernels(&["run", "scale", "--json", "--input", input, "--output", output])
    };
    for name in [
        "in.safetensors",
        "./in.safetensors",
        "folder/../in.safetensors",
        "link",
        "link to link",
        "hard link",
        "folder/up/link",
    ] {
        for (from, to) in [(input.clone(), path(name)), (path(name), input.clone())] {
            let ran = run(&from, &to);
            assert_eq!(ran.code, 2, "{name}: {}", ran.out);
            assert_eq!(ran.json()["diagnostics"][0]["code"], "cli::same_file");
            assert!(ran.err.contains("give another `--output`"), "{}", ran.err);
            assert_eq!(std::fs::read(&input).unwrap(), bytes, "{name}");
        }
    }
    // Another file, new or old, is written.
    for _again in 0..2 {
        assert_eq!(run(&input, &other).code, 0);
    }
    assert_ne!(std::fs::read(&other).unwrap(), bytes);
    // Two files that do not exist are the mistake that they were before.
    let missing = path("missing");
    assert_eq!(run(&missing, &missing).json()["diagnostics"][0]["code"], "run::input_file");
}
