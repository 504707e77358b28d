//! Folding a kernel changes nothing that it computes or prints.

use crate::generate::{self, Numbers};
use proptest::prelude::*;
use systole::back::interp::{self, Options, Outcome};
use systole::diag::Diagnostics;
use systole::ir::Kernel;
use systole::pass::fold;
use systole::target::GENERIC;
use systole::valid;

fn run(kernel: Kernel, seed: u64) -> Result<Outcome, Diagnostics> {
    let inputs = generate::inputs(&kernel, seed, Numbers::Any);
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
        let kernel = generate::kernel(seed, n_ops, Numbers::Any);
        let folded = fold(&kernel);
        let text = format!("{kernel:#}\n{folded:#}");
        let n_ops = |k: &Kernel| {
            let mut n = 0;
            k.walk(k.body, &mut |_, _| n += 1);
            n
        };
        prop_assert!(n_ops(&folded) <= n_ops(&kernel), "{text}");
        prop_assert_eq!(fold(&folded).to_string(), folded.to_string(), "not folded to the end");
        match (run(kernel, seed), run(folded, seed)) {
            (Ok(expected), Ok(actual)) => {
                let bytes = |outcome: &Outcome| -> Vec<Vec<u8>> {
                    outcome.outputs.iter().map(|array| array.as_bytes().to_vec()).collect()
                };
                prop_assert!(bytes(&expected) == bytes(&actual), "outputs differ: {text}");
                prop_assert_eq!(expected.prints, actual.prints, "{}", text);
            }
            (Err(errors), _) | (_, Err(errors)) => {
                return Err(TestCaseError::fail(format!("{errors}\n{text}")));
            }
        }
    }
}
