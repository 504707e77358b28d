//! Kernels that are right, on every number of devices and in every schedule tried.

use super::{array, run, shards};
use systole::back::interp::{self, Options};
use systole::ir::Kernel;
use systole::prelude::*;

/// Each device gives its block to the next one.
#[tpu_kernel(mesh(ring = n_devices))]
fn rotate(
    #[comptime] n_devices: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Buffers<f32, 1>,
    #[scratch([m, n])] theirs: Buffers<f32, 1>,
) {
    barrier([ring.previous(), ring.next()]);
    let ([mine], [theirs]) = (mine.slots(), theirs.slots());
    mine[..] = x[..];
    let (_, theirs) = remote_copy(mine, theirs, ring.next()).wait();
    y[..] = theirs[..];
}

#[test]
fn a_ring_rotates_blocks() {
    for n in 1..=8 {
        let kernel = rotate(n).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
        let inputs = shards(n, &[8, 128]);
        let outputs = run(&kernel, &inputs).unwrap_or_else(|e| panic!("{n}: {e}"));
        for device in 0..n {
            assert_eq!(outputs[device], inputs[(device + n - 1) % n], "device {device} of {n}");
        }
    }
}

#[test]
fn the_text_form_keeps_the_mesh() {
    let kernel = rotate(4).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
    let text = kernel.to_string();
    assert!(text.contains("mesh ring: 4\n"), "{text}");
    assert!(text.contains("device_id"), "{text}");
    let again = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
}

/// Adds up the blocks of all devices: they go around the ring, each time into the other buffer,
/// which its owner has handed over before.
#[tpu_kernel(mesh(ring = n_devices))]
fn ring_sum(
    #[comptime] n_devices: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 2>,
    #[scratch] free: Semaphore,
) {
    barrier([ring.previous(), ring.next()]);
    let [mut mine, mut theirs] = bufs.slots();
    mine[..] = x[..];
    let mut sum = x[..];
    for _ in 0..n_devices - 1 {
        // The one before may fill the other buffer, which nobody reads any more.
        free.signal_to(ring.previous(), 1);
        free.wait(1);
        let (sent, arrived) = remote_copy(mine, theirs, ring.next()).wait();
        sum += arrived[..];
        (mine, theirs) = (arrived, sent);
    }
    y[..] = sum;
}

#[test]
fn blocks_go_around_and_are_added_up() {
    for n in [2, 3, 5, 8] {
        let kernel = ring_sum(n).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
        let outputs = run(&kernel, &shards(n, &[8, 128])).unwrap_or_else(|e| panic!("{n}: {e}"));
        let expected =
            array(&[8, 128], |at| (0..n).map(|device| (device * 1024 + at) as f32).sum());
        for output in outputs {
            assert_eq!(output, std::slice::from_ref(&expected));
        }
    }
}

/// The same barrier serves again: what is exchanged in between keeps neighbours in step.
#[tpu_kernel(mesh(ring = n_devices))]
fn two_rounds(
    #[comptime] n_devices: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 2>,
) {
    barrier([ring.previous(), ring.next()]);
    let [mine, theirs] = bufs.slots();
    mine[..] = x[..];
    let (mine, theirs) = remote_copy(mine, theirs, ring.next()).wait();
    y[..] = theirs[..];
    barrier([ring.previous(), ring.next()]);
    let (_, theirs) = remote_copy(mine, theirs, ring.next()).wait();
    y[..] += theirs[..];
}

#[test]
fn a_barrier_serves_again() {
    let n = 4;
    let kernel = two_rounds(n).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
    let outputs = run(&kernel, &shards(n, &[8, 128])).unwrap_or_else(|e| panic!("{e}"));
    for (device, output) in outputs.iter().enumerate() {
        let before = (device + n - 1) % n * 1024;
        assert_eq!(*output, [array(&[8, 128], |at| 2.0 * (before + at) as f32)]);
    }
}

/// Sends rows of HBM to the device across, on a mesh of two axes.
#[tpu_kernel(mesh(rows = r, columns = c))]
fn transposed(
    #[comptime] r: usize,
    #[comptime] c: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<2>,
) {
    let [sent, received] = permits.slots();
    let across = device_at([(rows, columns.index()), (columns, rows.index())]);
    barrier([across]);
    let _ = remote_copy(sent.from(x.at(..)), received.to(y.at(..)), across).wait();
}

#[test]
fn devices_are_addressed_by_their_place() {
    for side in 2..=3 {
        let kernel = transposed(side, side).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
        let inputs = shards(side * side, &[8, 128]);
        let outputs = run(&kernel, &inputs).unwrap();
        assert_eq!(outputs.len(), side * side);
        for (device, output) in outputs.iter().enumerate() {
            let across = device % side * side + device / side;
            assert_eq!(*output, inputs[across], "device {device}");
        }
    }
}

/// Neighbours on a line, not a ring: the ends have one each.
#[tpu_kernel(mesh(line = n_devices))]
fn shifted(
    #[comptime] n_devices: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] mine: Vmem<f32>,
    #[scratch([m, n])] theirs: Vmem<f32>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    if line.index() > 0 {
        barrier_semaphore().signal_to(device(line.index() - 1), 1);
    }
    mine[..] = x[..];
    if line.index() < n_devices as i32 - 1 {
        barrier_semaphore().wait(1);
        let next = device(line.index() + 1);
        start_remote_copy(mine.at(..), theirs.at(..), sent, received, next);
        wait_copy(mine.at(..), theirs.at(..), sent);
    }
    if line.index() > 0 {
        wait_copy(mine.at(..), theirs.at(..), received);
        y[..] = theirs[..];
    } else {
        y[..] = 0.0;
    }
}

#[test]
fn the_ends_of_a_line_have_one_neighbour() {
    let n = 4;
    let kernel = shifted(n).trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
    let inputs = shards(n, &[8, 128]);
    let outputs = run(&kernel, &inputs).unwrap();
    assert_eq!(outputs[0], [array(&[8, 128], |_| 0.0)]);
    for device in 1..n {
        assert_eq!(outputs[device], inputs[device - 1]);
    }
}

/// Two cores of a device exchange what they have computed.
#[tpu_kernel(grid(c: core_parallel = 2))]
fn cores_exchange(
    #[block(m: 8 @ c, n)] x: In<f32>,
    #[block(m: 8 @ c, n)] y: Out<f32>,
    #[scratch([8, n])] mine: Vmem<f32>,
    #[scratch([8, n])] theirs: Vmem<f32>,
    #[scratch] ready: Semaphore,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    let other = core(1 - c);
    mine[..] = x[..] * 2.0;
    ready.signal_to(other, 1);
    ready.wait(1);
    start_remote_copy(mine.at(..), theirs.at(..), sent, received, other);
    wait_copy(mine.at(..), theirs.at(..), sent);
    wait_copy(mine.at(..), theirs.at(..), received);
    y[..] = theirs[..];
}

#[test]
fn cores_of_a_device_run_at_the_same_time() {
    let kernel = cores_exchange().trace(&[ArgSpec::of::<f32>(&[16, 128])]).unwrap();
    let valid = systole::valid::check(kernel, &systole::target::GENERIC).unwrap();
    let input = array(&[16, 128], |at| at as f32);
    let options = Options { schedules: 32, ..Options::default() };
    let outcome = interp::run(&valid, &[input], &options).unwrap_or_else(|e| panic!("{e}"));
    let expected = array(&[16, 128], |at| 2.0 * ((at + 1024) % 2048) as f32);
    assert_eq!(outcome.outputs, [expected]);
}
