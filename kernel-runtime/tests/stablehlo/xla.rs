//! What XLA gets wrong: each program is the least that shows it, and the lowering writes something
//! else. A failure here means that a plugin is mended, and that the detour may go.

use crate::pjrt::{clients, compile};
use systole::pjrt::{Client, ElementType};

/// The result of a program from one `i32` to one `i32`, both scalars.
fn run(client: &Client, program: &str, x: i32) -> i32 {
    let x = client.buffer(ElementType::S32, &[], &x.to_le_bytes(), None).unwrap();
    let out = compile(client, program).execute(&[&x]).unwrap();
    i32::from_le_bytes(out[0].to_host().unwrap().try_into().unwrap())
}

/// Counts the turns of `for (i = lo; i COMPARE hi; i += step)`.
fn loop_program(lo: i32, compare: &str, hi: i32, step: i32) -> String {
    format!(
        "func.func @main(%x: tensor<i32>) -> tensor<i32> {{
  %lo = stablehlo.constant dense<{lo}> : tensor<i32>
  %hi = stablehlo.constant dense<{hi}> : tensor<i32>
  %step = stablehlo.constant dense<{step}> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end:2 = stablehlo.while(%i = %lo, %n = %x) : tensor<i32>, tensor<i32> cond {{
    %p = stablehlo.compare {compare}, %i, %hi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %i2 = stablehlo.add %i, %step : tensor<i32>
    %n2 = stablehlo.add %n, %one : tensor<i32>
    stablehlo.return %i2, %n2 : tensor<i32>, tensor<i32>
  }}
  return %end#1 : tensor<i32>
}}"
    )
}

/// By StableHLO's specification a loop runs while its condition holds. XLA works out how often that
/// is, and is mistaken (openxla/xla#48454). `ops::control` writes a turn counter for a `for` with a
/// step other than 1, and carries the condition of a `while`.
#[test]
fn miscounts_loops_whose_step_does_not_divide_the_way() {
    // The bounds, and how often the loop runs.
    let cases = [(0, "LT", 1, 2, 0), (-5, "LT", 2, 4, 1), (4, "LT", 3, 7, 1), (1, "LE", 0, 2, 1)];
    for client in clients() {
        for (lo, compare, hi, step, got) in cases {
            let end = if compare == "LE" { hi + 1 } else { hi };
            let right = (lo..end).step_by(step as usize).count();
            assert_ne!(got, right as i32);
            let program = loop_program(lo, compare, hi, step);
            assert_eq!(run(&client, &program, 0), got, "{right} would be right\n{program}");
        }
    }
}

/// `ops::elementwise` gives XLA no divisor of 0, unless it can know none. The older plugin's mistake
/// cannot be shown here: it divides constants by zero while it compiles, and dies of it. For that
/// there is `tests/tile/run/division_known_to_be_by_zero.tile`.
#[test]
fn divides_zero_by_itself_otherwise_than_by_another_zero() {
    let divide = |client: &Client, divisor: &str| {
        let program = format!(
            "func.func @main(%x: tensor<i32>) -> tensor<i32> {{
  %zero = stablehlo.multiply %x, %x : tensor<i32>
  %y = stablehlo.divide %x, {divisor} : tensor<i32>
  return %y : tensor<i32>
}}"
        );
        run(client, &program, 0)
    };
    let [newer, older] = clients().try_into().unwrap();
    assert_eq!((divide(&newer, "%x"), divide(&newer, "%zero")), (1, -1));
    assert_eq!((divide(&older, "%x"), divide(&older, "%zero")), (-1, -1));
}
