use super::kernels;

#[test]
fn ir_and_stablehlo_are_text() {
    for (stage, expected) in [("ir", "kernel scale"), ("stablehlo", "stablehlo.multiply")] {
        let ran = kernels(&["show", "scale", "--stage", stage]);
        assert!(ran.code == 0 && ran.out.contains(expected), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn kernel_that_does_not_build_ends_with_1() {
    let ran = kernels(&["show", "broken", "--stage", "ir"]);
    assert!(ran.code == 1 && ran.err.contains("this kernel is broken"), "{}", ran.err);
}
