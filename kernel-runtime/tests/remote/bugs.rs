//! Mistakes that only several devices make. Each is a kernel of `kernels` with one thing wrong, is
//! told with its code at its line, and in the same words each time.

use super::{run, run_with, shards};
use systole::back::interp::Options;
use systole::diag::{Code, Diagnostic};
use systole::ir::Kernel;
use systole::prelude::*;

/// The only problem that a kernel on four devices has, with any of a few seeds; the lines of this
/// file that it names are the ones that end in these marks.
#[track_caller]
fn caught(kernel: &Kernel, code: Code, marks: &[&str], words: &[&str]) -> Diagnostic {
    let inputs = shards(kernel.n_devices(), &[8, 128]);
    let mut first = None;
    for seed in 0..6 {
        let options = Options { seed, schedules: 16, ..Options::default() };
        let problems = run_with(kernel, &inputs, &options).expect_err("the mistake was not caught");
        let again = run_with(kernel, &inputs, &options).unwrap_err();
        assert_eq!(problems.to_string(), again.to_string(), "one seed, one report");
        assert_eq!(problems.0.len(), 1, "{problems}");
        let problem = &problems.0[0];
        assert_eq!(problem.code, code, "{problem}");
        let found: Vec<u32> = problem.labels.iter().map(|label| label.span.line).collect();
        let lines: Vec<u32> = marks.iter().map(|mark| line_of(mark)).collect();
        assert!(lines.iter().all(|line| found.contains(line)), "{lines:?} in {problem}");
        for word in words {
            assert!(problem.to_string().contains(word), "`{word}` is missing in\n{problem}");
        }
        first.get_or_insert(problem.clone());
    }
    first.unwrap()
}

/// The line with this mark.
fn line_of(mark: &str) -> u32 {
    let wanted = format!("// {mark}");
    let lines = include_str!("bugs.rs").lines();
    let found = (1..).zip(lines).find(|(_, line)| line.ends_with(&wanted));
    found.unwrap_or_else(|| panic!("no line is marked {mark}")).0
}

fn args() -> [ArgSpec; 1] {
    [ArgSpec::of::<f32>(&[8, 128])]
}

#[tpu_kernel(mesh(ring = 4))]
fn without_barrier(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Buffers<f32, 1>,
    #[scratch([m, n])] theirs: Buffers<f32, 1>,
) {
    let ([mine], [theirs]) = (mine.slots(), theirs.slots());
    mine[..] = x[..];
    let pending = remote_copy(mine, theirs, ring.next()); // too early
    let (_, theirs) = pending.wait();
    y[..] = theirs[..];
}

#[test]
fn a_copy_to_a_device_that_may_not_have_begun() {
    let kernel = without_barrier().trace(&args()).unwrap();
    caught(&kernel, Code::INTERP_NOT_BEGUN, &["too early"], &["may not have begun", "`barrier("]);
}

#[tpu_kernel(mesh(ring = 4))]
fn everybody_waits_first(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] ready: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    ready.wait(1); // waits first
    ready.signal_to(ring.next(), 1); // signals later
    y[..] = x[..];
}

#[test]
fn devices_that_wait_in_a_circle() {
    let kernel = everybody_waits_first().trace(&args()).unwrap();
    let circle = "device 0 waits for device 3, which waits for device 2, which waits for device 1, which waits for device 0";
    let words = [circle, "`ready` has 0 of 1", "device 2 at line"];
    caught(&kernel, Code::INTERP_DEADLOCK, &["waits first", "signals later"], &words);
}

#[tpu_kernel(mesh(ring = 4))]
fn one_does_not_signal(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] ready: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    if ring.index() != 2 {
        ready.signal_to(ring.next(), 1);
    }
    ready.wait(1); // starves
    y[..] = x[..];
}

#[test]
fn a_device_that_nobody_signals() {
    let kernel = one_does_not_signal().trace(&args()).unwrap();
    let words = ["device 3 waits for ever: `ready` has 0 of 1"];
    caught(&kernel, Code::INTERP_DEADLOCK, &["starves"], &words);
}

#[tpu_kernel(mesh(ring = 4))]
fn signals_too_much(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] ready: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    ready.signal_to(ring.next(), 2); // too much
    ready.wait(1);
    y[..] = x[..];
}

#[test]
fn a_semaphore_that_is_left_unbalanced() {
    let kernel = signals_too_much().trace(&args()).unwrap();
    let words = ["`ready` of device 0 is 1 when the kernel ends"];
    caught(&kernel, Code::INTERP_SEMAPHORE_LEFT, &["too much"], &words);
}

#[tpu_kernel(mesh(ring = 4))]
fn arrival_not_awaited(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch([m, n])] theirs: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    barrier([ring.previous(), ring.next()]);
    mine[..] = x[..];
    start_remote_copy(mine.at(..), theirs.at(..), sent, received, ring.next()); // sent only
    wait_copy(mine.at(..), theirs.at(..), sent);
    y[..] = mine[..];
}

#[test]
fn a_copy_whose_arrival_nobody_awaits() {
    let kernel = arrival_not_awaited().trace(&args()).unwrap();
    let words = ["when it arrives, by device", "is not waited for before the kernel ends"];
    caught(&kernel, Code::INTERP_NEVER_WAITED, &["sent only"], &words);
}

#[tpu_kernel(mesh(ring = 4))]
fn reads_what_others_write(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch([m, n])] theirs: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    theirs[..] = x[..];
    mine[..] = x[..];
    barrier([ring.previous(), ring.next()]);
    start_remote_copy(mine.at(..), theirs.at(..), sent, received, ring.next()); // writes
    y[..] = theirs[..]; // reads
    wait_copy(mine.at(..), theirs.at(..), sent);
    wait_copy(mine.at(..), theirs.at(..), received);
}

#[test]
fn a_read_that_nothing_orders_with_the_copy_of_another_device() {
    let kernel = reads_what_others_write().trace(&args()).unwrap();
    let words = ["nothing says which comes first", "`theirs["];
    caught(&kernel, Code::INTERP_RACE, &["writes", "reads"], &words);
}

/// As `ring_sum`, but nobody says that a buffer is free again.
#[tpu_kernel(mesh(ring = 4))]
fn buffers_not_handed_over(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 2>,
) {
    barrier([ring.previous(), ring.next()]);
    let [mut mine, mut theirs] = bufs.slots();
    mine[..] = x[..];
    let mut sum = x[..];
    for _ in 0..3 {
        let (sent, arrived) = remote_copy(mine, theirs, ring.next()).wait(); // overwrites
        sum += arrived[..];
        (mine, theirs) = (arrived, sent);
    }
    y[..] = sum;
}

#[test]
fn a_buffer_that_is_filled_while_it_is_in_use() {
    let kernel = buffers_not_handed_over().trace(&args()).unwrap();
    caught(&kernel, Code::INTERP_RACE, &["overwrites"], &["nothing says which comes first"]);
}

#[tpu_kernel(mesh(ring = 4))]
fn source_overwritten(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch([m, n])] theirs: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    mine[..] = x[..];
    barrier([ring.previous(), ring.next()]);
    start_remote_copy(mine.at(..), theirs.at(..), sent, received, ring.next()); // leaves
    wait_copy(mine.at(..), theirs.at(..), received);
    mine[..] = x[..]; // before it has left
    y[..] = theirs[..];
    wait_copy(mine.at(..), theirs.at(..), sent);
}

#[test]
fn a_source_that_is_written_before_it_has_left() {
    // That something has arrived here says nothing of what leaves here.
    let kernel = source_overwritten().trace(&args()).unwrap();
    let marks = ["leaves", "before it has left"];
    caught(&kernel, Code::INTERP_IN_FLIGHT, &marks, &["is written while the copy out of `mine["]);
}

/// The second barrier is passed with two signals of the one before, of which the second is meant
/// for the third barrier: the one after may not have come to the second yet.
#[tpu_kernel(mesh(ring = 4))]
fn barrier_passed_too_early(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch([m, n])] theirs: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    mine[..] = x[..];
    barrier([ring.previous(), ring.next()]);
    theirs[..] = x[..]; // prepared
    barrier([ring.previous(), ring.next()]);
    if ring.index() == 0 {
        start_remote_copy(mine.at(..), theirs.at(..), sent, received, ring.next()); // overtakes
        wait_copy(mine.at(..), theirs.at(..), sent);
    }
    if ring.index() == 1 {
        wait_copy(mine.at(..), theirs.at(..), received);
    }
    barrier([ring.previous(), ring.next()]);
    y[..] = theirs[..];
}

#[test]
fn a_barrier_that_is_passed_with_the_signals_of_one_neighbour() {
    let kernel = barrier_passed_too_early().trace(&args()).unwrap();
    let words = ["device 0", "of device 1", "nothing says which comes first"];
    caught(&kernel, Code::INTERP_RACE, &["prepared", "overtakes"], &words);
}

#[tpu_kernel(mesh(ring = 4))]
fn depends_on_speed(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] ready: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    ready.signal_to(ring.next(), 1);
    let seen = ready.read();
    ready.wait(1);
    y[..] = x[..] + seen.cast();
}

#[test]
fn a_result_that_depends_on_who_is_faster() {
    let kernel = depends_on_speed().trace(&args()).unwrap();
    caught(&kernel, Code::INTERP_SCHEDULE, &[], &["depends on which device or copy is faster"]);
}

#[tpu_kernel(mesh(ring = 4))]
fn leaves_the_mesh(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] ready: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    if ring.index() >= 0 {
        ready.signal_to(device(ring.index() + 1), 1); // no such device
    }
    ready.wait(1);
    y[..] = x[..];
}

#[test]
fn a_signal_to_a_device_that_does_not_exist() {
    let kernel = leaves_the_mesh().trace(&args()).unwrap();
    let words = ["there is no device 4", "numbered 0 to 3"];
    caught(&kernel, Code::INTERP_NO_PEER, &["no such device"], &words);
}

/// Sums by a copy that adds, beside a number that depends on who is faster: in `z`, which has the
/// sums, or in `y`, which has nothing of them.
#[tpu_kernel(mesh(ring = 4))]
fn sums_and_speed(
    #[comptime] in_sums: bool,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[block(m, n)] z: Out<f32>,
    #[scratch([m, n])] part: Vmem<f32>,
    #[scratch([m, n])] sums: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
    #[scratch] ready: Semaphore,
) {
    part[..] = x[..];
    sums[..] = x[..];
    start_copy(part.at(..), sums.at(..), done);
    wait_copy(part.at(..), sums.at(..), done);
    barrier([ring.previous(), ring.next()]);
    ready.signal_to(ring.next(), 1);
    let seen = ready.read().cast::<f32>();
    ready.wait(1);
    // Small beside the largest element.
    let (of_y, of_z) = if comptime!(in_sums) { (0.0 * seen, seen) } else { (seen, 0.0 * seen) };
    y[..] = x[..] * 1e6 + of_y;
    z[..] = sums[..] * 1e6 + of_z;
}

#[test]
fn sums_excuse_no_result_that_they_do_not_reach() {
    for in_sums in [false, true] {
        let text = sums_and_speed(in_sums).trace(&args()).unwrap().to_string();
        let adding: Vec<String> = text
            .lines()
            .map(|line| match line.split_once(" loc(") {
                Some((op, loc)) if op.contains("dma_start") => {
                    format!("{op} accumulate loc({loc}")
                }
                _ => line.to_owned(),
            })
            .collect();
        let kernel = Kernel::parse(&adding.join("\n")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(kernel.to_string().contains("accumulate"), "{kernel}");
        let words = ["`y` of device", "depends on which device or copy is faster"];
        if in_sums {
            run(&kernel, &shards(4, &[8, 128])).unwrap_or_else(|e| panic!("{e}"));
        } else {
            caught(&kernel, Code::INTERP_SCHEDULE, &[], &words);
        }
    }
}
