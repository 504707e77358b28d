//! Calling kernels: on host arrays, traced for the shapes of the arguments, validated for no chip in
//! particular, and interpreted with every hazard checked; on tensors, as ops.

use super::graph::At;
use super::op::KernelState;
use crate::back::interp;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::{Array, Element, Kernel};
use crate::target::GENERIC;
use crate::trace::{ArgSpec, KernelFn};
use crate::valid;
use std::panic::Location;

/// A way to run kernels, chosen by the type of the arguments.
pub trait Caller {
    /// An argument.
    type Arg<'a>;
    /// A result, before its element type is known while compiling.
    type Raw;
    /// A result with elements of `T`.
    type Output<T: Element>;

    /// Runs a kernel; gives one result per `Out` and `InOut` parameter, in order.
    ///
    /// # Errors
    /// Whatever keeps the kernel from running to its end.
    fn call(
        kernel: &dyn KernelFn,
        state: &KernelState,
        args: &[Self::Arg<'_>],
    ) -> Result<Vec<Self::Raw>, Diagnostics>;

    /// A result that a parameter with elements of `T` gave.
    fn typed<T: Element>(raw: Self::Raw) -> Self::Output<T>;
}

/// Something that a kernel can be called with.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot be called with a `{Self}`",
    note = "give it `&Array` or `&Tensor` arguments: `matmul::<f32, _>(tiles, |x| x).call(&a, &b)?`"
)]
pub trait CallArg<'a> {
    /// What runs the kernel.
    type Caller: Caller;

    /// The argument.
    fn into_arg(self) -> <Self::Caller as Caller>::Arg<'a>;
}

/// The results of a call, as many as the kernel has outputs.
///
/// # Errors
/// If there are more or fewer.
#[doc(hidden)]
pub fn take<T, const N: usize>(kernel: &str, outputs: Vec<T>) -> Result<[T; N], Diagnostics> {
    let n = outputs.len();
    outputs.try_into().map_err(|_| {
        let message = format!("kernel `{kernel}` has {N} outputs, but its run gave {n}");
        Diagnostics::from(Diagnostic::error(Code::TRACE_ARGUMENT, message))
    })
}

/// Runs a kernel on host arrays, one per input in order; gives one array per output.
///
/// # Errors
/// Arguments that do not fit, mistakes in the kernel, and hazards met while it runs.
#[track_caller]
pub fn call(kernel: &dyn KernelFn, inputs: &[&Array]) -> Result<Vec<Array>, Diagnostics> {
    let at = Location::caller();
    interpreted(kernel, inputs).map_err(|errors| called_here(errors, at))
}

/// Adds the line of the call to what is wrong with a kernel or its arguments.
pub(crate) fn called_here(mut errors: Diagnostics, at: At) -> Diagnostics {
    for diagnostic in &mut errors.0 {
        *diagnostic = diagnostic.clone().at(Span::from_location(at), "the kernel is called here");
    }
    errors
}

fn interpreted(kernel: &dyn KernelFn, inputs: &[&Array]) -> Result<Vec<Array>, Diagnostics> {
    let args: Vec<ArgSpec> = inputs.iter().map(|&array| ArgSpec::from(array)).collect();
    let valid = valid::check(kernel.trace(&args)?, &GENERIC)?;
    let inputs: Vec<Array> = inputs.iter().map(|&array| array.clone()).collect();
    Ok(interp::run(&valid, &inputs, &interp::Options::default())?.outputs)
}

/// Runs a kernel on all devices of its mesh at once, on host arrays: per device one per input in
/// order. Gives, per device, one array per output.
///
/// # Errors
/// Arguments that do not fit, and hazards met while it runs, on a device or between devices, in
/// any of the schedules tried.
#[track_caller]
pub fn call_devices(
    kernel: &Kernel,
    inputs: &[Vec<Array>],
) -> Result<Vec<Vec<Array>>, Diagnostics> {
    let at = Location::caller();
    let run = || {
        let valid = valid::check(kernel.clone(), &GENERIC)?;
        interp::run_devices(&valid, inputs, &interp::Options::default())
    };
    let outcomes = run().map_err(|errors| called_here(errors, at))?;
    Ok(outcomes.into_iter().map(|outcome| outcome.outputs).collect())
}

/// Runs kernels on host arrays by [`call`](fn@call).
#[derive(Clone, Copy, Debug)]
pub struct HostCaller;

impl Caller for HostCaller {
    type Arg<'a> = &'a Array;
    type Raw = Array;
    type Output<T: Element> = Array;

    #[track_caller]
    fn call(
        kernel: &dyn KernelFn,
        _state: &KernelState,
        args: &[&Array],
    ) -> Result<Vec<Array>, Diagnostics> {
        call(kernel, args)
    }

    fn typed<T: Element>(raw: Array) -> Array {
        raw
    }
}

impl<'a> CallArg<'a> for &'a Array {
    type Caller = HostCaller;

    fn into_arg(self) -> &'a Array {
        self
    }
}
