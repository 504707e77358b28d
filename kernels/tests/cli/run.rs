use super::{Kind, Ran, assert_fields, kernels};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

fn assert_good(ran: &Ran, backend: &str) {
    assert_eq!(ran.code, 0, "{}", ran.err);
    let row = ran.json();
    assert_fields(
        &row,
        &[
            ("kernel", Kind::Text),
            ("spec", Kind::Text),
            ("backend", Kind::Text),
            ("ok", Kind::Bool),
            ("max_abs_err", Kind::Number),
            ("max_ulp", Kind::Count),
            ("wall_ms", Kind::Number),
            ("diagnostics", Kind::Array),
        ],
    );
    assert_eq!((row["ok"].as_bool(), row["backend"].as_str()), (Some(true), Some(backend)));
}

#[test]
fn interpreter_is_the_default() {
    assert_good(&kernels(&["run", "scale_add", "--json"]), "interp");
    let by_slash = kernels(&["run", "scale_add/f32_1000x1000", "--json"]);
    assert_good(&by_slash, "interp");
    assert_eq!(by_slash.json()["spec"], "f32_1000x1000");
}

#[test]
fn xla_runs_on_the_cpu() {
    let spec = ["--spec", "bf16_1024x1024", "--on", "xla-cpu"];
    assert_good(&kernels(&[&["run", "scale_add", "--json"], &spec[..]].concat()), "xla-cpu");
}

#[test]
fn table_says_ok() {
    let ran = kernels(&["run", "scale_add"]);
    assert!(ran.code == 0 && ran.out.contains(" ok "), "{}", ran.out);
}

#[test]
fn inputs_and_outputs_go_through_files() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.safetensors"), dir.path().join("out.safetensors"));
    let n = 1024 * 1024;
    let constant = |value: f32| value.to_le_bytes().repeat(n);
    let (x, y) = (constant(2.0), constant(0.25));
    let view = |bytes| TensorView::new(Dtype::F32, vec![1024, 1024], bytes).unwrap();
    let bytes = safetensors::serialize([("x", view(&x)), ("y", view(&y))], None).unwrap();
    std::fs::write(&input, bytes).unwrap();
    let ran = kernels(&[
        "run",
        "scale_add/f32_1024x1024",
        "--json",
        "--input",
        input.to_str().unwrap(),
        "--output",
        output.to_str().unwrap(),
    ]);
    assert_good(&ran, "interp");
    let bytes = std::fs::read(&output).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let out = file.tensor("out").unwrap();
    assert_eq!(out.data(), constant(3.25));
}
