//! Kernels of tensor programs in the checking interpreter, called from inside the program.

use super::KernelOp;
use crate::back::interp;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{Array, DType, Shape};
use crate::pjrt::{HostCall, HostFrame, Plugin};
use crate::run::call::called_here;
use crate::run::device::{Device, device_error};
use crate::run::dispatch::mode::{Mode, mode};
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Ty};
use crate::run::hazard;
use crate::run::op::Value;
use crate::target::GENERIC;
use crate::valid::Valid;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// How kernels on tensors run in [`Mode::Debug`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DebugKernels {
    /// As in other modes.
    #[default]
    Compiled,
    /// In the interpreter, which the program calls: every hazard is an error of the kernel's call,
    /// with all that the interpreter tells. On CPU devices alone.
    Interpreted,
}

thread_local! {
    /// Scopes that this thread is in, the innermost last.
    static SCOPES: RefCell<Vec<DebugKernels>> = const { RefCell::new(Vec::new()) };
}

/// How kernels run in [`Mode::Debug`] here: as the innermost [`with_debug_kernels`] says, or else
/// `SYSTOLE_DEBUG_KERNELS=interp`, which is read once.
pub fn debug_kernels() -> DebugKernels {
    static SET: OnceLock<DebugKernels> = OnceLock::new();
    let scoped = SCOPES.with_borrow(|scopes| scopes.last().copied());
    scoped.unwrap_or_else(|| {
        *SET.get_or_init(|| match std::env::var("SYSTOLE_DEBUG_KERNELS").as_deref() {
            Ok("interp") => DebugKernels::Interpreted,
            _ => DebugKernels::Compiled,
        })
    })
}

/// Runs `f` with kernels run so in [`Mode::Debug`].
pub fn with_debug_kernels<R>(debug_kernels: DebugKernels, f: impl FnOnce() -> R) -> R {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            SCOPES.with_borrow_mut(|scopes| scopes.pop());
        }
    }
    SCOPES.with_borrow_mut(|scopes| scopes.push(debug_kernels));
    let _leave = Leave;
    f()
}

/// Whether kernels called here are interpreted.
pub(crate) fn is_interpreted() -> bool {
    mode() == Mode::Debug && debug_kernels() == DebugKernels::Interpreted
}

/// A kernel that programs of a plugin can call in the interpreter.
#[derive(Debug)]
pub(super) struct HostKernel {
    call: HostCall,
}

/// By plugin, hash of the kernel's text, and the line of its call. They live as long as programs
/// may, which is as long as the process.
type HostKernels = HashMap<(PathBuf, blake3::Hash, At), Arc<HostKernel>>;

static HOST_KERNELS: LazyLock<Mutex<HostKernels>> = LazyLock::new(Mutex::default);

impl KernelOp {
    /// The op to be applied here: one that calls the interpreter, if that is asked for.
    pub(super) fn debugged(
        mut self,
        device: Option<&Device>,
        at: At,
    ) -> Result<KernelOp, Diagnostics> {
        if is_interpreted() {
            let device = device.cloned().unwrap_or_else(Device::current);
            let client = &device.ready()?.client;
            check_platform(&client.platform_name().map_err(device_error)?, at)?;
            let plugin = client.plugin().clone();
            let key = (plugin.path().to_path_buf(), self.inner.hash, at);
            let mut known = HOST_KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
            if !known.contains_key(&key) {
                let valid = self.for_target(&GENERIC)?;
                let host = HostKernel::new(&plugin, self.inner.inputs.clone(), valid, at)?;
                known.insert(key.clone(), Arc::new(host));
            }
            self.host = known.get(&key).cloned();
        }
        Ok(self)
    }
}

/// Programs on other devices cannot call functions of the host.
fn check_platform(platform: &str, at: At) -> Result<(), Diagnostics> {
    if platform == "cpu" {
        return Ok(());
    }
    let message = format!("kernels are interpreted on CPU devices, and this one is on {platform}");
    let error = Diagnostic::error(Code::RUN_DEVICE, message);
    let error = error.at(Span::from_location(at), "the kernel is called here");
    Err(error.help("move its arguments there: `.to(&Device::cpu())`").into())
}

impl HostKernel {
    fn new(
        plugin: &Plugin,
        inputs: Vec<(String, Ty)>,
        valid: Valid,
        at: At,
    ) -> Result<HostKernel, Diagnostics> {
        let call = HostCall::new(plugin, move |frame| {
            run(&inputs, &valid, frame).map_err(|hazards| hazard::keep(called_here(hazards, at)))
        });
        Ok(HostKernel { call: call.map_err(device_error)? })
    }

    /// The number that programs call it by.
    pub(super) fn id(&self) -> i64 {
        self.call.id()
    }

    /// Writes the call.
    pub(super) fn emit(
        &self,
        cx: &mut Emit,
        inputs: &[Value],
        results: &[(DType, Shape)],
    ) -> Vec<Value> {
        cx.out.host_call(HostCall::TARGET, &self.call.backend_config(), inputs, results)
    }
}

fn run(
    taken: &[(String, Ty)],
    valid: &Valid,
    frame: &mut HostFrame<'_>,
) -> Result<(), Diagnostics> {
    let inputs = taken.iter().zip(&frame.inputs).map(|((name, ty), input)| {
        Array::from_bytes(ty.dtype, &ty.shape, input.bytes)
            .map_err(|_| wrong_size(name, ty.n_bytes(), input.bytes.len()))
    });
    let inputs = inputs.collect::<Result<Vec<Array>, _>>()?;
    let outcome = interp::run(valid, &inputs, &interp::Options::default())?;
    let params = valid.kernel().params.iter().filter(|param| param.kind.is_output());
    for ((param, to), from) in params.zip(&mut frame.outputs).zip(&outcome.outputs) {
        let (to, from) = (&mut *to.bytes, from.as_bytes());
        if to.len() != from.len() {
            return Err(wrong_size(&param.name, from.len(), to.len()));
        }
        to.copy_from_slice(from);
    }
    Ok(())
}

/// The program gives an argument or a result other memory than the kernel has for it.
fn wrong_size(name: &str, expected: usize, found: usize) -> Diagnostics {
    let message = format!("`{name}` has {found} bytes in the program, {expected} in the kernel");
    Diagnostic::error(Code::RUN_INPUT, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;

    #[test]
    fn kernels_are_interpreted_on_the_cpu_alone() {
        check_platform("cpu", Location::caller()).unwrap();
        let error = check_platform("tpu", Location::caller()).unwrap_err();
        assert_eq!(error.0[0].code, Code::RUN_DEVICE);
        assert!(error.0[0].message.contains("on tpu"), "{error}");
    }
}
