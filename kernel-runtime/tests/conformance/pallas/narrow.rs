//! Element types that only store: integers of 4 bits and floats of 8.

use super::{Case, case, each, fill, parse, pick, ramp, run, to};
use crate::batch::array;
use systole::diag::Code;
use systole::prelude::*;
use systole::target::{TPU7X, V4};

const FLOAT8: &str = "ops_test::OpsTest::test_cast_from_sub_32bit";
const TO_FLOAT8: &str = "ops_test::OpsTest::test_cast_from_32bit";
const INT4: &str = "tpu_ops_test::OpsTest::test_tpu_int4_upcast_and_matmul";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        widened::<i4, f32>(INT4),
        widened::<i4, bf16>(INT4),
        widened::<i4, i32>(INT4),
        widened::<i4, i8>(INT4),
        widened::<f8e4m3fn, f32>(FLOAT8),
        widened::<f8e4m3fn, bf16>(FLOAT8),
        widened::<f8e4m3fn, i32>(FLOAT8),
        widened::<f8e5m2, f32>(FLOAT8),
        widened::<f8e5m2, bf16>(FLOAT8),
        narrowed::<f32, i4>(TO_FLOAT8),
        narrowed::<i32, i4>(TO_FLOAT8),
        narrowed::<f32, f8e4m3fn>(TO_FLOAT8),
        narrowed::<bf16, f8e4m3fn>(TO_FLOAT8),
        narrowed::<i32, f8e4m3fn>(TO_FLOAT8),
        narrowed::<f32, f8e5m2>(TO_FLOAT8),
        narrowed::<bf16, f8e5m2>(TO_FLOAT8),
    ];
    cases.extend(moved::<i4>(INT4));
    cases.extend(moved::<f8e4m3fn>(FLOAT8));
    cases.extend(products());
    cases.extend(refusals());
    cases
}

#[tpu_kernel]
fn cast<T: Element, U: Element>(#[block(m, n)] x: In<T>, #[block(m, n)] y: Out<U>) {
    y[..] = x[..].cast();
}

/// Every code of a type: 16 of integers, 256 of floats, NaN and infinities among them. Zero is last.
fn codes<T: Element>() -> Array {
    let bytes: Vec<u8> = (0..64 * 128).map(|at: usize| (255 - at % 256) as u8).collect();
    Array::from_bytes(T::DTYPE, &[64, 128], &bytes).expect("a byte for each element")
}

fn widened<T: Element, U: Element>(mirrors: &'static str) -> Case {
    case(format!("every_{}_as_{}", T::DTYPE, U::DTYPE), mirrors, || {
        let x = codes::<T>();
        run(&cast::<T, U>(), [x.clone()]).gives([to::<U>(&x)])
    })
}

/// Numbers beside those of the type: all of them, and what lies between neighbours.
fn narrowed<T: Element, U: Element>(mirrors: &'static str) -> Case {
    case(format!("{}_rounded_to_{}", T::DTYPE, U::DTYPE), mirrors, || {
        let known = codes::<U>().to_f64();
        let x = fill::<T>(&[64, 128], |i| {
            let number = known[i[1] + 128 * (i[0] % 2)];
            // Ties with an even and with an odd neighbour, and what is not quite one.
            number * [1.0, 1.0625, 1.03, 1.125, 1.2, 0.9375, 0.53, 1.75][i[0] / 8]
        });
        // Of what a number of `T` is the kernel sees no more.
        let expected = x.to_f64().into_iter().map(|x| match U::DTYPE.is_float() {
            false if !T::DTYPE.is_float() => U::DTYPE.wrap_int(x as i64) as f64,
            _ => x,
        });
        let expected = array(U::DTYPE, &[64, 128], &expected.collect::<Vec<_>>());
        run(&cast::<T, U>(), [x]).gives([expected])
    })
}

#[tpu_kernel(grid(i: parallel))]
fn by_blocks<T: Element>(
    #[comptime] rows: usize,
    #[block(m: rows @ i, n)] x: In<T>,
    #[block(m: rows @ i, n)] y: Out<T>,
) {
    y[..] = x[..];
}

/// The halves of an array in the other order.
#[tpu_kernel]
fn by_copies<T: Element>(
    #[block(m, n)] x: Hbm<T>,
    #[block(m, n)] y: HbmOut<T>,
    #[scratch([64, n])] slots: Buffers<T, 1>,
) {
    let [slot] = slots.slots();
    let full = copy_into(x.rows(64, 64), slot).wait();
    let free = copy_into(full, y.rows(0, 64)).wait();
    let full = copy_into(x.rows(0, 64), free).wait();
    let _ = copy_into(full, y.rows(64, 64)).wait();
}

/// Stores and loads, blocks, edges of arrays, and copies.
fn moved<T: Element>(mirrors: &'static str) -> Vec<Case> {
    let blocks = |rows: usize, all: usize| {
        case(format!("{}_in_blocks_of_{rows}_of_{all}", T::DTYPE), mirrors, move || {
            let x = ramp_of::<T>(&[all, 256]);
            run(&by_blocks::<T>(rows), [x.clone()]).gives([x])
        })
    };
    let copies = case(format!("{}_in_copies", T::DTYPE), mirrors, || {
        let x = ramp_of::<T>(&[128, 256]);
        let y = pick(&x, &[128, 256], |i| vec![(i[0] + 64) % 128, i[1]]);
        run(&by_copies::<T>(), [x]).gives([y])
    });
    vec![blocks(32, 128), blocks(64, 128), blocks(8, 64), blocks(64, 100), copies]
}

/// Whole numbers that every type has.
fn ramp_of<T: Element>(shape: &[usize]) -> Array {
    to::<T>(&each(&ramp::<f32>(shape), |x| (x.rem_euclid(15.0)) - 7.0))
}

#[tpu_kernel]
fn product<T: Factor>(
    #[block(m, k)] x: In<T>,
    #[block(k, n)] y: In<T>,
    #[block(m, n)] z: Out<T::Acc>,
) {
    z[..] = dot(x[..], y[..]);
}

#[tpu_kernel]
fn product_of_two<T: Factor, U: Factor>(
    #[block(m, k)] x: In<T>,
    #[block(k, n)] y: In<U>,
    #[block(m, n)] z: Out<T::Acc>,
) {
    z[..] = dot_mixed(x[..], y[..], DotOp::default());
}

#[tpu_kernel]
fn product_of_widened(
    #[block(m, k)] x: In<bf16>,
    #[block(k, n)] y: In<i4>,
    #[block(m, n)] z: Out<f32>,
) {
    z[..] = dot(x[..], y[..].cast());
}

fn expected(x: &Array, y: &Array, dtype: DType) -> Array {
    let ([m, k], n) = ([x.shape()[0], x.shape()[1]], y.shape()[1]);
    let (x, y) = (x.to_f64(), y.to_f64());
    let sum = |i: usize, j: usize| (0..k).map(|l| x[i * k + l] * y[l * n + j]).sum();
    let values: Vec<f64> = (0..m * n).map(|at| sum(at / n, at % n)).collect();
    array(dtype, &[m, n], &values)
}

fn products() -> Vec<Case> {
    let float8 = "pallas_test::PallasCallTest::test_float8_e4m3b11fnuz_dot";
    vec![
        case("product_of_int4", INT4, || {
            let (x, y) = (ramp_of::<i4>(&[64, 128]), ramp_of::<i4>(&[128, 256]));
            let z = expected(&x, &y, DType::I32);
            run(&product::<i4>(), [x, y])
                .gives([z])
                .refused_by(&[&V4, &TPU7X], Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case("int4_widened_and_multiplied", INT4, || {
            let (x, y) = (ramp_of::<bf16>(&[64, 128]), ramp_of::<i4>(&[128, 256]));
            let z = expected(&x, &y, DType::F32);
            run(&product_of_widened(), [x, y]).gives([z])
        }),
        case("product_of_float8", float8, || {
            let (x, y) = (ramp_of::<f8e4m3fn>(&[64, 128]), ramp_of::<f8e4m3fn>(&[128, 256]));
            let z = expected(&x, &y, DType::F32);
            run(&product::<f8e4m3fn>(), [x, y])
                .gives([z])
                .refused_by(&[&V4], Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case("product_of_two_kinds_of_float8", float8, || {
            let (x, y) = (ramp_of::<f8e4m3fn>(&[64, 128]), ramp_of::<f8e5m2>(&[128, 256]));
            let z = expected(&x, &y, DType::F32);
            run(&product_of_two::<f8e4m3fn, f8e5m2>(), [x, y])
                .gives([z])
                .refused_by(&[&V4], Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case("product_of_bf16_by_float8", float8, || {
            let (x, y) = (ramp_of::<bf16>(&[64, 128]), ramp_of::<f8e5m2>(&[128, 256]));
            let z = expected(&x, &y, DType::F32);
            run(&product_of_two::<bf16, f8e5m2>(), [x, y])
                .gives([z])
                .refused_by(&[&V4], Code::VALID_UNSUPPORTED_MATMUL)
        }),
        case("product_of_f32_by_float8", float8, || {
            let (x, y) = (ramp_of::<f32>(&[64, 128]), ramp_of::<f8e4m3fn>(&[128, 256]));
            let z = expected(&x, &y, DType::F32);
            run(&product_of_two::<f32, f8e4m3fn>(), [x, y])
                .gives([z])
                .refused_by(&[&V4], Code::VALID_UNSUPPORTED_MATMUL)
        }),
    ]
}

/// A kernel of one op on a tile of `dtype`, in the text form: Rust's types rule out most of these.
fn with_op(dtype: &str, line: &str) -> String {
    format!(
        "kernel k {{\n\
         scratch x: {dtype}[8, 128] vmem\n\
         body(%x: vmem {dtype}[8, 128]) {{\n\
         \x20 %1 = load %x[:, :] : {dtype}[8, 128]\n\
         \x20 {line}\n\
         \x20 store %x[:, :], %1\n\
         }}\n\
         }}\n"
    )
}

fn refusals() -> Vec<Case> {
    let refused = |name: &'static str, dtype: &'static str, line: &'static str| {
        case(name, INT4, move || parse(&with_op(dtype, line)).told(Code::IR_TYPE))
    };
    vec![
        refused("sum_of_int4", "i4", "%2 = add %1, %1 : i4[8, 128]"),
        refused("comparison_of_float8", "f8e4m3fn", "%2 = lt %1, %1 : bool[8, 128]"),
        refused("reduction_of_float8", "f8e5m2", "%2 = reduce_max %1 axis 0 : f8e5m2[1, 128]"),
        refused("constant_of_int4", "i4", "%2 = const 1 : i4"),
        refused("bits_of_float8", "f8e5m2", "%2 = bitcast %1 : i8[8, 128]"),
        case("masked_load_of_int4", INT4, || {
            run(&masked(), [ramp_of::<i4>(&[64, 128])]).told(Code::IR_TYPE)
        }),
        case("scalar_of_float8", FLOAT8, || {
            run(&scalar_of_float8(8, 128), [ramp::<f32>(&[1])]).told(Code::IR_TYPE)
        }),
    ]
}

#[tpu_kernel]
fn masked(#[block(m, n)] x: In<i4>, #[block(m, n)] y: Out<f32>) {
    let mask = iota([m, n], 0).lt(3);
    y[..] = x.load_masked(.., mask).cast();
}

#[tpu_kernel]
fn scalar_of_float8(
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[prefetch] table: Smem<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = full([m, n], table[0].cast::<f8e5m2>().cast::<f32>());
}
