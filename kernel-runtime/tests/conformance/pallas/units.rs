//! Explicit control of the matrix units.

use super::{Case, case, fill, pick, run};
use crate::batch::array;
use systole::diag::Code;
use systole::prelude::*;
use systole::target::{Target, V4, V5E, V5P, V6E};

const WITHOUT: &[&Target] = &[&V4, &V5E, &V5P, &V6E];

pub(super) fn cases() -> Vec<Case> {
    let probe = |kernel: &dyn KernelFn, k: usize, z: fn(&Array, &Array) -> Array| {
        let (x, y) = (numbers(&[256, k]), numbers(&[k, 256]));
        let z = z(&x, &y);
        let specs: Vec<ArgSpec> = [&x, &y].into_iter().map(ArgSpec::from).collect();
        super::Probe::new(kernel.trace(&specs), vec![x, y])
            .gives([z])
            .refused_by(WITHOUT, Code::VALID_UNSUPPORTED_MXU)
            .refused_by_stablehlo()
    };
    vec![
        case("unit_multiplies", "tpu_pallas_test::ExplicitMXUTest::test_basic", move || {
            probe(&in_one_step(), 256, product)
        }),
        case("unit_sums_up", "tpu_pallas_test::ExplicitMXUTest::test_basic", move || {
            probe(&in_steps(), 1024, product)
        }),
        case("units_share_the_work", "tpu_pallas_test::ExplicitMXUTest::test_basic", move || {
            probe(&by_two_units(), 512, product)
        }),
        case(
            "unit_multiplies_transposed",
            "tpu_pallas_test::ExplicitMXUTest::test_basic",
            move || {
                probe(&transposed(), 256, |x, y| {
                    product(x, &pick(y, &[256, 256], |i| vec![i[1], i[0]]))
                })
            },
        ),
        case("unit_multiplies_float8", "tpu_pallas_test::ExplicitMXUTest::test_basic", || {
            let whole = |shape: &[usize]| {
                fill::<f8e4m3fn>(shape, |i| f64::from(((i[0] * 5 + i[1] * 3) % 13) as i32 - 6))
            };
            let (x, y) = (whole(&[256, 256]), whole(&[256, 256]));
            let z = product(&x, &y);
            run(&of_float8(), [x, y])
                .gives([z])
                .refused_by(WITHOUT, Code::VALID_UNSUPPORTED_MXU)
                .refused_by_stablehlo()
        }),
    ]
}

/// Small whole numbers, whose products are exact.
fn numbers(shape: &[usize]) -> Array {
    fill::<bf16>(shape, |i| f64::from(((i[0] * 7 + i[1] * 3) % 19) as i32 - 9))
}

fn product(x: &Array, y: &Array) -> Array {
    let ([m, k], n) = ([x.shape()[0], x.shape()[1]], y.shape()[1]);
    let (x, y) = (x.to_f64(), y.to_f64());
    let mut z = vec![0.0; m * n];
    for (row, sums) in x.chunks(k).zip(z.chunks_mut(n)) {
        for (factor, line) in row.iter().zip(y.chunks(n)) {
            sums.iter_mut().zip(line).for_each(|(sum, y)| *sum += factor * y);
        }
    }
    array(DType::F32, &[m, n], &z)
}

#[tpu_kernel]
fn in_one_step(#[block(m, k)] x: In<bf16>, #[block(k, n)] y: In<bf16>, #[block(m, n)] z: Out<f32>) {
    let mxu = MatrixUnit::new(0);
    mxu.push_rhs(y[..], 0);
    mxu.acc_lhs(0, x[..], Some(0));
    z[..] = mxu.pop(0, [m, n]);
}

/// The next right operand is staged while the one before is in use.
#[tpu_kernel]
fn in_steps(#[block(m, k)] x: In<bf16>, #[block(k, n)] y: In<bf16>, #[block(m, n)] z: Out<f32>) {
    let mxu = MatrixUnit::new(1);
    mxu.push_rhs(y[(ds(0, 256), ..)], 0);
    let steps = k / 256;
    #[unroll]
    for l in 0..steps {
        if l + 1 < steps {
            mxu.push_rhs(y[(ds((l + 1) * 256, 256), ..)], (l + 1) % 2);
        }
        mxu.acc_lhs(256, x[(.., ds(l * 256, 256))], Some(l % 2));
    }
    z[..] = mxu.pop(256, [m, n]);
}

/// Each unit has half of the contraction, and multiplies by it what comes in two parts.
#[tpu_kernel]
fn by_two_units(
    #[block(m, k)] x: In<bf16>,
    #[block(k, n)] y: In<bf16>,
    #[block(m, n)] z: Out<f32>,
) {
    let units = [MatrixUnit::new(0), MatrixUnit::new(1)];
    #[unroll]
    for half in 0..2 {
        units[half].push_rhs(y[(ds(half * 256, 256), ..)], 0);
        units[half].acc_lhs(0, x[(ds(0, 128), ds(half * 256, 256))], Some(0));
        units[half].acc_lhs(128, x[(ds(128, 128), ds(half * 256, 256))], None);
    }
    z[..] = units[0].pop(0, [m, n]) + units[1].pop(0, [m, n]);
}

#[tpu_kernel]
fn transposed(#[block(m, k)] x: In<bf16>, #[block(k, n)] y: In<bf16>, #[block(m, n)] z: Out<f32>) {
    let mxu = MatrixUnit::new(0);
    mxu.push_rhs_t(y[..], 1);
    mxu.acc_lhs(0, x[..], Some(1));
    z[..] = mxu.pop(0, [m, n]);
}

#[tpu_kernel]
fn of_float8(
    #[block(m, k)] x: In<f8e4m3fn>,
    #[block(k, n)] y: In<f8e4m3fn>,
    #[block(m, n)] z: Out<f32>,
) {
    let mxu = MatrixUnit::new(0);
    mxu.push_rhs(y[..], 0);
    mxu.acc_lhs(0, x[..], Some(0));
    z[..] = mxu.pop(0, [m, n]);
}
