//! Arrays in safetensors files.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Kernel, Param, i4};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::path::Path;

/// A tensor that a file should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Wanted {
    fn of(param: &Param) -> Wanted {
        let shape = param.array_shape().to_vec();
        Wanted { name: param.name.clone(), dtype: param.dtype, shape }
    }
}

/// Reads the inputs of a kernel: the tensors named after its input parameters. Further tensors in
/// the file are left alone.
///
/// # Errors
/// If the file cannot be read or is corrupt, or a tensor is missing or does not fit its parameter.
pub fn read_inputs(kernel: &Kernel, path: &Path) -> Result<Vec<Array>, Diagnostics> {
    let params = kernel.params.iter().filter(|param| param.kind.is_input());
    let wanted: Vec<Wanted> = params.map(Wanted::of).collect();
    read_tensors(&wanted, path)
}

/// Reads tensors by name, in this order. Further tensors in the file are left alone.
///
/// # Errors
/// If the file cannot be read or is corrupt, or a tensor is missing or of another type or shape.
pub fn read_tensors(wanted: &[Wanted], path: &Path) -> Result<Vec<Array>, Diagnostics> {
    let bytes = read_file(path)?;
    let file = parse(&bytes, path)?;
    let mut mistakes = Diagnostics::default();
    let mut arrays = Vec::new();
    for wanted in wanted {
        match read_tensor(&file, wanted, path) {
            Ok(array) => arrays.push(array),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() { Ok(arrays) } else { Err(mistakes) }
}

/// Every tensor of a file of an element type that there is, by name.
///
/// # Errors
/// If the file cannot be read or is corrupt.
pub fn contents(path: &Path) -> Result<Vec<Wanted>, Diagnostics> {
    let bytes = read_file(path)?;
    let file = parse(&bytes, path)?;
    let mut contents: Vec<Wanted> = file
        .iter()
        .filter_map(|(name, view)| {
            let dtype = array_dtype(view.dtype())?;
            Some(Wanted { name: name.to_owned(), dtype, shape: view.shape().to_vec() })
        })
        .collect();
    contents.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(contents)
}

fn read_file(path: &Path) -> Result<Vec<u8>, Diagnostics> {
    std::fs::read(path).map_err(|error| unreadable(path, &error.to_string()))
}

fn parse<'b>(bytes: &'b [u8], path: &Path) -> Result<SafeTensors<'b>, Diagnostics> {
    SafeTensors::deserialize(bytes).map_err(|error| {
        unreadable(
            path,
            &format!("it is {} bytes long and no safetensors file: {error}", bytes.len()),
        )
    })
}

/// Writes the outputs of a kernel, each under the name of its parameter.
///
/// # Errors
/// If the file cannot be written.
pub fn write_outputs(kernel: &Kernel, outputs: &[Array], path: &Path) -> Result<(), Diagnostics> {
    let params = kernel.params.iter().filter(|param| param.kind.is_output());
    let named: Vec<(&str, &Array)> = params.map(|param| param.name.as_str()).zip(outputs).collect();
    write_tensors(&named, path)
}

/// Writes arrays, each under its name.
///
/// # Errors
/// If the file cannot be written.
pub fn write_tensors(named: &[(&str, &Array)], path: &Path) -> Result<(), Diagnostics> {
    let unwritable = |reason: String| {
        let message = format!("`{}` cannot be written: {reason}", path.display());
        Diagnostics::from(Diagnostic::error(Code::RUN_OUTPUT_FILE, message))
    };
    let mut views = Vec::new();
    for &(name, array) in named {
        let view =
            TensorView::new(file_dtype(array.dtype()), array.shape().to_vec(), array.as_bytes())
                .map_err(|error| unwritable(error.to_string()))?;
        views.push((name, view));
    }
    let bytes =
        safetensors::serialize(views, None).map_err(|error| unwritable(error.to_string()))?;
    std::fs::write(path, bytes).map_err(|error| unwritable(error.to_string()))
}

/// The shape and type of a parameter's array: `bf16[1024, 1024]`.
pub fn describe(dtype: impl std::fmt::Display, shape: &[usize]) -> String {
    format!("{dtype}{shape:?}")
}

fn read_tensor(file: &SafeTensors<'_>, tensor: &Wanted, path: &Path) -> Result<Array, Diagnostic> {
    let wanted = describe(tensor.dtype, &tensor.shape);
    let Ok(view) = file.tensor(&tensor.name) else {
        let mut names = file.names();
        names.sort_unstable();
        let names = if names.is_empty() { "no tensors".into() } else { names.join(", ") };
        let message = format!("`{}` has no tensor `{}`, {wanted}", path.display(), tensor.name);
        return Err(Diagnostic::error(Code::RUN_INPUT_MISMATCH, message)
            .note(format!("the file has {names}"))
            .help("tensors are named after the kernel's input parameters"));
    };
    if view.dtype() != file_dtype(tensor.dtype) || view.shape() != tensor.shape {
        let found = match array_dtype(view.dtype()) {
            Some(dtype) => describe(dtype, view.shape()),
            None => describe(format!("{:?}", view.dtype()), view.shape()),
        };
        let message = format!(
            "tensor `{}` in `{}` is {found}, but the kernel takes {wanted}",
            tensor.name,
            path.display()
        );
        return Err(Diagnostic::error(Code::RUN_INPUT_MISMATCH, message)
            .help("choose the spec of that shape and type with `--spec`, or convert the file"));
    }
    if tensor.dtype == DType::I4
        && let Some(byte) =
            view.data().iter().map(|&byte| byte as i8).find(|&x| i4::new(x).is_none())
    {
        let message = format!(
            "tensor `{}` in `{}` has {byte}, but the kernel takes {wanted}, of -8 to 7",
            tensor.name,
            path.display()
        );
        return Err(Diagnostic::error(Code::RUN_INPUT_MISMATCH, message)
            .help("quantize it to 4 bits: each element is a byte of the file"));
    }
    // Any byte but 0 is true, as in NumPy; kernels count on 0 and 1.
    let bytes: std::borrow::Cow<'_, [u8]> = match tensor.dtype {
        DType::Bool => view.data().iter().map(|&byte| u8::from(byte != 0)).collect(),
        _ => view.data().into(),
    };
    Array::from_bytes(tensor.dtype, &tensor.shape, &bytes)
        .map_err(|error| Diagnostic::error(Code::RUN_INPUT_MISMATCH, error.to_string()))
}

fn unreadable(path: &Path, reason: &str) -> Diagnostics {
    let message = format!("`{}` cannot be read: {reason}", path.display());
    Diagnostic::error(Code::RUN_INPUT_FILE, message)
        .help("give a safetensors file with one tensor per input parameter")
        .into()
}

pub(super) fn file_dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::Bool => Dtype::BOOL,
        // The format has no integers of 4 bits: they are a byte each.
        DType::I4 | DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::F8E4M3FN => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::BF16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::F32 => Dtype::F32,
    }
}

pub(super) fn array_dtype(dtype: Dtype) -> Option<DType> {
    let mut known = DType::ALL.iter().copied().filter(|&ours| ours != DType::I4);
    known.find(|&ours| file_dtype(ours) == dtype)
}
