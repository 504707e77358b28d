//! Tensors in safetensors files.

use super::node::{Node, State};
use super::{DynTensor, Tensor};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::DType;
use crate::pjrt::AlignedBytes;
use crate::run::device::{Device, device_error, element_type};
use crate::run::graph::Ty;
use crate::run::tensor_file::{array_dtype, file_dtype};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use std::collections::BTreeMap;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

impl DynTensor {
    /// The tensors of a safetensors file that are asked for by name, on the current device.
    ///
    /// # Errors
    /// If the file cannot be read or is corrupt, or a tensor that is asked for has elements of a
    /// type that tensors here cannot have; the message names it.
    #[track_caller]
    pub fn load_safetensors(
        path: impl AsRef<Path>,
        mut is_wanted: impl FnMut(&str) -> bool,
    ) -> Result<BTreeMap<String, DynTensor>, Diagnostics> {
        let (at, path) = (Location::caller(), path.as_ref());
        let unreadable = |reason: String| {
            let message = format!("`{}` cannot be read: {reason}", path.display());
            Diagnostic::error(Code::RUN_INPUT_FILE, message)
        };
        let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let file = SafeTensors::deserialize(&bytes).map_err(|error| {
            let size = bytes.len();
            unreadable(format!("it is {size} bytes long and no safetensors file: {error}"))
        })?;
        let device = Device::current();
        let ready = device.ready()?;
        let (mut found, mut mistakes) = (BTreeMap::new(), Diagnostics::default());
        for (name, view) in file.tensors() {
            if !is_wanted(&name) {
                continue;
            }
            let Some(dtype) = array_dtype(view.dtype()) else {
                let reason = format!("tensor `{name}` has elements of type {:?}", view.dtype());
                let help = "leave it out, by its name, or convert the file";
                mistakes.push(unreadable(reason).help(help));
                continue;
            };
            let mut memory = AlignedBytes::zeroed(view.data().len());
            memory.as_mut_slice().copy_from_slice(view.data());
            if dtype == DType::Bool {
                // Any byte but 0 is true, as in NumPy; ops count on 0 and 1.
                memory.as_mut_slice().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
            let dims: Vec<i64> = view.shape().iter().map(|&size| size as i64).collect();
            let buffer = ready
                .client
                .buffer_sharing(element_type(dtype), &dims, &Arc::new(memory), Some(&ready.device))
                .map_err(device_error)?;
            let ty = Ty::new(dtype, view.shape());
            let node = Node::new(ty, at, device.clone(), State::Device(buffer));
            found.insert(name, Tensor::from_node(node));
        }
        if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
    }

    /// Writes tensors with their names into a safetensors file.
    ///
    /// # Errors
    /// If the file cannot be written, and whatever went wrong with a tensor.
    #[track_caller]
    pub fn save_safetensors<'a>(
        path: impl AsRef<Path>,
        tensors: impl IntoIterator<Item = (&'a str, &'a DynTensor)>,
    ) -> Result<(), Diagnostics> {
        let path = path.as_ref();
        let unwritable = |reason: String| {
            let message = format!("`{}` cannot be written: {reason}", path.display());
            Diagnostics::from(Diagnostic::error(Code::RUN_OUTPUT_FILE, message))
        };
        let arrays = tensors.into_iter().map(|(name, tensor)| Ok((name, tensor.to_array()?)));
        let arrays = arrays.collect::<Result<Vec<_>, Diagnostics>>()?;
        let mut views = Vec::with_capacity(arrays.len());
        for (name, array) in &arrays {
            let (dtype, shape) = (file_dtype(array.dtype()), array.shape().to_vec());
            let view = TensorView::new(dtype, shape, array.as_bytes());
            views.push((*name, view.map_err(|error| unwritable(error.to_string()))?));
        }
        let bytes = safetensors::serialize(views, None);
        let bytes = bytes.map_err(|error| unwritable(error.to_string()))?;
        std::fs::write(path, bytes).map_err(|error| unwritable(error.to_string()))
    }
}
