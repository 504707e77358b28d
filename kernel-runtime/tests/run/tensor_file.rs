use safetensors::tensor::{Dtype, TensorView};
use std::path::PathBuf;
use systole::ir::{
    Array, Builder, DType, LocId, MemorySpace, Param, ParamAxis, ParamKind, kernel::Kernel,
};
use systole::run::tensor_file::{read_inputs, write_outputs};
use tempfile::TempDir;

/// A kernel that takes `x: f32[2, 3]` and `mask: bool[2, 3]` and gives `out: f32[2, 3]`.
fn kernel() -> Kernel {
    let mut b = Builder::new("k");
    for (name, kind, dtype) in [
        ("x", ParamKind::In, DType::F32),
        ("mask", ParamKind::In, DType::Bool),
        ("out", ParamKind::Out, DType::F32),
    ] {
        let axes = [("m", 2), ("n", 3)];
        b.param(Param {
            name: name.into(),
            kind,
            dtype,
            axes: axes.map(|(name, size)| ParamAxis { name: name.into(), size }).to_vec(),
            space: MemorySpace::Vmem,
            window: None,
            pinned: None,
            loc: LocId::UNKNOWN,
        });
    }
    b.finish()
}

type Tensor<'a> = (&'a str, Dtype, &'a [usize], &'a [u8]);

fn good() -> [Tensor<'static>; 2] {
    [("x", Dtype::F32, &[2, 3], &[0; 24]), ("mask", Dtype::BOOL, &[2, 3], &[0, 1, 2, 255, 0, 0])]
}

fn serialized(tensors: &[Tensor<'_>]) -> Vec<u8> {
    let views = tensors.iter().map(|(name, dtype, shape, bytes)| {
        (*name, TensorView::new(*dtype, shape.to_vec(), bytes).unwrap())
    });
    safetensors::serialize(views, None).unwrap()
}

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.safetensors");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn reads_inputs_by_name_and_leaves_others_alone() {
    let tensors = [good()[1], good()[0], ("other", Dtype::F64, &[1], &[0; 8])];
    let (_dir, path) = file(&serialized(&tensors));
    let inputs = read_inputs(&kernel(), &path).unwrap();
    assert_eq!(inputs[0], Array::zeros(DType::F32, &[2, 3]));
    assert_eq!(inputs[1].as_bytes(), [0, 1, 1, 1, 0, 0]);
}

#[test]
fn writes_outputs_that_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.safetensors");
    let out = Array::from_f64(DType::F32, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]).unwrap();
    write_outputs(&kernel(), std::slice::from_ref(&out), &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let view = file.tensor("out").unwrap();
    assert_eq!((view.shape(), view.data()), (&[2, 3][..], out.as_bytes()));
}

#[test]
fn unwritable_file_is_one_diagnostic() {
    let out = [Array::zeros(DType::F32, &[2, 3])];
    let missing = std::path::Path::new("/no/such/folder/out.safetensors");
    let error = write_outputs(&kernel(), &out, missing).unwrap_err();
    assert_eq!((error.0.len(), error.0[0].code.as_str()), (1, "run::output_file"));
}

#[test]
fn corrupt_and_truncated_files_are_one_diagnostic() {
    let whole = serialized(&good());
    let mut corrupt = whole.clone();
    corrupt[9] = b'!';
    let mut huge_header = whole.clone();
    huge_header[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let cases = [
        &whole[..whole.len() - 1],
        &whole[..20],
        &whole[..4],
        &[],
        &corrupt,
        &huge_header,
        b"this is no safetensors file at all",
    ];
    for bytes in cases {
        let (_dir, path) = file(bytes);
        let error = read_inputs(&kernel(), &path).unwrap_err();
        assert_eq!((error.0.len(), error.0[0].code.as_str()), (1, "run::input_file"), "{error}");
        assert!(error.to_string().contains("in.safetensors"), "{error}");
    }
    let missing = read_inputs(&kernel(), std::path::Path::new("/no/such/file")).unwrap_err();
    assert_eq!(missing.0[0].code.as_str(), "run::input_file");
}

#[test]
fn tensors_that_do_not_fit_are_named_with_both_types() {
    let cases: [(&[Tensor<'_>], &str); 4] = [
        (&[good()[1]], "has no tensor `x`, f32[2, 3]"),
        (
            &[("x", Dtype::F32, &[3, 2], &[0; 24]), good()[1]],
            "is f32[3, 2], but the kernel takes f32[2, 3]",
        ),
        (&[("x", Dtype::BF16, &[2, 3], &[0; 12]), good()[1]], "is bf16[2, 3]"),
        (&[("x", Dtype::F64, &[2, 3], &[0; 48]), good()[1]], "is F64[2, 3]"),
    ];
    for (tensors, expected) in cases {
        let (_dir, path) = file(&serialized(tensors));
        let error = read_inputs(&kernel(), &path).unwrap_err();
        assert_eq!((error.0.len(), error.0[0].code.as_str()), (1, "run::input_mismatch"));
        assert!(error.to_string().contains(expected), "{error}");
    }
    let (_dir, path) = file(&serialized(&[]));
    assert_eq!(read_inputs(&kernel(), &path).unwrap_err().0.len(), 2);
}
