//! Ops against plain loops.

use super::support::*;
use half::bf16;
use proptest::prelude::*;
use systole::ir::DType::{BF16, Bool, F16, F32, I8, I32, U8, U32};
use systole::ir::ParamKind::{In, Out};
use systole::ir::ops::{
    Binary, Compare, DotOp, Elementwise, Precision, ReduceKind, ShapeOp, Unary,
};
use systole::ir::{Array, DType, Op, Shape, Value};

/// Runs what `make` builds on the inputs, each given and loaded whole.
fn eval(inputs: &[Array], make: &dyn Fn(&mut Draft, &[Value]) -> Value) -> Array {
    let (mut d, _) = Draft::new(&[]);
    let refs: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(idx, x)| d.whole(In, &format!("x{idx}"), x.dtype(), x.shape()))
        .collect();
    // The output's type is known once the ops are there, but parameters come first: a dry run
    // finds it.
    let mut dry = Draft::new(&[]).0;
    let dry_refs: Vec<Value> =
        inputs.iter().map(|x| dry.whole(In, "x", x.dtype(), x.shape())).collect();
    let loaded: Vec<Value> = dry_refs.iter().map(|&r| dry.load(r)).collect();
    let result = make(&mut dry, &loaded);
    let ty = dry.b.kernel().ty(result).clone();
    let y = d.whole(Out, "y", ty.dtype(), ty.shape());
    let loaded: Vec<Value> = refs.iter().map(|&r| d.load(r)).collect();
    let result = make(&mut d, &loaded);
    d.store(y, result);
    d.run(inputs).unwrap_or_else(|e| panic!("{e}")).outputs.remove(0)
}

/// Values of a type that cover its corners.
fn samples(dtype: DType) -> Array {
    let ints = [0, 1, -1, 2, 3, 7, -8, 100, 127, -128, 255, 1 << 20, i64::from(i32::MIN), 1 << 31];
    let floats = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 1e-3, 77.7, -80.0, 1e30, f64::INFINITY, f64::NAN];
    let values: Vec<f64> = if dtype.is_float() {
        floats.to_vec()
    } else {
        ints.iter().map(|&x| dtype.wrap_int(x) as f64).collect()
    };
    let n = values.len();
    Array::from_f64(dtype, &[1, n], &values).unwrap()
}

/// All pairs of samples.
fn pairs(dtype: DType) -> [Array; 2] {
    let values = samples(dtype).to_f64();
    let n = values.len();
    let left: Vec<f64> = (0..n * n).map(|idx| values[idx / n]).collect();
    let right: Vec<f64> = (0..n * n).map(|idx| values[idx % n]).collect();
    [left, right].map(|values| Array::from_f64(dtype, &[n, n], &values).unwrap())
}

#[track_caller]
fn assert_same(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (idx, (a, b)) in found.iter().zip(expected).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan());
        assert!(same, "{what}: element {idx} is {a}, not {b}");
    }
}

#[test]
fn every_elementwise_op_on_every_type() {
    for &dtype in DType::COMPUTED {
        let x = samples(dtype);
        for &op in Unary::ALL.iter().filter(|op| op.accepts(dtype)) {
            let found = eval(std::slice::from_ref(&x), &|d, x| d.unary(op, x[0]));
            let expected: Vec<f64> = x
                .to_f64()
                .iter()
                .map(|&x| match dtype.is_float() {
                    true => f64::from(dtype.round_f32(op.eval_float(x as f32))),
                    false => dtype.wrap_int(op.eval_int(x as i64)) as f64,
                })
                .collect();
            assert_same(&format!("{} {dtype}", op.name()), &found.to_f64(), &expected);
        }
        let [x, y] = pairs(dtype);
        let both = || x.to_f64().into_iter().zip(y.to_f64());
        for &op in Binary::ALL.iter().filter(|op| op.accepts(dtype)) {
            let found = eval(&[x.clone(), y.clone()], &|d, x| d.binary(op, x[0], x[1]));
            let expected: Vec<f64> = both()
                .map(|(x, y)| match dtype.is_float() {
                    true => f64::from(dtype.round_f32(op.eval_float(x as f32, y as f32))),
                    false => dtype.wrap_int(op.eval_int(x as i64, y as i64)) as f64,
                })
                .collect();
            assert_same(&format!("{} {dtype}", op.name()), &found.to_f64(), &expected);
        }
        for &op in Compare::ALL {
            let found = eval(&[x.clone(), y.clone()], &|d, x| d.compare(op, x[0], x[1]));
            let expected: Vec<f64> = both().map(|(x, y)| f64::from(op.eval(x, y))).collect();
            assert_same(&format!("{} {dtype}", op.name()), &found.to_f64(), &expected);
        }
    }
}

#[test]
fn casts_between_all_types() {
    for &from in DType::ALL {
        let x = samples(from);
        for &to in DType::ALL {
            let found = eval(std::slice::from_ref(&x), &|d, x| d.cast(to, x[0]));
            let expected: Vec<f64> = x
                .to_f64()
                .iter()
                .map(|&x| match (from.is_float(), to.is_float()) {
                    (_, true) => f64::from(to.round_f32(x as f32)),
                    (true, false) => match to.int_range() {
                        None => f64::from(x != 0.0),
                        Some((lo, hi)) => (x as i64).clamp(lo, hi) as f64,
                    },
                    (false, false) => to.cast_int(x as i64) as f64,
                })
                .collect();
            assert_same(&format!("{from} to {to}"), &found.to_f64(), &expected);
        }
    }
}

#[test]
fn bitcasts_keep_the_bits() {
    let twins =
        [(F32, I32), (F32, U32), (BF16, DType::I16), (F16, DType::U16), (I8, U8), (I32, U32)];
    for (a, b) in twins.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
        let x = samples(a);
        let op = Op::Elementwise(Elementwise::Bitcast(b));
        let found = eval(std::slice::from_ref(&x), &|d, x| d.op(op.clone(), x));
        assert_eq!(found.dtype(), b);
        assert_eq!(found.as_bytes(), x.as_bytes(), "{a} to {b}");
    }
}

#[test]
fn bf16_rounds_after_each_op() {
    let x = Array::from_f64(BF16, &[1, 2], &[256.0, 1.0]).unwrap();
    let one = Array::from_f64(BF16, &[1, 2], &[1.0, 2f64.powi(-9)]).unwrap();
    let found = eval(&[x, one], &|d, x| {
        let sum = d.binary(Binary::Add, x[0], x[1]);
        d.binary(Binary::Add, sum, x[1])
    });
    // In f32 the sums would be 258 and 1.00390625, which bf16 has.
    assert_eq!(found.to_f64(), [256.0, 1.0]);
}

#[test]
fn select_takes_elements_or_a_whole_tile() {
    let mask = Array::from_f64(Bool, &[1, 3], &[1.0, 0.0, 1.0]).unwrap();
    let [x, y] =
        [[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]].map(|v| Array::from_f64(F32, &[1, 3], &v).unwrap());
    let found = eval(&[mask, x.clone(), y.clone()], &|d, x| d.select(x[0], x[1], x[2]));
    assert_eq!(found.to_f64(), [1.0, 8.0, 3.0]);
    let found = eval(&[x, y], &|d, x| {
        let no = d.constant(Bool, 0.0);
        d.select(no, x[0], x[1])
    });
    assert_eq!(found.to_f64(), [7.0, 8.0, 9.0]);
}

fn dot_op(transpose_lhs: bool, transpose_rhs: bool, precision: Precision) -> DotOp {
    DotOp { transpose_lhs, transpose_rhs, precision }
}

/// Values that need more than bf16.
fn uneven(shape: &[usize], seed: u32) -> Array {
    let n = shape.iter().product::<usize>() as u32;
    let value = |idx: u32| {
        let mixed = (idx ^ seed).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8;
        mixed as f32 / (1 << 23) as f32 - 1.0
    };
    Array::from_f32(shape, (0..n).map(value).collect()).unwrap()
}

#[test]
fn precision_levels_of_dot() {
    let (a, b) = (uneven(&[16, 64], 1), uneven(&[64, 24], 2));
    let (x, y) = (a.to_f64(), b.to_f64());
    let product = |x: &[f64], y: &[f64]| -> Vec<f64> {
        let element = |at: usize| (0..64).map(|l| x[at / 24 * 64 + l] * y[l * 24 + at % 24]).sum();
        (0..16 * 24).map(element).collect()
    };
    let round = |v: &[f64]| -> Vec<f64> { v.iter().map(|&v| bf16::from_f64(v).to_f64()).collect() };
    let errors = Precision::ALL.iter().map(|&precision| {
        let found = eval(&[a.clone(), b.clone()], &|d, x| {
            d.dot(dot_op(false, false, precision), x[0], x[1])
        });
        let expected = match precision {
            Precision::Medium => product(&round(&x), &round(&y)),
            Precision::High | Precision::Highest => product(&x, &y),
        };
        let differences = found.to_f64().into_iter().zip(expected).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, f64::max)
    });
    let errors: Vec<f64> = errors.collect();
    assert!(errors[0] < 4e-6, "{errors:?}");
    assert!(errors[1] > 1e-5 && errors[1] < 2e-4, "{errors:?}");
    assert!(errors[2] < 4e-6, "{errors:?}");
    // bf16 operands are exact at every level.
    let [a, b] = [(a, [16, 64]), (b, [64, 24])]
        .map(|(v, shape)| Array::from_f64(BF16, &shape, &v.to_f64()).unwrap());
    let results: Vec<Array> = Precision::ALL
        .iter()
        .map(|&p| eval(&[a.clone(), b.clone()], &|d, x| d.dot(dot_op(false, false, p), x[0], x[1])))
        .collect();
    assert!(results.iter().all(|result| *result == results[0]));
}

#[test]
fn infinities_stay_what_they_are_in_a_dot() {
    let a = Array::from_f32(&[1, 2], vec![f32::INFINITY, 1.0]).unwrap();
    let b = Array::from_f32(&[2, 1], vec![2.0, 1.0]).unwrap();
    for &precision in Precision::ALL {
        let found = eval(&[a.clone(), b.clone()], &|d, x| {
            d.dot(dot_op(false, false, precision), x[0], x[1])
        });
        assert_eq!(found.to_f64(), [f64::INFINITY], "{precision:?}");
    }
}

#[test]
fn arg_reductions_take_the_first_of_equals_and_nan() {
    let x = Array::from_f64(
        F32,
        &[3, 4],
        &[1.0, 5.0, 5.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.0, f64::NAN, 9.0, f64::NAN],
    )
    .unwrap();
    let max = eval(std::slice::from_ref(&x), &|d, x| d.reduce(ReduceKind::ArgMax, 1, x[0]));
    assert_eq!(max.to_f64(), [1.0, 2.0, 1.0]);
    let min = eval(&[x], &|d, x| d.reduce(ReduceKind::ArgMin, 1, x[0]));
    assert_eq!(min.to_f64(), [3.0, 0.0, 1.0]);
}

#[test]
fn loops_and_branches_carry_values() {
    let x = counting(&[2, 4]);
    let found = eval(&[x], &|d, x| {
        let bounds = [d.int(1), d.int(8), d.int(3)];
        let zero = d.int(0);
        // Runs for 1, 4 and 7; swaps what it carries.
        let out = d.count(bounds, &[x[0], x[0], zero], &|d, i, carried| {
            let weight = d.cast(F32, i);
            let weight = d.splat(weight, &[2, 4]);
            let next = d.binary(Binary::Add, carried[0], weight);
            let count = d.binary(Binary::Add, carried[2], i);
            vec![carried[1], next, count]
        });
        let twelve = d.int(12);
        let is_sum = d.compare(Compare::Eq, out[2], twelve);
        let chosen = d.either(is_sum, &|_| vec![out[1]], &|_| vec![out[0]]);
        d.binary(Binary::Sub, chosen[0], out[0])
    });
    // Odd: x + 1 + 7; even: x + 4.
    assert_eq!(found.to_f64(), [4.0; 8]);
}

/// A shape of rank 1 to 4 with small sizes.
fn shapes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..6, 1..5)
}

fn strides(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// The index of element number `at`.
fn unravel(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut idx = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        idx[axis] = at % shape[axis];
        at /= shape[axis];
    }
    idx
}

fn ravel(idx: &[usize], shape: &[usize]) -> usize {
    idx.iter().zip(strides(shape)).map(|(i, stride)| i * stride).sum()
}

/// The elements of a counting array at the places that `from` gives for each place of `shape`.
fn gathered(shape: &[usize], from: impl Fn(Vec<usize>) -> usize) -> Vec<f64> {
    (0..shape.iter().product()).map(|at| from(unravel(at, shape)) as f64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transposes(shape in shapes(), seed in any::<u64>()) {
        let mut perm: Vec<usize> = (0..shape.len()).collect();
        perm.sort_by_key(|&axis| (seed >> (axis * 8)) & 0xFF);
        let op = ShapeOp::Transpose(perm.iter().copied().collect());
        let found = eval(&[counting(&shape)], &|d, x| d.shape_op(op.clone(), x));
        let to: Vec<usize> = perm.iter().map(|&axis| shape[axis]).collect();
        let expected = gathered(&to, |idx| {
            let mut from = vec![0; shape.len()];
            for (axis, &p) in perm.iter().enumerate() {
                from[p] = idx[axis];
            }
            ravel(&from, &shape)
        });
        prop_assert_eq!(found.shape(), &to[..]);
        prop_assert_eq!(found.to_f64(), expected);
    }

    #[test]
    fn broadcasts(shape in shapes(), ones in any::<u8>()) {
        let from: Vec<usize> =
            shape.iter().enumerate().map(|(axis, &n)| if ones >> axis & 1 == 1 { 1 } else { n }).collect();
        let found = eval(&[counting(&from)], &|d, x| d.broadcast(x[0], &shape));
        let expected = gathered(&shape, |idx| {
            let idx: Vec<usize> = idx.iter().zip(&from).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            ravel(&idx, &from)
        });
        prop_assert_eq!(found.to_f64(), expected);
    }

    #[test]
    fn slices(shape in shapes(), seed in any::<u64>()) {
        let pick = |axis: usize, bits: usize, n: usize| (seed >> (axis * 12 + bits)) as usize % n;
        let starts: Shape = shape.iter().enumerate().map(|(axis, &n)| pick(axis, 0, n)).collect();
        let steps: Shape = (0..shape.len()).map(|axis| 1 + pick(axis, 4, 3)).collect();
        let sizes: Shape = (0..shape.len())
            .map(|axis| 1 + pick(axis, 8, (shape[axis] - starts[axis]).div_ceil(steps[axis])))
            .collect();
        let op = ShapeOp::Slice { starts: starts.clone(), sizes: sizes.clone(), strides: steps.clone() };
        let found = eval(&[counting(&shape)], &|d, x| d.shape_op(op.clone(), x));
        let expected = gathered(&sizes, |idx| {
            let idx: Vec<usize> =
                (0..idx.len()).map(|axis| starts[axis] + idx[axis] * steps[axis]).collect();
            ravel(&idx, &shape)
        });
        prop_assert_eq!(found.to_f64(), expected);
    }

    #[test]
    fn rolls_and_concats(shape in shapes(), axis in 0_usize..4, shift in -9_i64..9) {
        let axis = axis % shape.len();
        let found = eval(&[counting(&shape)], &|d, x| {
            let shift = d.int(shift);
            let rolled = d.shape_op(ShapeOp::Roll { axis, stride: None }, &[x[0], shift]);
            d.shape_op(ShapeOp::Concat { axis }, &[rolled, x[0]])
        });
        let mut to = shape.clone();
        to[axis] *= 2;
        let n = shape[axis];
        let expected = gathered(&to, |mut idx| {
            idx[axis] = if idx[axis] < n {
                (idx[axis] as i64 - shift).rem_euclid(n as i64) as usize
            } else {
                idx[axis] - n
            };
            ravel(&idx, &shape)
        });
        prop_assert_eq!(found.to_f64(), expected);
    }

    #[test]
    fn reductions(shape in shapes(), axis in 0_usize..4, long in 0_usize..40) {
        let axis = axis % shape.len();
        let mut shape = shape;
        shape[axis] += long;
        let n: usize = shape.iter().product();
        // Small integers, so that every order of summing gives the same.
        let values: Vec<f64> = (0..n).map(|i| (i * 7919 % 23) as f64 - 11.0).collect();
        for dtype in [F32, BF16, I32, I8] {
            let x = Array::from_f64(dtype, &shape, &values).unwrap();
            for kind in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min] {
                let found = eval(std::slice::from_ref(&x), &|d, x| d.reduce(kind, axis, x[0]));
                let mut to = shape.clone();
                to[axis] = 1;
                let expected: Vec<f64> = (0..to.iter().product()).map(|at| {
                    let row = (0..shape[axis]).map(|i| {
                        let mut idx = unravel(at, &to);
                        idx[axis] = i;
                        values[ravel(&idx, &shape)]
                    });
                    match kind {
                        ReduceKind::Max => row.fold(f64::MIN, f64::max),
                        ReduceKind::Min => row.fold(f64::MAX, f64::min),
                        _ => {
                            let sum: f64 = row.sum();
                            if dtype.is_float() { f64::from(dtype.round_f32(sum as f32)) } else { dtype.wrap_int(sum as i64) as f64 }
                        }
                    }
                }).collect();
                prop_assert_eq!(found.to_f64(), expected);
            }
        }
    }

    #[test]
    fn dots(m in 1_usize..40, k in 1_usize..40, n in 1_usize..70, long in any::<bool>(), flags in 0_u8..4) {
        let k = if long { k + 1000 } else { k };
        let op = dot_op(flags & 1 != 0, flags & 2 != 0, Precision::Medium);
        let lhs_shape = if op.transpose_lhs { [k, m] } else { [m, k] };
        let rhs_shape = if op.transpose_rhs { [n, k] } else { [k, n] };
        let small = |n: usize, p: usize| -> Vec<f64> { (0..n).map(|i| (i * p % 17) as f64 - 8.0).collect() };
        let (x, y) = (small(m * k, 7919), small(k * n, 104_729));
        let expected: Vec<f64> = (0..m * n).map(|at| {
            let (i, j) = (at / n, at % n);
            (0..k).map(|l| {
                let a = if op.transpose_lhs { x[l * m + i] } else { x[i * k + l] };
                let b = if op.transpose_rhs { y[j * k + l] } else { y[l * n + j] };
                a * b
            }).sum()
        }).collect();
        for dtype in [F32, BF16, I8, I32] {
            let x = Array::from_f64(dtype, &lhs_shape, &x).unwrap();
            let y = Array::from_f64(dtype, &rhs_shape, &y).unwrap();
            let found = eval(&[x, y], &|d, x| d.dot(op, x[0], x[1]));
            prop_assert_eq!(found.to_f64(), expected.clone());
        }
    }
}
