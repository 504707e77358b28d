//! Every kernel × spec as the Mosaic module that libtpu would get, read back: the interpreter gives
//! the same bits.

use systole::back::mosaic::import::{self, Imported};
use systole::back::{interp, mosaic};
use systole::diag::Diagnostics;
use systole::ir::{Array, Kernel, ParamKind};
use systole::run::{KernelEntry, Spec, Tolerance, compare_all};
use systole::target::{GENERIC, TPU7X, Target, V5E, V5P, V6E};
use systole::valid::{self, Valid};
use systole_kernels::KERNELS;

/// Chips with SparseCores.
const SPARSE: [&Target; 3] = [&V5P, &V6E, &TPU7X];

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
    // Other orders of events are tried elsewhere.
    let options = interp::Options { schedules: 1, ..Default::default() };
    Ok(interp::run(valid, inputs, &options)?.outputs)
}

/// How a kernel came back.
enum Outcome {
    /// The chip cannot run it.
    Unsupported,
    /// The spec's inputs are not for it: it is valid again, and did not run.
    Valid,
    /// It gives the same.
    Same,
    Differs(String),
}

/// Runs a kernel and what comes back of it.
fn compared(
    valid: &Valid,
    imported: &Imported,
    inputs: &[Array],
) -> Result<Option<String>, Diagnostics> {
    let again = valid::check(imported.kernel.clone(), valid.target())?;
    let expected = run(valid, inputs)?;
    let found = run(&again, &imported.inputs(&operands(valid.kernel(), inputs))?)?;
    Ok(compare_all(&expected, &imported.results(&found), &Tolerance::exact()).describe_bad())
}

/// Checks a SparseCore kernel on every chip whose registers have as many elements.
pub(crate) fn sparse_comes_back(kernel: &Kernel, inputs: &[Array]) {
    let mut n = 0;
    for target in SPARSE {
        // With another number of lanes it is no kernel for the chip.
        let Ok(valid) = valid::check(kernel.clone(), target) else { continue };
        n += 1;
        let how = imported(&valid).and_then(|imported| compared(&valid, &imported, inputs));
        let how = how.unwrap_or_else(|errors| panic!("{} on {target}: {errors}", kernel.name));
        assert_eq!(how, None, "{} on {target}", kernel.name);
    }
    assert!(n > 0, "{} is for no chip", kernel.name);
}

fn round_trip(
    spec: &Spec,
    (kernel, has_inputs): (Result<Kernel, Diagnostics>, bool),
    target: &'static Target,
) -> Result<Outcome, Diagnostics> {
    let valid = match kernel.and_then(|kernel| valid::check(kernel, target)) {
        Err(diagnostics) if diagnostics.is_unsupported() => return Ok(Outcome::Unsupported),
        other => other?,
    };
    let imported = imported(&valid)?;
    let inputs = spec.sample_inputs(1)?;
    let params = valid.kernel().params.iter().filter(|param| param.kind.is_input());
    let fits = params.zip(&inputs).all(|(param, array)| param.array_shape()[..] == *array.shape());
    if !fits || !has_inputs {
        valid::check(imported.kernel, target)?;
        return Ok(Outcome::Valid);
    }
    let how = compared(&valid, &imported, &inputs)?;
    Ok(how.map_or(Outcome::Same, Outcome::Differs))
}

/// Counts of what came back, and what did not.
#[derive(Default)]
struct Tally {
    n: usize,
    n_same: usize,
    mistakes: Vec<String>,
}

impl Tally {
    fn add(&mut self, label: String, outcome: Result<Outcome, Diagnostics>) {
        self.n += 1;
        match outcome {
            Ok(Outcome::Unsupported | Outcome::Valid) => {}
            Ok(Outcome::Same) => self.n_same += 1,
            Ok(Outcome::Differs(how)) => self.mistakes.push(format!("{label}: {how}")),
            Err(diagnostics) => self.mistakes.push(format!("{label}: {diagnostics}")),
        }
    }

    fn check(self, at_least: usize, same_at_least: usize) {
        let Tally { n, n_same, mistakes } = self;
        assert!(mistakes.is_empty(), "{} of {n}:\n{}", mistakes.len(), mistakes.join("\n"));
        assert!(n >= at_least, "only {n} round trips");
        assert!(n_same >= same_at_least, "only {n_same} of {n} round trips ran");
    }
}

/// Every spec, but large ones: two runs each take minutes.
fn specs() -> impl Iterator<Item = (&'static str, Spec)> {
    KERNELS.iter().flat_map(|&KernelEntry { name, specs, .. }| {
        specs().into_iter().filter(|spec| !spec.has_tag(Spec::LARGE)).map(move |spec| (name, spec))
    })
}

fn is_sparse(spec: &Spec) -> bool {
    spec.kernel(&V6E).is_ok_and(|kernel| kernel.core.is_sparse())
}

#[test]
fn every_kernel_comes_back_from_mosaic() {
    let mut tally = Tally::default();
    for (name, spec) in specs().filter(|(_, spec)| !is_sparse(spec)) {
        for target in [&V5E, &V6E] {
            let outcome = round_trip(&spec, (spec.kernel(target), true), target);
            tally.add(format!("{name}/{} on {target}", spec.name()), outcome);
        }
    }
    tally.check(3 * KERNELS.len(), 3 * KERNELS.len());
}

#[test]
fn every_sparse_core_kernel_comes_back_from_mosaic() {
    let mut tally = Tally::default();
    for (name, spec) in specs().filter(|(_, spec)| is_sparse(spec)) {
        for target in SPARSE {
            // Lists of updates are made for the two subcores that there are off chips.
            let whole = (spec.kernel(target), name != "embedding_update");
            let label = format!("{name}/{} on {target}", spec.name());
            tally.add(label, round_trip(&spec, whole, target));
        }
        // Those have as many lanes as v6e.
        let two = (spec.kernel(&GENERIC), true);
        tally.add(format!("{name}/{}, two subcores", spec.name()), round_trip(&spec, two, &V6E));
    }
    tally.check(100, 35);
}
