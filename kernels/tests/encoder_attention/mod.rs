//! What `encoder_attention` does with keys that a bias hides.

use systole::back::interp;
use systole::ir::{Array, DType};
use systole::prelude::*;
use systole::run::{Sampler, Tolerance, compare};
use systole::target::{GENERIC, V5E};
use systole::valid;
use systole_kernels::encoder_attention::{self, reference};

/// Runs two heads of 8 columns for the sequences of this bias, with and without a TPU's form.
#[track_caller]
fn agrees(tokens: usize, bias: &[f64]) {
    const HEADS: usize = 2;
    let b = bias.len() / tokens;
    let shape = [b, tokens, HEADS * 8];
    let mut sampler = Sampler::new(tokens as u64);
    let [q, k, v] = std::array::from_fn(|_| sampler.normal(DType::F32, &shape));
    let bias = Array::from_f64(DType::F32, &[b, 1, tokens], bias).unwrap();
    let expected = reference::encoder_attention(HEADS, [&q, &k, &v, &bias]);
    let inputs = [q, k, v, bias];
    for target in [&GENERIC, &V5E] {
        let kernel =
            encoder_attention::build(target, DType::F32, shape, HEADS, Precision::Highest).unwrap();
        let valid = valid::check(kernel, &GENERIC).unwrap();
        let found = interp::run(&valid, &inputs, &interp::Options::default()).unwrap().outputs;
        let tolerance = Tolerance::ulp(64).floor(2e-5, "an average of values up to 4");
        let found = compare(&expected, &found[0], &tolerance);
        assert_eq!(found.describe_bad(), None, "{tokens} tokens, {}", target.name);
    }
}

#[test]
fn sequences_whose_keys_are_all_hidden_are_averages() {
    for hides in [-1e30, f64::from(f32::MIN)] {
        // Rows of a block beyond the sequence are further away than what is hidden.
        for tokens in [1, 5, 127, 128] {
            agrees(tokens, &vec![hides; 2 * tokens]);
        }
    }
}

#[test]
fn hidden_keys_weigh_nothing() {
    for hides in [-1e30, f64::from(f32::MIN), f64::NEG_INFINITY] {
        for tokens in [2, 77, 128] {
            let bias = (0..2 * tokens).map(|at| if at % 3 == 1 { hides } else { 0.0 });
            agrees(tokens, &bias.collect::<Vec<_>>());
        }
    }
}
