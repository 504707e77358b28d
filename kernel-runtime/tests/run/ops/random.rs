//! Random tensors: against published vectors, JAX, and a reference in plain integers.

use super::table::cases;
use super::tensor;
use serde_json::Value;
use systole::prelude::*;
use systole::run::rng::Key;
use systole::run::{DynTensor, Mode, Tensor, jit, with_mode};

fn key(words: [u32; 2]) -> Key {
    Key::from_words(Tensor::from_slice(&words, [2]).unwrap())
}

/// Threefry-2x32 with 20 rounds, one block.
fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    let schedule = [key[0], key[1], key[0] ^ key[1] ^ 0x1BD1_1BDA];
    let [mut x, mut y] = counter;
    (x, y) = (x.wrapping_add(schedule[0]), y.wrapping_add(schedule[1]));
    for group in 0..5 {
        let rotations = if group % 2 == 0 { [13, 15, 26, 6] } else { [17, 29, 16, 24] };
        for by in rotations {
            x = x.wrapping_add(y);
            y = y.rotate_left(by) ^ x;
        }
        x = x.wrapping_add(schedule[(group + 1) % 3]);
        y = y.wrapping_add(schedule[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x, y]
}

#[test]
fn bits_are_those_of_threefry() {
    // The vectors that Random123 publishes for `threefry2x32 20`.
    assert_eq!(threefry([0; 2], [0; 2]), [0x6b20_0159, 0x99ba_4efe]);
    assert_eq!(threefry([!0; 2], [!0; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
    let (pi, more_pi) = ([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]);
    assert_eq!(threefry(pi, more_pi), [0xc492_3a9c, 0x483d_f7a0]);

    assert_eq!(key([0; 2]).fold_in(0).words().to_vec().unwrap(), [0x6b20_0159, 0x99ba_4efe]);
    for words in [[0; 2], [!0; 2], pi] {
        let block = |idx: u32| threefry(words, [0, idx]);
        let expected: Vec<u32> = (0..1000).map(|idx| block(idx)[0] ^ block(idx)[1]).collect();
        assert_eq!(key(words).bits([10, 100]).to_vec().unwrap(), expected);
    }
}

#[test]
fn random_tensors_are_those_of_jax() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("../fixtures/rng.json")).unwrap();
    let cases = cases();
    for row in &rows {
        let what = row["case"].as_str().unwrap();
        let name = what.split(' ').next().unwrap();
        let case = cases.iter().find(|case| case.name == name).unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        let words: Vec<f64> = row["key"].as_array().unwrap().iter().map(number).collect();
        let results = case.run(&[tensor(DType::U32, &[2], &words)]);
        let values = |x: &DynTensor| x.to_array().unwrap().to_f64();
        let results: Vec<f64> = results.iter().flat_map(values).collect();
        let expected = row["result"].as_array().unwrap().iter();
        let expected: Vec<f64> =
            expected.map(|value| value.as_str().unwrap().parse().unwrap()).collect();
        // JAX's own error, in the second case; ours.
        let tolerance = match what {
            "normal" => 6e-6,
            "normal in f64" => 2.0_f64.powi(-22),
            _ => 0.0,
        };
        let near = |(x, wanted): (&f64, &f64)| (x - wanted).abs() <= tolerance * wanted.abs();
        assert_eq!(results.len(), expected.len());
        assert!(results.iter().zip(&expected).all(near), "{what}: {results:?}, not {expected:?}");
    }
}

/// What [`Key::normal`] says it is for these random bits.
fn normal(bits: u32) -> f64 {
    let u = f64::from(4 * (bits >> 9) + 1) / f64::from(1 << 24) - 1.0;
    // By Newton's method on the probability of more than `x`, which is less steep the larger `x`.
    let wanted = (1.0 - u.abs()) / 2.0;
    let mut x = 0.0_f64;
    for _ in 0..60 {
        let tail = 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
        let density = (-0.5 * x * x).exp() * 0.398_942_280_401_432_7;
        x += (tail - wanted) / density;
    }
    x.copysign(u)
}

#[test]
fn normal_numbers_are_those_of_the_uniform_ones_to_two_ulp() {
    let key = Key::new(7);
    let bits = key.bits([20_000]).to_vec().unwrap();
    let found = key.normal::<f32>([20_000]).to_vec().unwrap();
    for (&bits, &x) in bits.iter().zip(&found) {
        let wanted = normal(bits);
        let nearest = (wanted as f32).abs();
        let ulp = f64::from(nearest.next_up() - nearest);
        assert!((f64::from(x) - wanted).abs() <= 2.0 * ulp, "{bits:#x}: {x} for {wanted}");
    }
    for (x, wide) in key.normal::<bf16>([100]).to_vec().unwrap().into_iter().zip(found) {
        assert_eq!(x, bf16::from_f32(wide));
    }
    // Every device rounds the same steps, so these bits are for good.
    let known = Key::new(0).normal::<f32>([4]).to_vec().unwrap();
    let known: Vec<u32> = known.into_iter().map(f32::to_bits).collect();
    assert_eq!(known, [0x3fcf_b2bc, 0x4001_9df0, 0xbede_0015, 0xbda1_0223]);
}

#[test]
fn random_numbers_have_their_distribution() {
    let n = 100_000;
    let mean = |x: &[f32]| x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64;
    let [a, b, c, d] = Key::new(1).split();
    let uniform = a.uniform::<f32>([n]).to_vec().unwrap();
    assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
    // Each bound is five standard deviations.
    assert!((mean(&uniform) - 0.5).abs() < 0.0046);
    let normal = b.normal::<f32>([n]).to_vec().unwrap();
    let squares: Vec<f32> = normal.iter().map(|x| x * x).collect();
    assert!(mean(&normal).abs() < 0.016 && (mean(&squares) - 1.0).abs() < 0.023);
    let ints = c.randint::<i8>(-3..4, [n]).to_vec().unwrap();
    for value in -3..4 {
        let share = ints.iter().filter(|x| **x == value).count() as f64 / n as f64;
        assert!((share - 1.0 / 7.0).abs() < 0.0056, "{value}: {share}");
    }
    let flags = d.bernoulli(0.1, [n]).to_vec().unwrap();
    let share = flags.iter().filter(|x| **x).count() as f64 / n as f64;
    assert!((share - 0.1).abs() < 0.0048);
    let mut order = a.permutation(1000).to_vec().unwrap();
    assert!(order.iter().enumerate().any(|(idx, &x)| idx as i32 != x));
    order.sort_unstable();
    assert!(order.iter().enumerate().all(|(idx, &x)| idx as i32 == x));
}

#[test]
fn random_tensors_compile_with_what_follows() {
    let narrow = jit(|key: Key| {
        let [a, b, c] = key.split();
        let ints = a.randint::<i8>(-3..4, [8]).cast::<bf16>();
        let fraction = b.uniform::<f32>([8]).cast::<bf16>();
        (ints + fraction, c.normal::<f32>([8]).cast::<bf16>())
    });
    let (sum, normal) = narrow.call((Key::new(5),)).unwrap();
    let [a, b, c] = Key::new(5).split();
    let ints = a.randint::<i8>(-3..4, [8]).to_vec().unwrap();
    let fraction = b.uniform::<f32>([8]).to_vec().unwrap();
    let expected = ints
        .iter()
        .zip(fraction)
        .map(|(&int, fraction)| bf16::from_f32(f32::from(int) + bf16::from_f32(fraction).to_f32()));
    assert_eq!(sum.to_vec().unwrap(), expected.collect::<Vec<_>>());
    let wide = c.normal::<f32>([8]).to_vec().unwrap();
    let rounded: Vec<bf16> = wide.into_iter().map(bf16::from_f32).collect();
    assert_eq!(normal.to_vec().unwrap(), rounded);
}

#[test]
fn keys_pass_through_compiled_functions() {
    let noise = |key: Key, x: Tensor<f32>| {
        let [now, next] = key.split();
        (x.clone() + now.normal::<f32>(x.shape()), next)
    };
    let compiled = jit(noise);
    let (key, x) = (Key::new(3), Tensor::<f32>::zeros([4]));
    let (y, next) = compiled.call((key.clone(), x.clone())).unwrap();
    let (eager, eager_next) = with_mode(Mode::Strict, || noise(key.clone(), x.clone()));
    assert_eq!(y.to_vec().unwrap(), eager.to_vec().unwrap());
    assert_eq!(next.words().to_vec().unwrap(), eager_next.words().to_vec().unwrap());
    // A key is an argument: another one does not compile anew.
    compiled.call((next, x)).unwrap();
    assert_eq!(compiled.n_programs(), 1);
}
