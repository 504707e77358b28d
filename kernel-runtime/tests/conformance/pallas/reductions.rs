//! Reductions: along each axis, to scalars, over masks, and the places of extremes.

use super::{Case, at, case, each, fill, ramp, run, to};
use systole::diag::Code;
use systole::prelude::*;
use systole::run::Tolerance;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = along_axes();
    cases.extend(to_scalars());
    cases.extend(places());
    cases.extend(masks());
    cases
}

/// What is reduced to what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Sum,
    Max,
    Min,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Sum => "sum",
            Kind::Max => "max",
            Kind::Min => "min",
        }
    }

    fn of(self, values: impl Iterator<Item = f64>) -> f64 {
        match self {
            Kind::Sum => values.sum(),
            Kind::Max => values.fold(f64::NEG_INFINITY, f64::max),
            Kind::Min => values.fold(f64::INFINITY, f64::min),
        }
    }
}

#[tpu_kernel]
fn along<T: Num>(
    #[comptime] kind: Kind,
    #[comptime] axis: usize,
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[comptime] r: usize,
    #[block(l, m, n)] x: In<T>,
    #[block(p, q, r)] y: Out<T>,
) {
    y[..] = match kind {
        Kind::Sum => x[..].reduce_sum(axis),
        Kind::Max => x[..].reduce_max(axis),
        Kind::Min => x[..].reduce_min(axis),
    };
}

fn reduced<T: Num>(kind: Kind, axis: usize) -> Case {
    let name = format!("{}_along_axis_{axis}_of_{}", kind.name(), T::DTYPE);
    case(name, "tpu_ops_test::OpsTest::test_reduction", move || {
        let shape = [2, 16, 128];
        let x = each(&ramp::<T>(&shape), |x| x % 7.0);
        let mut out = shape;
        out[axis] = 1;
        let y = fill::<T>(&out, |i| {
            let along = |j: usize| {
                let mut i = i.to_vec();
                i[axis] = j;
                i
            };
            kind.of((0..shape[axis]).map(|j| at(&x, &along(j))))
        });
        let [p, q, r] = out;
        run(&along::<T>(kind, axis, p, q, r), [x.clone()]).gives([y])
    })
}

fn along_axes() -> Vec<Case> {
    let mut cases = Vec::new();
    for axis in 0..3 {
        for kind in [Kind::Sum, Kind::Max, Kind::Min] {
            cases.push(reduced::<f32>(kind, axis));
            cases.push(reduced::<i32>(kind, axis));
        }
    }
    cases.push(reduced::<bf16>(Kind::Max, 1));
    cases.push(reduced::<bf16>(Kind::Min, 2));
    cases.push(case(
        "sum_of_a_row_spread_over_a_matrix",
        "tpu_pallas_test::PallasCallTest::test_replicated_broadcast_reduction",
        || {
            let x = ramp::<f32>(&[1, 128]);
            let y = fill::<f32>(&[1, 128], |i| 8.0 * at(&x, i));
            run(&spread_and_summed(8), [x.clone()]).gives([y])
        },
    ));
    cases.push(case(
        "sum_over_the_third_axis_of_four",
        "tpu_pallas_test::MiscellaneousTest::test_sum",
        || {
            let x = ramp::<f32>(&[4, 2, 8, 128]);
            let y = fill::<f32>(&[4, 2, 1, 128], |i| {
                (0..8).map(|row| at(&x, &[i[0], i[1], row, i[3]])).sum()
            });
            run(&third_of_four(), [x.clone()]).gives([y])
        },
    ));
    cases
}

#[tpu_kernel]
fn spread_and_summed(
    #[comptime] rows: usize,
    #[block(one, n)] x: In<f32>,
    #[block(one, n)] y: Out<f32>,
) {
    y[..] = x[..].broadcast_to([rows, n]).reduce_sum(0);
}

#[tpu_kernel(dims(one = 1))]
fn third_of_four(#[block(k, l, m, n)] x: In<f32>, #[block(k, l, one, n)] y: Out<f32>) {
    y[..] = x[..].reduce_sum(2);
}

#[tpu_kernel]
fn whole<T: Num>(#[comptime] kind: Kind, #[block(m, n)] x: In<T>, #[block(m, n)] y: Out<T>) {
    let value = match kind {
        Kind::Sum => x[..].sum_all(),
        Kind::Max => x[..].max_all(),
        Kind::Min => x[..].min_all(),
    };
    y[..] = full([m, n], value);
}

fn whole_of<T: Num>(kind: Kind, shape: &'static [usize], mirrors: &'static str) -> Case {
    let name = format!("{}_of_all_{}x{}_{}", kind.name(), shape[0], shape[1], T::DTYPE);
    case(name, mirrors, move || {
        let x = each(&ramp::<T>(shape), |x| x % 9.0);
        let value = kind.of(x.to_f64().into_iter());
        run(&whole::<T>(kind), [x.clone()]).gives([fill::<T>(shape, |_| value)])
    })
}

fn to_scalars() -> Vec<Case> {
    let (float, int) =
        ("ops_test::OpsTest::test_reduce_float", "ops_test::OpsTest::test_reduce_int32");
    vec![
        whole_of::<f32>(Kind::Sum, &[8, 128], float),
        whole_of::<f32>(Kind::Max, &[8, 128], float),
        whole_of::<f32>(Kind::Min, &[8, 128], float),
        whole_of::<i32>(Kind::Sum, &[32, 256], int),
        whole_of::<i32>(Kind::Max, &[31, 300], int),
        whole_of::<i32>(Kind::Min, &[31, 300], int),
    ]
}

#[tpu_kernel]
fn place_of(
    #[comptime] largest: bool,
    #[comptime] axis: usize,
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[block(m, n)] x: In<f32>,
    #[block(p, q)] y: Out<i32>,
) {
    y[..] = if largest { x[..].reduce_argmax(axis) } else { x[..].reduce_argmin(axis) };
}

#[tpu_kernel]
fn place_of_ints(
    #[comptime] p: usize,
    #[comptime] q: usize,
    #[block(m, n)] x: In<i32>,
    #[block(p, q)] y: Out<i32>,
) {
    y[..] = x[..].reduce_argmax(1);
}

fn placed(largest: bool, axis: usize, shape: [usize; 2]) -> Case {
    let name = format!(
        "arg{}_along_axis_{axis}_of_{}x{}",
        if largest { "max" } else { "min" },
        shape[0],
        shape[1]
    );
    case(name, "tpu_ops_test::OpsTest::test_reduce_index", move || {
        let x = ramp::<f32>(&shape);
        let mut out = shape;
        out[axis] = 1;
        let y = fill::<i32>(&out, |i| {
            let value = |j: usize| {
                let mut i = [i[0], i[1]];
                i[axis] = j;
                if largest { at(&x, &i) } else { -at(&x, &i) }
            };
            let first = |best: usize, j: usize| if value(j) > value(best) { j } else { best };
            (0..shape[axis]).reduce(first).unwrap() as f64
        });
        let [p, q] = out;
        run(&place_of(largest, axis, p, q), [x.clone()]).gives([y])
    })
}

fn places() -> Vec<Case> {
    vec![
        placed(true, 0, [16, 128]),
        placed(true, 1, [16, 128]),
        placed(false, 0, [12, 28]),
        placed(false, 1, [12, 28]),
        case("argmax_of_ints", "ops_test::OpsTest::test_array_reduce", || {
            let x = ramp::<i32>(&[16, 128]);
            let y = fill::<i32>(&[16, 1], |i| {
                let value = |j: usize| at(&x, &[i[0], j]);
                let first = |best: usize, j: usize| if value(j) > value(best) { j } else { best };
                (0..128).reduce(first).unwrap() as f64
            });
            run(&place_of_ints(16, 1), [x.clone()]).gives([y])
        }),
        case("sum_of_no_axis", "ops_test::OpsTest::test_reduce_only_dim", || {
            run(&along::<f32>(Kind::Sum, 3, 2, 16, 128), [ramp::<f32>(&[2, 16, 128])])
                .told(Code::IR_SHAPE)
        }),
    ]
}

#[tpu_kernel]
fn any_and_all(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>, #[block(m, n)] z: Out<f32>) {
    let mask = x[..] == 1.0;
    y[..] = full([m, n], mask.any().select(1.0, 0.0));
    z[..] = full([m, n], mask.all().select(1.0, 0.0));
}

fn flagged(name: &'static str, x: fn(&[usize]) -> f64, any: f64, all: f64) -> Case {
    case(name, "ops_test::OpsTest::test_reduce_boolean", move || {
        let value = |value: f64| fill::<f32>(&[8, 128], |_| value);
        run(&any_and_all(), [fill::<f32>(&[8, 128], x)]).gives([value(any), value(all)])
    })
}

fn masks() -> Vec<Case> {
    vec![
        flagged("any_and_all_of_true", |_| 1.0, 1.0, 1.0),
        flagged("any_and_all_of_false", |_| 0.0, 0.0, 0.0),
        flagged("any_and_all_with_one_false", |i| f64::from(u8::from(i != [3, 77])), 1.0, 0.0),
        case("product_with_ones_as_a_sum", "tpu_ops_test::OpsTest::test_reduce_with_const", || {
            let x = each(&to::<f32>(&ramp::<i32>(&[8, 256])), |x| x % 5.0);
            let y = fill::<f32>(&[8, 128], |i| (0..256).map(|j| at(&x, &[i[0], j])).sum());
            run(&times_ones(128), [to::<bf16>(&x)]).gives([y]).within(Tolerance::exact())
        }),
        case("max_with_nan", "ops_test::OpsTest::test_array_reduce", || {
            let x = fill::<f32>(&[8, 128], |i| if *i == [2, 9] { f64::NAN } else { i[1] as f64 });
            let y = fill::<f32>(&[8, 1], |i| if i[0] == 2 { f64::NAN } else { 127.0 });
            run(&largest_of_rows(), [x]).gives([y])
        }),
        case("sums_of_u32", "ops_test::OpsTest::test_array_reduce", || {
            let x = fill::<u32>(&[8, 128], |i| (i[0] * 1000 + i[1]) as f64);
            let y = fill::<u32>(&[8, 1], |i| (i[0] * 128_000 + 127 * 64) as f64);
            run(&sums_of_rows(), [x]).gives([y])
        }),
    ]
}

#[tpu_kernel]
fn times_ones(#[comptime] k: usize, #[block(m, n)] x: In<bf16>, #[block(m, k)] y: Out<f32>) {
    y[..] = dot(x[..], full([n, k], 1.0));
}

#[tpu_kernel(dims(one = 1))]
fn largest_of_rows(#[block(m, n)] x: In<f32>, #[block(m, one)] y: Out<f32>) {
    y[..] = x[..].row_max();
}

#[tpu_kernel(dims(one = 1))]
fn sums_of_rows(#[block(m, n)] x: In<u32>, #[block(m, one)] y: Out<u32>) {
    y[..] = x[..].row_sum();
}
