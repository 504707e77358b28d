//! The functions of the DSL that are more than one op: random numbers, bits, reshapes, marks.

use super::{assert_error, f32s, map, only, ramp};
use systole::diag::Code;
use systole::ir::Kernel;
use systole::prelude::*;

fn words(array: &Array) -> Vec<u32> {
    array.to_f64().into_iter().map(|x| x as u32).collect()
}

#[tpu_kernel]
fn jax_random(
    #[comptime] seed: u32,
    #[comptime] data: Option<u32>,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[block(m, n)] bits: Out<u32>,
    #[block(m, n)] numbers: Out<f32>,
    #[block(m, n)] normals: Out<f32>,
) {
    let mut key = [scalar::<u32>(0_u32), scalar(seed)];
    if let Some(data) = data {
        key = threefry_fold_in(key, data);
    }
    let words = threefry_bits(key, row_major([m, n]));
    bits[..] = words;
    numbers[..] = uniform(words);
    normals[..] = normal(words);
}

/// `jax.random.bits`, `uniform` and `normal` of `jax.random.key(42)`, shape (8, 128), jax 0.10.2.
#[test]
fn threefry_gives_the_numbers_of_jax() {
    let (bits, numbers, normals) = jax_random(42, None, 8, 128).call().unwrap();
    let words = words(&bits);
    let first = [0x7d1c_13a2, 0xae07_30d9, 0x9dc3_f9f9, 0x8f9e_c1d7, 0x735d_7315, 0x95fb_4ed8];
    assert_eq!(words[..6], first);
    assert_eq!(words[1023], 0x0ca9_6985);
    assert_eq!(words.iter().fold(0, |xor, word| xor ^ word), 0x4172_82e1);
    assert_eq!(words.iter().map(|&word| u64::from(word)).sum::<u64>(), 2_267_805_234_551);
    let numbers = numbers.to_f32();
    assert_eq!(numbers[..4], [0.488_709_57, 0.679_797_2, 0.616_271_5, 0.561_016_1]);
    assert!(
        (numbers.iter().map(|&x| f64::from(x)).sum::<f64>() - 528.014_491_915_702_8).abs() < 1e-9
    );
    let normals = normals.to_f32();
    let expected = [-0.028_304_62, 0.467_131_85, 0.295_702_96, 0.153_545_92, -0.124_032_82];
    let close = |(x, y): (&f32, &f32)| (x - y).abs() <= 2e-6 * y.abs().max(0.1);
    assert!(normals.iter().zip(&expected).all(close), "{:?}", &normals[..5]);
    assert!(normals[1021..].iter().zip(&[2.400_645_5, 0.846_021_4, -1.650_112_5]).all(close));
}

#[tpu_kernel]
fn blocks_of_random_words(
    #[comptime] m: usize,
    #[comptime] key: [u32; 2],
    #[comptime] counter: [u32; 4],
    #[block(m, n)] like: In<u32>,
    #[block(m, n)] o: Out<u32>,
) {
    let key = key.map(|word| scalar::<u32>(word));
    let counts = counter.map(|word| full::<u32>([1, n], word) ^ like[(0..1, ..)]);
    let [a, b, c, d] = philox_4x32(key, counts);
    let [x, y] = threefry_2x32(key, [counts[0], counts[1]]);
    let [u, v] = threefry_2x32(key, [scalar::<u32>(counter[0]), scalar(counter[1])]);
    o[..] = concat(&[a, b, c, d, x, y, u.splat([1, n]), v.splat([1, n])], 0);
}

/// The known answers of Random123's own tests.
#[test]
fn philox_and_threefry_give_the_known_answers() {
    let like = Array::zeros(DType::U32, &[8, 128]);
    let ones = u32::MAX;
    let pi = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
    for (key, counter, philox, threefry) in [
        (
            [0, 0],
            [0; 4],
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            [0x6b20_0159, 0x99ba_4efe],
        ),
        (
            [ones; 2],
            [ones; 4],
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            [0x1cb9_96fc, 0xbb00_2be7],
        ),
        (
            [0xa409_3822, 0x299f_31d0],
            pi,
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            [0, 0],
        ),
        ([0x1319_8a2e, 0x0370_7344], pi, [0; 4], [0xc492_3a9c, 0x483d_f7a0]),
    ] {
        let found = blocks_of_random_words(8, key, counter).call(&like).unwrap();
        let rows: Vec<u32> = words(&found).chunks(128).map(|row| row[77]).collect();
        // Zeros stand for answers that are not known.
        if philox != [0; 4] {
            assert_eq!(rows[..4], philox);
        }
        if threefry != [0; 2] {
            assert_eq!((&rows[4..6], &rows[6..]), (&threefry[..], &threefry[..]));
        }
    }
}

#[test]
fn folding_in_gives_the_key_of_jax() {
    // jax.random.fold_in(jax.random.key(42), 7) is [0x97d0552f, 0x51bf719f].
    let (bits, ..) = jax_random(42, Some(7), 8, 128).call().unwrap();
    let like = Array::zeros(DType::U32, &[8, 128]);
    let key = [0x97d0_552f, 0x51bf_719f];
    let direct = blocks_of_random_words(8, key, [0, 0, 0, 0]).call(&like).unwrap();
    let direct = words(&direct);
    assert_eq!(words(&bits)[0], direct[4 * 128] ^ direct[5 * 128]);
}

#[tpu_kernel(grid(i: parallel = steps))]
fn hardware_random(
    #[comptime] steps: usize,
    #[comptime] m: usize,
    #[comptime] n: usize,
    #[comptime] seeded: bool,
    #[block(m: 8 @ i, n)] o: Out<u32>,
) {
    if seeded {
        prng_seed((7, i));
    }
    o[..] = prng_bits([8, n]) ^ prng_bits([8, n]) << 1_u32;
}

#[test]
fn the_core_s_generator_has_real_bits_in_the_interpreter() {
    let first = hardware_random(4, 32, 128, true).call().unwrap();
    assert_eq!(hardware_random(4, 32, 128, true).call().unwrap(), first);
    let words = words(&first);
    let blocks: Vec<&[u32]> = words.chunks(1024).collect();
    assert!((1..4).all(|block| blocks[0] != blocks[block]));
    // Half of 131072 bits, give or take five standard deviations.
    let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
    assert!((65536 - 905..=65536 + 905).contains(&ones), "{ones} bits are 1");
    let errors = hardware_random(4, 32, 128, false).call().unwrap_err();
    let message = "random bits are taken before the generator is seeded";
    assert_error(&errors.0[0], Code::INTERP_UNSEEDED, message);
}

#[tpu_kernel]
fn bit_counts(#[block(m, n)] x: In<u32>, #[block(m, n)] o: Out<u32>, #[block(m, n)] p: Out<u32>) {
    o[..] = x[..].count_ones();
    p[..] = x[..].leading_zeros();
}

#[test]
fn bits_are_counted() {
    let values: Vec<u32> = (0..1024_u32)
        .map(|i| match i {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << 31,
            _ => i.wrapping_mul(0x9E37_79B9) >> (i % 32),
        })
        .collect();
    let floats: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    let x = Array::from_f64(DType::U32, &[8, 128], &floats).unwrap();
    let (ones, zeros) = bit_counts().call(&x).unwrap();
    assert!(words(&ones).iter().zip(&values).all(|(n, x)| *n == x.count_ones()));
    assert!(words(&zeros).iter().zip(&values).all(|(n, x)| *n == x.leading_zeros()));
}

#[tpu_kernel]
fn inverse(#[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>, #[block(m, n)] p: Out<f32>) {
    o[..] = x[..].erf_inv();
    let finite = select(x[..].is_finite(), x[..], -7.0);
    p[..] = select(finite.is_nan(), 1.0, finite.clamp(-0.5, 0.25));
}

#[test]
fn the_inverse_of_erf_and_limits() {
    let some = [-0.999, -0.5, 0.0, 0.1, 0.75, 0.9999, 1.0, -1.0];
    let mut values = some.repeat(128);
    values[1023] = f32::NAN;
    let x = Array::from_f32(&[8, 128], values).unwrap();
    let (found, limited) = inverse().call(&x).unwrap();
    let found = found.to_f32();
    // jax.lax.erf_inv
    let expected = [-2.326_757_7, -0.476_936_28, 0.0, 0.088_855_99, 0.813_419_8, 2.751_026_9];
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() <= 1e-6 * y.abs(), "{x} {y}");
    }
    assert_eq!(found[6..8], [f32::INFINITY, f32::NEG_INFINITY]);
    let limited = limited.to_f32();
    assert_eq!(limited[..6], [-0.5, -0.5, 0.0, 0.1, 0.25, 0.25]);
    assert_eq!(limited[1023], -0.5);
}

#[tpu_kernel]
fn rearranged(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] o: Out<f32>,
    #[block(m, n)] p: Out<f32>,
    #[block(m, n)] q: Out<f32>,
) {
    let halves = x[..].bitcast_rows::<bf16>();
    o[..] = halves.bitcast_rows::<f32>();
    let words = pack::<bf16>(&[x[..], x[..] * 2.0]);
    p[..] = words.unpack::<bf16>(1) - words.unpack::<bf16>(0);
    let blocks = x[..].einshape("(ab)(cd)->(ca)(db)", &[('a', 2), ('d', 64)]);
    q[..] = blocks.einshape("(ca)(db)->(ab)(cd)", &[('a', 2), ('d', 64)]);
}

#[test]
fn bits_and_axes_go_there_and_back() {
    let x = ramp(&[16, 128]);
    let (o, p, q) = rearranged().call(&x).unwrap();
    // The numbers of the ramp are exact in bf16.
    assert_eq!((&o, &p, &q), (&x, &x, &x));
}

#[tpu_kernel]
fn einshaped(
    #[comptime] equation: &'static str,
    #[comptime] m: usize,
    #[comptime] k: usize,
    #[block(r, s)] x: In<f32>,
    #[block(m, k)] o: Out<f32>,
) {
    o[..] = x[..].einshape(equation, &[('b', 4)]);
}

#[test]
fn einshape_orders_axes() {
    let x = ramp(&[8, 128]);
    let values = x.to_f32();
    let found = einshaped("a(bc)->(ab)c", 32, 32).call(&x).unwrap();
    assert_eq!(found.to_f32(), values);
    let found = einshaped("a(bc)->(ba)c", 32, 32).call(&x).unwrap().to_f32();
    let expected = |row: usize, c: usize| values[row % 8 * 128 + row / 8 * 32 + c];
    assert!(found.iter().enumerate().all(|(e, &y)| y == expected(e / 32, e % 32)));
    let found = einshaped("ab->ba", 128, 8).trace(&[f32s(&[8, 128])]);
    let message = "`einshape` \"ab->ba\" of [8, 128]: an axis of 128 cannot be split by 4";
    assert_error(&only(found), Code::IR_SHAPE, message);
    for (equation, why) in [
        ("ac->ba", "`b` stands on the right side alone"),
        ("ac->a", "`c` stands on the left side alone"),
        ("aa->a", "`a` stands twice on the left side"),
        ("ac->aca", "`a` stands twice on the right side"),
        ("a(cd)->ac", "give the size of `c` or `d`"),
        ("abc->abc", "the left side has 3 axes, the tile 2"),
        ("ac", "there is no `->`"),
        ("a(c->ac", "a parenthesis is not closed"),
        ("a2->a2", "`2` does not belong there"),
    ] {
        let error = only(einshaped(equation, 8, 128).trace(&[f32s(&[8, 128])]));
        assert!(error.message.ends_with(why), "{error}");
    }
}

#[tpu_kernel(grid(i))]
fn marked(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    let _whole = named_scope("whole");
    let mut y = x[..];
    if i == 0 {
        let _branch = named_scope("branch");
        y *= 2.0;
        delay(100);
    }
    let largest = y.max_all();
    let positive = y.ge(0.0).all();
    if y.lt(-100.0).any() || largest > 100.0 || positive {
        y *= 0.0;
    }
    o[..] = y + y.sum_all() - y.min_all();
}

#[test]
fn scopes_nest_and_reductions_give_scalars() {
    let x = ramp(&[16, 128]);
    let kernel = marked().trace(&[f32s(&[16, 128])]).unwrap();
    let text = format!("{kernel:#}");
    assert_eq!(text.matches("scope_start").count(), 2, "{text}");
    assert_eq!(text.matches("scope_end").count(), 2, "{text}");
    assert_eq!(format!("{:#}", Kernel::parse(&text).unwrap()), text);
    let found = marked().call(&x).unwrap().to_f32();
    let values = x.to_f32();
    let sum: f32 = values[..1024].iter().sum();
    let expected: Vec<f32> = map(&x, |x| 2.0 * x)[..1024].to_vec();
    assert!(found.iter().zip(&expected).all(|(y, x)| *y == x + 2.0 * sum + 12.0));
}

#[tpu_kernel]
fn taken(#[block(m, n)] ids: In<i32>, #[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let rolled = x[..].roll_strided(1, 1, 2, 0);
    o[..] = rolled.take_along_axis(ids[..], 1);
}

#[test]
fn elements_outside_of_a_tile_are_undefined() {
    let x = ramp(&[8, 128]);
    let mut ids: Vec<f64> = (0..1024).map(|e| f64::from(e % 128)).collect();
    let run = |ids: &[f64]| {
        let ids = Array::from_f64(DType::I32, &[8, 128], ids).unwrap();
        taken().call(&ids, &x)
    };
    let found = run(&ids).unwrap().to_f32();
    let values = x.to_f32();
    let expected = |row: usize, c: usize| values[row * 128 + (c + 127 - 2 * row) % 128];
    assert!(found.iter().enumerate().all(|(e, &y)| y == expected(e / 128, e % 128)));
    ids[300] = 128.0;
    let errors = run(&ids).unwrap_err();
    let message = "elements that `take_along_axis` takes from outside of its tile reach the result";
    assert_error(&errors.0[0], Code::INTERP_OUT_OF_BOUNDS, message);
    assert!(errors.0[0].message.contains("`o[2, 44]`"), "{errors}");
}
