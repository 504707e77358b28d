//! Random tensors from keys.
//!
//! There is no hidden state: a [`Key`] and a shape determine the elements, in every mode, compiled
//! or not, and on every device. Use a key once: [`Key::split`] it, or [`Key::fold_in`] a number, to
//! get further ones.
//!
//! ```no_run
//! use systole::run::rng::Key;
//!
//! let [weights, noise] = Key::new(42).split();
//! let w = weights.uniform::<f32>([256, 512]);
//! let x = noise.normal::<f32>([8, 256]);
//! ```
//!
//! Keys, bits, truth values, and uniform `f32` and integers of 32 bits are those of `jax.random` for
//! the same seed. So are normal `f32`, to within the error of its logarithm on the device at hand: up
//! to 92 ULP, or 6e-6 of the value, on a CPU.

use super::dispatch::{apply, apply_all, current_device, refuse, scalar};
use super::jit::Tree;
use super::op::Random;
use super::tensor::{DynTensor, Operand, Tensor};
use crate::ir::array::ArrayData;
use crate::ir::{Array, DType, Float, Int, Shape};
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// What random tensors are a function of: 64 bits in two words.
#[derive(Clone, Debug)]
pub struct Key {
    words: Tensor<u32>,
}

impl Tree for Key {
    fn map_leaves(&self, f: &mut dyn FnMut(&DynTensor) -> DynTensor) -> Key {
        Key { words: self.words.map_leaves(f) }
    }
}

impl Key {
    /// The key of a seed.
    #[track_caller]
    pub fn new(seed: u64) -> Key {
        let at = Location::caller();
        let words = vec![(seed >> 32) as u32, seed as u32];
        let words = Array::new(&[2], ArrayData::U32(words));
        let words = words.unwrap_or_else(|_| Array::zeros(DType::U32, &[2]));
        Key { words: Tensor::host(words, current_device(), at) }
    }

    /// A key from two words: a `u32` tensor of shape `[2]`.
    pub fn from_words(words: Tensor<u32>) -> Key {
        Key { words }
    }

    /// Its two words.
    pub fn words(&self) -> &Tensor<u32> {
        &self.words
    }

    /// New keys, independent of one another and of this one: `let [a, b] = key.split();`.
    #[track_caller]
    pub fn split<const N: usize>(&self) -> [Key; N] {
        let op = Arc::new(Random::Split(N));
        let keys = apply_all(op, &[self.words.node()], None, Location::caller());
        let mut keys = keys.into_iter().map(Tensor::from_node);
        // An op gives as many results as it says.
        std::array::from_fn(|_| Key { words: keys.next().unwrap_or_else(|| self.words.clone()) })
    }

    /// A new key from this and a number: in a loop, the number of the turn.
    #[track_caller]
    pub fn fold_in(&self, number: impl Operand<u32>) -> Key {
        let number = number.beside(&self.words);
        let inputs = [self.words.node(), number.node()];
        Key { words: apply(Random::FoldIn, &inputs, Location::caller()) }
    }

    /// 32 random bits per element.
    #[track_caller]
    pub fn bits(&self, shape: impl AsRef<[usize]>) -> Tensor<u32> {
        let op = Random::Bits(Shape::from_slice(shape.as_ref()));
        apply(op, &[self.words.node()], Location::caller())
    }

    /// Floats in `[0, 1)`, multiples of 2^-23 (`bf16`: 2^-7, `f16`: 2^-10), each as likely.
    #[track_caller]
    pub fn uniform<T: Float>(&self, shape: impl AsRef<[usize]>) -> Tensor<T> {
        let op = Random::Uniform(Shape::from_slice(shape.as_ref()), T::DTYPE);
        apply(op, &[self.words.node()], Location::caller())
    }

    /// Floats with the standard normal distribution, from -5.42 to 5.42: `sqrt(2) erfinv(u)` for `u`
    /// that is uniform between -1 and 1, an odd multiple of 2^-24. In `f32` they are exact to within 2
    /// ULP and the same on every device; narrower types are those rounded. To check them in NumPy:
    /// `u` is `(4 * (bits >> 9) + 1) / 2**24 - 1` of the same key's [`bits`](Key::bits).
    #[track_caller]
    pub fn normal<T: Float>(&self, shape: impl AsRef<[usize]>) -> Tensor<T> {
        let op = Random::Normal(Shape::from_slice(shape.as_ref()), T::DTYPE);
        apply(op, &[self.words.node()], Location::caller())
    }

    /// True with this probability, a number or a scalar tensor.
    #[track_caller]
    pub fn bernoulli(&self, p: impl Operand<f32>, shape: impl AsRef<[usize]>) -> Tensor<bool> {
        let at = Location::caller();
        let p = p.beside(&scalar(DType::F32, 0.0, self.words.device(), at));
        let op = Random::Bernoulli(Shape::from_slice(shape.as_ref()));
        apply(op, &[self.words.node(), p.node()], at)
    }

    /// Integers of a range, each as likely to within one in 2^32. Another range does not compile
    /// anew.
    #[track_caller]
    pub fn randint<T: Int>(&self, range: Range<i64>, shape: impl AsRef<[usize]>) -> Tensor<T> {
        let at = Location::caller();
        let device = self.words.device();
        let numbers = match Random::range(range, T::DTYPE) {
            Ok(numbers) => numbers,
            Err(error) => return refuse(device, error, at),
        };
        let [least, span, multiplier]: [Tensor<u32>; 3] =
            numbers.map(|number| scalar(DType::U32, f64::from(number), device, at));
        let op = Random::Integers(Shape::from_slice(shape.as_ref()), T::DTYPE);
        apply(op, &[self.words.node(), least.node(), span.node(), multiplier.node()], at)
    }

    /// The numbers from 0 to `n - 1` in a random order.
    #[track_caller]
    pub fn permutation(&self, n: usize) -> Tensor<i32> {
        self.bits([n]).argsort(0, super::Order::Ascending)
    }
}
