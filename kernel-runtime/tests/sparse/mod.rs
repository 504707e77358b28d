//! SparseCore kernels, from their source to the interpreter and libtpu.

#[cfg(feature = "mlir")]
mod aot;
mod kernels;
mod meeting;
mod misuse;
mod registers;
#[cfg(feature = "mlir")]
mod roundtrip;
mod rows;

use systole::back::interp;
use systole::diag::Diagnostics;
use systole::ir::{Array, Kernel};
use systole::target::GENERIC;
use systole::valid;

/// The results in the interpreter, whatever the seed; the text form gives the kernel back.
fn interpreted(kernel: &Kernel, inputs: &[Array]) -> Result<Vec<Array>, Diagnostics> {
    let text = kernel.to_string();
    let again = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
    let valid = valid::check(kernel.clone(), &GENERIC)?;
    let run = |seed| interp::run(&valid, inputs, &interp::Options { seed, ..Default::default() });
    let first = run(0)?.outputs;
    for seed in 1..4 {
        assert_eq!(run(seed)?.outputs, first, "seed {seed}");
    }
    Ok(first)
}

/// Numbers without a pattern.
fn scrambled(n: usize, below: u64) -> Vec<i32> {
    let mut state = 7u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i32
    };
    (0..n).map(|_| next()).collect()
}

fn floats(n: usize) -> Vec<f32> {
    scrambled(n, 2000).into_iter().map(|x| x as f32 / 16.0 - 60.0).collect()
}
