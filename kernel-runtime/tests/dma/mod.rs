//! Copies and semaphores, from the kernel's source to every back end.

mod kernels;
mod misuse;
mod scoped;
mod trace;

use systole::back::interp;
use systole::back::stablehlo;
use systole::diag::Diagnostics;
use systole::ir::{Array, Kernel};
use systole::run::DynTensor;
use systole::run::KernelOp;
use systole::target::GENERIC;
use systole::valid;

/// The results in the interpreter, whatever the seed.
pub(crate) fn interpreted(kernel: &Kernel, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
    let valid = valid::check(kernel.clone(), &GENERIC)?;
    let run = |seed| interp::run(&valid, inputs, &interp::Options { seed, ..Default::default() });
    let first = run(0)?.outputs;
    for seed in 1..8 {
        assert_eq!(run(seed)?.outputs, first, "seed {seed}");
    }
    Ok(first)
}

/// The results on the CPU, by way of StableHLO.
pub(crate) fn on_xla(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let tensors: Vec<DynTensor> =
        inputs.iter().map(|array| DynTensor::from_array(array.clone())).collect();
    let outputs = KernelOp::new(kernel.clone()).apply(&tensors.iter().collect::<Vec<_>>());
    outputs.iter().map(|output| output.to_array().unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Checks the results on the interpreter and on XLA, that the text form and the Mosaic module give
/// the kernel back, and that libtpu compiles it for every chip.
pub(crate) fn check(kernel: &Kernel, inputs: &[Array], expected: &[Array]) {
    let text = kernel.to_string();
    let again = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
    let found = interpreted(kernel, inputs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(found, expected, "{text}");
    assert_eq!(interpreted(&again, inputs).unwrap(), expected);
    assert_eq!(on_xla(kernel, inputs), expected, "{text}");
    let valid = valid::check(kernel.clone(), &GENERIC).unwrap();
    assert!(stablehlo::lower(&valid, &stablehlo::Options::default()).is_ok());
    compiles(kernel);
    #[cfg(feature = "mlir")]
    crate::import::roundtrip::comes_back(kernel, inputs);
}

/// libtpu compiles it for every chip.
#[cfg(feature = "mlir")]
pub(crate) fn compiles(kernel: &Kernel) {
    use systole::aot::{self, Options, Request};
    use systole::back::mosaic;
    for &target in systole::target::Target::TPUS {
        let valid = valid::check(kernel.clone(), target).unwrap_or_else(|e| panic!("{e}"));
        let call = mosaic::call(&valid, &mosaic::Options::default());
        let call = call.unwrap_or_else(|e| panic!("{e}"));
        let options = Options { cycles: false, lines: false, ..Options::default() };
        let report = aot::compile(&Request::new(&kernel.name, target, call).with(options));
        assert!(report.is_ok(), "{} on {target}: {:?}\n{kernel}", kernel.name, report.messages);
    }
}

#[cfg(not(feature = "mlir"))]
pub(crate) fn compiles(_: &Kernel) {}

/// An `f32` array whose elements are 0, 1, 2, ..
pub(crate) fn counting(shape: &[usize]) -> Array {
    let n = shape.iter().product::<usize>();
    Array::from_f32(shape, (0..n).map(|x| x as f32).collect()).unwrap()
}

/// An `f32` array of what `f` gives for the place of each element.
pub(crate) fn array(shape: &[usize], f: impl Fn(usize) -> f32) -> Array {
    let n = shape.iter().product::<usize>();
    Array::from_f32(shape, (0..n).map(f).collect()).unwrap()
}
