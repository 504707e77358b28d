//! Golden texts: `BLESS=1 cargo test golden` rewrites them.

use super::kernels;
use crate::golden;
use systole::back::stablehlo::{self, Options};
use systole::ir::DType;
use systole::ir::ops::Precision;
use systole::valid::Valid;

fn cases() -> Vec<(&'static str, Valid)> {
    vec![
        (
            "matmul_unrolled",
            kernels::matmul(DType::BF16, [32, 256, 256], [16, 128, 128], Precision::Medium),
        ),
        (
            "matmul_loops_highest",
            kernels::matmul(DType::F32, [128, 1024, 1024], [16, 128, 128], Precision::Highest),
        ),
        ("softmax_edge_block", kernels::softmax(DType::BF16, [100, 256], 16)),
        ("revisit", kernels::revisit(100)),
        ("gather", kernels::gather(500, 300)),
        ("loops", kernels::loops()),
    ]
}

#[test]
fn golden_texts_are_as_blessed() {
    let text = |valid| stablehlo::lower(valid, &Options::default()).unwrap();
    golden::assert_as_blessed(
        "stablehlo",
        cases().iter().map(|(name, valid)| (name.to_string(), text(valid))),
    );
}

#[test]
fn golden_directory_has_no_orphans() {
    golden::assert_no_orphans("stablehlo", cases().iter().map(|(name, _)| name.to_string()));
}

#[test]
fn text_is_the_same_twice() {
    for (first, second) in cases().into_iter().zip(cases()) {
        let lower = |valid| stablehlo::lower(valid, &Options::default()).unwrap();
        assert_eq!(lower(&first.1), lower(&second.1), "{}", first.0);
    }
}
