//! Masked loads and stores, and masks as values.

use super::{Case, at, both, case, each, fill, ints, ramp, run, shaped, to};
use systole::diag::Code;
use systole::prelude::*;
use systole::target::Target;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = memory();
    cases.extend(values());
    cases.extend(bools());
    cases
}

fn memory() -> Vec<Case> {
    vec![
        case(
            "store_with_a_mask",
            "tpu_pallas_test::PallasCallPoisonTest::test_masked_store",
            || {
                let x = ramp::<f32>(&[16, 256]);
                let y = fill::<f32>(&[16, 256], |i| {
                    let inside = (4..14).contains(&i[0]) && (5..135).contains(&i[1]);
                    if inside { at(&x, i) } else { -1.0 }
                });
                run(&stores_a_part::<f32>([10, 130]), [ints(&[4, 5]), x.clone()]).gives([y])
            },
        ),
        case(
            "store_of_bf16_with_a_mask",
            "tpu_pallas_test::PallasCallPoisonTest::test_masked_store",
            || {
                let x = ramp::<bf16>(&[16, 256]);
                let y = fill::<bf16>(&[16, 256], |i| {
                    let inside = (3..6).contains(&i[0]) && (100..228).contains(&i[1]);
                    if inside { at(&x, i) } else { -1.0 }
                });
                run(&stores_a_part::<bf16>([3, 128]), [ints(&[3, 100]), x.clone()]).gives([y])
            },
        ),
        case(
            "store_of_one_element",
            "tpu_pallas_interpret_test::InterpretTest::test_masked_store",
            || {
                let x = ramp::<f32>(&[16, 256]);
                let y = fill::<f32>(&[16, 256], |i| if *i == [7, 131] { at(&x, i) } else { -1.0 });
                run(&stores_a_part::<f32>([1, 1]), [ints(&[7, 131]), x.clone()]).gives([y])
            },
        ),
        case(
            "load_with_a_mask",
            "indexing_test::IndexerOpsTest::test_can_load_with_ref_at",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let y = fill::<f32>(&[8, 128], |i| if i[0] < 5 { at(&x, i) } else { 0.5 });
                run(&loads_some_rows(true), [x.clone()]).gives([y])
            },
        ),
        case(
            "what_a_mask_leaves_out",
            "indexing_test::IndexerOpsTest::test_can_load_with_ref_at",
            || {
                run(&loads_some_rows(false), [ramp::<f32>(&[8, 128])])
                    .told(Code::INTERP_UNINITIALIZED)
            },
        ),
        case("masked_store_in_steps", "ops_test::OpsTest::test_masked_oob_swap_slice", || {
            let x = ramp::<f32>(&[8, 128]);
            let y = fill::<f32>(&[16, 128], |i| {
                if i[0] % 2 == 0 && i[1] < 64 { at(&x, &[i[0] / 2, i[1]]) } else { 0.0 }
            });
            run(&stores_in_steps(16), [x.clone()]).gives([y])
        }),
        case(
            "masked_store_leaves_scratch_undefined",
            "tpu_pallas_interpret_test::InterpretTest::test_masked_store_to_padded_scratch_buffer",
            || run(&leaves_holes(), [ramp::<f32>(&[8, 128])]).told(Code::INTERP_UNINITIALIZED),
        ),
    ]
}

#[tpu_kernel]
fn stores_a_part<T: Float>(
    #[comptime] size: [usize; 2],
    #[prefetch] start: Smem<i32>,
    #[block(m, n)] x: In<T>,
    #[block(m, n)] y: Out<T>,
) {
    let (row, column) = (iota([m, n], 0) - start[0], iota([m, n], 1) - start[1]);
    let rows = (row >= 0) & (row < size[0]);
    let columns = (column >= 0) & (column < size[1]);
    y[..] = -1.0;
    y.store_masked(.., x[..], rows & columns);
}

#[tpu_kernel]
fn loads_some_rows(#[comptime] mends: bool, #[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    let inside = iota([m, n], 0) < 5;
    let some = x.load_masked(.., inside);
    y[..] = if comptime!(mends) { select(inside, some, 0.5) } else { some };
}

#[tpu_kernel]
fn stores_in_steps(#[comptime] k: usize, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    y[..] = 0.0;
    y.store_masked((ds(0, m).stride(2), ..), x[..], iota([m, n], 1) < 64);
}

#[tpu_kernel]
fn leaves_holes(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
    #[scratch([m, n])] buf: Vmem<f32>,
) {
    buf.store_masked(.., x[..], iota([m, n], 1) < 100);
    y[..] = buf[..];
}

/// Ones and zeros without a simple pattern.
fn flags<T: Element>(shape: &[usize]) -> Array {
    fill::<T>(shape, |i| {
        let mixed = i.iter().fold(17, |sum, &i| sum * 31 + i * 7) % 23;
        f64::from(u8::from(mixed < 11))
    })
}

fn chosen<T: Num>(name: &str) -> Case {
    case(
        format!("select_by_bool_of_{name}"),
        "tpu_pallas_test::PallasCallPoisonTest::test_bool_select_operation",
        || {
            let (mask, x) = (flags::<bool>(&[32, 128]), ramp::<T>(&[32, 128]));
            let y = both(&x, &mask, |x, mask| if mask == 0.0 { 0.0 } else { x });
            run(&selects::<T>(), [mask, x.clone()]).gives([y])
        },
    )
}

fn values() -> Vec<Case> {
    let mut cases = vec![
        chosen::<f32>("f32"),
        chosen::<bf16>("bf16"),
        chosen::<i32>("i32"),
        chosen::<i16>("i16"),
        chosen::<i8>("i8"),
        chosen::<u32>("u32"),
    ];
    cases.extend([
        case("mask_from_numbers", "tpu_ops_test::OpsTest::test_cast_vector_to_mask", || {
            let (mask, x) = (flags::<f32>(&[8, 128]), ramp::<f32>(&[8, 128]));
            let y = both(&x, &mask, |x, mask| if mask == 0.0 { 0.0 } else { x });
            run(&selects_by_numbers(), [mask, x.clone()]).gives([y])
        }),
        case("mask_of_i8_on_f32", "tpu_ops_test::OpsTest::test_i1_relayout_bw", || {
            let (mask, x) = (flags::<i8>(&[32, 128]), ramp::<f32>(&[32, 128]));
            let y = both(&x, &mask, |x, mask| if mask == 0.0 { 0.0 } else { x });
            run(&selects_by_bytes(), [mask, x.clone()]).gives([y])
        }),
        case(
            "two_masks_at_once",
            "tpu_ops_test::OpsTest::test_logical_and_relayouted_mask",
            || {
                let x = fill::<i32>(&[2, 512], |i| ((i[0] + i[1]) % 2) as f64);
                let y =
                    fill::<f32>(
                        &[2, 512],
                        |i| {
                            if at(&x, i) == 1.0 && i[1] > 7 { 0.0 } else { -1.0 }
                        },
                    );
                run(&two_masks(), [x.clone()]).gives([y])
            },
        ),
        case("masks_joined", "tpu_ops_test::OpsTest::test_concat_mask", || {
            let x = flags::<f32>(&[16, 128]);
            let y = fill::<f32>(&[32, 128], |i| at(&x, &[i[0] % 16, i[1]]) * 3.0);
            run(&joins_masks(32), [x.clone()]).gives([y])
        }),
    ]);
    cases
}

fn bools() -> Vec<Case> {
    vec![
        case(
            "bools_in_and_out",
            "tpu_pallas_test::PallasCallTPUBooleanTest::test_vector_bool_load_store",
            || {
                let x = flags::<bool>(&[8, 128]);
                run(&copies_bools(), [x.clone()]).gives([x])
            },
        ),
        case("bools_ored", "pallas_test::PallasTest::test_bool_array", || {
            let x = flags::<bool>(&[8, 128]);
            let y = fill::<bool>(&[8, 128], |i| f64::from(u8::from(at(&x, i) == 1.0 || i[1] < 3)));
            run(&ors_bools(), [x.clone()]).gives([y])
        }),
        case(
            "bools_masking_a_part",
            "tpu_pallas_test::PallasCallTPUBooleanTest::test_vector_bool_masking_with_indexing",
            || {
                let mask = flags::<bool>(&[1, 8, 128]);
                let (x, y) =
                    (ramp::<f32>(&[1, 8, 128]), fill::<f32>(&[1, 8, 128], |i| i[2] as f64));
                let z = fill::<f32>(&[1, 8, 128], |i| {
                    if at(&mask, i) == 1.0 { at(&x, i) } else { at(&y, i) }
                });
                run(&masks_a_part(), [mask, x.clone(), y.clone()]).gives([z])
            },
        ),
        case(
            "bools_to_bytes",
            "tpu_pallas_test::MiscellaneousTest::test_casting_bool_to_i8",
            || {
                let x = ramp::<i32>(&[32, 128]);
                let y = to::<i8>(&each(&x, |x| f64::from(u8::from(x > 10.0))));
                run(&bools_to_bytes(), [x.clone()]).gives([y])
            },
        ),
        case(
            "select_by_a_scalar",
            "tpu_ops_test::OpsTest::test_select_with_scalar_condition",
            || {
                let (x, y) = (ramp::<f32>(&[8, 128]), fill::<f32>(&[8, 128], |i| i[1] as f64));
                run(&selects_by_scalar(), [ints(&[1]), x.clone(), y.clone()]).gives([x])
            },
        ),
        case("upper_triangle", "ops_test::OpsTest::test_triu", || {
            let x = ramp::<f32>(&[16, 128]);
            let y = fill::<f32>(&[16, 128], |i| if i[1] > i[0] { at(&x, i) } else { 0.0 });
            run(&above_diagonal(), [x.clone()]).gives([y])
        }),
        case("mask_for_one_matrix", "ops_test::OpsTest::test_where_broadcasting", || {
            let x = ramp::<f32>(&[7, 8, 128]);
            let y =
                fill::<f32>(
                    &[4, 8, 128],
                    |i| {
                        if i[0] == 2 { at(&x, &[5, i[1], i[2]]) } else { 0.0 }
                    },
                );
            run(&one_matrix(4), [ints(&[5, 2]), x.clone()]).gives([y])
        }),
        case(
            "bools_by_copies",
            "tpu_pallas_test::PallasCallTPUBooleanTest::test_bool_dma_not_implemented",
            || {
                let x = flags::<bool>(&[32, 128]);
                run(&copies_bools_from_hbm(), [x.clone()])
                    .gives([shaped(&x, &[32, 128])])
                    .refused_by(Target::TPUS, Code::MOSAIC_UNSUPPORTED)
            },
        ),
    ]
}

#[tpu_kernel]
fn selects<T: Num>(
    #[block(m, n)] mask: In<bool>,
    #[block(m, n)] x: In<T>,
    #[block(m, n)] y: Out<T>,
) {
    y[..] = select(mask[..], x[..], zeros([m, n]));
}

#[tpu_kernel]
fn selects_by_numbers(
    #[block(m, n)] mask: In<f32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = select(mask[..] != 0.0, x[..], 0.0);
}

#[tpu_kernel]
fn selects_by_bytes(
    #[block(m, n)] mask: In<i8>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = select(mask[..] != 0, x[..], 0.0);
}

#[tpu_kernel]
fn two_masks(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<f32>) {
    let mask = (x[..] == 1) & (iota([m, n], 1) > 7);
    y[..] = select(mask, full([m, n], 0.0), -1.0);
}

#[tpu_kernel]
fn joins_masks(#[comptime] k: usize, #[block(m, n)] x: In<f32>, #[block(k, n)] y: Out<f32>) {
    let mask = x[..] != 0.0;
    y[..] = select(concat(&[mask, mask], 0), full([k, n], 3.0), 0.0);
}

#[tpu_kernel]
fn copies_bools(#[block(m, n)] x: In<bool>, #[block(m, n)] y: Out<bool>) {
    y[..] = x[..];
}

#[tpu_kernel]
fn ors_bools(#[block(m, n)] x: In<bool>, #[block(m, n)] y: Out<bool>) {
    y[..] = x[..] | (iota([m, n], 1) < 3);
}

#[tpu_kernel]
fn masks_a_part(
    #[block(l, m, n)] mask: In<bool>,
    #[block(l, m, n)] x: In<f32>,
    #[block(l, m, n)] y: In<f32>,
    #[block(l, m, n)] z: Out<f32>,
) {
    z[(0, .., ..)] = select(mask[(0, .., ..)], x[(0, .., ..)], y[(0, .., ..)]);
}

#[tpu_kernel]
fn bools_to_bytes(#[block(m, n)] x: In<i32>, #[block(m, n)] y: Out<i8>) {
    y[..] = (x[..] > 10).cast::<i8>();
}

#[tpu_kernel]
fn selects_by_scalar(
    #[prefetch] which: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: In<f32>,
    #[block(m, n)] z: Out<f32>,
) {
    z[..] = select(which[0] != 0, x[..], y[..]);
}

#[tpu_kernel]
fn above_diagonal(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = select(iota([m, n], 1) > iota([m, n], 0), x[..], 0.0);
}

#[tpu_kernel]
fn one_matrix(
    #[comptime] k: usize,
    #[prefetch] ids: Smem<i32>,
    #[block(l, m, n)] x: In<f32>,
    #[block(k, m, n)] y: Out<f32>,
) {
    let here = iota([k, m, n], 0) == ids[1];
    let matrix = x[(ds(ids[0], 1), .., ..)].broadcast_to([k, m, n]);
    y[..] = select(here, matrix, 0.0);
}

#[tpu_kernel]
fn copies_bools_from_hbm(
    #[block(m, n)] x: Hbm<bool>,
    #[block(m, n)] y: Out<bool>,
    #[scratch([m, n])] bufs: Buffers<bool, 1>,
) {
    let [buf] = bufs.slots();
    let buf = copy_into(x.whole(), buf).wait();
    y[..] = buf[..];
}
