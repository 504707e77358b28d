//! Arrays in safetensors files.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Kernel, Param};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::path::Path;

/// Reads the inputs of a kernel: the tensors named after its input parameters. Further tensors in
/// the file are left alone.
///
/// # Errors
/// If the file cannot be read or is corrupt, or a tensor is missing or does not fit its parameter.
pub fn read_inputs(kernel: &Kernel, path: &Path) -> Result<Vec<Array>, Diagnostics> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error.to_string()))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|error| {
        unreadable(
            path,
            &format!("it is {} bytes long and no safetensors file: {error}", bytes.len()),
        )
    })?;
    let mut mistakes = Diagnostics::default();
    let mut inputs = Vec::new();
    for param in kernel.params.iter().filter(|param| param.kind.is_input()) {
        match read_param(&file, param, path) {
            Ok(array) => inputs.push(array),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(inputs) } else { Err(mistakes) }
}

/// Writes the outputs of a kernel, each under the name of its parameter.
///
/// # Errors
/// If the file cannot be written.
pub fn write_outputs(kernel: &Kernel, outputs: &[Array], path: &Path) -> Result<(), Diagnostics> {
    let unwritable = |reason: String| {
        let message = format!("`{}` cannot be written: {reason}", path.display());
        Diagnostics::from(Diagnostic::error(Code::RUN_OUTPUT_FILE, message))
    };
    let params = kernel.params.iter().filter(|param| param.kind.is_output());
    let mut views = Vec::new();
    for (param, array) in params.zip(outputs) {
        let view =
            TensorView::new(file_dtype(array.dtype()), array.shape().to_vec(), array.as_bytes())
                .map_err(|error| unwritable(error.to_string()))?;
        views.push((param.name.as_str(), view));
    }
    let bytes =
        safetensors::serialize(views, None).map_err(|error| unwritable(error.to_string()))?;
    std::fs::write(path, bytes).map_err(|error| unwritable(error.to_string()))
}

/// The shape and type of a parameter's array: `bf16[1024, 1024]`.
pub fn describe(dtype: impl std::fmt::Display, shape: &[usize]) -> String {
    format!("{dtype}{shape:?}")
}

fn read_param(file: &SafeTensors<'_>, param: &Param, path: &Path) -> Result<Array, Diagnostic> {
    let shape = param.array_shape();
    let wanted = describe(param.dtype, &shape);
    let Ok(view) = file.tensor(&param.name) else {
        let mut names = file.names();
        names.sort_unstable();
        let names = if names.is_empty() { "no tensors".into() } else { names.join(", ") };
        let message = format!("`{}` has no tensor `{}`, {wanted}", path.display(), param.name);
        return Err(Diagnostic::error(Code::RUN_INPUT_MISMATCH, message)
            .note(format!("the file has {names}"))
            .help("tensors are named after the kernel's input parameters"));
    };
    if view.dtype() != file_dtype(param.dtype) || view.shape() != shape.as_slice() {
        let found = match array_dtype(view.dtype()) {
            Some(dtype) => describe(dtype, view.shape()),
            None => describe(format!("{:?}", view.dtype()), view.shape()),
        };
        let message = format!(
            "tensor `{}` in `{}` is {found}, but the kernel takes {wanted}",
            param.name,
            path.display()
        );
        return Err(Diagnostic::error(Code::RUN_INPUT_MISMATCH, message)
            .help("choose the spec of that shape and type with `--spec`, or convert the file"));
    }
    // Any byte but 0 is true, as in NumPy; kernels count on 0 and 1.
    let bytes: std::borrow::Cow<'_, [u8]> = match param.dtype {
        DType::Bool => view.data().iter().map(|&byte| u8::from(byte != 0)).collect(),
        _ => view.data().into(),
    };
    Array::from_bytes(param.dtype, &shape, &bytes)
        .map_err(|error| Diagnostic::error(Code::RUN_INPUT_MISMATCH, error.to_string()))
}

fn unreadable(path: &Path, reason: &str) -> Diagnostics {
    let message = format!("`{}` cannot be read: {reason}", path.display());
    Diagnostic::error(Code::RUN_INPUT_FILE, message)
        .help("give a safetensors file with one tensor per input parameter")
        .into()
}

fn file_dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::BF16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::F32 => Dtype::F32,
    }
}

fn array_dtype(dtype: Dtype) -> Option<DType> {
    DType::ALL.iter().copied().find(|&ours| file_dtype(ours) == dtype)
}
