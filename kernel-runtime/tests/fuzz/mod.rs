//! Random kernels: the interpreter finds nothing wrong with them, and XLA computes the same.

pub(crate) mod generate;

use generate::{Case, case};
use systole::back::interp::{self, Options};
use systole::ir::Array;
use systole::run::XlaDevice;
use systole::target::GENERIC;
use systole::valid::{self, Valid};

fn checked(seed: u64, case: &Case) -> Valid {
    valid::check(case.kernel.clone(), &GENERIC)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.kernel))
}

fn interpreted(seed: u64, valid: &Valid, case: &Case, options: &Options) -> Vec<Array> {
    interp::run(valid, &case.inputs, options)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.kernel))
        .outputs
}

/// How many seeds to try, and from which on: `SYSTOLE_FUZZ_CASES`, `SYSTOLE_FUZZ_SEED`.
fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("SYSTOLE_FUZZ_SEED").unwrap_or(0);
    first..first + number("SYSTOLE_FUZZ_CASES").unwrap_or(default)
}

#[test]
fn random_kernels_are_defined_and_deterministic() {
    for seed in seeds(300) {
        let case = case(seed, 4 + seed as usize % 24);
        let valid = checked(seed, &case);
        let one = Options { threads: 1, ..Options::default() };
        let many = Options { threads: 3, seed: 7, ..Options::default() };
        let outputs = interpreted(seed, &valid, &case, &one);
        let again = interpreted(seed, &valid, &case, &many);
        let bytes = |arrays: &[Array]| -> Vec<Vec<u8>> {
            arrays.iter().map(|array| array.as_bytes().to_vec()).collect()
        };
        assert_eq!(bytes(&outputs), bytes(&again), "seed {seed}\n{}", case.kernel);
        for output in &outputs {
            assert!(output.to_f64().iter().all(|x| x.is_finite()), "seed {seed}\n{}", case.kernel);
        }
    }
}

#[test]
fn random_kernels_give_the_same_on_xla() {
    let device = XlaDevice::xla_cpu().unwrap_or_else(|e| panic!("{e}"));
    for seed in seeds(40) {
        let case = case(seed, 4 + seed as usize % 24);
        let valid = checked(seed, &case);
        let expected = interpreted(seed, &valid, &case, &Options::default());
        let got = device
            .run(&valid, &case.inputs)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", case.kernel));
        for (idx, tolerance) in case.tolerances.iter().enumerate() {
            let pairs = expected[idx].to_f64().into_iter().zip(got[idx].to_f64());
            for (at, (a, b)) in pairs.enumerate() {
                assert!(
                    (a - b).abs() <= *tolerance,
                    "seed {seed}: output {idx}, element {at}: interpreter {a:e}, XLA {b:e}, tolerance {tolerance:e}\n{}",
                    case.kernel
                );
            }
        }
    }
}
