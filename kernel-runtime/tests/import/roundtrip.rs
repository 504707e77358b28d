//! What the Mosaic back end writes, read back: the imported kernel gives what the kernel gives.

use crate::generate::{self, Numbers};
use crate::mosaic::{cases, ops, table};
use systole::back::interp;
use systole::back::mosaic::{self, Options, import};
use systole::diag::{Code, Diagnostics};
use systole::ir::ops::{MemoryOp, Op};
use systole::ir::{Array, DType, Kernel, ParamKind};
use systole::run::{Tolerance, compare_all};
use systole::target::{Target, V5E, V6E};
use systole::valid::{self, Valid};

/// The operands of the custom call for the inputs of a kernel: tables first, an input that is
/// fetched in parts once per part, truth values as `i32`.
fn operands(kernel: &Kernel, inputs: &[Array]) -> Vec<Array> {
    let params = kernel.params.iter().filter(|param| param.kind.is_input());
    params
        .zip(inputs)
        .flat_map(|(param, array)| {
            let streams = param.window.as_ref().and_then(|window| window.streams);
            let n = match (param.kind, streams) {
                (ParamKind::In, Some(streams)) => streams.n,
                _ => 1,
            };
            std::iter::repeat_n(wide(array), n)
        })
        .collect()
}

/// Truth values as `i32`.
fn wide(array: &Array) -> Array {
    match array.dtype() {
        DType::Bool => Array::from_f64(DType::I32, array.shape(), &array.to_f64()).unwrap(),
        _ => array.clone(),
    }
}

fn run(valid: &Valid, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
    Ok(interp::run(valid, inputs, &interp::Options::default())?.outputs)
}

/// How a kernel and what comes back of its call differ on these inputs; `None` if they do not.
fn difference(
    kernel: &Kernel,
    target: &'static Target,
    inputs: &[Array],
    options: &Options,
    tolerance: &Tolerance,
) -> Option<String> {
    let valid = valid::check(kernel.clone(), target).unwrap_or_else(|e| panic!("{e}"));
    let text = mosaic::call(&valid, options).unwrap_or_else(|e| panic!("{e}"));
    let imported = import::read("call", text.as_bytes())
        .and_then(|calls| calls[0].import())
        .map_err(|errors| format!("is not imported: {errors}"));
    let imported = match imported {
        Ok(imported) => imported,
        Err(how) => return Some(how),
    };
    let again = match valid::check(imported.kernel.clone(), target) {
        Ok(again) => again,
        Err(errors) => return Some(format!("comes back invalid: {errors}\n{}", imported.kernel)),
    };
    let expected = run(&valid, inputs);
    let found = imported.inputs(&operands(kernel, inputs)).and_then(|inputs| run(&again, &inputs));
    match (expected, found) {
        (Ok(expected), Ok(found)) => {
            let expected: Vec<Array> = expected.iter().map(wide).collect();
            let found = compare_all(&expected, &imported.results(&found), tolerance);
            found
                .describe_bad()
                .map(|how| format!("{how} ({} ULP)\n{}", found.max_ulp, imported.kernel))
        }
        // What the interpreter refuses, it refuses twice.
        (Err(_), Err(_)) => None,
        // What a load's mask leaves out is undefined, but loaded all the same on a chip.
        (Err(errors), Ok(_)) if loads_with_mask(kernel) => {
            let all = errors.iter().all(|error| error.code == Code::INTERP_UNINITIALIZED);
            (!all).then(|| format!("ran only after the round trip: {errors}"))
        }
        (Err(errors), Ok(_)) => Some(format!("ran only after the round trip: {errors}")),
        (Ok(_), Err(errors)) => {
            Some(format!("did not run any more: {errors}\n{}", imported.kernel))
        }
    }
}

fn loads_with_mask(kernel: &Kernel) -> bool {
    let mut found = false;
    kernel.walk(kernel.body, &mut |_, op| {
        found |= matches!(op.op, Op::Memory(MemoryOp::Load { masked: true, .. }));
    });
    found
}

/// By how much a kernel may differ: a few ops become several, which round on the way.
fn tolerance(name: &str) -> Tolerance {
    match name {
        _ if name.starts_with("expm1") => Tolerance::ulp(8),
        _ => Tolerance::exact(),
    }
}

/// The indices of `take_RANK_SIZE_AXIS_TYPE` brought into the tile: what lies outside is undefined,
/// and the lowering looks at some of the index alone.
fn in_range(kernel: &Kernel, mut inputs: Vec<Array>) -> Vec<Array> {
    let mut parts = kernel.name.split('_');
    if parts.next() == Some("take") {
        let size: f64 = parts.nth(1).unwrap().parse().unwrap();
        let indices = inputs[1].to_f64().into_iter().map(|idx| idx.rem_euclid(size));
        let indices: Vec<f64> = indices.collect();
        inputs[1] = Array::from_f64(DType::I32, inputs[1].shape(), &indices).unwrap();
    }
    inputs
}

fn check(kernels: &[Kernel], at_least: usize) {
    let mut n = 0;
    let mut mistakes = Vec::new();
    for kernel in kernels {
        // One chip whose vector unit has bf16, and one whose has not.
        for target in [&V5E, &V6E] {
            let Ok(valid) = valid::check(kernel.clone(), target) else { continue };
            if mosaic::call(&valid, &Options::default()).is_err() {
                continue;
            }
            n += 1;
            let inputs = in_range(kernel, generate::inputs(kernel, 1, Numbers::Any));
            let tolerance = tolerance(&kernel.name);
            let how = difference(kernel, target, &inputs, &Options::default(), &tolerance);
            mistakes.extend(how.map(|how| format!("{} on {target} {how}", kernel.name)));
        }
    }
    assert!(mistakes.is_empty(), "{} of {n}:\n{}", mistakes.len(), mistakes.join("\n\n"));
    assert!(n >= at_least, "{n} round trips");
}

#[test]
fn every_recorded_kernel_comes_back() {
    check(&cases::all(), 70);
}

#[test]
fn every_op_on_every_type_comes_back() {
    let rows: Vec<Kernel> = table::rows().into_iter().map(|row| row.kernel).collect();
    check(&rows, 500);
}

#[test]
fn every_less_common_op_comes_back() {
    check(&ops::kernels(), 100);
}

/// Checks that a kernel that copies comes back, on these inputs.
pub(crate) fn comes_back(kernel: &Kernel, inputs: &[Array]) {
    for target in [&V5E, &V6E] {
        comes_back_on(target, kernel, inputs);
    }
}

/// Checks that a kernel comes back from what a chip would get.
pub(crate) fn comes_back_on(target: &'static Target, kernel: &Kernel, inputs: &[Array]) {
    let how = difference(kernel, target, inputs, &Options::default(), &Tolerance::exact());
    assert_eq!(how, None, "{} on {target}", kernel.name);
}

#[test]
fn every_version_that_is_written_comes_back() {
    for kernel in [
        cases::scale_add(DType::F32),
        cases::matmul(DType::BF16, (false, true), Default::default()),
    ] {
        for version in mosaic::VERSIONS {
            let inputs = generate::inputs(&kernel, 2, Numbers::Exact);
            let how = difference(&kernel, &V5E, &inputs, &Options { version }, &Tolerance::exact());
            assert_eq!(how, None, "version {version}");
        }
    }
}

#[test]
fn fuzz_random_kernels_come_back() {
    let mut n = 0;
    for seed in generate::seeds(60) {
        let kernel = generate::kernel(seed, 4 + seed as usize % 30, Numbers::Exact);
        let Ok(valid) = valid::check(kernel.clone(), &V6E) else { continue };
        if mosaic::call(&valid, &Options::default()).is_err() {
            continue;
        }
        n += 1;
        let inputs = generate::inputs(&kernel, seed, Numbers::Exact);
        let how = difference(&kernel, &V6E, &inputs, &Options::default(), &Tolerance::exact());
        assert_eq!(how, None, "seed {seed}\n{kernel}");
    }
    assert!(n > 0, "no random kernel is one for a TPU");
}
