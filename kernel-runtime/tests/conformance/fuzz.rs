//! Differential fuzzing: random valid kernels, the interpreter against XLA CPU.
//!
//! Runs if `SYSTOLE_FUZZ_SECONDS` says for how long; `SYSTOLE_FUZZ_SEED` says where to begin: a
//! kernel depends on its seed alone, so a find is run again by its number. A find is made small by
//! leaving ops out from the end, and its text is printed: it belongs into `tests/tile`.

use crate::backend::{self, Backend};
use crate::generate;
use libtest_mimic::{Failed, Trial};
use std::sync::Arc;
use std::time::{Duration, Instant};
use systole::ir::Array;
use systole::run::{Tolerance, compare};
use systole::target::GENERIC;
use systole::valid;

/// How many ops a kernel is asked to have.
const MAX_OPS: usize = 40;
/// At least so many kernels must have been compared, and this share of all must be valid.
const MIN_KERNELS: usize = 3;
const MIN_VALID_PERCENT: usize = 80;

/// The fuzzer as a trial.
pub(crate) fn trial() -> Trial {
    Trial::test("fuzz::interp_against_stablehlo", fuzz)
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn fuzz() -> Result<(), Failed> {
    let limit = Duration::from_secs(number("SYSTOLE_FUZZ_SECONDS", 15));
    let first = number("SYSTOLE_FUZZ_SEED", 1);
    let backends = backend::all();
    let [interp, xla @ ..] = backends.as_slice() else { return Err("no back ends".into()) };
    let start = Instant::now();
    let (mut n_valid, mut n_all) = (0, 0);
    for seed in first.. {
        if start.elapsed() >= limit && n_valid >= MIN_KERNELS {
            break;
        }
        n_all += 1;
        let device = &xla[seed as usize % xla.len()];
        match compare_backends(seed, MAX_OPS, interp, device) {
            Outcome::Equal => n_valid += 1,
            Outcome::Invalid(_) => {}
            Outcome::Differs(_) => return Err(shrink(seed, interp, device).into()),
        }
        if n_all >= 10 && n_valid * 100 < n_all * MIN_VALID_PERCENT {
            let reason = match compare_backends(seed, MAX_OPS, interp, device) {
                Outcome::Invalid(reason) => reason,
                Outcome::Equal | Outcome::Differs(_) => String::new(),
            };
            return Err(format!("only {n_valid} of {n_all} kernels are valid\n{reason}").into());
        }
    }
    println!("fuzz: {n_valid} kernels equal, {} invalid, from seed {first}", n_all - n_valid);
    Ok(())
}

enum Outcome {
    Equal,
    /// Not a kernel, or one that the interpreter finds fault with.
    Invalid(String),
    Differs(String),
}

fn compare_backends(
    seed: u64,
    n_ops: usize,
    interp: &Arc<Backend>,
    device: &Arc<Backend>,
) -> Outcome {
    let (kernel, inputs) = generate::kernel(seed, n_ops);
    let valid = match valid::check(kernel, &GENERIC) {
        Ok(valid) => valid,
        Err(errors) => return Outcome::Invalid(errors.to_string()),
    };
    let expected = match interp.run(&valid, &inputs) {
        Ok(outputs) => outputs,
        Err(errors) => return Outcome::Invalid(errors.to_string()),
    };
    match device.run(&valid, &inputs) {
        Ok(outputs) => differences(&expected, &outputs),
        Err(errors) => Outcome::Differs(errors.to_string()),
    }
}

/// Every value is a whole number that its type has, so that results are equal or wrong.
fn differences(expected: &[Array], got: &[Array]) -> Outcome {
    for (idx, (expected, got)) in expected.iter().zip(got).enumerate() {
        let result = compare(expected, got, &Tolerance::exact());
        if !result.ok {
            return Outcome::Differs(format!("output {idx}: {result:?}"));
        }
    }
    Outcome::Equal
}

/// The kernel of this seed with as few ops as still differ.
fn shrink(seed: u64, interp: &Arc<Backend>, device: &Arc<Backend>) -> String {
    for n_ops in 1..=MAX_OPS {
        if let Outcome::Differs(how) = compare_backends(seed, n_ops, interp, device) {
            let (kernel, _) = generate::kernel(seed, n_ops);
            return format!("seed {seed}, {n_ops} ops, {}: {how}\n{kernel:#}", device.name);
        }
    }
    format!("seed {seed} differed once, but not again")
}
