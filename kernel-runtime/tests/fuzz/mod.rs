//! Random kernels on the interpreter. On the other back ends `conformance` runs them.

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
