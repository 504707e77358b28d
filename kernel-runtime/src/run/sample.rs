//! Seeded inputs, the same on every machine.
//!
//! Values come from a counter: element `i` of the `s`-th array of a seed is a hash of the three, so
//! nothing depends on the order of generation, and no transcendental function (whose last bit
//! differs between C libraries) is used.

use crate::ir::{Array, DType};

/// Makes sample arrays from a seed, each from its own stream.
#[derive(Clone, Debug)]
pub struct Sampler {
    seed: u64,
    n_streams: u64,
}

impl Sampler {
    /// A sampler for a seed.
    pub fn new(seed: u64) -> Sampler {
        Sampler { seed, n_streams: 0 }
    }

    /// Values of mean 0 and variance 1 in about ±3.46, distributed nearly normally: the sum of
    /// four uniform ones. Integer types get them rounded towards zero.
    pub fn normal(&mut self, dtype: DType, shape: &[usize]) -> Array {
        let stream = self.next_stream();
        // A sum of four uniforms has variance 4/12, hence the factor sqrt(3).
        let value = |i: u64| {
            let sum: f64 = (0..4).map(|part| unit(stream, 4 * i + part)).sum();
            (sum - 2.0) * 1.732_050_807_568_877_2
        };
        fill(dtype, shape, value)
    }

    /// Values spread evenly over `lo..hi`; integer types get the whole numbers in it.
    pub fn uniform(&mut self, dtype: DType, shape: &[usize], lo: f64, hi: f64) -> Array {
        let stream = self.next_stream();
        let value = |i: u64| {
            let value = lo + unit(stream, i) * (hi - lo);
            if dtype.is_int() { value.floor() } else { value }
        };
        fill(dtype, shape, value)
    }

    /// Every value of an 8-bit or smaller integer type with equal chance; of a wider one, whole
    /// numbers in -128..128 (0..256 if unsigned), so that sums of products stay exact.
    pub fn small_ints(&mut self, dtype: DType, shape: &[usize]) -> Array {
        let (lo, hi) = if dtype.is_signed_int() { (-128.0, 128.0) } else { (0.0, 256.0) };
        self.uniform(dtype, shape, lo, hi)
    }

    fn next_stream(&mut self) -> u64 {
        self.n_streams += 1;
        mix(self.seed ^ mix(self.n_streams))
    }
}

fn fill(dtype: DType, shape: &[usize], value: impl Fn(u64) -> f64) -> Array {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n as u64).map(value).collect();
    // The lengths are equal by construction, so the fallback is never taken.
    Array::from_f64(dtype, shape, &values).unwrap_or_else(|_| Array::zeros(dtype, shape))
}

/// Element `i` of a stream, in `0..1`.
fn unit(stream: u64, i: u64) -> f64 {
    const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
    (mix(stream.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 11) as f64 * SCALE
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_arrays_and_streams_differ() {
        let (mut a, mut b) = (Sampler::new(7), Sampler::new(7));
        let first = a.normal(DType::BF16, &[64]);
        assert_eq!(first, b.normal(DType::BF16, &[64]));
        assert_ne!(first, a.normal(DType::BF16, &[64]));
        assert_ne!(first, Sampler::new(8).normal(DType::BF16, &[64]));
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let values = Sampler::new(1).normal(DType::F32, &[100_000]).to_f64();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn small_ints_fill_their_type() {
        let values = Sampler::new(2).small_ints(DType::I8, &[100_000]).to_f64();
        assert_eq!(values.iter().copied().fold(0.0, f64::min), -128.0);
        assert_eq!(values.iter().copied().fold(0.0, f64::max), 127.0);
    }
}
