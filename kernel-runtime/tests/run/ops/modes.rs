//! An op gives the same bits in every mode, and compiled.

use super::table::cases;
use systole::run::{DynTensor, Mode, jit, with_mode};

fn bytes(outputs: &[DynTensor]) -> Vec<Vec<u8>> {
    outputs.iter().map(|output| output.to_array().unwrap().as_bytes().to_vec()).collect()
}

#[test]
fn every_op_gives_the_same_bits_in_every_mode_and_compiled() {
    for case in cases() {
        let strict = with_mode(Mode::Strict, || case.run(&case.inputs));
        let strict = bytes(&strict);
        for mode in [Mode::Debug, Mode::DeferAndFuse] {
            let other = with_mode(mode, || bytes(&case.run(&case.inputs)));
            assert!(strict == other, "{} differs in {mode:?}", case.name);
        }
        let compiled = jit(|inputs: Vec<DynTensor>| case.run(&inputs));
        let compiled = compiled.call((case.inputs.clone(),)).unwrap();
        assert!(strict == bytes(&compiled), "{} differs when compiled", case.name);
    }
}
