use super::{Kind, assert_fields, kernels};

fn show(stage: &str, target: &[&str]) -> String {
    let args = [&["show", "scale_add", "--stage", stage, "--json"], target].concat();
    let ran = kernels(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shown = ran.json();
    let names = ["kernel", "spec", "target", "stage", "text"];
    assert_fields(&shown, &names.map(|name| (name, Kind::Text)));
    shown["text"].as_str().unwrap().to_owned()
}

#[test]
fn ir_parses_back() {
    let text = show("ir", &[]);
    let kernel = systole::ir::Kernel::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(kernel.name, "scale_add");
    assert!(text.contains("scale_add/kernel.rs"), "{text}");
}

#[test]
fn stablehlo_has_a_main() {
    assert!(show("stablehlo", &[]).contains("@main"));
}

#[test]
fn plain_text_is_the_same_as_in_json() {
    assert_eq!(
        kernels(&["show", "scale_add", "--stage", "ir"]).out.trim_end(),
        show("ir", &[]).trim_end()
    );
}

#[cfg(feature = "mlir")]
#[test]
fn mosaic_and_call_are_for_a_chip() {
    assert!(show("mosaic", &[]).contains("scale_add"));
    assert!(show("call", &["--target", "v6e"]).contains("tpu_custom_call"));
}

#[test]
fn equal_text_from_two_processes() {
    for stage in ["ir", "stablehlo"] {
        assert_eq!(show(stage, &["--target", "v5e"]), show(stage, &["--target", "v5e"]));
    }
}
