//! Element types: casts, arithmetic of narrow types, and the bits of one type read as another.

use super::{Case, at, case, each, fill, ints, ramp, run, to};
use crate::batch::array;
use systole::diag::Code;
use systole::prelude::*;
use systole::target::{TPU7X, Target, V4};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = casts();
    cases.extend(arithmetic());
    cases.extend(bits());
    cases
}

#[tpu_kernel]
fn cast<T: Element, U: Element>(#[block(m, n)] x: In<T>, #[block(m, n)] y: Out<U>) {
    y[..] = x[..].cast();
}

/// A cast of values that include the extremes of integer types.
fn cast_of<T: Element, U: Element>(mirrors: &'static str) -> Case {
    case(format!("cast_of_{}_to_{}", T::DTYPE, U::DTYPE), mirrors, || {
        let (low, high) = T::DTYPE.int_range().unwrap_or((-300, 300));
        let x = fill::<T>(&[32, 128], |i| {
            let number = (i[0] * 128 + i[1]) as f64;
            match i[1] % 3 {
                0 => low as f64 + number / 128.0,
                1 => high as f64 - number / 128.0,
                _ => number % 100.0,
            }
            .trunc()
        });
        let y = fill::<U>(&[32, 128], |i| match U::DTYPE {
            dtype if dtype.is_float() => at(&x, i),
            dtype => dtype.cast_int(at(&x, i) as i64) as f64,
        });
        run(&cast::<T, U>(), [x.clone()]).gives([y])
    })
}

fn casts() -> Vec<Case> {
    let (narrow, wide, int) = (
        "ops_test::OpsTest::test_cast_from_sub_32bit",
        "ops_test::OpsTest::test_cast_from_32bit",
        "tpu_ops_test::OpsTest::test_integer_cast",
    );
    vec![
        cast_of::<i32, i8>(int),
        cast_of::<i32, i16>(int),
        cast_of::<i8, i32>(int),
        cast_of::<i16, i32>(int),
        cast_of::<i32, u32>(int),
        cast_of::<u8, i32>(int),
        cast_of::<i8, f32>(narrow),
        cast_of::<bf16, f32>(narrow),
        cast_of::<i16, f32>(narrow),
        cast_of::<f32, bf16>(wide),
        cast_of::<i32, f32>(wide),
        cast_of::<f32, i32>(wide),
        case("f16_on_a_tpu", wide, || {
            let x = ramp::<f16>(&[16, 128]);
            run(&cast::<f16, f32>(), [x.clone()])
                .gives([to::<f32>(&x)])
                .refused_by(Target::TPUS, Code::VALID_UNSUPPORTED_DTYPE)
        }),
        case("quantized_to_bytes", "tpu_ops_test::OpsTest::test_quantize", || {
            let x =
                fill::<bf16>(&[32, 128], |i| (i[0] as f64 - 16.0) * 1.75 + (i[1] % 4) as f64 / 4.0);
            let y = to::<i8>(&each(&x, |x| f64::from((x as f32).round_ties_even())));
            run(&quantize(), [x.clone()]).gives([y])
        }),
        case("scalar_cast_down_and_up", "ops_test::OpsTest::test_scalar_downcast_float32", || {
            let table = array(DType::F32, &[1], &[2.345_678_9]);
            let rounded = f64::from(bf16::from_f64(2.345_678_9));
            let y = fill::<f32>(&[8, 128], |_| rounded);
            run(&scalar_by_way_of_bf16(8, 128), [table]).gives([y])
        }),
        case(
            "scalar_cast_to_bytes",
            "tpu_pallas_test::PallasCallPoisonTest::test_scalar_casting",
            || {
                let y = fill::<i32>(&[8, 128], |_| -56.0 + 200.0 * 1000.0);
                run(&scalar_by_way_of_bytes(8, 128), [ints(&[200])]).gives([y])
            },
        ),
    ]
}

#[tpu_kernel]
fn quantize(#[block(m, n)] x: In<bf16>, #[block(m, n)] y: Out<i8>) {
    y[..] = x[..].cast::<f32>().round_even().cast::<i32>().cast();
}

#[tpu_kernel]
fn scalar_by_way_of_bf16(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = full([m, n], table[0].cast::<bf16>().cast::<f32>());
}

/// 200 does not fit an `i8`, and does fit a `u8`.
#[tpu_kernel]
fn scalar_by_way_of_bytes(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let signed = table[0].cast::<i8>().cast::<i32>();
    let unsigned = table[0].cast::<u8>().cast::<i32>();
    y[..] = full([m, n], signed + unsigned * 1000);
}

#[tpu_kernel]
fn doubled<T: Num>(#[block(m, n)] x: In<T>, #[block(m, n)] y: Out<T>) {
    y[..] = x[..] + x[..];
}

fn doubled_in<T: Num>() -> Case {
    case(
        format!("sum_of_{}", T::DTYPE),
        "tpu_pallas_test::PallasCallPoisonTest::test_vector_integer_addition",
        || {
            let x = ramp::<T>(&[32, 128]);
            let y = fill::<T>(&[32, 128], |i| T::DTYPE.wrap_int(at(&x, i) as i64 * 2) as f64);
            run(&doubled::<T>(), [x.clone()]).gives([y])
        },
    )
}

#[tpu_kernel]
fn product<T: Num>(#[block(m, m)] x: In<T>, #[block(m, m)] y: Out<T::Acc>) {
    y[..] = dot(x[..], x[..]);
}

fn arithmetic() -> Vec<Case> {
    let max = "tpu_pallas_test::PallasCallPoisonTest::test_max_operation";
    vec![
        doubled_in::<i8>(),
        doubled_in::<i16>(),
        doubled_in::<i32>(),
        doubled_in::<u32>(),
        doubled_in::<u16>(),
        case("larger_of_scalars", max, || {
            let y = fill::<i32>(&[8, 128], |_| 242_087.0);
            run(&larger_and_smaller(8, 128), [ints(&[87, 242])]).gives([y])
        }),
        case(
            "bits_of_scalars",
            "tpu_pallas_test::PallasScalarIOpsTest::test_andi_op_canonicalization",
            || {
                let (a, b) = (0b1100_1010, 0b1010_0110);
                let value = (a & b) | ((a ^ b) << 8) | ((a | b) << 16);
                let y = fill::<i32>(&[8, 128], |_| f64::from(value));
                run(&bits_of_scalars(8, 128), [ints(&[a, b])]).gives([y])
            },
        ),
        case(
            "shifts_and_division_of_scalars",
            "tpu_pallas_test::PallasScalarIOpsTest::test_shri_op_canonicalization",
            || {
                let y = fill::<i32>(&[8, 128], |_| {
                    f64::from((-100 >> 3) * 1000 + (-100 / 3) + (-100 % 3))
                });
                run(&shifts_of_scalars(8, 128), [ints(&[-100, 3])]).gives([y])
            },
        ),
        case("product_of_bytes", "pallas_test::PallasCallTest::test_integer_dot", || {
            let x = ramp::<i8>(&[128, 128]);
            let values = x.to_f64();
            let y = fill::<i32>(&[128, 128], |i| {
                (0..128).map(|k| values[i[0] * 128 + k] * values[k * 128 + i[1]]).sum()
            });
            run(&product::<i8>(), [x])
                .gives([y])
                .refused_by(&[&V4, &TPU7X], Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case(
            "product_of_unsigned_bytes",
            "tpu_ops_test::OpsTest::test_unsigned_dtype_dot_raises",
            || {
                let x = fill::<u8>(&[128, 128], |i| ((i[0] * 3 + i[1]) % 7) as f64);
                let values = x.to_f64();
                let y = fill::<i32>(&[128, 128], |i| {
                    (0..128).map(|k| values[i[0] * 128 + k] * values[k * 128 + i[1]]).sum()
                });
                run(&product::<u8>(), [x])
                    .gives([y])
                    .refused_by(&[&V4, &TPU7X], Code::VALID_UNSUPPORTED_MATMUL)
                    .refused_by(
                        &[&systole::target::V5E, &systole::target::V5P, &systole::target::V6E],
                        Code::MOSAIC_UNSUPPORTED,
                    )
            },
        ),
        case("product_of_words", "tpu_ops_test::OpsTest::test_unsigned_dtype_dot_raises", || {
            run(&product::<i32>(), [ramp::<i32>(&[128, 128])]).told(Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case("constant_that_does_not_fit", "ops_test::OpsTest::test_add_constant", || {
            run(&adds_number(200), [ramp::<i8>(&[32, 128])]).told(Code::TRACE_NUMBER)
        }),
        case("constant_that_fits", "ops_test::OpsTest::test_add_constant", || {
            let x = fill::<i8>(&[32, 128], |i| (i[1] % 90) as f64 - 70.0);
            run(&adds_number(100), [x.clone()])
                .gives([fill::<i8>(&[32, 128], |i| at(&x, i) + 100.0)])
        }),
    ]
}

#[tpu_kernel]
fn larger_and_smaller(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let (a, b) = (table[0], table[1]);
    y[..] = full([m, n], a.max(b) * 1000 + a.min(b));
}

#[tpu_kernel]
fn bits_of_scalars(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let (a, b) = (table[0], table[1]);
    y[..] = full([m, n], (a & b) | ((a ^ b) << 8) | ((a | b) << 16));
}

#[tpu_kernel]
fn shifts_of_scalars(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<i32>,
    #[block(m, n)] y: Out<i32>,
) {
    let (a, b) = (table[0], table[1]);
    y[..] = full([m, n], (a >> b) * 1000 + a / b + a % b);
}

#[tpu_kernel]
fn adds_number(#[comptime] by: i32, #[block(m, n)] x: In<i8>, #[block(m, n)] y: Out<i8>) {
    y[..] = x[..] + by;
}

/// The bits of a `bf16` number.
fn halves(x: f64) -> u32 {
    bf16::from_f64(x).to_bits().into()
}

fn bits() -> Vec<Case> {
    vec![
        case("bits_as_another_type", "ops_test::OpsTest::test_bitcast_convert_type_array", || {
            let x = ramp::<f32>(&[8, 128]);
            let y = fill::<i32>(&[8, 128], |i| f64::from((at(&x, i) as f32).to_bits() as i32));
            run(&bits_of::<f32, i32>(), [x.clone()]).gives([y])
        }),
        case(
            "rows_of_bf16_as_words",
            "tpu_pallas_test::MiscellaneousTest::test_bfloat16_to_uint32_bitcast",
            || {
                let x = ramp::<bf16>(&[32, 128]);
                let y = fill::<u32>(&[16, 128], |i| {
                    let half = |row: usize| halves(at(&x, &[row, i[1]]));
                    f64::from(half(2 * i[0]) | half(2 * i[0] + 1) << 16)
                });
                run(&rows_as::<bf16, u32>(16), [x.clone()]).gives([y])
            },
        ),
        case("words_as_rows_of_bf16", "tpu_ops_test::OpsTest::test_bitcast", || {
            let x = ramp::<bf16>(&[16, 128]);
            let words = fill::<u32>(&[8, 128], |i| {
                let half = |row: usize| halves(at(&x, &[row, i[1]]));
                f64::from(half(2 * i[0]) | half(2 * i[0] + 1) << 16)
            });
            run(&rows_as::<u32, bf16>(16), [words]).gives([x.clone()])
        }),
        case("interleaved_by_bits", "tpu_ops_test::OpsTest::test_interleave_vectors", || {
            let (x, y) = (ramp::<bf16>(&[8, 128]), fill::<bf16>(&[8, 128], |i| i[1] as f64));
            let z = fill::<bf16>(&[16, 128], |i| {
                if i[0] % 2 == 0 { at(&x, &[i[0] / 2, i[1]]) } else { at(&y, &[i[0] / 2, i[1]]) }
            });
            run(&interleaves(16), [to::<f32>(&x), to::<f32>(&y)]).gives([z])
        }),
        case("packed_as_bf16", "tpu_ops_test::OpsTest::test_pack_elementwise", || {
            let (x, y) = (ramp::<f32>(&[8, 128]), fill::<f32>(&[8, 128], |i| i[1] as f64 / 3.0));
            let z =
                fill::<u32>(&[8, 128], |i| f64::from(halves(at(&x, i)) | halves(at(&y, i)) << 16));
            run(&packs(), [x.clone(), y.clone()]).gives([z])
        }),
        case("unpacked_from_bf16", "tpu_ops_test::OpsTest::test_unpack_elementwise", || {
            let (x, y) = (ramp::<f32>(&[8, 128]), fill::<f32>(&[8, 128], |i| i[1] as f64));
            let words =
                fill::<u32>(&[8, 128], |i| f64::from(halves(at(&x, i)) | halves(at(&y, i)) << 16));
            run(&unpacks(), [words]).gives([x.clone(), y.clone()])
        }),
        case("bits_of_few_rows", "tpu_ops_test::OpsTest::test_bitcast", || {
            let x = ramp::<f32>(&[4, 128]);
            let y = fill::<bf16>(&[8, 128], |i| {
                let bits = (at(&x, &[i[0] / 2, i[1]]) as f32).to_bits();
                let half = if i[0] % 2 == 0 { bits as u16 } else { (bits >> 16) as u16 };
                bf16::from_bits(half).into()
            });
            run(&rows_as::<f32, bf16>(8), [x.clone()])
                .gives([y])
                .refused_by(Target::TPUS, Code::MOSAIC_UNSUPPORTED)
        }),
        case("rows_that_make_no_words", "tpu_ops_test::OpsTest::test_bitcast", || {
            run(&rows_as::<bf16, f32>(8), [ramp::<bf16>(&[15, 128])]).told(Code::IR_SHAPE)
        }),
    ]
}

#[tpu_kernel]
fn bits_of<T: Element, U: Element>(#[block(m, n)] x: In<T>, #[block(m, n)] y: Out<U>) {
    y[..] = x[..].bitcast();
}

#[tpu_kernel]
fn rows_as<T: Num, U: Num>(
    #[comptime] k: usize,
    #[block(m, n)] x: In<T>,
    #[block(k, n)] y: Out<U>,
) {
    y[..] = x[..].bitcast_rows();
}

#[tpu_kernel]
fn interleaves(
    #[comptime] k: usize,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: In<f32>,
    #[block(k, n)] z: Out<bf16>,
) {
    let low = x[..].bitcast::<u32>() >> 16;
    z[..] = (y[..].bitcast::<u32>() | low).bitcast_rows();
}

#[tpu_kernel]
fn packs(#[block(m, n)] x: In<f32>, #[block(m, n)] y: In<f32>, #[block(m, n)] z: Out<u32>) {
    z[..] = pack::<bf16>(&[x[..], y[..]]);
}

#[tpu_kernel]
fn unpacks(#[block(m, n)] z: In<u32>, #[block(m, n)] x: Out<f32>, #[block(m, n)] y: Out<f32>) {
    x[..] = z[..].unpack::<bf16>(0);
    y[..] = z[..].unpack::<bf16>(1);
}
