//! Kernels that copy, each right on every back end.

use super::{array, check, counting};
use systole::prelude::*;

/// Adds up blocks of 8 rows, with two buffers.
#[tpu_kernel]
fn sum_of_blocks(
    #[comptime] k: usize,
    #[block(m, n)] h: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([k, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let (mut free, mut acc) = (b, zeros([k, n]));
    let mut pending = copy_into(h.rows(0, k), a);
    for j in 0..m / k - 1 {
        let next = copy_into(h.rows((j + 1) * k, k), free);
        let full = pending.wait();
        acc += full[..];
        (pending, free) = (next, full);
    }
    let full = pending.wait();
    y[..] = acc + full[..];
}

#[test]
fn a_ring_of_two_buffers_adds_up_blocks() {
    let kernel = sum_of_blocks(8).trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    let text = kernel.to_string();
    assert!(text.contains("semaphores bufs_done: dma[2]"), "{text}");
    assert_eq!(text.matches("dma_start").count(), 2, "{text}");
    assert_eq!(text.matches("dma_wait").count(), 2, "{text}");
    let place = |at: usize| (0..5).map(|block| (block * 1024 + at) as f32).sum();
    check(&kernel, &[counting(&[40, 128])], &[array(&[8, 128], place)]);
}

/// Doubles an array in HBM, by way of a buffer.
#[tpu_kernel(grid(i = m / 8))]
fn doubled(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([8, n])] input: Buffers<f32, 1>,
    #[scratch([8, n])] output: Buffers<f32, 1>,
) {
    let ([a], [b]) = (input.slots(), output.slots());
    let a = copy_into(x.rows(i * 8, 8), a).wait();
    b[..] = a[..] * 2.0;
    let _ = copy_into(b, y.rows(i * 8, 8)).wait();
}

#[test]
fn copies_carry_results_to_hbm() {
    let kernel = doubled().trace(&[ArgSpec::of::<f32>(&[32, 256])]).unwrap();
    let expected = array(&[32, 256], |at| 2.0 * at as f32);
    check(&kernel, &[counting(&[32, 256])], &[expected]);
}

/// Swaps the halves of an array without touching them.
#[tpu_kernel]
fn swapped(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<2>,
) {
    let [a, b] = permits.slots();
    let half = m / 2;
    let first = copy_into(x.rows(0, half), a.to(y.rows(half, half)));
    let second = copy_into(x.rows(half, half), b.to(y.rows(0, half)));
    let _ = (first.wait(), second.wait());
}

#[test]
fn copies_go_from_hbm_to_hbm() {
    let kernel = swapped().trace(&[ArgSpec::of::<f32>(&[16, 128])]).unwrap();
    let expected = array(&[16, 128], |at| ((at + 1024) % 2048) as f32);
    check(&kernel, &[counting(&[16, 128])], &[expected]);
}

/// Each step starts the copy for the next, which ownership cannot say.
#[tpu_kernel(grid(i = m / 8))]
fn prefetching(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([2, 8, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    let slot = i % 2;
    if i == 0 {
        start_copy(x.rows(0, 8), buf.at((0, .., ..)), done.at(0));
    }
    if i < i.last() {
        start_copy(x.rows((i + 1) * 8, 8), buf.at((1 - slot, .., ..)), done.at(1 - slot));
    }
    wait_copy(x.rows(i * 8, 8), buf.at((slot, .., ..)), done.at(slot));
    y[..] = buf[(slot, .., ..)] + 1.0;
}

#[test]
fn a_step_copies_ahead_for_the_next() {
    let kernel = prefetching().trace(&[ArgSpec::of::<f32>(&[40, 128])]).unwrap();
    let expected = array(&[40, 128], |at| at as f32 + 1.0);
    check(&kernel, &[counting(&[40, 128])], &[expected]);
}

/// Copies of which only some are started.
#[tpu_kernel(grid(i = m / 8))]
fn even_steps(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    a[..] = -1.0;
    let a = copy(x.rows(i * 8, 8), a).priority(1).start_if(i % 2 == 0).wait();
    y[..] = a[..];
}

#[test]
fn a_copy_may_depend_on_a_condition() {
    let kernel = even_steps().trace(&[ArgSpec::of::<f32>(&[32, 128])]).unwrap();
    let even = |at: usize| if (at / 1024).is_multiple_of(2) { at as f32 } else { -1.0 };
    check(&kernel, &[counting(&[32, 128])], &[array(&[32, 128], even)]);
}

/// Parts of an array, columns among them, gathered in one buffer.
#[tpu_kernel]
fn columns(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, k)] y: Out<f32>,
    #[comptime] k: usize,
    #[scratch([m, k])] bufs: Buffers<f32, 1>,
) {
    let [a] = bufs.slots();
    let a = copy_into(x.at((.., 128..256)), a.part((.., 0..128))).wait();
    let a = copy_into(x[(8..16, ds(384, 128))], a.part((8..16, 128..256))).wait();
    let a = copy_into(x[(ds(0, 8), 0..128)], a.part((0..8, 128..256))).wait();
    y[..] = a[..];
}

#[test]
fn copies_take_columns_and_fill_parts() {
    let kernel = columns(256).trace(&[ArgSpec::of::<f32>(&[16, 512])]).unwrap();
    let place = |at: usize| {
        let (row, column) = (at / 256, at % 256);
        let from = match (column < 128, row < 8) {
            (true, _) => column + 128,
            (false, true) => column - 128,
            (false, false) => column - 128 + 384,
        };
        (row * 512 + from) as f32
    };
    check(&kernel, &[counting(&[16, 512])], &[array(&[16, 256], place)]);
}

/// An array in HBM that is updated in place.
#[tpu_kernel]
fn in_place(#[block(m, n)] x: HbmInOut<f32>, #[scratch([8, n])] bufs: Buffers<f32, 2>) {
    let [a, b] = bufs.slots();
    let a = copy_into(x.rows(0, 8), a).wait();
    b[..] = a[..] + 100.0;
    let pending = copy_into(b, x.rows(8, 8));
    let _ = pending.wait();
}

#[test]
fn copies_update_an_array_in_place() {
    let kernel = in_place().trace(&[ArgSpec::of::<f32>(&[24, 128])]).unwrap();
    let place = |at: usize| match at / 1024 {
        1 => (at - 1024) as f32 + 100.0,
        _ => at as f32,
    };
    check(&kernel, &[counting(&[24, 128])], &[array(&[24, 128], place)]);
}

/// A slot that a loop gives back as it took it, in a loop that does too.
#[tpu_kernel]
fn one_slot(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [mut a] = bufs.slots();
    for i in 0..m / 8 {
        a = copy_into(x.rows(i * 8, 8), a).wait();
        for j in 0..8 {
            a[(j, ..)] = a[(j, ..)] * 2.0;
        }
        a = copy_into(a, y.rows(i * 8, 8)).wait();
    }
    let _ = a;
}

#[test]
fn loops_may_give_a_slot_back_as_they_took_it() {
    let kernel = one_slot().trace(&[ArgSpec::of::<f32>(&[24, 128])]).unwrap();
    check(&kernel, &[counting(&[24, 128])], &[array(&[24, 128], |at| 2.0 * at as f32)]);
}

/// Semaphores that the kernel signals itself.
#[tpu_kernel(grid(i = 3))]
fn signals(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] one: Semaphore,
    #[scratch([2])] many: Semaphore,
) {
    one.signal(2);
    many.at(i % 2).signal(i + 1);
    one.wait(1);
    many.at(i % 2).wait(i + 1);
    one.wait(1);
    y[..] = x[..];
}

#[test]
fn signals_are_waited_for() {
    let kernel = signals().trace(&[ArgSpec::of::<f32>(&[8, 128])]).unwrap();
    check(&kernel, &[counting(&[8, 128])], &[counting(&[8, 128])]);
}
