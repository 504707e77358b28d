//! The interpreter with races, copies and semaphores checked, beside Pallas' own with
//! `InterpretParams(detect_races=True)` on the same kernels (`benches/races.py`), in one run.

use criterion::Criterion;
use std::hint::black_box;
use std::time::{Duration, Instant};
use systole::back::interp::{self, Options};
use systole::diag::Diagnostics;
use systole::ir::{Array, DType, Kernel};
use systole::prelude::*;
use systole::run::Sampler;
use systole::target::GENERIC;
use systole::valid::{self, Valid};
use systole_kernels::collectives;

#[allow(dead_code, reason = "tests use all of it")]
#[path = "../kernel-runtime/tests/import/python.rs"]
mod python;

/// Doubles blocks of 16 rows: two buffers in, two out, each step copying ahead for the next.
#[tpu_kernel(grid(i = m / rows))]
fn copy_pipeline(
    #[comptime] rows: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([2, rows, n])] fetched: Vmem<f32>,
    #[scratch([2, rows, n])] made: Vmem<f32>,
    #[scratch([2])] arrived: DmaSemaphore,
    #[scratch([2])] left: DmaSemaphore,
) {
    let (slot, steps) = (i % 2, m / rows);
    let other = 1 - slot;
    if i == 0 {
        start_copy(x.rows(0, rows), fetched.at((0, .., ..)), arrived.at(0));
    }
    if i < i.last() {
        start_copy(x.rows((i + 1) * rows, rows), fetched.at((other, .., ..)), arrived.at(other));
    }
    wait_copy(x.rows(i * rows, rows), fetched.at((slot, .., ..)), arrived.at(slot));
    if i > 1 {
        wait_copy(made.at((slot, .., ..)), y.rows((i - 2) * rows, rows), left.at(slot));
    }
    made[(slot, .., ..)] = fetched[(slot, .., ..)] * 2.0;
    start_copy(made.at((slot, .., ..)), y.rows(i * rows, rows), left.at(slot));
    if i == i.last() {
        let last = (steps - 1) * rows;
        wait_copy(made.at((other, .., ..)), y.rows(last - rows, rows), left.at(other));
        wait_copy(made.at((slot, .., ..)), y.rows(last, rows), left.at(slot));
    }
}

/// A product by blocks of `t`, with two buffers for each operand, filled by hand.
#[tpu_kernel(grid(i, j, l = k / t))]
fn matmul(
    #[comptime] t: usize,
    #[block(m, k)] x: Hbm<f32>,
    #[block(k, n)] y: Hbm<f32>,
    #[block(m: t @ i, n: t @ j)] o: Out<f32>,
    #[scratch([2, t, t])] xs: Vmem<f32>,
    #[scratch([2, t, t])] ys: Vmem<f32>,
    #[scratch([t, t])] acc: Vmem<f32>,
    #[scratch([2, 2])] arrived: DmaSemaphore,
) {
    let (columns, depth) = (n / t, k / t);
    let step = (i * columns + j) * depth + l;
    let slot = step % 2;
    // The blocks of a step, and where they go.
    let x_of =
        |step: Scalar<i32>| x.at((ds(step / (columns * depth) * t, t), ds(step % depth * t, t)));
    let y_of =
        |step: Scalar<i32>| y.at((ds(step % depth * t, t), ds(step / depth % columns * t, t)));
    if step == 0 {
        start_copy(x_of(step), xs.at((slot, .., ..)), arrived.at((0, slot)));
        start_copy(y_of(step), ys.at((slot, .., ..)), arrived.at((1, slot)));
    }
    if step < (m / t * columns * depth) - 1 {
        let (next, free) = (step + 1, 1 - slot);
        start_copy(x_of(next), xs.at((free, .., ..)), arrived.at((0, free)));
        start_copy(y_of(next), ys.at((free, .., ..)), arrived.at((1, free)));
    }
    wait_copy(x_of(step), xs.at((slot, .., ..)), arrived.at((0, slot)));
    wait_copy(y_of(step), ys.at((slot, .., ..)), arrived.at((1, slot)));
    if l == 0 {
        acc[..] = 0.0;
    }
    acc[..] += dot(xs[(slot, .., ..)], ys[(slot, .., ..)]);
    if l == l.last() {
        o[..] = acc[..];
    }
}

fn checked(kernel: Result<Kernel, Diagnostics>) -> Valid {
    match kernel.and_then(|kernel| valid::check(kernel, &GENERIC)) {
        Ok(valid) => valid,
        Err(problems) => {
            eprintln!("{problems}");
            std::process::exit(1)
        }
    }
}

/// A kernel, and what each of its devices gets.
struct Case {
    name: &'static str,
    kernel: Valid,
    inputs: Vec<Vec<Array>>,
}

fn cases() -> Vec<Case> {
    let mut sampler = Sampler::new(0);
    let mut array = |shape: &[usize]| sampler.normal(DType::F32, shape);
    let x = array(&[512, 256]);
    let operands = [array(&[512, 512]), array(&[512, 512])];
    let shards: Vec<Vec<Array>> = (0..4).map(|_| vec![array(&[64, 256])]).collect();
    let args = |inputs: &[Array]| inputs.iter().map(ArgSpec::from).collect::<Vec<_>>();
    let copies = copy_pipeline(16).trace(&args(std::slice::from_ref(&x)));
    let product = matmul(128).trace(&args(&operands));
    let gather = collectives::all_gather(DType::F32, 4, [64, 256]);
    vec![
        Case { name: "copy_pipeline", kernel: checked(copies), inputs: vec![vec![x]] },
        Case { name: "matmul", kernel: checked(product), inputs: vec![operands.to_vec()] },
        Case { name: "all_gather", kernel: checked(gather), inputs: shards },
    ]
}

/// The best of many runs, each of so many schedules: on a busy machine the mean says little.
fn measure(c: &mut Criterion, case: &Case, schedules: u32) -> Duration {
    let mut best = Duration::MAX;
    let options = Options { schedules, ..Options::default() };
    c.bench_function(&format!("{}, schedules: {schedules}", case.name), |b| {
        b.iter_custom(|n| {
            let run = |_| {
                let start = Instant::now();
                let is_ok = match case.inputs.as_slice() {
                    [inputs] => black_box(interp::run(&case.kernel, inputs, &options)).is_ok(),
                    devices => {
                        black_box(interp::run_devices(&case.kernel, devices, &options)).is_ok()
                    }
                };
                let elapsed = start.elapsed();
                assert!(is_ok, "{} must run", case.name);
                best = best.min(elapsed);
                elapsed
            };
            (0..n).map(run).sum()
        });
    });
    best
}

/// Milliseconds by case, as Pallas' run says.
fn pallas() -> Result<Vec<(String, f64)>, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/races.py");
    let output = python::with_jax()?.command().arg(script).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let field = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\": "))?;
        Some(rest.split([',', '}']).next()?.trim_matches('"').to_owned())
    };
    let case = |line: &str| Some((field(line, "case")?, field(line, "best_ms")?.parse().ok()?));
    Ok(text.lines().filter_map(case).collect())
}

fn main() {
    let mut c = Criterion::default().configure_from_args();
    let mut ours = Vec::new();
    for case in &cases() {
        // Pallas' interpreter runs one schedule. Ours tries several where there are several devices.
        ours.push((case.name, measure(&mut c, case, 1).as_secs_f64() * 1e3));
        if case.inputs.len() > 1 {
            let n = Options::default().schedules;
            let ms = measure(&mut c, case, n).as_secs_f64() * 1e3;
            eprintln!("{}: {n} schedules, as by default, take {ms:.3} ms", case.name);
        }
    }
    c.final_summary();
    // `cargo test --benches` runs each once, to see that it does.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let theirs = pallas().unwrap_or_else(|why| {
        eprintln!("without Pallas beside it: {why}");
        Vec::new()
    });
    eprintln!("{:16} {:>10} {:>10} {:>8}", "best of runs", "ours ms", "Pallas ms", "times");
    for (name, ms) in ours {
        match theirs.iter().find(|(case, _)| case == name) {
            Some((_, pallas)) => {
                eprintln!("{name:16} {ms:>10.3} {pallas:>10.1} {:>7.0}x", pallas / ms);
            }
            None => eprintln!("{name:16} {ms:>10.3}"),
        }
    }
}
