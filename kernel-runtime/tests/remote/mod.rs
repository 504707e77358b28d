//! Kernels that run on several devices and cores at once.

mod bugs;
mod kernels;
mod refuse;

use systole::back::interp::{self, Options};
use systole::diag::Diagnostics;
use systole::ir::{Array, Kernel};
use systole::target::GENERIC;
use systole::valid;

/// An `f32` array of what `f` gives for the place of each element.
fn array(shape: &[usize], f: impl Fn(usize) -> f32) -> Array {
    let n = shape.iter().product::<usize>();
    Array::from_f32(shape, (0..n).map(f).collect()).unwrap()
}

/// Per device an array of its own, whose elements all differ.
fn shards(n_devices: usize, shape: &[usize]) -> Vec<Vec<Array>> {
    let n = shape.iter().product::<usize>();
    let shard = |device: usize| array(shape, |at| (device * n + at) as f32);
    (0..n_devices).map(|device| vec![shard(device)]).collect()
}

/// The outputs of each device, in 32 schedules.
fn run(kernel: &Kernel, inputs: &[Vec<Array>]) -> Result<Vec<Vec<Array>>, Diagnostics> {
    run_with(kernel, inputs, &Options { schedules: 32, ..Options::default() })
}

fn run_with(
    kernel: &Kernel,
    inputs: &[Vec<Array>],
    options: &Options,
) -> Result<Vec<Vec<Array>>, Diagnostics> {
    let valid = valid::check(kernel.clone(), &GENERIC)?;
    let outcomes = interp::run_devices(&valid, inputs, options)?;
    Ok(outcomes.into_iter().map(|outcome| outcome.outputs).collect())
}
