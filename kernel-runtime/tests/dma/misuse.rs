//! Misuse of copies and semaphores that the interpreter finds, each beside its correct twin.

use super::counting;
use systole::back::interp::{self, Options, Outcome};
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::target::GENERIC;
use systole::valid;

/// A kernel around these ops: two buffers of 8 rows, an array of 32 rows in HBM, two semaphores for
/// copies and one to signal. Each line of the body is one op.
fn kernel(body: &str) -> String {
    format!(
        "kernel k {{
in x: f32[m: 32, n: 128] hbm
out y: f32[k: 8, n: 128] vmem block [8, 128] map {{
  %0 = const 0 : i32
  yield %0, %0
}}
scratch buf: f32[2, 8, 128] vmem
semaphores s: dma[2]
semaphores r: regular[]
body(%x: hbm f32[32, 128], %y: vmem f32[8, 128], %buf: vmem f32[2, 8, 128], %s: semaphores dma[2], %r: semaphores regular[]) {{
  %zero = const 0 : i32
  %one = const 1 : i32
  %two = const 2 : i32
  %eight = const 8 : i32
{body}
}}
}}
"
    )
}

/// The outcome for each of several seeds.
fn run(text: &str) -> Vec<Result<Outcome, Diagnostics>> {
    let kernel = Kernel::parse_file("k.tile", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let valid = valid::check(kernel, &GENERIC).unwrap_or_else(|e| panic!("{e}"));
    let inputs = [counting(&[32, 128])];
    let run = |seed| interp::run(&valid, &inputs, &Options { seed, ..Options::default() });
    (0..9).map(run).collect()
}

/// Asserts that one mistake is told whatever the seed, with all of these words, its labels on the
/// lines that are marked `//1`, `//2`..
#[track_caller]
fn caught(body: &str, code: Code, words: &[&str]) {
    let text = kernel(body);
    let mut lines: Vec<(u32, u32)> = (1u32..)
        .zip(text.lines())
        .flat_map(|(line, content)| {
            let marks = content.split("//").skip(1);
            marks.filter_map(move |mark| Some((mark.trim().parse().ok()?, line)))
        })
        .collect();
    lines.sort_unstable();
    let lines: Vec<u32> = lines.into_iter().map(|(_, line)| line).collect();
    for result in run(&text) {
        let problems = result.expect_err("the mistake was not caught");
        assert_eq!(problems.0.len(), 1, "{problems}");
        let problem = &problems.0[0];
        assert_eq!(problem.code, code, "{problem}");
        let found: Vec<u32> = problem.labels.iter().map(|label| label.span.line).collect();
        assert_eq!(found, lines, "{problem}\n{text}");
        for word in words {
            assert!(problem.to_string().contains(word), "`{word}` is missing in\n{problem}");
        }
    }
}

/// Asserts that nothing is told, and that the result does not depend on the seed.
#[track_caller]
fn fine(body: &str) {
    let text = kernel(body);
    let mut first = None;
    for result in run(&text) {
        let outcome = result.unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(*first.get_or_insert(outcome.outputs.clone()), outcome.outputs);
    }
}

const START: &str = "dma_start %x[ds(0, 8), :] to %buf[0, :, :] semaphore %s[0]";
const WAIT: &str = "dma_wait %x[ds(0, 8), :] to %buf[0, :, :] semaphore %s[0]";
const LOAD: &str = "%v = load %buf[0, :, :] : f32[8, 128]";
const STORE: &str = "store %y[:, :], %v";
const OUT: &str = "%c = const 1.0 : f32
  %ones = splat %c : f32[8, 128]
  store %y[:, :], %ones";

#[test]
fn a_wait_before_the_load_is_fine() {
    fine(&format!("{START}\n{WAIT}\n{LOAD}\n{STORE}"));
}

#[test]
fn a_load_before_the_wait_is_caught() {
    let body = format!("{START} //2\n{LOAD} //1\n{WAIT}\n{STORE}");
    caught(
        &body,
        Code::INTERP_IN_FLIGHT,
        &["`buf[0, 0, 0]` is read while the copy into `buf[0, 0..8, 0..128]` is in flight"],
    );
}

#[test]
fn a_load_of_another_slot_is_fine() {
    let other = "%c = const 1.0 : f32
  %ones = splat %c : f32[8, 128]
  store %buf[1, :, :], %ones
  %w = load %buf[1, :, :] : f32[8, 128]
  store %y[:, :], %w";
    fine(&format!("{START}\n{other}\n{WAIT}"));
}

#[test]
fn a_store_to_the_target_is_caught() {
    let body = format!("{START} //2\n{OUT}\nstore %buf[0, :, :], %ones //1\n{WAIT}");
    caught(&body, Code::INTERP_IN_FLIGHT, &["is written while the copy into"]);
}

const BACK: &str = "dma_start %buf[0, :, :] to %buf[1, :, :] semaphore %s[1]";
const BACK_WAIT: &str = "dma_wait %buf[0, :, :] to %buf[1, :, :] semaphore %s[1]";

#[test]
fn a_store_to_the_source_is_caught() {
    let body = format!(
        "{OUT}\nstore %buf[0, :, :], %ones\n{BACK} //2\nstore %buf[0, :, :], %ones //1\n{BACK_WAIT}"
    );
    caught(
        &body,
        Code::INTERP_IN_FLIGHT,
        &["is written while the copy out of `buf[0, 0..8, 0..128]` is in flight"],
    );
}

#[test]
fn a_load_of_the_source_is_fine() {
    fine(&format!("{OUT}\nstore %buf[0, :, :], %ones\n{BACK}\n{LOAD}\n{STORE}\n{BACK_WAIT}"));
}

#[test]
fn a_copy_into_a_target_in_flight_is_caught() {
    let second = "dma_start %x[ds(8, 8), :] to %buf[0, :, :] semaphore %s[1]";
    let body = format!("{OUT}\n{START} //2\n{second} //1\n{WAIT}");
    caught(&body, Code::INTERP_IN_FLIGHT, &["`buf[0, 0, 0]` is written"]);
}

#[test]
fn a_copy_out_of_a_target_in_flight_is_caught() {
    let body = format!("{OUT}\n{START} //2\n{BACK} //1\n{WAIT}\n{BACK_WAIT}");
    caught(&body, Code::INTERP_IN_FLIGHT, &["`buf[0, 0, 0]` is read"]);
}

#[test]
fn one_wait_for_two_copies_proves_neither() {
    let second = "dma_start %x[ds(8, 8), :] to %buf[1, :, :] semaphore %s[0]";
    let body = format!("{START} //2\n{second}\n{WAIT}\n{LOAD} //1\n{WAIT}\n{STORE}");
    caught(
        &body,
        Code::INTERP_IN_FLIGHT,
        &["2 copies share `s[0]`: none is known to be done before all are waited for"],
    );
    fine(&format!("{START}\n{second}\n{WAIT}\n{WAIT}\n{LOAD}\n{STORE}"));
}

#[test]
fn a_copy_without_a_wait_is_caught() {
    let body = format!("{OUT}\n{START} //1");
    caught(
        &body,
        Code::INTERP_NEVER_WAITED,
        &["the copy of `x[0..8, 0..128]` into `buf[0, 0..8, 0..128]` is not waited for"],
    );
}

#[test]
fn a_wait_on_the_wrong_semaphore_never_ends() {
    let wrong = WAIT.replace("%s[0]", "%s[1]");
    let body = format!("{OUT}\n{START}\n{wrong} //1");
    caught(
        &body,
        Code::INTERP_DEADLOCK,
        &["waits for 4096 bytes, `s[1]` has 0, and no copy is in flight"],
    );
}

#[test]
fn a_second_wait_never_ends() {
    let body = format!("{OUT}\n{START}\n{WAIT}\n{WAIT} //1");
    caught(&body, Code::INTERP_DEADLOCK, &["each copy is waited for once"]);
}

#[test]
fn a_wait_before_the_start_never_ends() {
    let body = format!("{OUT}\n{WAIT} //1\n{START}");
    caught(&body, Code::INTERP_DEADLOCK, &["this wait never ends"]);
}

#[test]
fn a_wait_of_another_size_is_caught() {
    let small = "dma_wait %x[ds(0, 4), :] to %buf[0, ds(0, 4), :] semaphore %s[0]";
    let body = format!("{OUT}\n{START} //1\n{small}");
    caught(
        &body,
        Code::INTERP_NEVER_WAITED,
        &["2048 bytes were waited for on `s[0]`, where copies of 4096 bytes were started"],
    );
}

#[test]
fn a_copy_that_overlaps_itself_is_caught() {
    let body = format!(
        "{OUT}\n%at = mul %one, %two : i32
  dma_start %buf[0, ds(0, 4), :] to %buf[0, ds(%at, 4), :] semaphore %s[0] //1"
    );
    caught(
        &body,
        Code::INTERP_COPY_OVERLAP,
        &[
            "reads `buf[0, 0..4, 0..128]` and writes `buf[0, 2..6, 0..128]`: both hold `buf[0, 2, 0]`",
        ],
    );
}

#[test]
fn a_copy_out_of_bounds_is_caught() {
    let body = format!(
        "{OUT}\n%at = mul %eight, %eight : i32
  dma_start %x[ds(%at, 8), :] to %buf[0, :, :] semaphore %s[0] //1"
    );
    caught(
        &body,
        Code::INTERP_OUT_OF_BOUNDS,
        &["this copy touches elements 64 to 71 of `x` along axis 0, which has 32"],
    );
}

#[test]
fn a_semaphore_that_does_not_exist_is_caught() {
    let body = format!(
        "{OUT}\n%at = add %two, %one : i32
  dma_start %x[ds(0, 8), :] to %buf[0, :, :] semaphore %s[%at] //1"
    );
    caught(&body, Code::INTERP_OUT_OF_BOUNDS, &["is 3, but there are 2 semaphores"]);
}

#[test]
fn a_broken_promise_of_a_copy_is_caught() {
    let body = format!(
        "{OUT}\n%at = add %two, %one : i32
  dma_start %x[ds(multiple(%at, 8), 8), :] to %buf[0, :, :] semaphore %s[0] //1"
    );
    caught(&body, Code::INTERP_MISALIGNED, &["is 3, which is no multiple of 8"]);
}

const PART: &str = "dma_start %x[ds(0, 8), :] to %buf[0, :, :] lengths [%n, :] semaphore %s[0]";

#[test]
fn lengths_known_at_run_time_are_checked() {
    let cases = [
        ("sub %one, %one", "is 0, which copies nothing"),
        ("sub %one, %two", "is -1, which is negative"),
        ("add %eight, %one", "is 9, more than 8"),
    ];
    for (length, words) in cases {
        let body = format!("{OUT}\n%n = {length} : i32\n{PART} //1");
        caught(&body, Code::INTERP_COPY_LENGTH, &[words, "`start_if(n > 0)`"]);
    }
    let promised = PART.replace("[%n, :]", "[multiple(%n, 2), :]");
    let body = format!("{OUT}\n%n = add %two, %one : i32\n{promised} //1");
    caught(&body, Code::INTERP_COPY_LENGTH, &["is 3, which is no multiple of 2"]);
}

#[test]
fn a_copy_of_some_rows_leaves_the_others() {
    let wait = PART.replace("dma_start", "dma_wait");
    let fill = "%c = const -1.0 : f32
  %ones = splat %c : f32[8, 128]
  store %buf[0, :, :], %ones";
    let text =
        kernel(&format!("{fill}\n%n = add %two, %one : i32\n{PART}\n{wait}\n{LOAD}\n{STORE}"));
    for result in run(&text) {
        let y = result.unwrap().outputs[0].to_f64();
        for (at, &found) in y.iter().enumerate() {
            let expected = if at < 3 * 128 { at as f64 } else { -1.0 };
            assert_eq!(found, expected, "{at}");
        }
    }
}

#[test]
fn a_signal_that_nobody_takes_is_caught() {
    let body = format!("{OUT}\nsem_signal %r[], %two //1");
    caught(&body, Code::INTERP_SEMAPHORE_LEFT, &["`r` is 2 when the kernel ends"]);
    fine(&format!("{OUT}\nsem_signal %r[], %two\nsem_wait %r[], %one\nsem_wait %r[], %one"));
}

#[test]
fn a_wait_for_more_than_is_signalled_never_ends() {
    let body = format!("{OUT}\nsem_signal %r[], %one\nsem_wait %r[], %two //1");
    caught(
        &body,
        Code::INTERP_DEADLOCK,
        &["waits for 2, `r` has 1, and nothing runs that would signal it"],
    );
}

#[test]
fn a_signal_by_less_than_nothing_is_caught() {
    let body = format!("{OUT}\n%n = sub %one, %two : i32\nsem_signal %r[], %n //1");
    caught(&body, Code::INTERP_NEGATIVE_SIGNAL, &["this signal is by -1"]);
}

#[test]
fn a_copy_may_signal_a_regular_semaphore() {
    let start = START.replace("%s[0]", "%r[]");
    fine(&format!("{start}\nsem_wait %r[], %one\n{LOAD}\n{STORE}"));
    let body = format!("{start} //2\n{LOAD} //1\nsem_wait %r[], %one\n{STORE}");
    caught(&body, Code::INTERP_IN_FLIGHT, &["is read"]);
}

#[test]
fn a_loop_may_look_at_a_semaphore_until_something_arrives() {
    let body = format!(
        "{START}
  %left = while %zero (%n: i32) {{
    %now = sem_read %s[0] : i32
    %go = lt %now, %one : bool
    yield %go
  }} do (%n2: i32) {{
    %n3 = add %n2, %one : i32
    yield %n3
  }} : i32
{WAIT}\n{LOAD}\n{STORE}"
    );
    fine(&body);
}

#[test]
fn copies_that_add_have_no_order() {
    let start = |from: usize| {
        format!("dma_start %x[ds({from}, 8), :] to %buf[0, :, :] semaphore %s[0] accumulate")
    };
    let fill = "%c = const 0.0 : f32
  %zeros = splat %c : f32[8, 128]
  store %buf[0, :, :], %zeros";
    let body = format!("{fill}\n{}\n{}\n{WAIT}\n{WAIT}\n{LOAD}\n{STORE}", start(0), start(8));
    for result in run(&kernel(&body)) {
        let y = result.unwrap().outputs[0].to_f64();
        assert!((0..1024).all(|at| y[at] == (2 * at + 1024) as f64));
    }
}

/// A kernel whose steps copy a block of `rows` rows each into an output in HBM.
fn steps(semantics: &str, index: &str, rows: usize) -> String {
    format!(
        "kernel k {{
grid i: 4 {semantics}
in x: f32[m: 32, n: 128] hbm
out y: f32[m: 32, n: 128] hbm
semaphores s: dma[]
body(%i: i32, %x: hbm f32[32, 128], %y: hbm f32[32, 128], %s: semaphores dma[]) {{
  %eight = const 8 : i32
  %zero = const 0 : i32
  %at = mul {index}, %eight : i32
  dma_start %x[ds(%at, {rows}), :] to %y[ds(%at, {rows}), :] semaphore %s[]
  dma_wait %x[ds(%at, {rows}), :] to %y[ds(%at, {rows}), :] semaphore %s[]
}}
}}
"
    )
}

#[test]
fn parallel_steps_that_write_one_place_of_hbm_race() {
    for result in run(&steps("parallel", "%zero", 8)) {
        let problems = result.unwrap_err();
        assert_eq!(problems.0[0].code, Code::INTERP_RACE, "{problems}");
        assert!(
            problems.to_string().contains("writes elements of `y[0..8, 0..128]`"),
            "{problems}"
        );
    }
    for semantics in ["parallel", "arbitrary"] {
        for result in run(&steps(semantics, "%i", 8)) {
            assert_eq!(result.unwrap().outputs[0], counting(&[32, 128]));
        }
    }
}

#[test]
fn parts_of_hbm_that_no_copy_writes_are_told() {
    for result in run(&steps("parallel", "%i", 4)) {
        let problems = result.unwrap_err();
        assert_eq!(problems.0[0].code, Code::INTERP_OUTPUT_NEVER_WRITTEN, "{problems}");
        assert!(problems.to_string().contains("2048 of the 4096 elements of `y`"), "{problems}");
    }
}

#[test]
fn blocks_that_change_under_a_copy_are_told() {
    let text = "kernel k {
grid i: 4 arbitrary
in x: f32[m: 32, n: 128] vmem block [8, 128] map(%i: i32) {
  %0 = const 0 : i32
  yield %i, %0
}
out y: f32[m: 32, n: 128] hbm
semaphores s: dma[]
body(%i: i32, %x: vmem f32[8, 128], %y: hbm f32[32, 128], %s: semaphores dma[]) {
  %eight = const 8 : i32
  %at = mul %i, %eight : i32
  dma_start %x[:, :] to %y[ds(%at, 8), :] semaphore %s[]
  %three = const 3 : i32
  %last = eq %i, %three : bool
  if %last {
    dma_wait %y[:, :] to %y[:, :] semaphore %s[]
    yield
  } else {
    yield
  }
}
}
";
    for result in run(text) {
        let problems = result.unwrap_err();
        assert_eq!(problems.0[0].code, Code::INTERP_IN_FLIGHT, "{problems}");
        let words = "the next block of `x` comes in while a copy of the last one is in flight";
        assert!(problems.to_string().contains(words), "{problems}");
    }
}
