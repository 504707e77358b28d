//! Subcores that share memory of their core and wait for each other run at the same time, each
//! with its own order of events.

use super::kernels::segment_sums;
use super::{floats, interpreted, scrambled};
use systole::diag::{Code, Diagnostics};
use systole::ir::Kernel;
use systole::ir::array::ArrayData;
use systole::prelude::*;

const N: usize = 256;
const WIDTH: usize = 16;
const N_SEGMENTS: usize = 128;

fn args() -> [ArgSpec; 2] {
    [ArgSpec::of::<f32>(&[N, WIDTH]), ArgSpec::of::<i32>(&[N])]
}

fn inputs(x: Vec<f32>, segments: Vec<i32>) -> [Array; 2] {
    [Array::from_f32(&[N, WIDTH], x).unwrap(), Array::new(&[N], ArrayData::I32(segments)).unwrap()]
}

#[test]
fn subcores_add_up_in_the_memory_they_share() {
    let (x, segments) = (floats(N * WIDTH), scrambled(N, N_SEGMENTS as u64));
    let mut sums = vec![0.0; N_SEGMENTS * WIDTH];
    for (row, &segment) in segments.iter().enumerate() {
        for k in 0..WIDTH {
            // Sixteenths: exact in any order.
            sums[segment as usize * WIDTH + k] += x[row * WIDTH + k];
        }
    }
    let kernel = segment_sums(N_SEGMENTS, 8).trace(&args()).unwrap();
    let found = interpreted(&kernel, &inputs(x, segments)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found[0], Array::from_f32(&[N_SEGMENTS, WIDTH], sums).unwrap());
}

#[test]
fn the_rounding_of_sums_in_another_order_is_no_mistake() {
    let x = floats(N * WIDTH).into_iter().map(|x| x / 3.0).collect();
    let kernel = segment_sums(N_SEGMENTS, 8).trace(&args()).unwrap();
    let valid = systole::valid::check(kernel, &systole::target::GENERIC).unwrap();
    let inputs = inputs(x, vec![7; N]);
    let options = systole::back::interp::Options { schedules: 6, ..Default::default() };
    systole::back::interp::run(&valid, &inputs, &options).unwrap_or_else(|e| panic!("{e}"));
}

/// Sums of all rows in the memory of the core; where `waits` is false nobody waits for it to be
/// cleared.
#[tpu_kernel(core(sparse), grid(c = 1, s = 16))]
fn sums_too_early(
    #[block(n, d)] x: Hbm<f32>,
    #[block(b, d)] zeroed: Hbm<f32>,
    #[block(n)] segments: Hbm<i32>,
    #[block(b, d)] out: HbmOut<f32>,
    #[scratch([n / 16])] idx: Buffers<i32, 1>,
    #[scratch([n / 16, d])] rows: Buffers<f32, 1>,
    #[scratch([b / 16, d])] own: Buffers<f32, 1>,
    #[scratch([b, d])] sums: Spmem<f32>,
) {
    let (n_rows, n_own) = (n / 16, b / 16);
    let ([list], [part], [own]) = (idx.slots(), rows.slots(), own.slots());
    let own = copy_into(zeroed.rows(s * n_own, n_own), own).wait();
    let own = copy_into(own, sums.rows(s * n_own, n_own)).wait(); // cleared
    let list = copy_into(segments.rows((c * 16 + s) * n_rows, n_rows), list).wait();
    let part = copy_into(x.rows((c * 16 + s) * n_rows, n_rows), part).wait();
    let _ = scatter(part, list, sums.whole()).accumulate().start().wait(); // added
    subcore_barrier();
    let own = copy_into(sums.rows(s * n_own, n_own), own).wait();
    let _ = copy_into(own, out.rows(s * n_own, n_own)).wait();
}

/// All but one subcore wait for each other.
#[tpu_kernel(core(sparse), grid(c = 1, s = 16))]
fn one_stays_away(
    #[block(n, d)] x: Hbm<f32>,
    #[block(n, d)] out: HbmOut<f32>,
    #[scratch([n / 16, d])] rows: Buffers<f32, 1>,
) {
    let n_rows = n / 16;
    let [part] = rows.slots();
    let part = copy_into(x.rows((c * 16 + s) * n_rows, n_rows), part).wait();
    if s.lt(15) {
        subcore_barrier(); // not for all
    }
    let _ = copy_into(part, out.rows(s * n_rows, n_rows)).wait();
}

/// The only problem that is found, in the same words for any seed; the lines with these marks are
/// named.
#[track_caller]
fn caught(kernel: &Kernel, inputs: &[Array], code: Code, marks: &[&str], words: &[&str]) {
    let errors: Diagnostics = interpreted(kernel, inputs).expect_err("the mistake was not caught");
    let text = errors.to_string();
    assert_eq!(errors.0.len(), 1, "{text}");
    assert_eq!(errors.0[0].code, code, "{text}");
    let found: Vec<u32> = errors.0[0].labels.iter().map(|label| label.span.line).collect();
    for mark in marks {
        let lines = include_str!("meeting.rs").lines();
        let wanted = format!("// {mark}");
        let line = (1..).zip(lines).find(|(_, line)| line.ends_with(&wanted)).unwrap().0;
        assert!(found.contains(&line), "{mark}, line {line}, in {text}");
    }
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn adding_to_memory_that_another_subcore_clears_is_a_race() {
    let args = [
        ArgSpec::of::<f32>(&[N, WIDTH]),
        ArgSpec::of::<f32>(&[N_SEGMENTS, WIDTH]),
        ArgSpec::of::<i32>(&[N]),
    ];
    let kernel = sums_too_early().trace(&args).unwrap();
    let [x, segments] = inputs(floats(N * WIDTH), scrambled(N, N_SEGMENTS as u64));
    let zeroed = Array::from_f32(&[N_SEGMENTS, WIDTH], vec![0.0; N_SEGMENTS * WIDTH]).unwrap();
    let words = ["subcore", "`sums[", "adds to", "nothing says which comes first"];
    caught(&kernel, &[x, zeroed, segments], Code::INTERP_RACE, &["cleared", "added"], &words);
}

#[test]
fn a_barrier_that_one_subcore_does_not_pass_is_told() {
    let kernel = one_stays_away().trace(&[ArgSpec::of::<f32>(&[N, WIDTH])]).unwrap();
    let x = Array::from_f32(&[N, WIDTH], floats(N * WIDTH)).unwrap();
    let words = ["subcore 0 waits at a barrier for ever", "let all pass every barrier"];
    caught(&kernel, &[x], Code::INTERP_BARRIER, &["not for all"], &words);
}
