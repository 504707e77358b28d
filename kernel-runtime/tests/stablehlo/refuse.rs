//! What StableHLO cannot say is refused.

use crate::sketch::Sketch;
use systole::back::stablehlo::{self, Options};
use systole::diag::{Code, Diagnostics};
use systole::ir::ops::{Binary, Compare, ReduceKind, ShapeOp};
use systole::ir::{Array, DType};
use systole::run::{XlaDevice, device};

fn refusal(s: Sketch) -> Diagnostics {
    stablehlo::lower(&s.valid(), &Options::default()).unwrap_err()
}

#[test]
fn refuses_print_and_assert_both_at_once() {
    let mut s = Sketch::new("debug");
    let y = s.output(DType::I32, &[8, 128]);
    let one = s.int(1);
    let ones = s.shape(ShapeOp::Splat([8, 128].into_iter().collect()), &[one]);
    s.store(y, ones);
    s.print(&[one]);
    let holds = s.compare(Compare::Eq, one, one);
    s.assert(holds);
    let errors = refusal(s);
    assert_eq!(errors.0.len(), 2);
    assert!(errors.iter().all(|error| error.code == Code::STABLEHLO_UNSUPPORTED));
    assert!(errors.to_string().contains("error[stablehlo::unsupported]: `print`"), "{errors}");
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let mut s = Sketch::new("copy");
    let x = s.input(DType::F32, &[8, 128]);
    let y = s.output(DType::F32, &[8, 128]);
    let x = s.load(x);
    s.store(y, x);
    let valid = s.valid();
    let check = |inputs: &[Array]| device::check_inputs(valid.kernel(), inputs).unwrap_err();
    let errors = check(&[Array::zeros(DType::BF16, &[8, 128])]);
    assert_eq!(errors.0[0].code.as_str(), "run::input");
    assert!(errors.to_string().contains("is f32[8, 128], but bf16[8, 128] was given"), "{errors}");
    assert!(check(&[]).to_string().contains("takes 1 inputs, but 0 were given"));
    assert!(device::check_inputs(valid.kernel(), &[Array::zeros(DType::F32, &[8, 128])]).is_ok());
}

#[test]
fn a_program_that_the_plugin_refuses_is_a_diagnostic() {
    let device = XlaDevice::xla_cpu().unwrap();
    let errors = device.compile("module { nonsense }").unwrap_err();
    assert_eq!(errors.0[0].code, Code::RUN_DEVICE, "{errors}");
}

/// 128 scratch arrays of 8 GiB, each carried from step to step.
#[test]
fn a_program_larger_than_memory_is_a_diagnostic() {
    let shape = [1 << 16, 1 << 15];
    let mut s = Sketch::new("huge");
    let i = s.arbitrary(3);
    let y = s.output(DType::I32, &[8, 1 << 15]);
    let rows = s.shape(
        ShapeOp::Iota { dtype: DType::I32, shape: shape.into_iter().collect(), axis: 0 },
        &[],
    );
    let mut sum = s.shape(ShapeOp::Splat([1, 1 << 15].into_iter().collect()), &[i]);
    for _ in 0..128 {
        let memory = s.scratch(DType::I32, &shape);
        let old = s.load(memory);
        let new = s.binary(Binary::Add, old, rows);
        s.store(memory, new);
        let column = s.reduce(ReduceKind::Max, new, 0);
        sum = s.binary(Binary::Add, sum, column);
    }
    let sum = s.broadcast(sum, &[8, 1 << 15]);
    s.store(y, sum);
    let errors = XlaDevice::xla_cpu().unwrap().run(&s.valid(), &[]).unwrap_err();
    assert_eq!(errors.0[0].code, Code::RUN_DEVICE, "{errors}");
}
