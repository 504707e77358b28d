//! Bounded dims: one program for many sizes, with the results of exact shapes.

use super::code;
use systole::diag::Diagnostics;
use systole::pjrt::Plugin;
use systole::prelude::*;
use systole::run::rng::Key;
use systole::run::{
    Device, Dim, DynTensor, Jit, JitFn, KernelOp, Mode, Numerics, ProgramCache, Status, Tensor,
    Tree, fori_loop, grad, jit, with_device, with_mode,
};

/// A device of its own, so that its counters count nothing else.
fn device() -> Device {
    let client = Plugin::cpu_client(&[("cpu_device_count", 1.into())]).unwrap();
    let device = Device::all_of(&client).unwrap().remove(0);
    device.compiler().unwrap().set_cache(ProgramCache::off());
    device
}

fn n_compiles(device: &Device) -> u64 {
    device.compiler().unwrap().stats().compiles
}

fn values(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn random(shape: &[usize], seed: u64) -> Tensor<f32> {
    Tensor::from_slice(&values(shape.iter().product(), seed), shape).unwrap()
}

/// The distance of two results, relative to the largest element.
fn distance(found: &Tensor<f32>, expected: &Tensor<f32>) -> f32 {
    assert_eq!(found.shape(), expected.shape());
    let (found, expected) = (found.to_vec().unwrap(), expected.to_vec().unwrap());
    let largest = expected.iter().fold(f32::MIN_POSITIVE, |max, x| max.max(x.abs()));
    let distances = found.iter().zip(&expected).map(|(a, b)| {
        assert_eq!(a.is_nan(), b.is_nan());
        if a.to_bits() == b.to_bits() { 0.0 } else { (a - b).abs() }
    });
    distances.fold(0.0, f32::max) / largest
}

const WIDTH: usize = 16;
const HEADS: usize = 2;

/// Attention over `x` of `[batch, seq, WIDTH]` with normed rows, then the mean over `seq`: all
/// rows, and pooled ones.
fn block(x: Tensor<f32>, w: Tensor<f32>, mask: Tensor<f32>) -> (Tensor<f32>, Tensor<f32>) {
    let (batch, seq) = (x.shape()[0], x.shape()[1]);
    let rows = x.reshape([batch * seq, WIDTH]);
    let mean = rows.mean(&[1]).expand_dims(1);
    let centered = &rows - &mean;
    let variance = (&centered * &centered).mean(&[1]).expand_dims(1);
    let normed = centered * (variance + 1e-5).rsqrt();
    let heads = normed.matmul(&w).reshape([batch, seq, HEADS, WIDTH / HEADS]);
    let q = heads.transpose(&[0, 2, 1, 3]);
    let scores = q.matmul(&q.transpose(&[0, 1, 3, 2])) * 0.35;
    let scores = scores + ((&mask - 1.0) * 1e9).reshape([batch, 1, 1, seq]);
    let weights = (&scores - scores.reduce_max(&[-1]).expand_dims(-1)).exp();
    let weights = &weights / weights.sum(&[-1]).expand_dims(-1);
    let mixed = weights.matmul(&q).transpose(&[0, 2, 1, 3]).reshape([batch, seq, WIDTH]);
    let y = x + mixed;
    let lengths = mask.sum(&[1]).expand_dims(1);
    let pooled = (&y * mask.expand_dims(-1)).sum(&[1]) / lengths;
    (y, pooled)
}

#[test]
fn one_program_per_bucket_gives_what_exact_shapes_give() {
    let device = device();
    with_device(&device, || {
        let w = random(&[WIDTH, WIDTH], 1);
        let seq = || Dim::buckets([16, 32]).named("seq");
        let bounded = jit(block).bounded(seq(), &[(0, 1), (2, 1)]);
        let exact = jit(block);
        let mut compiles = 0;
        for n in (1..=24).chain([32, 7]) {
            let x = random(&[3, n, WIDTH], n as u64);
            let mask = Tensor::from_slice(&[1.0].repeat(3 * n), [3, n]).unwrap();
            let before = n_compiles(&device);
            let (y, pooled) = bounded.call((x.clone(), w.clone(), mask.clone())).unwrap();
            assert_eq!(y.shape(), [3, n, WIDTH]);
            y.to_vec().unwrap();
            pooled.to_vec().unwrap();
            bounded.wait_ahead();
            compiles += n_compiles(&device) - before;
            let (expected, expected_pooled) = exact.call((x, w.clone(), mask)).unwrap();
            let distance = distance(&y, &expected).max(distance(&pooled, &expected_pooled));
            eprintln!("{n}: {distance:e}");
            assert!(distance <= 1e-6, "{n}: {distance}");
        }
        assert_eq!((compiles, bounded.n_programs(), exact.n_programs()), (2, 2, 25));
    });
}

type Rows<F> = Jit<(Tensor<f32>,), F>;

/// A function of `[n, 3]` with `n` up to 8.
fn rows<F, T>(f: F) -> Rows<F>
where
    F: Fn(Tensor<f32>) -> T,
    F: JitFn<(Tensor<f32>,), Output = T>,
    T: Tree,
{
    jit(f).bounded(Dim::bounded(8).named("n"), &[(0, 0)])
}

/// What a call is refused with.
#[track_caller]
fn refusal<T>(result: Result<T, Diagnostics>) -> Diagnostics {
    result.err().expect("the call is refused")
}

#[track_caller]
fn assert_refused<T>(result: Result<T, Diagnostics>, message: &str, line: u32) {
    let error = refusal(result);
    assert_eq!(code(&error), "tensor::bounded", "{error}");
    assert!(error.0[0].message.contains(message), "{error}");
    assert_eq!(error.0[0].labels[0].span.line, line, "{error}");
}

#[test]
fn padding_reaches_no_element_whatever_it_is() {
    // The padding is 0, of which the logarithm is infinite, and -inf - -inf is NaN.
    let f = |x: Tensor<f32>| {
        let y = x.log();
        let y = &y - y.zeros_like() * 2.0 + (x.log() - x.log());
        let extremes = (y.reduce_max(&[0]), y.reduce_min(&[0]), y.argmax(0), y.argmin(0));
        let flat = y.reshape([y.n_elems()]);
        (extremes, y.sum(&[0, 1]), y.mean(&[0]), y.transpose(&[1, 0]).matmul(&y), flat.argmax(0), y)
    };
    let bounded = rows(f);
    for n in 1..=8 {
        let x = random(&[n, 3], 7).abs() + 0.5;
        let (extremes, sum, mean, product, largest, y) = bounded.call((x.clone(),)).unwrap();
        let expected = f(x);
        for (found, expected) in
            [(extremes.2, expected.0.2), (extremes.3, expected.0.3), (largest, expected.4)]
        {
            assert_eq!(found.to_vec().unwrap(), expected.to_vec().unwrap());
        }
        for (found, expected) in [
            (sum, expected.1),
            (mean, expected.2),
            (product, expected.3),
            (y, expected.5),
            (extremes.0, expected.0.0),
            (extremes.1, expected.0.1),
        ] {
            assert!(distance(&found, &expected) <= 1e-6);
        }
    }
    assert_eq!(bounded.n_programs(), 1);
}

#[test]
fn ops_of_networks_are_right_for_every_size() {
    let seq = Dim::bounded(8).named("seq");
    let f = |ids: Tensor<i32>, table: Tensor<f32>, weight: Tensor<f32>| {
        let n = ids.shape()[0];
        let x = table.take(&ids, 0).rms_norm(&weight, 1e-5).gelu(); // [n, 4]
        let scores = x.matmul(&x.transpose(&[1, 0])); // [n, n]
        let mixed = scores.softmax(-1).matmul(&x).clip(-1.0, 1.0);
        let spread = scores.logsumexp(&[0]).expand_dims(-1).squeeze(&[1]).reshape([n]);
        let small = mixed.is_finite().all(&[0]) | x.gt(100.0).any(&[0]);
        (mixed, spread, ids.floor_div(2), small)
    };
    let bounded = jit(f).bounded(seq, &[(0, 0)]);
    let (table, weight) = (random(&[5, 4], 1), random(&[4], 2));
    for n in 1..=8 {
        let ids = Tensor::<i32>::from_slice(&[3, 1, 4, 1, 0, 2, 2, 3][..n], [n]).unwrap();
        let call = (ids.clone(), table.clone(), weight.clone());
        let (mixed, spread, halves, small) = bounded.call(call).unwrap();
        let expected = f(ids, table.clone(), weight.clone());
        assert!(distance(&mixed, &expected.0) <= 1e-6 && distance(&spread, &expected.1) <= 1e-6);
        assert_eq!(halves.to_vec().unwrap(), expected.2.to_vec().unwrap());
        assert_eq!(small.to_vec().unwrap(), expected.3.to_vec().unwrap());
    }
    let line = line!() + 1;
    let along = rows(|x: Tensor<f32>| x.take(&Tensor::<i32>::zeros([2]), 0));
    assert_refused(along.call((random(&[5, 3], 1),)), "chooses along an axis whose size", line);
    let line = line!() + 1;
    let along = rows(|x: Tensor<f32>| x.transpose(&[1, 0]).rms_norm(&x.sum(&[1]), 1e-5));
    assert_refused(along.call((random(&[5, 3], 1),)), "along an axis whose size is bounded", line);
}

#[test]
fn sizes_are_checked_against_the_bound_and_one_another() {
    let f = jit(|x: Tensor<f32>, y: Tensor<f32>| x + y)
        .bounded(Dim::bounded(4).named("seq"), &[(0, 0), (1, -1)]);
    let line = line!() + 1;
    let error = refusal(f.call((Tensor::zeros([5]), Tensor::zeros([5]))));
    assert_eq!(error.0[0].message, "`seq` is 5, more than its bound of 4");
    assert_eq!(error.0[0].labels[0].span.line, line);
    let error = refusal(f.call((Tensor::zeros([3]), Tensor::zeros([2]))));
    let message = "`seq` is 3 (axis 0 of argument 0) and 2 (axis 0 of argument 1)";
    assert_eq!(error.0[0].message, message);
    for (dim, place, message) in [
        (Dim::buckets([]), (0, 0), "`dim` has no buckets"),
        (Dim::bounded(1), (0, 0), "`dim` has a bucket of fewer than 2"),
        (Dim::bounded(4), (1, 0), "`dim`: there is no argument 1 of 1"),
        (Dim::bounded(4), (0, 2), "`dim`: argument 0 [2, 3] has no axis 2"),
    ] {
        let error =
            refusal(jit(|x: Tensor<f32>| x).bounded(dim, &[place]).call((random(&[2, 3], 1),)));
        assert_eq!((code(&error), error.0[0].message.as_str()), ("tensor::bounded", message));
    }
    let twice = rows(|x| x).bounded(Dim::bounded(4), &[(0, -2)]);
    assert!(refusal(twice.call((random(&[2, 3], 1),))).0[0].message.contains("bounded twice"));
    let nowhere = jit(|x: Tensor<f32>| x).bounded(Dim::bounded(4), &[]);
    assert!(refusal(nowhere.call((random(&[2, 3], 1),))).0[0].message.contains("no axis of any"));
}

#[test]
fn a_size_of_zero_is_what_it_is_without_bounds() {
    let empty = || Tensor::<f32>::zeros([0, 3]);
    let f = |x: Tensor<f32>| (x.sum(&[0]), x.mean(&[0]), x.exp());
    let (sum, mean, exp) = rows(f).call((empty(),)).unwrap();
    assert_eq!(sum.to_vec().unwrap(), [0.0; 3]);
    assert!(mean.to_vec().unwrap().iter().all(|x| x.is_nan()));
    assert_eq!((exp.shape(), exp.to_vec().unwrap()), ([0, 3].as_slice(), vec![]));
    let line = line!() + 1;
    let largest = rows(|x: Tensor<f32>| x.reduce_max(&[0]));
    let error = refusal(largest.call((empty(),)));
    assert_eq!(code(&error), "tensor::shape");
    assert_eq!(error.0[0].message, "`reduce_max` needs `n` to be at least 1, but it is 0");
    assert_eq!(error.0[0].labels[1].span.line, line);
    assert_eq!(largest.call((Tensor::ones([1, 3]),)).unwrap().to_vec().unwrap(), [1.0; 3]);
}

#[test]
fn the_next_bucket_is_compiled_in_the_background() {
    let device = device();
    with_device(&device, || {
        let dim = || Dim::buckets([4, 8, 16]);
        let f = jit(|x: Tensor<f32>| x.exp() * 2.0).bounded(dim(), &[(0, 0)]);
        let call = |n: usize| {
            let y = f.call((random(&[n], 1),)).unwrap();
            f.wait_ahead();
            (y.shape()[0], f.n_programs(), n_compiles(&device))
        };
        assert_eq!(call(3), (3, 2, 2));
        // The second is there already.
        assert_eq!(call(5), (5, 2, 2));
        assert_eq!(call(16), (16, 3, 3));
        assert_eq!(call(1), (1, 3, 3));
        let alone = jit(|x: Tensor<f32>| x.log()).bounded(dim().compile_ahead(false), &[(0, 0)]);
        alone.call((random(&[3], 1),)).unwrap();
        assert_eq!((alone.n_programs(), n_compiles(&device)), (1, 4));
    });
}

#[test]
fn results_go_to_functions_of_the_same_buckets_as_they_are() {
    let device = device();
    with_device(&device, || {
        let (f, g) = (rows(|x| x * 2.0), rows(|x: Tensor<f32>| x.sum(&[0])));
        let x = random(&[5, 3], 3);
        let y = f.call((x.clone(),)).unwrap();
        let sum = g.call((y.clone(),)).unwrap();
        assert_eq!(n_compiles(&device), 2);
        assert!(distance(&sum, &(&x * 2.0).sum(&[0])) <= 1e-6);
        y.wait().unwrap();
        assert_eq!(y.status(), Status::Materialized);
        // Another op cuts it out.
        assert_eq!((&y + 0.0).to_vec().unwrap(), (&x * 2.0).to_vec().unwrap());
        assert_eq!(y.to_vec().unwrap(), (&x * 2.0).to_vec().unwrap());
    });
}

#[test]
fn dims_are_bounded_together_and_merged_axes_are_cut() {
    let f = |x: Tensor<f32>| {
        let (b, s) = (x.shape()[0], x.shape()[1]);
        let places = Tensor::<i32>::iota([b, s], 1).cast::<f32>().expand_dims(-1);
        let rows = (&x + places + Tensor::<f32>::ones([s, 2])).reshape([b * s, 2]);
        let sizes = rows.axis_size(0) * 100 + x.axis_size(1) * 10 + x.axis_size(2);
        (rows.transpose(&[1, 0]), rows.mean(&[0]), sizes)
    };
    let bounded = jit(f)
        .bounded(Dim::bounded(4).named("batch"), &[(0, 0)])
        .bounded(Dim::bounded(6).named("seq"), &[(0, 1)]);
    for (b, s) in [(1, 1), (3, 5), (4, 2), (4, 6), (2, 6)] {
        let x = random(&[b, s, 2], 5);
        let (rows, mean, sizes) = bounded.call((x.clone(),)).unwrap();
        let expected = f(x);
        assert_eq!(rows.shape(), [2, b * s]);
        assert_eq!(rows.to_vec().unwrap(), expected.0.to_vec().unwrap());
        assert!(distance(&mean, &expected.1) <= 1e-6);
        assert_eq!(sizes.item().unwrap(), expected.2.item().unwrap());
    }
    assert_eq!(bounded.n_programs(), 1);
}

#[test]
fn what_depends_on_the_size_is_refused_at_its_line() {
    let x = || (random(&[5, 3], 1),);
    let line = line!() + 1;
    let f = rows(|x: Tensor<f32>| x.sum(&[0]) / x.shape()[0] as f32);
    assert_refused(f.call(x()), "`constant` is not the same for `n` = 8 and 16", line);
    let line = line!() + 1;
    let f = rows(|x: Tensor<f32>| x.reshape([x.shape()[0] / 2, 6]));
    assert_refused(f.call(x()), "would end an axis within", line);
    let line = line!() + 3;
    let f = rows(|x: Tensor<f32>| {
        let n = 2 * x.shape()[0];
        Tensor::<f32>::iota([n], 0) + x.sum(&[0, 1])
    });
    assert_refused(f.call(x()), "it is 16 for 8, and 32 for 16", line);
    let line = line!() + 3;
    let f = rows(|x: Tensor<f32>| {
        let places: Tensor<f32> =
            Tensor::from_slice(&vec![1.0; x.shape()[0]], [x.shape()[0], 1]).unwrap();
        x * places
    });
    assert_refused(f.call(x()), "is made from data that depends on `n`", line);
    let f = rows(|x: Tensor<f32>| (0..x.shape()[0]).fold(x, |x, _| x + 1.0));
    let error = refusal(f.call(x()));
    assert!(error.0[0].message.contains("for `n` = 8, and"), "{error}");
    let f = rows(|x: Tensor<f32>| x + Tensor::<f32>::ones([8, 1]));
    let error = refusal(f.call(x()));
    assert!(error.0[0].message.contains("for no other size"), "{error}");
    assert!(error.0[1].message.contains("do not broadcast"), "{error}");
}

#[test]
fn ops_that_are_not_told_of_padding_are_refused() {
    let line = line!() + 1;
    let f = rows(|x: Tensor<f32>| fori_loop(0..3, |_, x: Tensor<f32>| x * 2.0, x).unwrap());
    assert_refused(f.call((random(&[5, 3], 1),)), "is not told what padding does to it", line);
    // Where nothing is padded, they are as good as any.
    let f = jit(|x: Tensor<f32>, y: Tensor<f32>| {
        x + fori_loop(0..3, |_, y: Tensor<f32>| y * 2.0, y).unwrap()
    });
    let f = f.bounded(Dim::bounded(8), &[(0, 0)]);
    let y = f.call((Tensor::ones([5, 3]), Tensor::ones([3]))).unwrap();
    assert_eq!(y.to_vec().unwrap(), [9.0; 15]);
}

/// The sum of each row.
#[tpu_kernel(dims(one = 1))]
fn row_sums(#[block(m, n)] x: In<f32>, #[block(m, one)] y: Out<f32>) {
    y[..] = x[..].row_sum();
}

/// The sum of as many rows as `size` says.
#[tpu_kernel]
fn column_sums(
    #[block(one, one)] size: In<i32>,
    #[block(m, n)] x: In<f32>,
    #[block(one, n)] y: Out<f32>,
) {
    let values = x[..];
    let real = (iota(values.shape(), 0) - size[..]).lt(0);
    y[..] = select(real, values, 0.0).reduce_sum(0);
}

fn first(found: &[DynTensor]) -> Tensor<f32> {
    found[0].typed().unwrap()
}

/// The sums of rows and of columns, by kernels.
fn both_sums(x: Tensor<f32>) -> Result<(Tensor<f32>, Tensor<f32>), Diagnostics> {
    let (x, size) = (x.to_dyn(), x.axis_size(0).reshape([1, 1]).to_dyn());
    let rows = KernelOp::of(&row_sums(), &[&x])?.rowwise("m");
    let columns = KernelOp::of(&column_sums(), &[&size, &x])?.masked("m", "size")?;
    Ok((first(&rows.apply(&[&x])), first(&columns.apply(&[&size, &x]))))
}

#[test]
fn kernels_say_what_padding_does_to_them() {
    let dim = || Dim::bounded(16).named("n");
    let f = jit(both_sums).bounded(dim(), &[(0, 0)]);
    for n in [1, 8, 11, 16] {
        let x = random(&[n, 8], 9);
        let (by_row, by_column) = f.call((x.clone(),)).unwrap();
        assert!(distance(&by_row, &x.sum(&[1]).reshape([n, 1])) <= 1e-6);
        assert!(distance(&by_column, &x.sum(&[0]).reshape([1, 8])) <= 1e-6);
    }
    assert_eq!(f.n_programs(), 1);

    let untold = jit(|x: Tensor<f32>| row_sums().call(&x)?.typed::<f32>());
    let error = refusal(untold.bounded(dim(), &[(0, 0)]).call((random(&[5, 8], 1),)));
    assert!(error.0[0].message.contains("padding does to the dim `m` of `x`"), "{error}");
    let x = [Tensor::<i32>::ones([1, 1]).to_dyn(), random(&[16, 8], 1).to_dyn()];
    let op = KernelOp::of(&column_sums(), &[&x[0], &x[1]]).unwrap();
    for (dim, by, message) in
        [("m", "sizes", "no input `sizes` to mask by"), ("k", "size", "has a dim `k`")]
    {
        let error = op.clone().masked(dim, by).unwrap_err();
        assert_eq!(code(&error), "tensor::bounded");
        assert!(error.0[0].message.contains(message), "{error}");
    }
}

#[test]
fn sums_in_order_give_the_bits_of_exact_shapes() {
    let device = device();
    device.compiler().unwrap().set_numerics(Numerics::InOrder);
    with_device(&device, || {
        let w = random(&[WIDTH, WIDTH], 1);
        let seq = Dim::buckets([12, 21]).named("seq").compile_ahead(false);
        let bounded = jit(block).bounded(seq, &[(0, 1), (2, 1)]);
        let exact = jit(block);
        for n in 1..=21 {
            let x = random(&[2, n, WIDTH], n as u64);
            let mask = Tensor::from_slice(&[1.0].repeat(2 * n), [2, n]).unwrap();
            let (y, pooled) = bounded.call((x.clone(), w.clone(), mask.clone())).unwrap();
            let (expected, expected_pooled) = exact.call((x, w.clone(), mask)).unwrap();
            assert_eq!(bits(&y), bits(&expected), "{n}");
            assert_eq!(bits(&pooled), bits(&expected_pooled), "{n}");
        }
        assert_eq!((bounded.n_programs(), exact.n_programs()), (2, 21));
    });
}

fn bits(x: &Tensor<f32>) -> Vec<u32> {
    x.to_vec().unwrap().into_iter().map(f32::to_bits).collect()
}

#[test]
fn kernels_give_the_bits_of_exact_shapes() {
    let device = device();
    device.compiler().unwrap().set_numerics(Numerics::InOrder);
    with_device(&device, || {
        let exact = jit(both_sums);
        let bounded = jit(both_sums).bounded(Dim::bounded(24).named("n"), &[(0, 0)]);
        for n in [1, 2, 7, 8, 13, 23, 24] {
            let x = random(&[n, 8], n as u64);
            let (rows, columns) = bounded.call((x.clone(),)).unwrap();
            let expected = exact.call((x,)).unwrap();
            assert_eq!((bits(&rows), bits(&columns)), (bits(&expected.0), bits(&expected.1)));
        }
        assert_eq!(bounded.n_programs(), 1);
    });
}

#[test]
fn gradients_count_real_elements_alone() {
    let f = |ids: Tensor<i32>, table: Tensor<f32>, y: Tensor<f32>| {
        let loss = move |table: Tensor<f32>| {
            let error = table.take(&ids, 0) - &y;
            (&error * &error).mean(&[0, 1])
        };
        grad(loss)(&table)
    };
    let bounded = jit(f).bounded(Dim::bounded(8).named("n"), &[(0, 0), (2, 0)]);
    let table = random(&[5, 3], 1);
    for n in 1..=8 {
        // Padding has index 0, and adds nothing there.
        let ids = Tensor::<i32>::from_slice(&[3, 1, 4, 1, 0, 2, 2, 3][..n], [n]).unwrap();
        let y = random(&[n, 3], n as u64);
        let found = bounded.call((ids.clone(), table.clone(), y.clone())).unwrap();
        assert!(distance(&found, &f(ids, table.clone(), y).unwrap()) <= 1e-6, "{n}");
    }
    assert_eq!(bounded.n_programs(), 1);
}

#[test]
fn parts_from_the_start_need_as_many_elements() {
    let f = |x: Tensor<f32>| {
        let (largest, places) = x.top_k(2, 0);
        (x.slice(1), x.slice((0..3, 1..)), largest, places, x.tile([2, 1]).repeat(3, 1), x.tril(0))
    };
    let line = line!() - 2;
    let bounded = rows(f);
    for n in [3, 5, 8] {
        let x = random(&[n, 3], n as u64);
        let (found, expected) = (bounded.call((x.clone(),)).unwrap(), f(x));
        assert_eq!(bits(&found.0), bits(&expected.0));
        assert_eq!(bits(&found.1), bits(&expected.1));
        assert_eq!(bits(&found.2), bits(&expected.2));
        assert_eq!(found.3.to_vec().unwrap(), expected.3.to_vec().unwrap());
        assert_eq!(found.4.shape(), [2 * n, 9]);
        assert_eq!(bits(&found.4), bits(&expected.4));
        assert_eq!(bits(&found.5), bits(&expected.5));
    }
    let error = refusal(bounded.call((random(&[2, 3], 1),)));
    assert_eq!(error.0[0].message, "`slice` needs `n` to be at least 3, but it is 2");
    assert_eq!(error.0[0].labels[1].span.line, line);
    for (f, message) in [
        ((|x: Tensor<f32>| x.slice(-1)) as fn(Tensor<f32>) -> Tensor<f32>, "`slice` along axis 0"),
        (|x| x.slice(1..), "`slice` along axis 0"),
        (|x| x.flip(&[0]), "`flip` along axis 0"),
        (|x| Tensor::concat(&[&x, &x], 0), "`concat` along axis 0"),
        (
            |x| Tensor::concat(&[x.transpose(&[1, 0]), Tensor::ones([3, 8])], 1),
            "`concat` along axis 1",
        ),
        (|x| x.split(&[1, 7], 0).remove(0), "for no other size"),
        (|x| x.pad(&[(1, 0), (0, 0)], 0.0), "`pad` along axis 0"),
    ] {
        let error = refusal(rows(f).call((random(&[5, 3], 1),)));
        assert_eq!(code(&error), "tensor::bounded", "{error}");
        assert!(error.0[0].message.contains(message), "{error}");
    }
}

#[test]
fn what_is_made_with_a_size_is_bounded_by_it() {
    let key = Key::new(7);
    let f = |x: Tensor<f32>| {
        let n = x.shape()[0];
        let noise = key.uniform::<f32>([n, 3]);
        let hot = x.argmax(1).one_hot::<f32>(n);
        (Tensor::<f32>::eye(n), noise, hot, Tensor::<i32>::arange(n) * x.axis_size(0))
    };
    let bounded = rows(f);
    for n in [1, 4, 7, 8] {
        let x = random(&[n, 3], n as u64);
        let (found, expected) = (bounded.call((x.clone(),)).unwrap(), f(x));
        assert_eq!(bits(&found.0), bits(&expected.0));
        assert_eq!(bits(&found.1), bits(&expected.1));
        assert_eq!(bits(&found.2), bits(&expected.2));
        assert_eq!(found.3.to_vec().unwrap(), expected.3.to_vec().unwrap());
    }
    // Elements of an inner axis are counted through the whole tensor.
    let inner = rows(|x: Tensor<f32>| Key::new(7).uniform::<f32>([3, x.shape()[0]]));
    let error = refusal(inner.call((random(&[5, 3], 1),)));
    assert!(error.0[0].message.contains("where an inner axis is padded"), "{error}");
}

#[test]
fn threads_that_need_one_bucket_wait_for_one_compilation() {
    let device = device();
    let f = jit(|x: Tensor<f32>| (x.exp() * 2.0).sum(&[1]))
        .bounded(Dim::buckets([4, 8, 16]).named("n"), &[(0, 0)]);
    // Nobody waits for what is compiled ahead: the next call may come before it is there.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (f, device) = (&f, &device);
            scope.spawn(move || {
                with_device(device, || {
                    for n in [3, 5, 9, 16, 4, 8, 1] {
                        let x = random(&[n, 3], thread);
                        let y = f.call((x.clone(),)).unwrap();
                        assert!(distance(&y, &(x.exp() * 2.0).sum(&[1])) <= 1e-6);
                    }
                });
            });
        }
    });
    f.wait_ahead();
    // Beside the buckets: three programs of the ops that make what is expected, per size.
    assert_eq!((f.n_programs(), n_compiles(&device)), (3, 3 + 3 * 7));
}

#[test]
fn a_padded_result_moves_and_is_captured_like_any_other() {
    let f = rows(|x| x * 2.0);
    let x = random(&[5, 3], 3);
    let y = f.call((x.clone(),)).unwrap();
    let moved = y.to(&device());
    assert_eq!((moved.shape(), bits(&moved)), (y.shape(), bits(&(&x * 2.0))));
    let y = f.call((x.clone(),)).unwrap();
    let sum = jit(move |z: Tensor<f32>| z + &y).call((Tensor::zeros([5, 3]),)).unwrap();
    assert_eq!(bits(&sum), bits(&(&x * 2.0)));
    let y = f.call((x.clone(),)).unwrap();
    let deferred = with_mode(Mode::DeferAndFuse, || (&y + 0.0).to_vec().unwrap());
    assert_eq!(deferred, (x * 2.0).to_vec().unwrap());
}

#[test]
fn axes_beside_a_bounded_one_are_padded_sliced_and_replaced() {
    let f = |x: Tensor<f32>| {
        let n = x.shape()[0];
        let start = [Tensor::<i32>::scalar(1), Tensor::scalar(1)];
        let part = x.dynamic_slice(&start, [n, 2]);
        let zeros = Tensor::zeros([n, 1]);
        (x.pad(&[(0, 0), (2, -1)], 7.0), part, x.dynamic_update_slice(&zeros, &start))
    };
    let bounded = rows(f);
    for n in [1, 5, 8] {
        let x = random(&[n, 3], n as u64);
        let (found, expected) = (bounded.call((x.clone(),)).unwrap(), f(x));
        assert_eq!(bits(&found.0), bits(&expected.0));
        assert_eq!(bits(&found.1), bits(&expected.1));
        assert_eq!(bits(&found.2), bits(&expected.2));
    }
    // Padding would replace real elements.
    let cache = rows(|x: Tensor<f32>| {
        let start = [Tensor::<i32>::scalar(1), Tensor::scalar(0)];
        Tensor::zeros([32, 3]).dynamic_update_slice(&x, &start)
    });
    let error = refusal(cache.call((random(&[5, 3], 1),)));
    assert!(error.0[0].message.contains("`dynamic_update_slice` along axis 0"), "{error}");
}
