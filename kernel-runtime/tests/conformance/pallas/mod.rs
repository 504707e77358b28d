//! Pallas' own test suites as data: each case is a kernel, its inputs and what must come of it.
//!
//! A case names the test of Pallas (jax 0.10.2, `tests/pallas`) that covers the same behavior there.
//! Kernels, values and expectations are written afresh for what that test is about. Each case runs in the
//! interpreter with several seeds, on XLA's CPU, and is lowered for every TPU; one that a back end cannot
//! do says so with the code of its refusal. `features` ties the cases to the table in
//! `systole::pallas`.

mod aliasing;
mod checks;
#[cfg(feature = "mlir")]
mod comes_back;
mod control;
mod copies;
mod dtypes;
mod extents;
mod features;
mod grids;
mod indexing;
#[cfg(feature = "mlir")]
mod libtpu;
mod masks;
mod missing;
mod narrow;
mod numbers;
mod prefetch;
mod reductions;
mod scalars;
mod semaphores;
mod shapes;
mod units;

use crate::backend::{Backend, spoil};
use crate::batch::array;
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::sync::Arc;
use systole::back::interp;
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::ir::array::ArrayData;
use systole::prelude::*;
use systole::run::{Tolerance, compare_all};
use systole::target::{GENERIC, Target, V5E};
use systole::valid;

/// At least so many cases: a list that came out short must not pass.
const MIN_CASES: usize = 150;

/// Seeds of the interpreter that each case runs with.
const SEEDS: std::ops::Range<u64> = 0..3;

/// One case.
pub(crate) struct Case {
    /// Its name, which the table of features uses.
    pub(crate) name: String,
    /// `file::Class::test`, below `tests/pallas` of jax 0.10.2.
    pub(crate) mirrors: &'static str,
    probe: Box<dyn Fn() -> Probe + Send + Sync>,
}

/// A case of one test of Pallas.
pub(crate) fn case(
    name: impl Into<String>,
    mirrors: &'static str,
    probe: impl Fn() -> Probe + Send + Sync + 'static,
) -> Case {
    Case { name: name.into(), mirrors, probe: Box::new(probe) }
}

/// What a case tries, and what must come of it.
pub(crate) struct Probe {
    kernel: Result<Kernel, Diagnostics>,
    inputs: Vec<Array>,
    expected: Expected,
    tolerance: Tolerance,
    /// The chips that refuse it, with the code.
    refusals: Vec<(&'static Target, Code)>,
    /// Whether StableHLO has a form of it.
    has_stablehlo: bool,
}

/// What must come of a case.
enum Expected {
    /// These arrays.
    Outputs(Vec<Array>),
    /// This code, when it is traced, validated for v5e or interpreted.
    Told(Code),
}

/// A kernel and the arrays that it is called with.
pub(crate) fn run<const N: usize>(kernel: &impl KernelFn, inputs: [Array; N]) -> Probe {
    let inputs = Vec::from(inputs);
    let specs: Vec<ArgSpec> = inputs.iter().map(ArgSpec::from).collect();
    Probe::new(kernel.trace(&specs), inputs)
}

/// A kernel in the text form, for what has no other form.
pub(crate) fn parse(text: &str) -> Probe {
    Probe::new(Kernel::parse(text), Vec::new())
}

impl Probe {
    fn new(kernel: Result<Kernel, Diagnostics>, inputs: Vec<Array>) -> Probe {
        Probe {
            kernel,
            inputs,
            expected: Expected::Outputs(Vec::new()),
            tolerance: Tolerance::exact(),
            refusals: Vec::new(),
            has_stablehlo: true,
        }
    }

    /// The outputs, which must be these to the bit if [`Probe::within`] does not say otherwise.
    pub(crate) fn gives<const N: usize>(self, outputs: [Array; N]) -> Probe {
        Probe { expected: Expected::Outputs(Vec::from(outputs)), ..self }
    }

    /// How far outputs may be from what they should be.
    pub(crate) fn within(self, tolerance: Tolerance) -> Probe {
        Probe { tolerance, ..self }
    }

    /// The code of the first thing that is told.
    pub(crate) fn told(self, code: Code) -> Probe {
        Probe { expected: Expected::Told(code), ..self }
    }

    /// Chips that refuse it, with the code.
    pub(crate) fn refused_by(mut self, targets: &[&'static Target], code: Code) -> Probe {
        self.refusals.extend(targets.iter().map(|&target| (target, code)));
        self
    }

    /// StableHLO refuses it.
    pub(crate) fn refused_by_stablehlo(self) -> Probe {
        Probe { has_stablehlo: false, ..self }
    }

    /// The kernel, validated for a target.
    fn valid(&self, target: &'static Target) -> Result<valid::Valid, Diagnostics> {
        valid::check(self.kernel.clone()?, target)
    }

    /// Compares outputs with what they should be.
    fn check(&self, outputs: &[Array]) -> Result<(), String> {
        let Expected::Outputs(expected) = &self.expected else {
            return Err("it ran, but should not".to_owned());
        };
        if expected.is_empty() {
            return Err("the case says nothing of its outputs".to_owned());
        }
        let result = compare_all(expected, outputs, &self.tolerance);
        if result.ok { Ok(()) } else { Err(format!("{result:?}")) }
    }

    /// The interpreter, with several seeds.
    fn interpret(&self) -> Result<(), String> {
        let target = match self.expected {
            Expected::Outputs(_) => &GENERIC,
            Expected::Told(_) => &V5E,
        };
        let run = |seed| {
            let options = interp::Options { seed, fuel: 1 << 20, ..interp::Options::default() };
            Ok(interp::run(&self.valid(target)?, &self.inputs, &options)?.outputs)
        };
        for seed in SEEDS {
            let result: Result<Vec<Array>, Diagnostics> = run(seed);
            match (&self.expected, result) {
                (Expected::Outputs(_), Ok(outputs)) => self.check(&outputs)?,
                (Expected::Outputs(_), Err(errors)) => return Err(errors.to_string()),
                (Expected::Told(_), Ok(_)) => return Err("nothing is told of it".to_owned()),
                (Expected::Told(code), Err(errors)) => must_be(*code, &errors)?,
            }
        }
        Ok(())
    }

    /// A back end that runs it on a device.
    fn on_device(&self, backend: &Backend) -> Result<(), String> {
        let valid = self.valid(&GENERIC).map_err(|errors| errors.to_string())?;
        match (backend.run(&valid, &self.inputs), self.has_stablehlo) {
            (Ok(outputs), true) => self.check(&outputs),
            (Ok(_), false) => Err("it ran, but is said to be refused".to_owned()),
            (Err(errors), false) => must_be(Code::STABLEHLO_UNSUPPORTED, &errors),
            (Err(errors), true) => Err(errors.to_string()),
        }
    }

    /// Whether it has outputs, so that back ends other than the interpreter can show them.
    fn has_outputs(&self) -> bool {
        matches!(self.expected, Expected::Outputs(_))
    }
}

/// Checks the code of the first error.
fn must_be(code: Code, errors: &Diagnostics) -> Result<(), String> {
    match errors.0.first() {
        Some(first) if first.code == code => Ok(()),
        _ => Err(format!("expected {code}, but was told: {errors}")),
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let topics = [
        indexing::cases,
        grids::cases,
        extents::cases,
        prefetch::cases,
        copies::cases,
        semaphores::cases,
        aliasing::cases,
        scalars::cases,
        masks::cases,
        reductions::cases,
        control::cases,
        dtypes::cases,
        narrow::cases,
        units::cases,
        shapes::cases,
        numbers::cases,
        checks::cases,
        missing::cases,
    ];
    topics.iter().flat_map(|cases| cases()).collect()
}

/// The trials of all cases: `interp::pallas::name`, `stablehlo::pallas::name`, `mosaic::pallas::name`.
pub(crate) fn trials(backends: &[Arc<Backend>]) -> Vec<Trial> {
    let all: Vec<Arc<Case>> = cases().into_iter().map(Arc::new).collect();
    let mut trials = vec![
        features::trial(&all),
        Trial::test("pallas::cases_are_named_well", {
            let all = all.clone();
            move || named_well(&all).map_err(Into::into)
        }),
    ];
    trials.push(Trial::test("wrong::pallas_must_fail", {
        let all = all.clone();
        move || wrong_results_fail(&all).map_err(Into::into)
    }));
    #[cfg(feature = "mlir")]
    trials.extend(libtpu::trials(&all));
    #[cfg(feature = "mlir")]
    trials.extend(comes_back::trials(&all));
    for case in &all {
        let (subject, name) = (case.clone(), case.name.clone());
        trials.push(Trial::test(format!("interp::pallas::{name}"), move || {
            (subject.probe)().interpret().map_err(Into::into)
        }));
        if !(case.probe)().has_outputs() {
            continue;
        }
        for backend in backends.iter().filter(|backend| backend.name == "stablehlo") {
            let (subject, backend) = (case.clone(), backend.clone());
            trials.push(Trial::test(format!("{}::pallas::{name}", backend.name), move || {
                (subject.probe)().on_device(&backend).map_err(Into::into)
            }));
        }
    }
    trials
}

/// Names are unique, and each case says which test it mirrors.
fn named_well(cases: &[Arc<Case>]) -> Result<(), String> {
    if cases.len() < MIN_CASES {
        return Err(format!("{} cases, not {MIN_CASES}", cases.len()));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        *names.entry(&case.name).or_default() += 1;
        let parts: Vec<&str> = case.mirrors.split("::").collect();
        let [file, class, test] = parts[..] else {
            return Err(format!("`{}` mirrors `{}`, which is no test", case.name, case.mirrors));
        };
        if !file.ends_with("_test") || !class.ends_with("Test") || !test.starts_with("test_") {
            return Err(format!("`{}` mirrors `{}`, which is no test", case.name, case.mirrors));
        }
    }
    match names.iter().find(|&(_, &n)| n > 1) {
        Some((name, n)) => Err(format!("{n} cases are named `{name}`")),
        None => Ok(()),
    }
}

/// Every case with outputs must notice one wrong element.
fn wrong_results_fail(cases: &[Arc<Case>]) -> Result<(), String> {
    for case in cases {
        let probe = (case.probe)();
        let Expected::Outputs(outputs) = &probe.expected else { continue };
        for idx in 0..outputs.len() {
            let mut wrong = outputs.clone();
            spoil(&mut wrong[idx]);
            if probe.check(&wrong).is_ok() {
                return Err(format!("`{}` passed a wrong output {idx}", case.name));
            }
        }
    }
    Ok(())
}

/// An array whose element at each index is what `f` gives.
pub(crate) fn fill<T: Element>(shape: &[usize], f: impl Fn(&[usize]) -> f64) -> Array {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|at| f(&index_of(shape, at))).collect();
    array(T::DTYPE, shape, &values)
}

/// The index of an element by its place in row-major order.
fn index_of(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (axis, &size) in shape.iter().enumerate().rev() {
        index[axis] = at % size;
        at /= size;
    }
    index
}

/// An array of different small whole numbers: any type but 8-bit ones has room for them.
pub(crate) fn ramp<T: Element>(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    let range = if T::DTYPE.size_bytes() == 1 { 101 } else { 251 };
    let values: Vec<f64> = (0..n).map(|at| ((at * 7 + at / 128) % range) as f64 - 50.0).collect();
    array(T::DTYPE, shape, &values)
}

/// A table of integers.
pub(crate) fn ints(values: &[i32]) -> Array {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    array(DType::I32, &[values.len()], &values)
}

/// An array whose element at each index is that of another array at the index that `from` gives.
pub(crate) fn pick(x: &Array, shape: &[usize], from: impl Fn(&[usize]) -> Vec<usize>) -> Array {
    let values = x.to_f64();
    let n: usize = shape.iter().product();
    let values: Vec<f64> =
        (0..n).map(|at| values[place(x.shape(), &from(&index_of(shape, at)))]).collect();
    array(x.dtype(), shape, &values)
}

/// The place of an element in row-major order.
fn place(shape: &[usize], index: &[usize]) -> usize {
    assert_eq!(shape.len(), index.len(), "an index has one entry per axis");
    shape.iter().zip(index).fold(0, |at, (&size, &i)| {
        assert!(i < size, "{index:?} is outside of {shape:?}");
        at * size + i
    })
}

/// The element of an array at an index.
pub(crate) fn at(x: &Array, index: &[usize]) -> f64 {
    let at = place(x.shape(), index);
    match x.data() {
        ArrayData::Bool(v) | ArrayData::U8(v) => v[at].into(),
        ArrayData::I4(v) => v[at].to_f64(),
        ArrayData::I8(v) => v[at].into(),
        ArrayData::I16(v) => v[at].into(),
        ArrayData::I32(v) => v[at].into(),
        ArrayData::U16(v) => v[at].into(),
        ArrayData::U32(v) => v[at].into(),
        ArrayData::F8E4M3FN(v) => v[at].to_f64(),
        ArrayData::F8E5M2(v) => v[at].to_f64(),
        ArrayData::BF16(v) => v[at].into(),
        ArrayData::F16(v) => v[at].into(),
        ArrayData::F32(v) => v[at].into(),
    }
}

/// An array of what `f` makes of each element of another, of the same type.
pub(crate) fn each(x: &Array, f: impl Fn(f64) -> f64) -> Array {
    let values: Vec<f64> = x.to_f64().into_iter().map(f).collect();
    array(x.dtype(), x.shape(), &values)
}

/// An array of what `f` makes of each two elements of two arrays.
pub(crate) fn both(x: &Array, y: &Array, f: impl Fn(f64, f64) -> f64) -> Array {
    let values: Vec<f64> = x.to_f64().into_iter().zip(y.to_f64()).map(|(x, y)| f(x, y)).collect();
    array(x.dtype(), x.shape(), &values)
}

/// The same elements in another type.
pub(crate) fn to<T: Element>(x: &Array) -> Array {
    array(T::DTYPE, x.shape(), &x.to_f64())
}

/// The same elements under another shape.
pub(crate) fn shaped(x: &Array, shape: &[usize]) -> Array {
    array(x.dtype(), shape, &x.to_f64())
}
