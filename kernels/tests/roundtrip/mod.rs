//! Every kernel × spec as the Mosaic module that libtpu would get, read back: the interpreter gives
//! the same bits.

use systole::back::mosaic::import::{self, Imported};
use systole::back::{interp, mosaic};
use systole::diag::{Code, Diagnostics};
use systole::ir::{Array, Kernel, ParamKind};
use systole::run::{KernelEntry, Spec, Tolerance, compare_all};
use systole::target::{Target, V5E, V6E};
use systole::valid::{self, Valid};
use systole_kernels::KERNELS;

/// The operands of the custom call: tables, then inputs, one that is fetched in parts once per part.
fn operands(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let params = kernel.params.iter().filter(|param| param.kind.is_input());
    let mut operands = Vec::new();
    for (param, array) in params.zip(inputs) {
        let streams = param.window.as_ref().and_then(|window| window.streams);
        let n = streams.filter(|_| param.kind == ParamKind::In).map_or(1, |streams| streams.n);
        operands.extend((0..n).map(|_| array.clone()));
    }
    operands
}

fn imported(valid: &Valid) -> Result<Imported, Diagnostics> {
    let text = mosaic::call(valid, &mosaic::Options::default())?;
    let calls = import::read("call", text.as_bytes())?;
    calls[0].import()
}

fn run(valid: &Valid, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
    Ok(interp::run(valid, inputs, &interp::Options::default())?.outputs)
}

/// How the results differ; `None` if they do not, or if the chip cannot run the spec.
fn difference(spec: &Spec, target: &'static Target) -> Result<Option<String>, Diagnostics> {
    let valid = match spec.kernel(target).and_then(|kernel| valid::check(kernel, target)) {
        Err(diagnostics) if diagnostics.is_unsupported() => return Ok(None),
        other => other?,
    };
    if valid.kernel().core.is_sparse() {
        // SparseCore kernels are not read.
        let refused = imported(&valid).map(|imported| imported.kernel.name);
        let code = refused.map_err(|errors| errors.0[0].code);
        assert_eq!(code, Err(Code::IMPORT_UNSUPPORTED));
        return Ok(None);
    }
    let imported = imported(&valid)?;
    let again = valid::check(imported.kernel.clone(), target)?;
    let inputs = spec.sample_inputs(1)?;
    let expected = run(&valid, &inputs)?;
    let found = run(&again, &imported.inputs(&operands(valid.kernel(), &inputs))?)?;
    Ok(compare_all(&expected, &imported.results(&found), &Tolerance::exact()).describe_bad())
}

#[test]
fn every_kernel_comes_back_from_mosaic() {
    let mut n = 0;
    let mut mistakes = Vec::new();
    for KernelEntry { name, specs, .. } in KERNELS {
        for spec in specs() {
            // Two runs each, which take minutes for large ones.
            if spec.has_tag(Spec::LARGE) {
                continue;
            }
            for target in [&V5E, &V6E] {
                n += 1;
                let label = format!("{name}/{} on {target}", spec.name());
                match difference(&spec, target) {
                    Ok(None) => {}
                    Ok(Some(how)) => mistakes.push(format!("{label}: {how}")),
                    Err(diagnostics) => mistakes.push(format!("{label}: {diagnostics}")),
                }
            }
        }
    }
    assert!(mistakes.is_empty(), "{} of {n}:\n{}", mistakes.len(), mistakes.join("\n"));
    assert!(n >= 4 * KERNELS.len(), "only {n} round trips");
}
