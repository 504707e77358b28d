//! Reshapes, transposes, joins, rolls and elements chosen along an axis.

use super::{Case, at, case, fill, pick, ramp, run, shaped};
use systole::diag::Code;
use systole::prelude::*;
use systole::target::V4;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = reshapes();
    cases.extend(spreads());
    cases.extend(orders());
    cases.extend(joins());
    cases.extend(rolls());
    cases.extend(choices());
    cases
}

/// Kernels that apply a function of the host to a tile of so many axes.
macro_rules! maps {
    ($($name:ident($($from:ident)+) -> ($($to:ident)+);)*) => {$(
        #[tpu_kernel]
        fn $name<T: Element>(
            #[comptime] f: impl Fn(Tile<T>) -> Tile<T> + Clone,
            $(#[comptime] $to: usize,)+
            #[block($($from),+)] x: In<T>,
            #[block($($to),+)] y: Out<T>,
        ) {
            y[..] = f(x[..]);
        }
    )*};
}
maps! {
    map_2_2(m n) -> (p q);
    map_2_3(m n) -> (p q r);
    map_2_4(m n) -> (p q r s);
    map_3_2(l m n) -> (p q);
    map_3_3(l m n) -> (p q r);
    map_3_4(l m n) -> (p q r s);
    map_4_4(k l m n) -> (p q r s);
}

fn reshapes() -> Vec<Case> {
    let noop = "ops_test::OpsTest::test_reshape_noop_or_singleton_dims";
    vec![
        case("rows_split", "ops_test::OpsTest::test_reshape", || {
            let x = ramp::<f32>(&[32, 128]);
            run(&map_2_3::<f32, _>(|x| x.reshape([4, 8, 128]), 4, 8, 128), [x.clone()])
                .gives([shaped(&x, &[4, 8, 128])])
        }),
        case("rows_joined", "ops_test::OpsTest::test_reshape", || {
            let x = ramp::<f32>(&[4, 8, 128]);
            run(&map_3_2::<f32, _>(|x| x.reshape([32, 128]), 32, 128), [x.clone()])
                .gives([shaped(&x, &[32, 128])])
        }),
        case("axes_of_one_added", noop, || {
            let x = ramp::<f32>(&[16, 128]);
            run(&map_2_4::<f32, _>(|x| x.reshape([1, 16, 1, 128]), 1, 16, 1, 128), [x.clone()])
                .gives([shaped(&x, &[1, 16, 1, 128])])
        }),
        case("axis_of_one_dropped", noop, || {
            let x = ramp::<f32>(&[1, 16, 128]);
            run(&map_3_2::<f32, _>(|x| x.reshape([16, 128]), 16, 128), [x.clone()])
                .gives([shaped(&x, &[16, 128])])
        }),
        case(
            "lanes_split_into_rows",
            "tpu_pallas_test::MiscellaneousTest::test_lane_to_chunk_reshape_bf16",
            || {
                let x = ramp::<f32>(&[2, 16, 1024]);
                run(&map_3_4::<f32, _>(|x| x.reshape([2, 16, 8, 128]), 2, 16, 8, 128), [x.clone()])
                    .gives([shaped(&x, &[2, 16, 8, 128])])
            },
        ),
        case("reshape_that_loses_elements", "ops_test::OpsTest::test_reshape", || {
            run(
                &map_2_3::<f32, _>(|x| x.reshape([3, 8, 128]), 3, 8, 128),
                [ramp::<f32>(&[32, 128])],
            )
            .told(Code::IR_SHAPE)
        }),
    ]
}

fn spreads() -> Vec<Case> {
    vec![
        case("row_spread_over_rows", "ops_test::OpsTest::test_broadcast_in_dim", || {
            let x = ramp::<i32>(&[1, 128]);
            run(&map_2_2::<i32, _>(|x| x.broadcast_to([8, 128]), 8, 128), [x.clone()])
                .gives([pick(&x, &[8, 128], |i| vec![0, i[1]])])
        }),
        case(
            "column_spread_over_lanes",
            "tpu_pallas_test::MiscellaneousTest::test_lane_broadcast_bf16",
            || {
                let x = ramp::<bf16>(&[32, 1]);
                run(&map_2_2::<bf16, _>(|x| x.broadcast_to([32, 256]), 32, 256), [x.clone()])
                    .gives([pick(&x, &[32, 256], |i| vec![i[0], 0])])
            },
        ),
        case(
            "rows_spread_over_a_new_axis",
            "tpu_pallas_test::MiscellaneousTest::test_lane_to_chunk_broadcast_fp32",
            || {
                let x = ramp::<f32>(&[2, 16, 128]);
                let spread =
                    |x: Tile<f32>| x.reshape([2, 16, 1, 128]).broadcast_to([2, 16, 8, 128]);
                run(&map_3_4::<f32, _>(spread, 2, 16, 8, 128), [x.clone()]).gives([pick(
                    &x,
                    &[2, 16, 8, 128],
                    |i| vec![i[0], i[1], i[3]],
                )])
            },
        ),
        case("row_of_i8_spread", "tpu_ops_test::OpsTest::test_row_broadcast", || {
            let x = ramp::<i8>(&[32, 256]);
            let spread = |x: Tile<i8>| x.slice((3..4, ..)).broadcast_to([32, 256]);
            run(&map_2_2::<i8, _>(spread, 32, 256), [x.clone()]).gives([pick(
                &x,
                &[32, 256],
                |i| vec![3, i[1]],
            )])
        }),
        case(
            "einshape_splits_and_joins",
            "einshape_test::EinshapeTest::test_einshape_basic",
            || {
                let x = ramp::<f32>(&[8, 512]);
                let f = |x: Tile<f32>| x.einshape("a(bc)->(ab)c", &[('b', 4)]);
                run(&map_2_2::<f32, _>(f, 32, 128), [x.clone()]).gives([shaped(&x, &[32, 128])])
            },
        ),
        case("einshape_orders_axes", "einshape_test::EinshapeTest::test_einshape_basic", || {
            let x = ramp::<f32>(&[2, 16, 128]);
            let f = |x: Tile<f32>| x.einshape("abc->bac", &[]);
            run(&map_3_3::<f32, _>(f, 16, 2, 128), [x.clone()]).gives([pick(
                &x,
                &[16, 2, 128],
                |i| vec![i[1], i[0], i[2]],
            )])
        }),
        case(
            "einshape_of_unknown_sizes",
            "einshape_test::EinshapeTest::test_error_ambiguous",
            || {
                let f = |x: Tile<f32>| x.einshape("a(bc)->(ab)c", &[]);
                run(&map_2_2::<f32, _>(f, 32, 128), [ramp::<f32>(&[8, 512])]).told(Code::IR_SHAPE)
            },
        ),
    ]
}

fn orders() -> Vec<Case> {
    let mirrors = "ops_test::OpsTest::test_transpose";
    vec![
        case("matrix_transposed", mirrors, || {
            let x = ramp::<f32>(&[16, 256]);
            run(&map_2_2::<f32, _>(|x| x.transpose(), 256, 16), [x.clone()]).gives([pick(
                &x,
                &[256, 16],
                |i| vec![i[1], i[0]],
            )])
        }),
        case("matrices_transposed", mirrors, || {
            let x = ramp::<f32>(&[4, 16, 128]);
            run(&map_3_3::<f32, _>(|x| x.transpose(), 4, 128, 16), [x.clone()]).gives([pick(
                &x,
                &[4, 128, 16],
                |i| vec![i[0], i[2], i[1]],
            )])
        }),
        case("leading_axes_swapped", "ops_test::OpsTest::test_jnp_swapaxes_major_minor", || {
            let x = ramp::<f32>(&[8, 16, 128]);
            run(&map_3_3::<f32, _>(|x| x.permute([1, 0, 2]), 16, 8, 128), [x.clone()])
                .gives([pick(&x, &[16, 8, 128], |i| vec![i[1], i[0], i[2]])])
        }),
        case(
            "middle_axes_of_four_swapped",
            "tpu_pallas_test::MiscellaneousTest::test_transpose",
            || {
                let x = ramp::<f32>(&[3, 2, 8, 128]);
                run(&map_4_4::<f32, _>(|x| x.permute([0, 2, 1, 3]), 3, 8, 2, 128), [x.clone()])
                    .gives([pick(&x, &[3, 8, 2, 128], |i| vec![i[0], i[2], i[1], i[3]])])
            },
        ),
        case(
            "bools_transposed",
            "tpu_pallas_test::PallasCallPoisonTest::test_bool_transpose_last_two_dims",
            || {
                let x =
                    fill::<bool>(&[128, 128], |i| f64::from(u8::from((i[0] * 5 + i[1]) % 3 == 0)));
                run(&map_2_2::<bool, _>(|x| x.transpose(), 128, 128), [x.clone()]).gives([pick(
                    &x,
                    &[128, 128],
                    |i| vec![i[1], i[0]],
                )])
            },
        ),
        case("axes_that_are_none", mirrors, || {
            run(&map_2_2::<f32, _>(|x| x.permute([0, 0]), 16, 16), [ramp::<f32>(&[16, 16])])
                .told(Code::IR_SHAPE)
        }),
    ]
}

fn joins() -> Vec<Case> {
    let (join, repeat) =
        ("tpu_ops_test::OpsTest::test_2d_concatenate", "tpu_ops_test::OpsTest::test_tile");
    vec![
        case("joined_along_rows", join, || {
            let x = ramp::<f32>(&[24, 128]);
            let f = |x: Tile<f32>| concat(&[x.slice((8..24, ..)), x.slice((0..8, ..))], 0);
            run(&map_2_2::<f32, _>(f, 24, 128), [x.clone()])
                .gives([pick(&x, &[24, 128], |i| vec![(i[0] + 8) % 24, i[1]])])
        }),
        case("joined_along_lanes", join, || {
            let x = ramp::<f32>(&[8, 384]);
            let f = |x: Tile<f32>| concat(&[x.slice((.., 128..384)), x.slice((.., 0..128))], 1);
            run(&map_2_2::<f32, _>(f, 8, 384), [x.clone()])
                .gives([pick(&x, &[8, 384], |i| vec![i[0], (i[1] + 128) % 384])])
        }),
        case("joined_at_any_row", join, || {
            let x = ramp::<f32>(&[20, 128]);
            let f = |x: Tile<f32>| concat(&[x.slice((5..20, ..)), x.slice((0..5, ..))], 0);
            run(&map_2_2::<f32, _>(f, 20, 128), [x.clone()])
                .gives([pick(&x, &[20, 128], |i| vec![(i[0] + 5) % 20, i[1]])])
        }),
        case("repeated_along_both", repeat, || {
            let x = ramp::<i32>(&[8, 128]);
            let f = |x: Tile<i32>| {
                let rows = concat(&[x, x], 0);
                concat(&[rows, rows, rows], 1)
            };
            run(&map_2_2::<i32, _>(f, 16, 384), [x.clone()])
                .gives([pick(&x, &[16, 384], |i| vec![i[0] % 8, i[1] % 128])])
        }),
        case("stacked_constants", "ops_test::OpsTest::test_concat_constant", || {
            let f = |_: Tile<f32>| {
                let rows: Vec<Tile<f32>> = (0..16).map(|row| full([1, 128], row as f32)).collect();
                concat(&rows, 0)
            };
            run(&map_2_2::<f32, _>(f, 16, 128), [ramp::<f32>(&[8, 128])])
                .gives([fill::<f32>(&[16, 128], |i| i[0] as f64)])
        }),
        case("split_into_two", "pallas_test::PallasCallTest::test_split", || {
            let x = ramp::<f32>(&[16, 256]);
            run(&splits(128), [x.clone()]).gives([
                pick(&x, &[16, 128], |i| vec![i[0], i[1]]),
                pick(&x, &[16, 128], |i| vec![i[0], 128 + i[1]]),
            ])
        }),
        case(
            "stacked_on_a_new_axis",
            "tpu_pallas_test::MiscellaneousTest::test_float32_stack",
            || {
                let x = ramp::<f32>(&[8, 128]);
                let f = |x: Tile<f32>| {
                    let x = x.reshape([1, 8, 128]);
                    concat(&[x, x * 2.0], 0)
                };
                let y = fill::<f32>(&[2, 8, 128], |i| at(&x, &[i[1], i[2]]) * (i[0] + 1) as f64);
                run(&map_2_3::<f32, _>(f, 2, 8, 128), [x.clone()]).gives([y])
            },
        ),
        case("join_of_unequal_lanes", "tpu_ops_test::OpsTest::test_2d_concatenate", || {
            let f = |x: Tile<f32>| concat(&[x, x.slice((.., 0..64))], 0);
            run(&map_2_2::<f32, _>(f, 16, 128), [ramp::<f32>(&[8, 128])]).told(Code::IR_SHAPE)
        }),
    ]
}

#[tpu_kernel]
fn splits(
    #[comptime] k: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, k)] y: Out<f32>,
    #[block(m, k)] z: Out<f32>,
) {
    let x = x[..];
    y[..] = x.slice((.., 0..k));
    z[..] = x.slice((.., k..2 * k));
}

fn rolls() -> Vec<Case> {
    let lanes = "tpu_pallas_test::MiscellaneousTest::test_roll_static_lane_shift_with_no_stride";
    vec![
        case("rolled_along_lanes", lanes, || {
            let x = ramp::<f32>(&[8, 256]);
            run(&map_2_2::<f32, _>(|x| x.roll(3, 1), 8, 256), [x.clone()]).gives([pick(
                &x,
                &[8, 256],
                |i| vec![i[0], (i[1] + 253) % 256],
            )])
        }),
        case("rolled_by_more_than_a_register", lanes, || {
            let x = ramp::<f32>(&[8, 256]);
            run(&map_2_2::<f32, _>(|x| x.roll(129, 1), 8, 256), [x.clone()]).gives([pick(
                &x,
                &[8, 256],
                |i| vec![i[0], (i[1] + 127) % 256],
            )])
        }),
        case(
            "rolled_along_rows",
            "tpu_pallas_test::MiscellaneousTest::test_roll_partial_with_static_shift",
            || {
                let x = ramp::<f32>(&[16, 128]);
                run(&map_2_2::<f32, _>(|x| x.roll(2, 0), 16, 128), [x.clone()]).gives([pick(
                    &x,
                    &[16, 128],
                    |i| vec![(i[0] + 14) % 16, i[1]],
                )])
            },
        ),
        case(
            "rolled_along_a_leading_axis",
            "tpu_pallas_test::MiscellaneousTest::test_roll_with_static_major_dim_shift",
            || {
                let x = ramp::<f32>(&[5, 8, 128]);
                run(&map_3_3::<f32, _>(|x| x.roll(2, 0), 5, 8, 128), [x.clone()]).gives([pick(
                    &x,
                    &[5, 8, 128],
                    |i| vec![(i[0] + 3) % 5, i[1], i[2]],
                )])
            },
        ),
        case(
            "rolled_by_an_entry",
            "tpu_pallas_test::MiscellaneousTest::test_roll_partial_with_dynamic_shift",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&rolls_by_entry(), [super::ints(&[37]), x.clone()]).gives([pick(
                    &x,
                    &[8, 128],
                    |i| vec![i[0], (i[1] + 128 - 37) % 128],
                )])
            },
        ),
        case(
            "rolled_with_a_stride",
            "tpu_pallas_test::MiscellaneousTest::test_roll_static_lane_shift_with_stride_and_aligned_shape",
            || {
                let x = ramp::<f32>(&[8, 128]);
                run(&map_2_2::<f32, _>(|x| x.roll_strided(3, 1, 2, 0), 8, 128), [x.clone()])
                    .gives([pick(&x, &[8, 128], |i| vec![i[0], (i[1] + 256 - 3 - 2 * i[0]) % 128])])
                    .refused_by(&[&V4], Code::MOSAIC_UNSUPPORTED)
            },
        ),
        case("bytes_rolled", lanes, || {
            let x = ramp::<i8>(&[32, 128]);
            run(&map_2_2::<i8, _>(|x| x.roll(5, 1), 32, 128), [x.clone()]).gives([pick(
                &x,
                &[32, 128],
                |i| vec![i[0], (i[1] + 123) % 128],
            )])
        }),
    ]
}

#[tpu_kernel]
fn rolls_by_entry(
    #[prefetch] by: Smem<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = x[..].roll(by[0], 1);
}

/// Elements of `x` by indices along an axis.
#[tpu_kernel]
fn take<T: Element>(
    #[comptime] axis: usize,
    #[block(m, n)] x: In<T>,
    #[block(p, q)] ids: In<i32>,
    #[block(p, q)] y: Out<T>,
) {
    y[..] = x[..].take_along_axis(ids[..], axis);
}

fn choices() -> Vec<Case> {
    let mirrors = "tpu_ops_test::OpsTest::test_dynamic_gather_along_axis";
    vec![
        case("lanes_by_indices", mirrors, || {
            let x = ramp::<i32>(&[8, 128]);
            let id = |i: &[usize]| (i[0] * 29 + i[1] * 5) % 128;
            let ids = fill::<i32>(&[8, 128], |i| id(i) as f64);
            run(&take::<i32>(1), [x.clone(), ids])
                .gives([pick(&x, &[8, 128], |i| vec![i[0], id(i)])])
        }),
        case("rows_by_indices", mirrors, || {
            let x = ramp::<i32>(&[8, 128]);
            let id = |i: &[usize]| (i[0] * 3 + i[1]) % 8;
            let ids = fill::<i32>(&[8, 128], |i| id(i) as f64);
            run(&take::<i32>(0), [x.clone(), ids])
                .gives([pick(&x, &[8, 128], |i| vec![id(i), i[1]])])
                .refused_by(&[&V4], Code::MOSAIC_UNSUPPORTED)
        }),
        case("lanes_of_two_registers_by_indices", mirrors, || {
            let x = ramp::<f32>(&[8, 256]);
            let id = |i: &[usize]| (i[0] * 77 + i[1] * 3) % 256;
            let ids = fill::<i32>(&[8, 256], |i| id(i) as f64);
            run(&take::<f32>(1), [x.clone(), ids])
                .gives([pick(&x, &[8, 256], |i| vec![i[0], id(i)])])
        }),
        case("bytes_by_indices", "ops_test::OpsTest::test_8bit_gather", || {
            let x = ramp::<i8>(&[32, 128]);
            let id = |i: &[usize]| (i[0] * 7 + i[1]) % 32;
            let ids = fill::<i32>(&[32, 128], |i| id(i) as f64);
            run(&take::<i8>(0), [x.clone(), ids])
                .gives([pick(&x, &[32, 128], |i| vec![id(i), i[1]])])
                .refused_by(&[&V4], Code::MOSAIC_UNSUPPORTED)
        }),
        case(
            "array_of_indices_on_an_axis",
            "indexing_test::AdvancedIndexerOpsTest::test_advanced_indexer",
            || {
                // What `x[:, ids]` gives, by the same indices for each row.
                let x = ramp::<f32>(&[8, 128]);
                let ids = fill::<i32>(&[8, 128], |i| ((i[1] * i[1]) % 128) as f64);
                run(&take::<f32>(1), [x.clone(), ids])
                    .gives([pick(&x, &[8, 128], |i| vec![i[0], (i[1] * i[1]) % 128])])
            },
        ),
        case("index_outside_of_a_tile", mirrors, || {
            let ids = fill::<i32>(&[8, 128], |i| (i[1] + 1) as f64);
            run(&take::<f32>(1), [ramp::<f32>(&[8, 128]), ids]).told(Code::INTERP_OUT_OF_BOUNDS)
        }),
        case("diagonal", "ops_test::OpsTest::test_jnp_diagonal_pallas", || {
            let x = ramp::<f32>(&[128, 128]);
            let f = |x: Tile<f32>| {
                let here = iota([128, 128], 0).eq(iota([128, 128], 1));
                select(here, x, 0.0).reduce_sum(0)
            };
            run(&map_2_2::<f32, _>(f, 1, 128), [x.clone()])
                .gives([pick(&x, &[1, 128], |i| vec![i[1], i[1]])])
        }),
    ]
}
