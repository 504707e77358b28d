//! Functions of numbers, products, and random bits.

use super::{Case, at, both, case, each, fill, ramp, run};
use systole::diag::Code;
use systole::prelude::*;
use systole::run::Tolerance;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = functions();
    cases.extend(products());
    cases.extend(random());
    cases
}

#[tpu_kernel]
fn map(
    #[comptime] f: impl Fn(Tile<f32>) -> Tile<f32> + Clone,
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] y: Out<f32>,
) {
    y[..] = f(x[..]);
}

/// A function of the numbers between two limits.
fn function(
    name: &'static str,
    range: (f64, f64),
    ulp: u64,
    f: fn(Tile<f32>) -> Tile<f32>,
    expected: fn(f64) -> f64,
) -> Case {
    case(name, "ops_test::OpsTest::test_unary_primitives", move || {
        let (low, high) = range;
        let x = fill::<f32>(&[8, 128], |i| {
            let part = (i[0] * 128 + i[1]) as f64 / 1023.0;
            f64::from((low + (high - low) * part) as f32)
        });
        run(&map(f), [x.clone()]).gives([each(&x, expected)]).within(Tolerance::ulp(ulp))
    })
}

fn functions() -> Vec<Case> {
    vec![
        function("exp", (-20.0, 20.0), 8, |x| x.exp(), f64::exp),
        function("log", (0.01, 90.0), 16, |x| x.log(), f64::ln),
        function("tanh", (-4.0, 4.0), 16, |x| x.tanh(), f64::tanh),
        function("rsqrt", (0.01, 90.0), 8, |x| x.rsqrt(), |x| x.sqrt().recip()),
        function("sin", (-6.0, 6.0), 256, |x| x.sin(), f64::sin),
        function("tan", (-1.2, 1.2), 32, |x| x.tan(), f64::tan),
        function("floor", (-9.0, 9.0), 0, |x| x.floor(), f64::floor),
        function("logistic", (-9.0, 9.0), 16, |x| x.logistic(), |x| 1.0 / (1.0 + (-x).exp())),
        case("sign", "ops_test::OpsTest::test_sign", || {
            let x = fill::<f32>(&[8, 128], |i| [-3.5, 0.0, 2.0, f64::NAN, f64::INFINITY][i[1] % 5]);
            let y = each(&x, |x| if x.is_nan() || x == 0.0 { x } else { x.signum() });
            run(&map(|x| x.sign()), [x.clone()]).gives([y])
        }),
        case("inverse_of_erf", "ops_test::OpsTest::test_erf_inv", || {
            let some = [-0.5, 0.0, 0.75, 0.999, 1.0];
            // To seven digits, from tables of the normal distribution.
            let known = [-0.476_936_3, 0.0, 0.813_419_8, 2.326_753_8, f64::INFINITY];
            let x = fill::<f32>(&[8, 128], |i| some[i[1] % 5]);
            let y = fill::<f32>(&[8, 128], |i| known[i[1] % 5]);
            run(&map(|x| x.erf_inv()), [x]).gives([y]).within(Tolerance::ulp(32))
        }),
        case("finite_or_not", "ops_test::OpsTest::test_is_finite", || {
            let x = fill::<f32>(&[8, 128], |i| [1.0, f64::NAN, f64::NEG_INFINITY][i[1] % 3]);
            let y = fill::<f32>(&[8, 128], |i| [1.0, 0.0, 0.0][i[1] % 3]);
            run(&map(|x| x.is_finite().cast()), [x]).gives([y])
        }),
        case("clamped", "ops_test::OpsTest::test_clamp", || {
            let x = ramp::<f32>(&[8, 128]);
            run(&map(|x| x.clamp(-1.0, 60.0)), [x.clone()])
                .gives([each(&x, |x| x.clamp(-1.0, 60.0))])
        }),
        case("power", "ops_test::OpsTest::test_pow", || {
            let x = fill::<f32>(&[8, 128], |i| 0.5 + i[1] as f64 / 64.0);
            let y = each(&x, |x| x.powf(3.5));
            run(&map(|x| x.pow(3.5)), [x]).gives([y]).within(Tolerance::ulp(64))
        }),
        case("power_of_two_numbers", "ops_test::OpsTest::test_binary_array", || {
            let (x, y) = (ramp::<f32>(&[8, 128]), fill::<f32>(&[8, 128], |i| (i[1] + 1) as f64));
            let z = both(&x, &y, |x, y| f64::from((y as f32).atan2(x as f32)));
            run(&angles(), [x.clone(), y.clone()]).gives([z]).within(Tolerance::ulp(16))
        }),
        case("quotient", "tpu_ops_test::OpsTest::test_float_div", || {
            let (x, y) =
                (ramp::<f32>(&[8, 128]), fill::<f32>(&[8, 128], |i| (i[1] * 3 + 1) as f64));
            let z = both(&x, &y, |x, y| x / y);
            run(&quotients(), [x.clone(), y.clone()]).gives([z]).within(Tolerance::ulp(1))
        }),
        case("reciprocal", "ops_test::PallasPrimitivesTest::test_reciprocal", || {
            let x = fill::<f32>(&[8, 128], |i| (i[0] * 128 + i[1] + 1) as f64);
            let y = each(&x, f64::recip);
            run(&map(|x| x.reciprocal()), [x]).gives([y]).within(Tolerance::ulp(2))
        }),
        case("reciprocal_to_some_bits", "ops_test::PallasPrimitivesTest::test_reciprocal", || {
            let x = fill::<f32>(&[8, 128], |i| (i[0] * 128 + i[1] + 1) as f64);
            let y = each(&x, f64::recip);
            run(&map(|x| x.reciprocal_approx()), [x]).gives([y]).within(Tolerance::ulp(2))
        }),
        case("bits_counted", "ops_test::OpsTest::test_unary_primitives", || {
            let x = fill::<u32>(&[8, 128], |i| f64::from((i[0] * 128 + i[1]) as u32 * 2_654_435));
            let count = |f: fn(u32) -> u32| fill::<u32>(&[8, 128], |i| f(at(&x, i) as u32).into());
            run(&counts_bits(), [x.clone()])
                .gives([count(u32::count_ones), count(u32::leading_zeros)])
        }),
    ]
}

#[tpu_kernel]
fn angles(#[block(m, n)] x: In<f32>, #[block(m, n)] y: In<f32>, #[block(m, n)] z: Out<f32>) {
    z[..] = y[..].atan2(x[..]);
}

#[tpu_kernel]
fn quotients(#[block(m, n)] x: In<f32>, #[block(m, n)] y: In<f32>, #[block(m, n)] z: Out<f32>) {
    z[..] = x[..] / y[..];
}

#[tpu_kernel]
fn counts_bits(#[block(m, n)] x: In<u32>, #[block(m, n)] y: Out<u32>, #[block(m, n)] z: Out<u32>) {
    y[..] = x[..].count_ones();
    z[..] = x[..].leading_zeros();
}

/// `x y` with either side transposed, at a precision.
#[tpu_kernel]
fn product<T: Float>(
    #[comptime] op: DotOp,
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[block(m, n)] x: In<T>,
    #[block(k, l)] y: In<T>,
    #[block(p, q)] z: Out<f32>,
) {
    z[..] = dot_with(x[..], y[..], op).cast();
}

fn multiplied<T: Float>(name: &'static str, transpose: (bool, bool), precision: Precision) -> Case {
    case(name, "ops_test::OpsTest::test_dot", move || {
        let size = |rows: usize, columns: usize, turned: bool| {
            if turned { [columns, rows] } else { [rows, columns] }
        };
        let number = |i: &[usize]| ((i[0] * 7 + i[1] * 3) % 15) as f64 - 7.0;
        let x = fill::<T>(&size(16, 128, transpose.0), number);
        let y = fill::<T>(&size(128, 256, transpose.1), |i| number(&[i[1], i[0] + 1]));
        let z = fill::<f32>(&[16, 256], |i| {
            let term = |k: usize| {
                let [a, b] = size(i[0], k, transpose.0);
                let [c, d] = size(k, i[1], transpose.1);
                at(&x, &[a, b]) * at(&y, &[c, d])
            };
            (0..128).map(term).sum()
        });
        let op = DotOp { transpose_lhs: transpose.0, transpose_rhs: transpose.1, precision };
        run(&product::<T>(op, 16, 256), [x.clone(), y.clone()]).gives([z])
    })
}

fn products() -> Vec<Case> {
    vec![
        multiplied::<f32>("product_f32", (false, false), Precision::Highest),
        multiplied::<f32>("product_f32_in_three_passes", (false, false), Precision::High),
        multiplied::<bf16>("product_bf16", (false, false), Precision::Medium),
        multiplied::<bf16>(
            "product_with_the_right_side_transposed",
            (false, true),
            Precision::Medium,
        ),
        multiplied::<bf16>(
            "product_with_the_left_side_transposed",
            (true, false),
            Precision::Medium,
        ),
        case("sum_of_two_products", "tpu_ops_test::OpsTest::test_sum_of_two_matmuls", || {
            let x = fill::<bf16>(&[128, 128], |i| ((i[0] + i[1] * 3) % 5) as f64);
            let y = fill::<f32>(&[128, 128], |i| {
                let terms = (0..128).map(|k| at(&x, &[i[0], k]) * at(&x, &[k, i[1]]));
                2.0 * terms.sum::<f64>()
            });
            run(&two_products(), [x.clone()]).gives([y])
        }),
        case(
            "product_of_unequal_sizes",
            "pallas_test::ApiErrorTest::test_pallas_error_for_ref_to_jax",
            || {
                let op = DotOp::default();
                run(
                    &product::<f32>(op, 16, 256),
                    [ramp::<f32>(&[16, 64]), ramp::<f32>(&[128, 256])],
                )
                .told(Code::IR_SHAPE)
            },
        ),
    ]
}

#[tpu_kernel]
fn two_products(#[block(m, m)] x: In<bf16>, #[block(m, m)] y: Out<f32>) {
    y[..] = dot(x[..], x[..]) + dot(x[..], x[..]);
}

fn random() -> Vec<Case> {
    vec![
        case(
            "bits_of_threefry",
            "tpu_pallas_random_test::ThreefryTest::test_threefry_kernel_matches_jax_threefry",
            || {
                // Random123's known answer for the key of ones and the counter of ones.
                let y = fill::<u32>(&[2, 128], |i| f64::from([0x1cb9_96fc_u32, 0xbb00_2be7][i[0]]));
                run(&threefry_of_ones(2, 128), []).gives([y])
            },
        ),
        case(
            "bits_of_the_core_differ",
            "tpu_pallas_random_test::PRNGTest::test_prng_non_vreg_shape_output",
            || {
                let y = fill::<i32>(&[8, 128], |_| 1.0);
                run(&draws_twice(8, 128), []).gives([y]).refused_by_stablehlo()
            },
        ),
        case(
            "bits_without_a_seed",
            "tpu_pallas_random_test::PRNGTest::test_seeded_reproducibility",
            || run(&unseeded(8, 128), []).told(Code::INTERP_UNSEEDED),
        ),
        case("rounded_at_random", "tpu_ops_test::OpsTest::test_stochastic_round", || {
            // All bits set round up, none down; what is exact stays.
            let x = fill::<f32>(&[16, 128], |i| [1.0, 1.001, -3.003][i[1] % 3]);
            let bits = fill::<u32>(&[16, 128], |i| if i[0] < 8 { 0.0 } else { 4_294_967_295.0 });
            let y = fill::<bf16>(&[16, 128], |i| {
                let x = at(&x, i) as f32;
                let down = bf16::from_bits((x.to_bits() >> 16) as u16);
                let up = bf16::from_bits(down.to_bits() + 1);
                if i[0] < 8 || down.to_f32() == x { down.into() } else { up.into() }
            });
            run(&rounds(), [x.clone(), bits]).gives([y])
        }),
    ]
}

#[tpu_kernel]
fn threefry_of_ones(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<u32>) {
    let ones = || full::<u32>([1, n], u32::MAX);
    let key = [scalar::<u32>(u32::MAX), scalar::<u32>(u32::MAX)];
    let [a, b] = threefry_2x32(key, [ones(), ones()]);
    y[..] = concat(&[a, b], 0);
}

/// Whether two draws differ: as tests of random bits go, this one cannot fail by chance.
#[tpu_kernel]
fn draws_twice(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<i32>) {
    prng_seed(17);
    let (a, b) = (prng_bits([m, n]), prng_bits([m, n]));
    y[..] = full([m, n], (a != b).any().select(1, 0));
}

#[tpu_kernel]
fn unseeded(#[comptime] m: usize, #[comptime] n: usize, #[block(m, n)] y: Out<u32>) {
    y[..] = prng_bits([m, n]);
}

#[tpu_kernel]
fn rounds(#[block(m, n)] x: In<f32>, #[block(m, n)] bits: In<u32>, #[block(m, n)] y: Out<bf16>) {
    y[..] = x[..].stochastic_round(bits[..]);
}
