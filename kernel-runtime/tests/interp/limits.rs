//! What a run may take: memory, counted before it starts, and work in loops.

use super::support::{Blocked, Draft, Element, Parallel, assert_caught, counting, run};
use systole::back::interp::Options;
use systole::diag::{Code, Diagnostics};
use systole::ir::DType::{Bool, F32, I32};
use systole::ir::Kernel;
use systole::ir::ParamKind::{In, InOut, Out};
use systole::ir::ops::{Binary, Compare};

/// `y = x + x` in one step, on `f32[1024, 1024]`: 4 MiB per tile.
fn doubled() -> Kernel {
    let (mut d, _) = Draft::new(&[]);
    let x = d.line(2).whole(In, "x", F32, &[1024, 1024]);
    let y = d.line(3).whole(Out, "y", F32, &[1024, 1024]);
    let value = d.line(4).load(x);
    let value = d.line(5).binary(Binary::Add, value, value);
    d.line(6).store(y, value);
    d.finish()
}

/// The notes of the only problem of a run that was refused for its memory.
#[track_caller]
fn notes(result: Result<systole::back::interp::Outcome, Diagnostics>) -> Vec<String> {
    let problems = result.expect_err("the run was not refused");
    assert_eq!(problems.0.len(), 1, "{problems}");
    assert_eq!(problems.0[0].code, Code::INTERP_MEMORY, "{problems}");
    problems.0[0].notes.iter().map(|note| note.trim().to_owned()).collect()
}

#[test]
fn counts_memory_before_it_runs() {
    let input = [counting(&[1024, 1024])];
    let limited = |mib: u64| Options { memory_bytes: mib << 20, ..Options::default() };
    // Input 4, output as blocks and array and flags 4 + 4 + 1, its window 4, two tiles 8.
    let words = [
        "takes 25.0 MiB of memory, but `Options::memory_bytes` is 16.0 MiB",
        "the output `y`: 9.0 MiB",
        "raise `Options::memory_bytes`",
    ];
    assert_caught(run(doubled(), &input, &limited(16)), Code::INTERP_MEMORY, &[3], &words);
    let found = notes(run(doubled(), &input, &limited(16)));
    let expected = [
        "9.0 MiB  the output `y`",
        "8.0 MiB  tiles that are alive at once",
        "4.0 MiB  the whole of `x`",
        "4.0 MiB  the block of `y`",
    ];
    assert_eq!(found[..4], expected, "{found:?}");
    for options in [limited(26), Options::default()] {
        let outcome = run(doubled(), &input, &options).unwrap();
        assert_eq!(outcome.outputs[0].to_f32()[1000], 2000.0);
    }
}

#[test]
fn refuses_what_no_machine_holds() {
    // 2^31 elements each: the most that a tile or scratch may have.
    let (mut d, _) = Draft::new(&[]);
    let y = d.line(2).whole(Out, "y", F32, &[8, 128]);
    for line in 3..300 {
        d.line(line).scratch(&format!("s{line}"), F32, &[1 << 16, 1 << 15]);
    }
    let one = d.filled(F32, &[8, 128], 1.0);
    d.line(300).store(y, one);
    let words = ["2433024.0 MiB of memory, but half of what the machine has free is", "`s3`"];
    assert_caught(run(d.finish(), &[], &Options::default()), Code::INTERP_MEMORY, &[3], &words);

    let (mut d, _) = Draft::new(&[]);
    let y = d.line(2).whole(Out, "y", F32, &[8, 128]);
    let rows: Vec<_> = (0..100).map(|line| d.line(3 + line).iota(&[1 << 20, 1 << 11], 0)).collect();
    let mut sum = d.filled(I32, &[1, 1 << 11], 0.0);
    for row in rows {
        let max = d.line(200).reduce(systole::ir::ops::ReduceKind::Max, 0, row);
        sum = d.line(201).binary(Binary::Add, sum, max);
    }
    let one = d.filled(F32, &[8, 128], 1.0);
    d.line(202).store(y, one);
    let result = run(d.finish(), &[], &Options::default());
    assert_caught(result, Code::INTERP_MEMORY, &[200], &["tiles that are alive at once"]);

    // Each step of a parallel axis is kept apart until the end.
    let (mut d, _) = Draft::new(&[("i", (1 << 31) - 1, Parallel)]);
    let y = d.line(2).param(Out, "y", Bool, &[(1 << 31) - 1], &[Blocked(1)], &|_, g| vec![g[0]]);
    let one = d.filled(Bool, &[1], 1.0);
    d.line(3).store(y, one);
    let found = notes(run(d.finish(), &[], &Options::default()));
    assert!(
        found.iter().any(|note| note.ends_with("2147483647 steps of the grid's parallel axes"))
    );
}

/// What agents know of each other is counted before there is a single one.
#[test]
fn refuses_more_cores_than_any_machine_runs() {
    let cores = (1 << 31) - 1;
    let (mut d, _) = Draft::new(&[("c", cores, systole::ir::Semantics::CoreParallel)]);
    let y = d.line(2).whole(Out, "y", F32, &[8, 128]);
    let one = d.line(3).filled(F32, &[8, 128], 1.0);
    d.line(4).store(y, one);
    let found = notes(run(d.finish(), &[], &Options::default()));
    let told = format!("what {cores} cores know of each other");
    assert!(found[0].ends_with(&told), "{found:?}");
}

#[test]
fn takes_as_many_threads_as_fit() {
    let kernel = || {
        let (mut d, _) = Draft::new(&[("i", 64, Parallel)]);
        let block = [Blocked(1), Blocked(1024)];
        let y = d.line(2).param(InOut, "y", F32, &[64, 1024], &block, &|d, g| vec![g[0], d.int(0)]);
        let s = d.line(3).scratch("s", F32, &[1024, 1024]);
        let full = d.line(4).filled(F32, &[1024, 1024], 2.0);
        d.line(5).store(s, full);
        let start = d.int(3);
        let row = d.line(6).load_rows(s, start, 1);
        d.line(7).store(y, row);
        d.finish()
    };
    let input = [counting(&[64, 1024])];
    let run_on = |threads, mib: u64| {
        let options = Options { threads, memory_bytes: mib << 20, ..Options::default() };
        run(kernel(), &input, &options)
    };
    // One thread takes 8 MiB and a little, 64 take half a gigabyte: fewer of them run.
    assert_eq!(run_on(64, 20).unwrap(), run_on(1, 20).unwrap());
    assert_eq!(notes(run_on(64, 8)), notes(run_on(1, 8)));
}

#[test]
fn counts_overlapping_windows() {
    let (mut d, _) = Draft::new(&[("i", 1000, Parallel)]);
    let block = [Element(64), Blocked(1024)];
    let y = d.line(2).param(Out, "y", F32, &[2000, 1024], &block, &|d, g| vec![g[0], d.int(0)]);
    let one = d.line(3).filled(F32, &[64, 1024], 1.0);
    d.line(4).store(y, one);
    let options = Options { memory_bytes: 100 << 20, ..Options::default() };
    // 1000 windows of 256 KiB; 4 bytes of the array, its flags and owners for 2 M elements.
    let found = notes(run(d.finish(), &[], &options));
    assert_eq!(found[0], "267.7 MiB  the output `y`", "{found:?}");
}

/// A `while` that adds `step` to a counter up to 100, around a `for` of `inner` turns.
fn counter(step: i64, inner: i64) -> Kernel {
    let (mut d, _) = Draft::new(&[("i", 3, Parallel)]);
    let y = d.line(2).param(Out, "y", F32, &[24, 128], &[Blocked(8), Blocked(128)], &|d, g| {
        vec![g[0], d.int(0)]
    });
    let zero = d.int(0);
    d.line(4).repeat(
        &[zero],
        &|d, carried| {
            let hundred = d.int(100);
            d.compare(Compare::Lt, carried[0], hundred)
        },
        &|d, carried| {
            if inner > 0 {
                let bounds = [d.int(0), d.int(inner), d.int(1)];
                d.line(6).count(bounds, &[], &|d, idx, _| {
                    d.binary(Binary::Add, idx, idx);
                    vec![]
                });
            }
            let step = d.int(step);
            vec![d.line(7).binary(Binary::Add, carried[0], step)]
        },
    );
    let value = d.filled(F32, &[8, 128], 1.0);
    d.line(9).store(y, value);
    d.finish()
}

#[test]
fn loop_that_never_ends() {
    let options = Options { fuel: 1000, ..Options::default() };
    for threads in [1, 4] {
        let options = Options { threads, ..options.clone() };
        let words = ["after 101 turns", "1000 units of work in one grid step", "`Options::fuel`"];
        let result = run(counter(0, 0), &[], &options);
        assert_caught(result, Code::INTERP_OUT_OF_FUEL, &[4], &words);
    }
    let legal = Options { fuel: 1020, ..Options::default() };
    run(counter(1, 0), &[], &legal).unwrap();
}

#[test]
fn loop_that_never_ends_around_one_that_does() {
    let words = ["this loop is still running after", "with 3 turns of this one"];
    let result = run(counter(0, 4), &[], &Options { fuel: 10_000, ..Options::default() });
    let problems = result.unwrap_err();
    let text = problems.to_string();
    assert!(text.contains(words[0]), "{text}");
    assert_eq!(problems.0[0].labels[0].span.line, 4, "the loop that turned most often: {text}");
}
