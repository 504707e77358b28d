//! Runs a validated kernel on a PJRT device, through the StableHLO back end.

use crate::back::stablehlo;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Array, DType, Kernel};
use crate::pjrt::{self, Buffer, Client, CompileOptions, ElementType, Executable};
use crate::run::hazard;
use crate::valid::Valid;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How many executables a [`XlaDevice`] keeps.
const MAX_CACHED: usize = 64;

/// A PJRT client that runs kernels and remembers what it compiled.
#[derive(Debug)]
pub struct XlaDevice {
    client: Client,
    options: CompileOptions,
    /// By the hash of the program's text.
    cache: Mutex<HashMap<blake3::Hash, Executable>>,
}

impl XlaDevice {
    /// Runs on the first device of this client.
    pub fn new(client: Client) -> XlaDevice {
        XlaDevice::with_options(client, CompileOptions::default())
    }

    /// Runs on the first device of this client, compiling with these options.
    pub fn with_options(client: Client, options: CompileOptions) -> XlaDevice {
        XlaDevice { client, options, cache: Mutex::default() }
    }

    /// XLA on the CPU.
    ///
    /// # Errors
    /// If there is no plugin, or one for other devices; the message says how to get it.
    pub fn xla_cpu() -> Result<XlaDevice, Diagnostics> {
        let client = pjrt::Plugin::cpu_client(&[("cpu_device_count", 1.into())]);
        Ok(XlaDevice::new(client.map_err(device_error)?))
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Runs a kernel on host arrays, given in the order of its input parameters (first the sizes
    /// of dynamic grid axes, as `i32` scalars); gives its outputs in the order of its parameters.
    ///
    /// # Errors
    /// If the inputs do not fit the kernel, the kernel has ops that StableHLO does not, or the
    /// plugin refuses to compile or run it.
    pub fn run(&self, valid: &Valid, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
        self.run_with(valid, inputs, &stablehlo::Options::default())
    }

    /// As [`XlaDevice::run`], lowering with these options.
    ///
    /// # Errors
    /// As [`XlaDevice::run`].
    pub fn run_with(
        &self,
        valid: &Valid,
        inputs: &[Array],
        options: &stablehlo::Options,
    ) -> Result<Vec<Array>, Diagnostics> {
        check_inputs(valid.kernel(), inputs)?;
        let text = stablehlo::lower(valid, options)?;
        let executable = self.compile(&text)?;
        self.execute(&executable, inputs)
    }

    /// Compiles a StableHLO module, or finds it among those compiled before.
    ///
    /// # Errors
    /// If the plugin refuses it.
    pub fn compile(&self, text: &str) -> Result<Executable, Diagnostics> {
        let key = blake3::hash(text.as_bytes());
        let found = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(found) = found {
            return Ok(found);
        }
        // The lock is not held: others may run while this compiles.
        let executable =
            self.client.compile(text.as_bytes(), &self.options).map_err(device_error)?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(key, executable.clone());
        Ok(executable)
    }

    /// Runs a compiled module on host arrays.
    ///
    /// # Errors
    /// If the arrays do not fit it, or it fails.
    pub fn execute(
        &self,
        executable: &Executable,
        inputs: &[Array],
    ) -> Result<Vec<Array>, Diagnostics> {
        let buffers = self.upload(inputs)?;
        let args: Vec<&Buffer> = buffers.iter().collect();
        let outputs = executable.execute(&args).map_err(device_error)?;
        outputs.iter().map(download).collect::<pjrt::Result<Vec<_>>>().map_err(device_error)
    }

    /// Copies host arrays to the device.
    ///
    /// # Errors
    /// If the device has no room.
    pub fn upload(&self, arrays: &[Array]) -> Result<Vec<Buffer>, Diagnostics> {
        let upload = |array: &Array| {
            let dims: Vec<i64> = array.shape().iter().map(|&size| size as i64).collect();
            self.client.buffer(element_type(array.dtype()), &dims, array.as_bytes(), None)
        };
        arrays.iter().map(upload).collect::<pjrt::Result<Vec<_>>>().map_err(device_error)
    }
}

/// Checks number, shapes and element types of a kernel's inputs.
///
/// # Errors
/// Every input that does not fit.
pub fn check_inputs(kernel: &Kernel, inputs: &[Array]) -> Result<(), Diagnostics> {
    let n_sizes = stablehlo::n_dynamic_extents(kernel);
    let mut expected: Vec<(String, DType, Vec<usize>)> =
        (0..n_sizes).map(|idx| (format!("grid size {idx}"), DType::I32, Vec::new())).collect();
    for param in kernel.params.iter().filter(|param| param.kind.is_input()) {
        expected.push((format!("`{}`", param.name), param.dtype, param.array_shape().to_vec()));
    }
    let mut found = Diagnostics::default();
    if expected.len() != inputs.len() {
        let message = format!(
            "kernel `{}` takes {} inputs, but {} were given",
            kernel.name,
            expected.len(),
            inputs.len()
        );
        found.push(Diagnostic::error(Code::RUN_INPUT, message));
    }
    for ((name, dtype, shape), input) in expected.iter().zip(inputs) {
        if *dtype != input.dtype() || shape.as_slice() != input.shape() {
            let message = format!(
                "input {name} of kernel `{}` is {dtype}{shape:?}, but {}{:?} was given",
                kernel.name,
                input.dtype(),
                input.shape()
            );
            found.push(Diagnostic::error(Code::RUN_INPUT, message));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

pub(crate) fn device_error(error: pjrt::Error) -> Diagnostics {
    if let Some(hazards) = hazard::find(&error.message) {
        return hazards;
    }
    // The plugin's words need its function beside them; ours say all by themselves.
    let text = if error.call.starts_with("PJRT_") { error.to_string() } else { error.message };
    Diagnostic::error(Code::RUN_DEVICE, text).into()
}

fn download(buffer: &Buffer) -> pjrt::Result<Array> {
    let shape: Vec<usize> = buffer.dims()?.iter().map(|&dim| dim as usize).collect();
    let ty = buffer.element_type()?;
    let refuse = |message: String| pjrt::Error {
        code: pjrt::Code::Unimplemented,
        message,
        call: "download",
    };
    let dtype = DType::ALL.iter().copied().find(|&dtype| element_type(dtype) == ty);
    let dtype = dtype
        .ok_or_else(|| refuse(format!("results of type {} are not read", ty.stablehlo_name())))?;
    let bytes = buffer.to_host()?;
    Array::from_bytes(dtype, &shape, &bytes).map_err(|error| refuse(error.to_string()))
}

pub(crate) fn element_type(dtype: DType) -> ElementType {
    match dtype {
        DType::Bool => ElementType::Pred,
        DType::I4 => ElementType::S4,
        DType::I8 => ElementType::S8,
        DType::I16 => ElementType::S16,
        DType::I32 => ElementType::S32,
        DType::U8 => ElementType::U8,
        DType::U16 => ElementType::U16,
        DType::U32 => ElementType::U32,
        DType::F8E4M3FN => ElementType::F8E4M3Fn,
        DType::F8E5M2 => ElementType::F8E5M2,
        DType::BF16 => ElementType::Bf16,
        DType::F16 => ElementType::F16,
        DType::F32 => ElementType::F32,
    }
}
