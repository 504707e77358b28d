//! Matrix units under explicit control: what the interpreter and the validator tell of misuse.

use systole::back::interp;
use systole::diag::{Code, Diagnostics};
use systole::ir::{Array, DType, Kernel};
use systole::target::{GENERIC, TPU7X, Target, V6E};
use systole::valid;

/// A kernel around these ops, with a left and a right operand.
fn text(body: &str) -> String {
    format!(
        "kernel k {{
in x: bf16[m: 32, k: 256] vmem block [32, 256] map() {{
  %0 = const 0 : i32
  yield %0, %0
}}
in y: bf16[k: 256, n: 256] vmem block [256, 256] map() {{
  %0 = const 0 : i32
  yield %0, %0
}}
out z: f32[m: 32, n: 256] vmem block [32, 256] map() {{
  %0 = const 0 : i32
  yield %0, %0
}}
body(%x: vmem bf16[32, 256], %y: vmem bf16[256, 256], %z: vmem f32[32, 256]) {{
  %l = load %x[:, :] : bf16[32, 256]
  %r = load %y[:, :] : bf16[256, 256]
{body}
}}
}}
"
    )
}

fn kernel(body: &str) -> Kernel {
    let text = text(body);
    let kernel = Kernel::parse_file("k.tile", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let again = Kernel::parse(&kernel.to_string()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.to_string(), kernel.to_string());
    kernel
}

fn run(body: &str) -> Result<Vec<Array>, Diagnostics> {
    let valid = valid::check(kernel(body), &GENERIC)?;
    let ones = |shape: &[usize]| {
        Array::from_f64(DType::BF16, shape, &vec![1.0; shape.iter().product()]).unwrap()
    };
    let inputs = [ones(&[32, 256]), ones(&[256, 256])];
    Ok(interp::run(&valid, &inputs, &interp::Options::default())?.outputs)
}

const PUSH: &str = "  matmul_push_rhs %r unit 0 register 0\n";
const ACC: &str = "  matmul_acc_lhs %l unit 0 row 0 load 0\n";
const AGAIN: &str = "  matmul_acc_lhs %l unit 0 row 0\n";
const POP: &str = "  %o = matmul_pop unit 0 row 0 : f32[32, 256]\n";
const STORE: &str = "  store %z[:, :], %o\n";

#[test]
fn products_are_summed_up_until_they_are_popped() {
    let outputs = run(&[PUSH, ACC, AGAIN, AGAIN, POP, STORE].concat()).unwrap();
    assert!(outputs[0].to_f64().iter().all(|&x| x == 3.0 * 256.0));
}

#[test]
fn units_used_out_of_turn_are_told() {
    let zeros = "  %f = const 0.0 : f32\n  %o = splat %f : f32[32, 256]\n";
    for (body, words) in [
        ([PUSH, PUSH, ACC, POP, STORE].concat(), "is staged twice"),
        ([ACC, POP, STORE].concat(), "register 0 of matrix unit 0 is empty"),
        ([PUSH, ACC, ACC, POP, STORE].concat(), "register 0 of matrix unit 0 is empty"),
        ([AGAIN, POP, STORE].concat(), "has no right operand yet"),
        ([PUSH, POP, STORE].concat(), "row 0 of matrix unit 0 has no sums"),
        ([PUSH, ACC, POP, STORE, PUSH].concat(), "register 0 of matrix unit 0 is left full"),
        ([PUSH, ACC, zeros, STORE].concat(), "row 0 of matrix unit 0 is left with sums"),
    ] {
        let errors = run(&body).expect_err("the mistake was not caught");
        assert_eq!(errors.0[0].code, Code::INTERP_MXU, "{errors}");
        assert!(errors.0[0].message.contains(words), "{errors}\n{body}");
        assert!(!errors.0[0].labels.is_empty(), "{errors}");
    }
}

#[test]
fn numbers_that_no_unit_has_are_refused_by_every_target() {
    let good = [PUSH, ACC, POP, STORE].concat();
    for (from, to, words) in [
        ("row 0 :", "row 4294967296 :", "`matmul_pop` reaches row 4294967328"),
        ("row 0 load", "row 2147483640 load", "`matmul_acc_lhs` reaches row 2147483672"),
        ("load 0", "load 4294967296", "`matmul_acc_lhs` reaches register 4294967296"),
        ("register 0", "register 4294967296", "`matmul_push_rhs` reaches register 4294967296"),
        ("_rhs %r unit 0", "_rhs %r unit 4294967296", "`matmul_push_rhs` reaches unit 4294967296"),
    ] {
        let changed = good.replace(from, to);
        assert_ne!(changed, good);
        let errors = Kernel::parse(&text(&changed)).expect_err(&changed);
        assert_eq!((errors.0.len(), errors.0[0].code), (1, Code::IR_INDEX), "{errors}");
        assert!(errors.0[0].message.contains(words), "{errors}");
    }
}

fn checked(body: &str, target: &'static Target) -> Diagnostics {
    valid::check(kernel(body), target).expect_err("it is not valid")
}

#[test]
fn rules_of_the_chip_are_told() {
    let good = [PUSH, ACC, POP, STORE].concat();
    assert!(valid::check(kernel(&good), &TPU7X).is_ok());
    let errors = checked(&good, &V6E);
    assert!(errors.is_unsupported() && errors.0[0].code == Code::VALID_UNSUPPORTED_MXU, "{errors}");
    let dot = "  %d = dot %l, %r : f32[32, 256]\n  store %z[:, :], %d\n";
    for (body, words) in [
        (good.replace("unit 0", "unit 2"), "names matrix unit 2 of 2"),
        (good.replace("register 0", "register 2").replace("load 0", "load 2"), "register 2 of 2"),
        (good.replace("row 0", "row 8"), "rows from 8 on"),
        (good.replace("row 0", "row 1008"), "reaches row 1040 of 1024"),
        ([PUSH, ACC, POP, STORE, dot].concat(), "`dot` stands in a kernel"),
    ] {
        let errors = checked(&body, &TPU7X);
        assert_eq!(errors.0[0].code, Code::VALID_MXU, "{errors}");
        assert!(errors.0[0].message.contains(words), "{errors}");
    }
}

/// What stands behind the name of the unit: a line's attributes, without its location.
#[cfg(feature = "mlir")]
fn after_unit(line: &str) -> String {
    let attributes = line.split(" unit ").nth(1).unwrap_or_default();
    attributes.split(" loc(").next().unwrap_or_default().to_owned()
}

/// The module that libtpu gets is read back, and libtpu compiles it, also with a transposed operand.
#[cfg(feature = "mlir")]
#[test]
fn libtpu_compiles_explicit_control_for_7x() {
    use systole::aot::{self, Options, Request};
    use systole::back::mosaic::{self, import};
    for push in [PUSH, "  matmul_push_rhs %r unit 0 register 0 transpose_rhs\n"] {
        let valid = valid::check(kernel(&[push, ACC, AGAIN, POP, STORE].concat()), &TPU7X);
        let valid = valid.unwrap_or_else(|e| panic!("{e}"));
        let call = mosaic::call(&valid, &mosaic::Options::default()).unwrap();
        let calls = import::read("call", call.as_bytes()).unwrap();
        let again = calls[0].import().unwrap_or_else(|e| panic!("{e}")).kernel;
        let units = |kernel: &Kernel| {
            let text = kernel.to_string();
            let lines = text.lines().filter(|line| line.contains("matmul_"));
            lines.map(after_unit).collect::<Vec<_>>()
        };
        assert_eq!(units(&again), units(valid.kernel()));
        let options = Options { cycles: false, lines: false, ..Options::default() };
        let report = aot::compile(&Request::new("mxu", &TPU7X, call).with(options));
        assert!(report.is_ok(), "{:?}", report.messages);
    }
}
