//! Mistakes that tracing finds, at the line where the copy starts.

use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::prelude::*;

/// Asserts that exactly one mistake is told, with all of these words.
#[track_caller]
fn assert_told(result: Result<Kernel, Diagnostics>, code: Code, words: &[&str]) -> u32 {
    let problems = result.expect_err("the mistake was not found");
    assert_eq!(problems.0.len(), 1, "{problems}");
    let problem = &problems.0[0];
    assert_eq!(problem.code, code, "{problem}");
    for word in words {
        assert!(problem.to_string().contains(word), "`{word}` is missing in\n{problem}");
    }
    problem.labels[0].span.line
}

fn x() -> [ArgSpec; 1] {
    [ArgSpec::of::<f32>(&[32, 128])]
}

#[tpu_kernel]
fn forgets(
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([k, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let _pending = copy_into(x.rows(0, k), a);
    b[..] = 0.0;
    y[..] = b[..];
}

#[test]
fn a_copy_that_nobody_waits_for_is_a_mistake() {
    let words = ["started but never waited for", "`.wait()`"];
    let line = assert_told(forgets(8).trace(&x()), Code::TRACE_COPY_LOST, &words);
    assert_eq!(line, 32);
}

#[tpu_kernel(grid(i = 4))]
fn waits_in_one_arm(
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([k, n])] bufs: Buffers<f32, 2>,
) {
    let [a, _] = bufs.slots();
    let pending = copy_into(x.rows(0, k), a);
    y[..] = 0.0;
    if i == 0 {
        let a = pending.wait();
        y[..] = a[..];
    }
}

#[test]
fn a_copy_waited_for_in_one_arm_is_a_mistake() {
    let words = ["waited for only inside the first arm of the `if` at line 54", "`start_if`"];
    let line = assert_told(waits_in_one_arm(8).trace(&x()), Code::TRACE_COPY_REGION, &words);
    assert_eq!(line, 52);
}

#[tpu_kernel]
fn rotates_in_an_arm(
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([k, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let (mut free, mut acc) = (b, zeros([k, n]));
    let mut pending = copy_into(x.rows(0, k), a);
    for j in 0..m / k - 1 {
        if j > 0 {
            let next = copy_into(x.rows((j + 1) * k, k), free);
            let full = pending.wait();
            acc += full[..];
            (pending, free) = (next, full);
        }
    }
    y[..] = acc + pending.wait()[..];
    let _ = free;
}

#[test]
fn a_copy_is_not_rotated_in_an_arm() {
    let words = ["waited for only inside the first arm of the `if`", "started here"];
    assert_told(rotates_in_an_arm(8).trace(&x()), Code::TRACE_COPY_REGION, &words);
}

#[tpu_kernel]
fn copies_other_shapes(
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([k, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let a = copy_into(x.rows(0, k / 2), a).wait();
    y[..] = a[..];
}

#[test]
fn both_ends_of_a_copy_have_one_shape() {
    let words = ["`dma_start` copies [4, 128] into [8, 128]: the shapes differ"];
    let problems = copies_other_shapes(8).trace(&x()).unwrap_err();
    assert_eq!(problems.0[0].code, Code::IR_SHAPE);
    assert!(problems.to_string().contains(words[0]), "{problems}");
}
