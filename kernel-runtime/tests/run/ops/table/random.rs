//! Random tensors.

use super::super::Case;
use super::case;
use systole::prelude::*;
use systole::run::DynTensor;
use systole::run::rng::Key;

/// The key whose words are the first input.
fn key(inputs: &[DynTensor]) -> Key {
    Key::from_words(inputs[0].typed::<u32>().unwrap())
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let seed = || [Key::new(0x1234_5678_9abc_def0).words().to_dyn()];
    cases.extend([
        case("random_bits", seed(), |x| key(x).bits([3, 5])),
        case("uniform", seed(), |x| key(x).uniform::<f32>([7])),
        case("uniform_bf16", seed(), |x| key(x).uniform::<bf16>([7])),
        case("normal", seed(), |x| key(x).normal::<f32>([7])),
        case("normal_bf16", seed(), |x| key(x).normal::<bf16>([2, 3])),
        case("bernoulli", seed(), |x| key(x).bernoulli(0.3, [20])),
        case("randint", seed(), |x| key(x).randint::<i32>(-5..100, [9])),
        case("randint_u8", seed(), |x| key(x).randint::<u8>(0..256, [9])),
        case("split_key", seed(), |x| {
            let [a, b, c] = key(x).split();
            vec![a.words().clone(), b.words().clone(), c.words().clone()]
        }),
        case("fold_in", seed(), |x| key(x).fold_in(77).words().clone()),
        case("permutation", seed(), |x| key(x).permutation(10)),
    ]);
}
