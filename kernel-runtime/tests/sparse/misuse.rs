//! What is wrong with a SparseCore kernel is told, with its line.

use super::interpreted;
use super::kernels::{gather_rows, scatter_rows};
use systole::back::stablehlo;
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::ir::array::ArrayData;
use systole::prelude::*;
use systole::target::{GENERIC, Target};
use systole::valid;

fn gather_kernel() -> Kernel {
    let args = [ArgSpec::of::<f32>(&[64, 128]), ArgSpec::of::<i32>(&[2 * 16 * 8 * 2])];
    gather_rows(2, 8).trace(&args).unwrap()
}

fn inputs(ids: impl Fn(usize) -> i32) -> [Array; 2] {
    let ids = (0..512).map(ids).collect();
    [
        Array::from_f32(&[64, 128], vec![1.0; 64 * 128]).unwrap(),
        Array::new(&[512], ArrayData::I32(ids)).unwrap(),
    ]
}

fn only(errors: &Diagnostics, code: Code, words: &[&str]) {
    let text = errors.to_string();
    assert_eq!(errors.0.len(), 1, "{text}");
    assert_eq!(errors.0[0].code, code, "{text}");
    let file = errors.0[0].labels.first().map(|label| label.span.file.to_string());
    assert!(file.is_some_and(|file| file.ends_with("kernels.rs")), "{text}");
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn ids_outside_of_the_table_are_told() {
    for (id, text) in [(64, "is 64, but `table` has rows 0 to 63"), (-1, "is -1, but")] {
        let inputs = inputs(|at| if at == 12 { id } else { 3 });
        let errors = interpreted(&gather_kernel(), &inputs).unwrap_err();
        only(&errors, Code::INTERP_OUT_OF_BOUNDS, &["`idx[1, 4]`", text, ".skipping(-1)"]);
    }
}

#[test]
fn a_scatter_that_lists_a_row_twice_is_told() {
    let args = [ArgSpec::of::<f32>(&[128, 128]), ArgSpec::of::<i32>(&[128])];
    let kernel = scatter_rows(8).trace(&args).unwrap();
    let ids = (0..128).map(|at| if at == 5 { 2 } else { at }).collect();
    let inputs = [
        Array::from_f32(&[128, 128], vec![1.0; 128 * 128]).unwrap(),
        Array::new(&[128], ArrayData::I32(ids)).unwrap(),
    ];
    let errors = interpreted(&kernel, &inputs).unwrap_err();
    only(&errors, Code::INTERP_DUPLICATE_ROW, &["row 2 of `out` twice", ".accumulate()"]);
}

#[test]
fn chips_without_a_sparse_core_are_named_with_the_cure() {
    let supported = |target: &Target| target.sparse().is_some();
    let names: Vec<&str> =
        Target::TPUS.iter().filter(|t| supported(t)).map(|target| target.name).collect();
    assert_eq!(names, ["v5p", "v6e", "tpu7x"]);
    for &target in Target::TPUS {
        match valid::check(gather_kernel(), target) {
            Ok(valid) => {
                assert!(supported(target));
                assert!(valid.warnings().is_empty(), "{}", valid.warnings());
            }
            Err(errors) => {
                assert!(!supported(target) && errors.is_unsupported(), "{errors}");
                let has_none = format!("{target} has no SparseCore");
                let words = [has_none.as_str(), "compile it for v5p, v6e, tpu7x", "TensorCore"];
                only(&errors, Code::VALID_UNSUPPORTED_SPARSE_CORE, &words);
            }
        }
    }
}

#[test]
fn stablehlo_refuses_sparse_core_kernels_and_names_the_alternative() {
    let valid = valid::check(gather_kernel(), &GENERIC).unwrap();
    let errors = stablehlo::lower(&valid, &stablehlo::Options::default()).unwrap_err();
    only(&errors, Code::STABLEHLO_UNSUPPORTED, &["`core(sparse)`", "TensorCore kernel"]);
}

/// Sorts a tile on a TensorCore.
#[tpu_kernel]
fn sorts_on_a_tensor_core(#[block(n)] x: In<f32>, #[block(n)] y: Out<f32>) {
    let (keys, _) = sort(x[..], x[..]);
    y[..] = keys;
}

#[test]
fn ops_of_sparse_cores_are_refused_on_tensor_cores() {
    let kernel = sorts_on_a_tensor_core().trace(&[ArgSpec::of::<f32>(&[128])]).unwrap();
    let errors = valid::check(kernel, &GENERIC).unwrap_err();
    assert_eq!(errors.0[0].code, Code::VALID_SPARSE_OP);
    assert!(errors.to_string().contains("declare the kernel with `core(sparse)`"), "{errors}");
}
