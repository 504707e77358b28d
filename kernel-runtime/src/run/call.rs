//! Kernels on host arrays: traced for the shapes of the arguments, validated for no chip in
//! particular, and interpreted with every hazard checked.

use crate::back::interp;
use crate::diag::Diagnostics;
use crate::ir::Array;
use crate::target::GENERIC;
use crate::trace::{ArgSpec, CallArg, Caller, KernelFn};
use crate::valid;

/// Runs a kernel on host arrays, one per input in order; gives one array per output.
///
/// # Errors
/// Arguments that do not fit, mistakes in the kernel, and hazards met while it runs.
pub fn call(kernel: &dyn KernelFn, inputs: &[&Array]) -> Result<Vec<Array>, Diagnostics> {
    let args: Vec<ArgSpec> = inputs.iter().map(|&array| ArgSpec::from(array)).collect();
    let valid = valid::check(kernel.trace(&args)?, &GENERIC)?;
    let inputs: Vec<Array> = inputs.iter().map(|&array| array.clone()).collect();
    Ok(interp::run(&valid, &inputs, &interp::Options::default())?.outputs)
}

/// Runs kernels on host arrays by [`call`](fn@call).
#[derive(Clone, Copy, Debug)]
pub struct HostCaller;

impl Caller for HostCaller {
    type Arg<'a> = &'a Array;
    type Output = Array;

    fn call(kernel: &dyn KernelFn, args: &[&Array]) -> Result<Vec<Array>, Diagnostics> {
        call(kernel, args)
    }
}

impl<'a> CallArg<'a> for &'a Array {
    type Caller = HostCaller;

    fn into_arg(self) -> &'a Array {
        self
    }
}
