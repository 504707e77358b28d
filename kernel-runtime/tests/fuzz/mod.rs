//! Random kernels on the interpreter. On the other back ends `conformance` runs them.

mod ring;

use crate::generate::{self, Numbers};
use systole::back::interp::{self, Options};
use systole::target::GENERIC;
use systole::valid;

#[test]
fn fuzz_finds_kernels_defined_and_deterministic() {
    for seed in generate::seeds(300) {
        let kernel = generate::kernel(seed, 4 + seed as usize % 40, Numbers::Exact);
        let inputs = generate::inputs(&kernel, seed, Numbers::Exact);
        let text = kernel.to_string();
        let valid =
            valid::check(kernel, &GENERIC).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        let run = |options: &Options| {
            let outcome = interp::run(&valid, &inputs, options);
            outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}")).outputs
        };
        let one = run(&Options { threads: 1, ..Options::default() });
        let many = run(&Options { threads: 3, seed: 7, ..Options::default() });
        for (a, b) in one.iter().zip(&many) {
            assert_eq!(a.as_bytes(), b.as_bytes(), "seed {seed}\n{text}");
            assert!(a.to_f64().iter().all(|x| x.is_finite()), "seed {seed}\n{text}");
        }
    }
}

/// Devices that copy and signal to each other give what plain arithmetic says, in every schedule;
/// and without any one of the ops that keep them in step, the mistake is told.
#[test]
fn fuzz_finds_devices_in_step() {
    for seed in generate::seeds(60) {
        let ring = ring::ring(seed, 1 + seed as usize % 6);
        let run = |kernel, options: &Options| {
            let valid = valid::check(kernel, &GENERIC)?;
            interp::run_devices(&valid, &ring.inputs, options)
        };
        let outcomes = run(ring.kernel(), &Options { seed, schedules: 6, ..Options::default() });
        let outcomes = outcomes.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", ring.text));
        for (outcome, expected) in outcomes.iter().zip(&ring.expected) {
            assert_eq!(outcome.outputs[0].to_f64(), *expected, "seed {seed}\n{}", ring.text);
        }
        let broken = ring.out_of_step(&mut generate::Random(seed));
        let told = run(broken.clone(), &Options { seed, schedules: 6, ..Options::default() });
        assert!(told.is_err(), "seed {seed}: nothing is told of\n{broken}");
    }
}
