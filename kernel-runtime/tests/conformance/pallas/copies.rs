//! Copies: between which memories, of which parts, with which handles and semaphores.

use super::{Case, at, case, each, fill, ints, pick, ramp, run, shaped};
use systole::diag::Code;
use systole::prelude::*;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = memories();
    cases.extend(parts());
    cases.extend(places());
    cases.extend(several());
    cases.extend(mistakes());
    cases
}

fn memories() -> Vec<Case> {
    vec![
        case("hbm_to_hbm", "tpu_pallas_test::PallasCallDMATest::test_hbm_hbm_dma", || {
            let x = ramp::<f32>(&[16, 128]);
            run(&hbm_to_hbm(), [x.clone()]).gives([x])
        }),
        case(
            "hbm_to_hbm_in_steps",
            "tpu_pallas_test::PallasCallDMATest::test_hbm_hbm_grid_dma",
            || {
                let x = ramp::<f32>(&[3, 8, 128]);
                run(&hbm_to_hbm_in_steps(), [x.clone()]).gives([x])
            },
        ),
        case("hbm_to_vmem", "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&hbm_to_vmem::<f32>(), [x.clone()]).gives([x])
        }),
        case("vmem_to_hbm", "tpu_pallas_test::PallasCallDMATest::test_vmem_hbm_dma", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&vmem_to_hbm(), [x.clone()]).gives([each(&x, |x| x - 2.0)])
        }),
        case(
            "hbm_to_vmem_and_back",
            "tpu_pallas_test::PallasCallDMATest::test_vmem_hbm_vmem_dma",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&there_and_back(), [x.clone()]).gives([each(&x, |x| x * 3.0)])
            },
        ),
        case("vmem_to_vmem", "tpu_pallas_test::PallasCallDMATest::test_vmem_vmem_dma", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&vmem_to_vmem(), [x.clone()]).gives([x])
        }),
        case("hbm_to_smem", "tpu_pallas_test::PallasCallDMATest::test_hbm_smem_dma", || {
            let x = fill::<i32>(&[4], |i| (i[0] * i[0] + 3) as f64);
            let y = fill::<i32>(&[8, 128], |_| 7.0);
            run(&hbm_to_smem(8, 128), [x]).gives([y])
        }),
        case("smem_to_hbm", "tpu_pallas_test::PallasCallDMATest::test_smem_hbm_dma", || {
            let y = fill::<i32>(&[4], |i| [0.0, 11.0, 22.0, 33.0][i[0]]);
            run(&smem_to_hbm(4), [ints(&[11])]).gives([y])
        }),
        case(
            "block_in_vmem_to_hbm",
            "tpu_pallas_memory_space_test::TPUPallasCallMemorySpaceTest::test_basic_input_memory_space_constraint",
            || {
                let x = ramp::<f32>(&[24, 128]);
                run(&blocks_to_hbm(), [x.clone()]).gives([x])
            },
        ),
        case("copy_of_bf16", "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma", || {
            let x = ramp::<bf16>(&[16, 128]);
            run(&hbm_to_vmem::<bf16>(), [x.clone()]).gives([x])
        }),
        case("copy_of_i8", "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma", || {
            let x = ramp::<i8>(&[32, 128]);
            run(&hbm_to_vmem::<i8>(), [x.clone()]).gives([x])
        }),
        case("array_of_one_axis", "tpu_pallas_test::PallasCallTest::test_scalar_any_input", || {
            let x = ramp::<f32>(&[1024]);
            run(&one_axis(), [x.clone()]).gives([x])
        }),
    ]
}

#[tpu_kernel]
fn hbm_to_hbm(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.whole(), permit.to(y.whole())).wait();
}

#[tpu_kernel(grid(i = l))]
fn hbm_to_hbm_in_steps(
    #[block(l, m, n)] x: Hbm<f32>,
    #[block(l, m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.rows(i, 1), permit.to(y.rows(i, 1))).wait();
}

#[tpu_kernel]
fn hbm_to_vmem<T: Element>(
    #[block(m, n)] x: Hbm<T>,
    #[block(m, n)] y: Out<T>,
    #[scratch([m, n])] bufs: Buffers<T, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.whole(), buf).wait();
    y[..] = buf[..];
}

#[tpu_kernel]
fn vmem_to_hbm(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    buf[..] = x[..] - 2.0;
    let _ = copy_into(buf, y.whole()).wait();
}

#[tpu_kernel]
fn there_and_back(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let a = copy_into(x.whole(), a).wait();
    b[..] = a[..] * 3.0;
    let _ = copy_into(b, y.whole()).wait();
}

#[tpu_kernel]
fn vmem_to_vmem(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.at(..), y.at(..), done);
    wait_copy(x.at(..), y.at(..), done);
}

#[tpu_kernel]
fn hbm_to_smem(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(k)] x: Hbm<i32>,
    #[block(m, n)] y: Out<i32>,
    #[scratch([k])] table: Smem<i32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), table.at(..), done);
    wait_copy(x.whole(), table.at(..), done);
    y[..] = full([m, n], table[2]);
}

#[tpu_kernel]
fn smem_to_hbm(
    #[comptime] k: usize,
    #[prefetch] by: Smem<i32>,
    #[block(k)] y: HbmOut<i32>,
    #[scratch([k])] table: Smem<i32>,
    #[scratch] done: DmaSemaphore,
) {
    for j in 0..k {
        table[j] = by[0] * j;
    }
    start_copy(table.at(..), y.whole(), done);
    wait_copy(table.at(..), y.whole(), done);
}

#[tpu_kernel(grid(i))]
fn blocks_to_hbm(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.at(..), y.rows(i * 8, 8), done);
    wait_copy(x.at(..), y.rows(i * 8, 8), done);
}

#[tpu_kernel]
fn one_axis(
    #[block(n)] x: Hbm<f32>,
    #[block(n)] y: Out<f32>,
    #[scratch([n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.whole(), buf).wait();
    y[..] = buf[..];
}

fn parts() -> Vec<Case> {
    vec![
        case(
            "rows_in_two_copies",
            "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma_slicing",
            || {
                let x = ramp::<f32>(&[16, 128]);
                run(&halves(), [x.clone()]).gives([x])
            },
        ),
        case(
            "matrices_by_index",
            "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma_indexing",
            || {
                let x = ramp::<f32>(&[2, 8, 128]);
                run(&matrices_by_index(16), [x.clone()]).gives([shaped(&x, &[16, 128])])
            },
        ),
        case(
            "indices_of_a_loop",
            "tpu_pallas_test::PallasCallDMATest::test_hbm_vmem_dma_multiple_indexing",
            || {
                let x = ramp::<f32>(&[3, 2, 8, 128]);
                run(&nested_indices(), [x.clone()]).gives([x])
            },
        ),
        case(
            "columns",
            "tpu_pallas_test::PallasCallRefTransformTest::test_dma_bitcasted_ref",
            || {
                let x = ramp::<f32>(&[8, 384]);
                let y = pick(&x, &[8, 128], |i| vec![i[0], 128 + i[1]]);
                run(&middle_columns(128), [x.clone()]).gives([y])
            },
        ),
        case(
            "axis_of_one_is_dropped",
            "tpu_pallas_test::PallasCallRefTransformTest::test_dma_reshaped_ref",
            || {
                let x = ramp::<f32>(&[5, 8, 128]);
                let y = pick(&x, &[8, 128], |i| vec![3, i[0], i[1]]);
                run(&one_matrix(3), [x.clone()]).gives([y])
            },
        ),
    ]
}

fn places() -> Vec<Case> {
    vec![
        case(
            "slice_from_a_table",
            "tpu_pallas_async_test::PallasCallAsyncCopyTest::test_async_dynamic_slice",
            || {
                let x = ramp::<f32>(&[4, 8, 128]);
                let y = pick(&x, &[8, 128], |i| vec![2, i[0], i[1]]);
                run(&matrix_by_table(), [ints(&[2]), x.clone()]).gives([y])
            },
        ),
        case(
            "rows_from_a_table_promised",
            "tpu_pallas_test::PallasCallDynamicDMATest::test_simple_tile_aligned_dynamic_size_dma",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y = pick(&x, &[8, 128], |i| vec![16 + i[0], i[1]]);
                run(&rows_by_table(8), [ints(&[2]), x.clone()]).gives([y])
            },
        ),
        case(
            "into_part_of_an_output",
            "tpu_pallas_test::PallasCallDMATest::test_hbm_hbm_dma_with_memory_space_annotation_aliased_input",
            || {
                let (x, old) =
                    (ramp::<f32>(&[8, 128]), fill::<f32>(&[24, 128], |i| -(i[0] as f64)));
                let y = fill::<f32>(&[24, 128], |i| match i[0] {
                    row @ 8..16 => at(&x, &[row - 8, i[1]]),
                    row => -(row as f64),
                });
                run(&into_rows(8), [x.clone(), old]).gives([y])
            },
        ),
        case(
            "half_of_an_output",
            "tpu_pallas_interpret_test::InterpretTest::test_store_to_half_of_hbm_output_buffer",
            || {
                run(&half_of_output(16), [ramp::<f32>(&[8, 128])])
                    .told(Code::INTERP_OUTPUT_NEVER_WRITTEN)
            },
        ),
        case(
            "lanes_dropped_by_an_index",
            "tpu_pallas_test::PallasCallDMATest::test_cannot_squeeze_lane_sublane",
            || {
                let x = ramp::<f32>(&[16, 128]);
                let y = pick(&x, &[16, 128], |i| vec![2, i[1]]);
                run(&one_row(2), [x]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel]
fn halves(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch([2])] done: DmaSemaphore,
) {
    start_copy(x.rows(0, 8), buf.at((0..8, ..)), done.at(0));
    start_copy(x.rows(8, 8), buf.at((8..16, ..)), done.at(1));
    wait_copy(x.rows(0, 8), buf.at((0..8, ..)), done.at(0));
    wait_copy(x.rows(8, 8), buf.at((8..16, ..)), done.at(1));
    y[..] = buf[..];
}

#[tpu_kernel]
fn matrices_by_index(
    #[comptime] k: usize,
    #[block(l, m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let (a, b) = (copy_into(x.at((0, .., ..)), a), copy_into(x.at((1, .., ..)), b));
    y[(0..8, ..)] = a.wait()[..];
    y[(8..16, ..)] = b.wait()[..];
}

#[tpu_kernel]
fn nested_indices(
    #[block(k, l, m, n)] x: Hbm<f32>,
    #[block(k, l, m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<2>,
) {
    let [mut a, mut b] = permits.slots();
    for i in 0..k {
        let first = copy_into(x.at((i, 0, .., ..)), a.to(y.at((i, 0, .., ..))));
        let second = copy_into(x.at((i, 1, .., ..)), b.to(y.at((i, 1, .., ..))));
        (a, b) = (first.wait(), second.wait());
    }
    let _ = (a, b);
}

#[tpu_kernel]
fn middle_columns(
    #[comptime] k: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, k)] y: Out<f32>,
    #[scratch([m, k])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.at((.., k..2 * k)), buf).wait();
    y[..] = buf[..];
}

#[tpu_kernel]
fn one_matrix(
    #[comptime] which: usize,
    #[block(l, m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.at((which, .., ..)), permit.to(y.whole())).wait();
}

#[tpu_kernel]
fn matrix_by_table(
    #[prefetch] ids: Smem<i32>,
    #[block(l, m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.at((ids[0], .., ..)), permit.to(y.whole())).wait();
}

#[tpu_kernel]
fn rows_by_table(
    #[comptime] k: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([k, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.rows(ids[0] * 8, k), buf).wait();
    y[..] = buf[..];
}

#[tpu_kernel]
fn into_rows(
    #[comptime] row: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: HbmInOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.whole(), permit.to(y.rows(row, 8))).wait();
}

#[tpu_kernel]
fn half_of_output(
    #[comptime] k: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: HbmOut<f32>,
    #[scratch] permits: Permits<1>,
) {
    let [permit] = permits.slots();
    let _ = copy_into(x.whole(), permit.to(y.rows(0, 8))).wait();
}

/// One row of a tile of eight, alone.
#[tpu_kernel]
fn one_row(
    #[comptime] row: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([1, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.rows(row, 1), buf).wait();
    y[..] = buf[..].broadcast_to([m, n]);
}

fn several() -> Vec<Case> {
    vec![
        case("priorities", "tpu_pallas_test::PallasCallDMATest::test_set_dma_priority", || {
            let (x, y) = (ramp::<i32>(&[8, 128]), ramp::<i32>(&[16, 128]));
            let sum = fill::<i32>(&[8, 128], |i| at(&x, i) + at(&y, i));
            run(&by_priority(), [x.clone(), y.clone()]).gives([sum])
        }),
        case(
            "two_copies_of_one_source",
            "tpu_pallas_async_test::PallasCallAsyncCopyTest::test_multiple_async_copy",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&twice(), [x.clone()]).gives([x.clone(), x])
            },
        ),
        case(
            "copies_in_a_loop",
            "tpu_pallas_async_test::PallasCallAsyncCopyTest::test_copy_in_a_loop",
            || {
                let x = ramp::<f32>(&[32, 128]);
                run(&one_after_the_other(), [x.clone()]).gives([each(&x, |x| x + 1.0)])
            },
        ),
        case(
            "copies_ahead_in_a_loop",
            "tpu_pallas_async_test::PallasCallAsyncCopyTest::test_staggered_copy_in_a_loop",
            || {
                let x = ramp::<f32>(&[40, 128]);
                let y =
                    fill::<f32>(&[8, 128], |i| (0..5).map(|b| at(&x, &[b * 8 + i[0], i[1]])).sum());
                run(&one_ahead(8), [x.clone()]).gives([y])
            },
        ),
        case(
            "ring_of_three",
            "tpu_pallas_async_test::PallasCallAsyncCopyTest::test_staggered_full_copy_in_a_loop",
            || {
                let x = ramp::<f32>(&[48, 128]);
                let y =
                    fill::<f32>(&[8, 128], |i| (0..6).map(|b| at(&x, &[b * 8 + i[0], i[1]])).sum());
                run(&two_ahead(8), [x.clone()]).gives([y])
            },
        ),
        case(
            "copies_ahead_across_steps",
            "tpu_pallas_async_test::PallasCallStatefulAsyncTest::test_multiple_stateful_async_copy",
            || {
                let x = ramp::<f32>(&[40, 128]);
                run(&ahead_of_the_step(), [x.clone()]).gives([each(&x, |x| x * 2.0)])
            },
        ),
        case(
            "copies_on_a_condition",
            "tpu_pallas_pipeline_test::PallasCallPipelineTest::test_pipeline_matmul",
            || {
                let x = ramp::<f32>(&[32, 128]);
                let y =
                    fill::<f32>(&[32, 128], |i| if i[0] / 8 % 2 == 0 { at(&x, i) } else { 9.0 });
                run(&even_blocks(), [x.clone()]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel]
fn by_priority(
    #[block(m, n)] x: Hbm<i32>,
    #[block(k, n)] y: Hbm<i32>,
    #[block(m, n)] z: Out<i32>,
    #[scratch([m, n])] bufs: Buffers<i32, 2>,
) {
    let [a, b] = bufs.slots();
    let a = copy(x.whole(), a).priority(1).start();
    let b = copy(y.rows(0, m), b).priority(0).start();
    z[..] = a.wait()[..] + b.wait()[..];
}

#[tpu_kernel]
fn twice(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: HbmOut<f32>,
    #[block(m, n)] z: HbmOut<f32>,
    #[scratch] permits: Permits<2>,
) {
    let [a, b] = permits.slots();
    let first = copy_into(x.whole(), a.to(y.whole()));
    let second = copy_into(x.whole(), b.to(z.whole()));
    let _ = (first.wait(), second.wait());
}

#[tpu_kernel]
fn one_after_the_other(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [mut buf] = bufs.slots();
    for j in 0..m / 8 {
        buf = copy_into(x.rows(j * 8, 8), buf).wait();
        y[(ds(j * 8, 8), ..)] = buf[..] + 1.0;
    }
    let _ = buf;
}

#[tpu_kernel]
fn one_ahead(
    #[comptime] k: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([k, n])] bufs: Buffers<f32, 2>,
) {
    let [a, b] = bufs.slots();
    let (mut free, mut acc) = (b, zeros([k, n]));
    let mut pending = copy_into(x.rows(0, k), a);
    for j in 0..m / k - 1 {
        let next = copy_into(x.rows((j + 1) * k, k), free);
        let full = pending.wait();
        acc += full[..];
        (pending, free) = (next, full);
    }
    y[..] = acc + pending.wait()[..];
    let _ = free;
}

#[tpu_kernel]
fn two_ahead(
    #[comptime] k: usize,
    #[block(m, n)] x: Hbm<f32>,
    #[block(k, n)] y: Out<f32>,
    #[scratch([k, n])] bufs: Buffers<f32, 3>,
) {
    let [a, b, c] = bufs.slots();
    let (mut free, mut acc) = (c, zeros([k, n]));
    let (mut first, mut second) = (copy_into(x.rows(0, k), a), copy_into(x.rows(k, k), b));
    for j in 0..m / k - 2 {
        let next = copy_into(x.rows((j + 2) * k, k), free);
        let full = first.wait();
        acc += full[..];
        (first, second, free) = (second, next, full);
    }
    acc += first.wait()[..];
    y[..] = acc + second.wait()[..];
    let _ = free;
}

#[tpu_kernel(grid(i = m / 8))]
fn ahead_of_the_step(
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
    y[..] = buf[(slot, .., ..)] * 2.0;
}

#[tpu_kernel(grid(i = m / 8))]
fn even_blocks(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m: 8 @ i, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    buf[..] = 9.0;
    let buf = copy(x.rows(i * 8, 8), buf).start_if(i % 2 == 0).wait();
    y[..] = buf[..];
}

fn mistakes() -> Vec<Case> {
    vec![
        case(
            "read_before_the_wait",
            "tpu_pallas_interpret_test::InterpretTest::test_race_detection",
            || run(&reads_early(true), [ramp::<f32>(&[8, 128])]).told(Code::INTERP_IN_FLIGHT),
        ),
        case(
            "read_after_the_wait",
            "tpu_pallas_interpret_test::InterpretTest::test_race_detection",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&reads_early(false), [x.clone()]).gives([each(&x, |x| x + 1.0)])
            },
        ),
        case(
            "copy_without_a_wait",
            "tpu_pallas_test::PallasCallDMATest::test_unused_dma_descriptor_error",
            || run(&loses_its_copy(), [ramp::<f32>(&[8, 128])]).told(Code::TRACE_COPY_LOST),
        ),
        case(
            "ends_of_two_shapes",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_write_index",
            || run(&two_shapes(), [ramp::<f32>(&[16, 128])]).told(Code::IR_SHAPE),
        ),
        case(
            "copy_from_past_the_end",
            "tpu_pallas_interpret_test::InterpretTest::test_out_of_bounds_read_range",
            || {
                run(&rows_by_table(8), [ints(&[4]), ramp::<f32>(&[32, 128])])
                    .told(Code::INTERP_OUT_OF_BOUNDS)
            },
        ),
    ]
}

#[tpu_kernel]
fn reads_early(
    #[comptime] early: bool,
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
    #[scratch] done: DmaSemaphore,
) {
    start_copy(x.whole(), buf.at(..), done);
    if comptime!(early) {
        y[..] = buf[..] + 1.0;
    }
    wait_copy(x.whole(), buf.at(..), done);
    if comptime!(!early) {
        y[..] = buf[..] + 1.0;
    }
}

#[tpu_kernel]
fn loses_its_copy(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let pending = copy_into(x.whole(), buf);
    y[..] = 0.0;
    drop(pending);
}

#[tpu_kernel]
fn two_shapes(
    #[block(m, n)] x: Hbm<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([8, n])] bufs: Buffers<f32, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.whole(), buf).wait();
    y[(0..8, ..)] = buf[..];
}
