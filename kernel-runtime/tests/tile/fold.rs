//! Folding a kernel changes nothing that it computes or prints.

use super::generate::{self, Random};
use proptest::prelude::*;
use systole::back::interp::{self, Options, Outcome};
use systole::diag::Diagnostics;
use systole::ir::{Array, Kernel};
use systole::pass::fold;
use systole::target::GENERIC;
use systole::valid;

fn run(kernel: Kernel, seed: u64) -> Result<Outcome, Diagnostics> {
    let mut random = Random(seed);
    let inputs: Vec<Array> = kernel
        .params
        .iter()
        .filter(|param| param.kind.is_input())
        .map(|param| {
            let shape = param.array_shape();
            let n_elems = shape.iter().product();
            let values: Vec<f64> =
                (0..n_elems).map(|_| random.below(64) as f64 / 4.0 - 8.0).collect();
            Array::from_f64(param.dtype, &shape, &values).unwrap()
        })
        .collect();
    interp::run(&valid::check(kernel, &GENERIC)?, &inputs, &Options::default())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]

    #[test]
    fn fold_preserves_results(seed in any::<u64>(), n_ops in 0usize..60) {
        let kernel = generate::kernel(seed, n_ops);
        let folded = fold(&kernel);
        let text = format!("{kernel:#}\n{folded:#}");
        let n_ops = |k: &Kernel| {
            let mut n = 0;
            k.walk(k.body, &mut |_, _| n += 1);
            n
        };
        prop_assert!(n_ops(&folded) <= n_ops(&kernel), "{text}");
        prop_assert_eq!(fold(&folded).to_string(), folded.to_string(), "not folded to the end");
        if let Ok(expected) = run(kernel, seed) {
            match run(folded, seed) {
                Ok(actual) => {
                    let bytes = |outcome: &Outcome| -> Vec<Vec<u8>> {
                        outcome.outputs.iter().map(|array| array.as_bytes().to_vec()).collect()
                    };
                    prop_assert!(bytes(&expected) == bytes(&actual), "outputs differ: {text}");
                    prop_assert_eq!(expected.prints, actual.prints, "{}", text);
                }
                Err(errors) => return Err(TestCaseError::fail(format!("{errors}\n{text}"))),
            }
        }
    }
}

#[test]
fn most_generated_kernels_run() {
    let n_ok = (0..50).filter(|&seed| run(generate::kernel(seed, 30), seed).is_ok()).count();
    assert!(n_ok >= 40, "the interpreter rejects {} of 50: the test above says little", 50 - n_ok);
}
