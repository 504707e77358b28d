//! Long runs: memory that stays as it is, graphs of very many ops, and a process that dies. Each is
//! this test binary, told by a variable to do a job: what others do here must not be measured.
use crate::cache::at_length;
use crate::jobs::{self, finish};
use std::process::Child;
use std::time::{Duration, Instant};
use systole::run::{Device, Mode, Tensor, jit, with_mode};

const JOB: &str = "ENDURANCE_TEST_JOB";
const MIB: u64 = 1 << 20;

fn start(job: &str) -> Child {
    jobs::command("run::endurance::child", JOB, job).spawn().unwrap()
}

/// Does the job it was started for; as one test among others, nothing.
#[test]
fn child() {
    let Ok(job) = std::env::var(JOB) else { return };
    match job.as_str() {
        "eager" => eager_loop(Mode::Strict),
        "deferred" => eager_loop(Mode::DeferAndFuse),
        "donate" => give_away(),
        other => panic!("no job {other}"),
    }
}

/// A line of /proc/self/status, in bytes: `VmRSS`, what is in memory, or `VmHWM`, the most there was.
fn memory_bytes(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Ops on 64 KiB, whose results would take gigabytes, and whose nodes and buffers some megabytes even
/// if each were only a hundred bytes too many.
fn eager_loop(mode: Mode) {
    let n_ops = at_length(10_000, 100_000);
    let x = Tensor::<f32>::full([128, 128], 0.5);
    let turn = |y: Tensor<f32>| ((&y * 0.5 + &x).abs() + 0.25) * 0.5;
    let run = |mut y: Tensor<f32>, n_ops: usize| {
        for _turn in 0..n_ops / 5 {
            y = turn(y);
        }
        y.wait().unwrap();
        y
    };
    with_mode(mode, || {
        let y = run(x.clone(), n_ops / 10);
        let before = memory_bytes("VmRSS");
        let y = run(y, n_ops);
        let after = memory_bytes("VmRSS");
        eprintln!("{mode:?}: {n_ops} ops, {} MiB, then {} MiB", before / MIB, after / MIB);
        assert!(after < before + 8 * MIB, "{before} bytes became {after}");
        // The fixed point of y = (y / 2 + 0.75) / 2.
        assert!(y.to_vec().unwrap().iter().all(|y| (y - 0.5).abs() < 1e-6));
    });
    let stats = Device::current().compiler().unwrap().stats();
    assert!(stats.n_programs < 20, "{stats:?}");
}

#[test]
fn memory_holds_steady_over_very_many_ops() {
    finish(["eager", "deferred"].map(start));
}

/// Turns in which a tensor of 64 MiB becomes another, in the same memory.
fn give_away() {
    const BYTES: u64 = 64 * MIB;
    let fresh = || {
        let x = Tensor::<f32>::full([BYTES as usize / 4], 1.0);
        x.wait().unwrap();
        x
    };
    let step = jit(|x: Tensor<f32>| x * 0.5 + 1.0).donate(&[0]);
    let mut x = step.call((fresh(),)).unwrap();
    x += 1.0;
    x.wait().unwrap();
    drop(x);
    let before = memory_bytes("VmRSS");
    let mut x = fresh();
    for _turn in 0..20 {
        x = step.call((x,)).unwrap();
        x += 1.0;
        x.wait().unwrap();
    }
    // Neither two at any time,
    let most = memory_bytes("VmHWM");
    assert!(most < before + BYTES * 3 / 2, "{before} bytes became {most}");
    assert!((x.reduce_max(&[0]).item().unwrap() - 4.0).abs() < 1e-4);
    // nor one after the last. The plugin's own threads let go of it, when they come to it.
    drop(x);
    let start = Instant::now();
    while memory_bytes("VmRSS") >= before + BYTES / 2 {
        let after = memory_bytes("VmRSS");
        assert!(start.elapsed() < Duration::from_secs(20), "{before} bytes became {after}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn donated_buffers_are_reused_and_freed() {
    finish([start("donate")]);
}

/// So many ops one after the other, in no order that repeats; each is exact or rounds once. What they
/// give for `x`, and should give.
fn winding(x: &[f32], n_ops: usize) -> (impl Fn(&Tensor<f32>) -> Tensor<f32>, Vec<f32>) {
    let mut state = 1_u64;
    let picks: Vec<u64> = std::iter::repeat_with(|| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 3
    })
    .take(n_ops)
    .collect();
    let on_host = |x: f32| {
        picks.iter().fold(x, |y, pick| match pick {
            0 => y * -0.5,
            1 => y + x,
            _ => y.abs(),
        })
    };
    let expected = x.iter().copied().map(on_host).collect();
    let on_device = move |x: &Tensor<f32>| {
        picks.iter().fold(x.clone(), |y, pick| match pick {
            0 => y * -0.5,
            1 => y + x,
            _ => y.abs(),
        })
    };
    (on_device, expected)
}

#[test]
fn graphs_of_very_many_ops_are_right_in_every_mode() {
    let values = [1.25_f32, -3.0, 0.1, 7e5];
    let x = || Tensor::from_slice(&values, [4]).unwrap();
    // What is compiled as one program, or in those of the largest size, takes XLA half a millisecond
    // per op.
    let n_compiled = at_length(3_000, 20_000);
    for (mode, n_ops) in
        [(Mode::Strict, 20_000), (Mode::Debug, 20_000), (Mode::DeferAndFuse, n_compiled)]
    {
        let (on_device, expected) = winding(&values, n_ops);
        let found = with_mode(mode, || on_device(&x()).to_vec().unwrap());
        assert_eq!(found, expected, "{mode:?}");
    }
    let (on_device, expected) = winding(&values, n_compiled);
    let compiled = jit(move |x: Tensor<f32>| on_device(&x));
    assert_eq!(compiled.call((x(),)).unwrap().to_vec().unwrap(), expected);
    // Ops that repeat are run as one loop's turn, and very many results are kept.
    with_mode(Mode::DeferAndFuse, || {
        let repeated = (0..10_000).fold(x(), |y, _turn| y * 0.5 + x());
        assert!((repeated.to_vec().unwrap()[0] - 2.5).abs() < 1e-6);
        let x = x();
        let sums: Vec<Tensor<f32>> = (0..20_000).map(|n| &x + n as f32).collect();
        for n in [0, 1, 10_000, 19_999] {
            assert_eq!(sums[n].to_vec().unwrap()[0], 1.25 + n as f32);
        }
    });
}
