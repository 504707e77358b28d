//! Every case as the Mosaic module that libtpu would get, read back: it gives the same.

use super::{Case, Expected, Probe};
use libtest_mimic::Trial;
use std::sync::Arc;
use systole::back::interp;
use systole::back::mosaic::{self, import};
use systole::diag::Diagnostics;
use systole::ir::{Array, DType, Kernel, ParamKind};
use systole::run::compare_all;
use systole::target::{Target, V5E, V6E};
use systole::valid;

/// One trial per case that has outputs.
pub(super) fn trials(cases: &[Arc<Case>]) -> Vec<Trial> {
    let with_outputs = cases.iter().filter(|case| (case.probe)().has_outputs());
    with_outputs
        .map(|case| {
            let case = case.clone();
            Trial::test(format!("import::pallas::{}", case.name), move || {
                let probe = (case.probe)();
                // One chip whose vector unit has bf16, and one whose has not.
                for target in [&V5E, &V6E] {
                    if !probe.refusals.iter().any(|&(refuses, _)| refuses.name == target.name) {
                        probe.comes_back(target)?;
                    }
                }
                Ok(())
            })
        })
        .collect()
}

impl Probe {
    fn comes_back(&self, target: &'static Target) -> Result<(), String> {
        let Expected::Outputs(expected) = &self.expected else { return Ok(()) };
        let run = || -> Result<Vec<Array>, Diagnostics> {
            let valid = self.valid(target)?;
            let call = mosaic::call(&valid, &mosaic::Options::default())?;
            let imported = import::read("call", call.as_bytes())?[0].import()?;
            let again = valid::check(imported.kernel.clone(), target)?;
            let inputs = imported.inputs(&operands(valid.kernel(), &self.inputs))?;
            let outcome = interp::run(&again, &inputs, &interp::Options::default())?;
            Ok(imported.results(&outcome.outputs))
        };
        let found = run().map_err(|errors| format!("{target}: {errors}"))?;
        let expected: Vec<Array> = expected.iter().map(wide).collect();
        let result = compare_all(&expected, &found, &self.tolerance);
        if result.ok { Ok(()) } else { Err(format!("{target}: {result:?}")) }
    }
}

/// The operands of the custom call: an input that is fetched in parts once per part.
fn operands(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let params: Vec<_> = kernel.params.iter().filter(|param| param.kind.is_input()).collect();
    let (extents, arrays) = inputs.split_at(inputs.len() - params.len());
    let mut operands: Vec<Array> = extents.to_vec();
    for (param, array) in params.iter().zip(arrays) {
        let streams = param.window.as_ref().and_then(|window| window.streams);
        let n = streams.filter(|_| param.kind == ParamKind::In).map_or(1, |streams| streams.n);
        operands.extend((0..n).map(|_| wide(array)));
    }
    operands
}

/// Truth values as `i32`, which is how a custom call takes and gives them.
fn wide(array: &Array) -> Array {
    match array.dtype() {
        DType::Bool => crate::batch::array(DType::I32, array.shape(), &array.to_f64()),
        _ => array.clone(),
    }
}
