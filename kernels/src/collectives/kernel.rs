//! The kernels.

use systole::prelude::*;

/// Each of `d` devices of a ring has `[m, n]`, and gets all of them, `[d, m, n]`.
///
/// Half of the rows travels to the next device, half to the one before, each part once over each
/// link. Every part of the result is written once, so that nobody waits for room.
#[tpu_kernel(mesh(ring = d))]
pub fn all_gather<T: Element>(
    #[comptime] d: usize,
    #[comptime] lanes: [(usize, usize); 2],
    #[block(m, n)] x: Hbm<T>,
    #[block(d, m, n)] y: HbmOut<T>,
    #[scratch] own: DmaSemaphore,
    #[scratch([2])] sent: DmaSemaphore,
    #[scratch([2, d])] received: DmaSemaphore,
) {
    barrier([ring.previous(), ring.next()]);
    let me = ring.index();
    start_copy(x.at(..), y.at((me, .., ..)), own);
    for step in 0..d - 1 {
        #[unroll]
        for (lane, (first, n_rows)) in lanes.into_iter().enumerate() {
            if n_rows > 0 {
                // What came last from one side goes on to the other.
                let (peer, back) =
                    if lane == 0 { (ring.next(), d - 1) } else { (ring.previous(), 1) };
                let chunk = (me + step * back) % d;
                let rows = ds(first, n_rows);
                let to = y.at((chunk, rows, ..));
                let (leaves, arrives) = (sent.at(lane), received.at((lane, step)));
                if step == 0 {
                    start_remote_copy(x.at((rows, ..)), to, leaves, arrives, peer);
                } else {
                    start_remote_copy(to, to, leaves, arrives, peer);
                }
            }
        }
        #[unroll]
        for (lane, (first, n_rows)) in lanes.into_iter().enumerate() {
            if n_rows > 0 {
                let back = if lane == 0 { d - 1 } else { 1 };
                let chunk = (me + (step + 1) * back) % d;
                let arrived = y.at((chunk, ds(first, n_rows), ..));
                wait_copy(arrived, arrived, sent.at(lane));
                wait_copy(arrived, arrived, received.at((lane, step)));
            }
        }
    }
    wait_copy(x.at(..), y.at((me, .., ..)), own);
}

/// Each of `d` devices of a ring has `[d, m, n]`, and gets the sum of what all have at its own
/// place, `[m, n]`, added up in `f32` and rounded once.
///
/// The sum for a device begins at the next one and goes around the ring, `rows` rows at a time;
/// each device adds its own on the way.
#[tpu_kernel(mesh(ring = d), grid(i))]
pub fn reduce_scatter<T: Float>(
    #[comptime] d: usize,
    #[comptime] rows: usize,
    #[block(d, m, n)] x: Hbm<T>,
    #[block(m: rows @ i, n)] y: Out<T>,
    #[scratch([rows, n])] own: Buffers<T, 2>,
    #[scratch([rows, n])] sums: Buffers<f32, 2>,
    #[scratch] free: Semaphore,
) {
    if i == 0 {
        barrier([ring.previous(), ring.next()]);
    }
    let me = ring.index();
    let at = ds(i * rows, rows);
    let ([first, second], [mut mine, mut theirs]) = (own.slots(), sums.slots());
    let first = copy_into(x.at(((me + (d - 1)) % d, at, ..)), first).wait();
    mine[..] = first[..].cast();
    let mut spare = first;
    let mut next = copy_into(x.at(((me + (2 * d - 2)) % d, at, ..)), second);
    for step in 0..d - 1 {
        // The device before may fill the other buffer: what was in it has left.
        free.signal_to(ring.previous(), 1);
        free.wait(1);
        let pending = remote_copy(mine, theirs, ring.next());
        let loaded = next.wait();
        // The last turn loads once more than it needs to, what it has already.
        let further = (me + (3 * d - 3) - step) % d;
        next = copy_into(x.at((further, at, ..)), spare);
        let (sent, arrived) = pending.wait();
        arrived[..] += loaded[..].cast::<f32>();
        (mine, theirs, spare) = (arrived, sent, loaded);
    }
    let _ = next.wait();
    y[..] = mine[..].cast();
}

/// Each of `d` devices has `[d, m, n]`, a part for each device, and gets from each the part for
/// it: `y[j]` is `x[me]` of device `j`.
#[tpu_kernel(mesh(ring = d))]
pub fn all_to_all<T: Element>(
    #[comptime] d: usize,
    #[block(d, m, n)] x: Hbm<T>,
    #[block(d, m, n)] y: HbmOut<T>,
    #[scratch] own: DmaSemaphore,
    #[scratch] sent: DmaSemaphore,
    #[scratch] received: DmaSemaphore,
) {
    let me = ring.index();
    start_copy(x.at((me, .., ..)), y.at((me, .., ..)), own);
    for k in 1..d {
        barrier_semaphore().signal_to(ring.at((me + k) % d), 1);
    }
    barrier_semaphore().wait(d as i32 - 1);
    // In turns that differ from device to device, so that no link gets all at once.
    for k in 1..d {
        let peer = (me + k) % d;
        let (from, to) = (x.at((peer, .., ..)), y.at((me, .., ..)));
        start_remote_copy(from, to, sent, received, ring.at(peer));
    }
    for k in 1..d {
        let peer = (me + k) % d;
        wait_copy(x.at((peer, .., ..)), y.at((peer, .., ..)), sent);
    }
    for k in 1..d {
        let peer = (me + k) % d;
        wait_copy(x.at((peer, .., ..)), y.at((peer, .., ..)), received);
    }
    wait_copy(x.at((me, .., ..)), y.at((me, .., ..)), own);
}
