use super::kernels;

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
    }
}

#[test]
fn wrong_result_ends_with_1_and_names_the_first_element() {
    let ran = kernels(&["run", "wrong", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["ok"] == false && ran.json()["max_ulp"].as_u64() > Some(0), "{}", ran.out);
    assert!(ran.err.contains("the first, at [0, 0], is"), "{}", ran.err);
}

#[test]
fn kernel_that_does_not_build_ends_with_1_and_its_diagnostic() {
    let ran = kernels(&["run", "broken", "--json"]);
    assert_eq!(ran.code, 1);
    assert!(ran.json()["ok"] == false && ran.json()["max_ulp"].is_null(), "{}", ran.out);
    assert!(ran.err.contains("error[ir::shape]: this kernel is broken"), "{}", ran.err);
}
