//! Random elements: functions of a key, the same bits on every device.
//!
//! Bits come from Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
//! 1, 2, 3", 2011), on counters that are the places of the elements, so that an element depends on
//! key and place alone. Bits, keys, uniform floats, truth values and integers are those that JAX
//! makes of the same key (`jax_threefry_partitionable`, its default since 0.5), where they have 32
//! bits; normal numbers are, of the same uniform ones, more exact.

use super::normal;
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::ops::round;
use crate::back::stablehlo::text::Direction;
use crate::diag::Diagnostics;
use crate::ir::ops::Literal;
use crate::ir::{DType, Shape};
use crate::run::bounded::{Bounded, Bounds, Layout};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use smallvec::smallvec;
use std::ops::Range;

/// By how many bits each round rotates; those of the first four rounds, then of the next four.
const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
/// What the third word of the key schedule is made with.
const PARITY: u32 = 0x1BD1_1BDA;

/// Random elements of a shape.
#[derive(Clone, Debug, Hash)]
pub(crate) enum Random {
    /// 32 random bits per element.
    Bits(Shape),
    /// Floats in `[0, 1)`.
    Uniform(Shape, DType),
    /// Floats with the standard normal distribution.
    Normal(Shape, DType),
    /// True with the probability that the second input says.
    Bernoulli(Shape),
    /// Integers: the further inputs are the least, how many there are, and 2^32 modulo that, as
    /// `u32`.
    Integers(Shape, DType),
    /// So many new keys.
    Split(usize),
    /// A new key from this and a number.
    FoldIn,
}

impl Op for Random {
    fn name(&self) -> &'static str {
        match self {
            Random::Bits(_) => "random_bits",
            Random::Uniform(..) => "uniform",
            Random::Normal(..) => "normal",
            Random::Bernoulli(_) => "bernoulli",
            Random::Integers(..) => "randint",
            Random::Split(_) => "split_key",
            Random::FoldIn => "fold_in",
        }
    }

    fn n_outputs(&self) -> usize {
        if let Random::Split(n) = self { (*n).max(1) } else { 1 }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let key = Ty::new(DType::U32, &[2]);
        if *inputs[0] != key {
            return Err(OpError::shape(format!(
                "`{}`: the words of a key are {key}, not {}",
                self.name(),
                inputs[0]
            )));
        }
        let (dtype, shape) = match self {
            Random::Bits(shape) => (DType::U32, shape),
            Random::Bernoulli(shape) => (DType::Bool, shape),
            Random::Uniform(shape, dtype)
            | Random::Normal(shape, dtype)
            | Random::Integers(shape, dtype) => (*dtype, shape),
            Random::Split(n) => return Ok(smallvec![key; (*n).max(1)]),
            Random::FoldIn => return Ok(smallvec![key]),
        };
        if u32::try_from(shape.iter().product::<usize>()).is_err() {
            return Err(OpError::argument(format!(
                "`{}`: a key makes fewer than 2^32 elements, not {:?}",
                self.name(),
                shape.as_slice()
            ))
            .help("make parts of it, each with a key of its own: `key.split()`"));
        }
        if let Random::Bernoulli(shape) = self
            && (inputs[1].dtype != DType::F32 || !inputs[1].shape.is_empty())
        {
            let shape = shape.as_slice();
            return Err(OpError::shape(format!(
                "`bernoulli` of {shape:?}: a probability is a scalar of f32, not {}",
                inputs[1]
            )));
        }
        Ok(smallvec![Ty { dtype, shape: shape.clone() }])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let (Random::Bits(shape)
        | Random::Uniform(shape, _)
        | Random::Bernoulli(shape)
        | Random::Integers(shape, _)) = self
        else {
            return Err(OpError::bounded(format!("`{}` depends on a bounded dim", self.name()))
                .help("make as many keys in every call"));
        };
        let axes = (0..shape.len()).map(|axis| bounds.new_axis(0, axis));
        let layout = axes.collect::<Result<Layout, _>>()?;
        // Elements are counted through the whole tensor.
        if layout.axes.iter().skip(1).any(|axis| !axis.is_fixed()) {
            let message =
                format!("`{}` gives other elements where an inner axis is padded", self.name());
            return Err(OpError::bounded(message)
                .help("make the bounded axis the first, and `transpose` the result"));
        }
        Ok(Bounded::new([layout]))
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let key = words(cx, &inputs[0]);
        Ok(match self {
            Random::Bits(shape) => vec![bits(cx, &key, shape)],
            Random::Uniform(shape, dtype) => vec![uniform(cx, &key, shape, *dtype)],
            Random::Normal(shape, dtype) => {
                let bits = bits(cx, &key, shape);
                let number = normal::emit(cx, &bits);
                vec![round::narrow(&mut cx.out, &number, *dtype)]
            }
            Random::Bernoulli(shape) => {
                let drawn = uniform(cx, &key, shape, DType::F32);
                let chance = cx.out.broadcast(&inputs[1], &[], shape);
                vec![cx.out.compare(Direction::Lt, &drawn, &chance)]
            }
            Random::Integers(shape, dtype) => vec![integers(cx, &key, shape, *dtype, inputs)],
            Random::Split(n) => {
                let counters = (0..*n).map(|idx| {
                    let zero = word(cx, 0);
                    let idx = word(cx, idx as u32);
                    threefry(cx, &key, [zero, idx])
                });
                let keys: Vec<[Value; 2]> = counters.collect();
                keys.into_iter().map(|words| join(cx, words)).collect()
            }
            Random::FoldIn => {
                let zero = word(cx, 0);
                let number = cx.out.reshape(&inputs[1], &[]);
                let words = threefry(cx, &key, [zero, number]);
                vec![join(cx, words)]
            }
        })
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None; vjp.inputs.len()])
    }
}

fn word(cx: &mut Emit, value: u32) -> Value {
    cx.out.constant(Literal::int(DType::U32, i64::from(value)), &[])
}

/// The two words of a key.
fn words(cx: &mut Emit, key: &Value) -> [Value; 2] {
    [0, 1].map(|place| {
        let word = cx.out.slice(key, &[place], &[1], &[1]);
        cx.out.reshape(&word, &[])
    })
}

/// A key of two words.
fn join(cx: &mut Emit, words: [Value; 2]) -> Value {
    let words = words.map(|word| cx.out.reshape(&word, &[1]));
    cx.out.concatenate(&words, 0)
}

/// Threefry-2x32: a key and two words of a counter to two words, all of one shape, or the key
/// scalar.
fn threefry(cx: &mut Emit, key: &[Value; 2], counter: [Value; 2]) -> [Value; 2] {
    let shape = counter[0].shape.clone();
    let parity = word(cx, PARITY);
    let third = cx.out.binary("xor", &key[0], &key[1]);
    let third = cx.out.binary("xor", &third, &parity);
    let schedule = [key[0].clone(), key[1].clone(), third];
    // The number of a group of rounds is added to the key on the scalar, not on every element.
    let inject = |cx: &mut Emit, x: &Value, place: usize, number: u32| {
        let number = word(cx, number);
        let key = cx.out.binary("add", &schedule[place % 3], &number);
        let key = cx.out.broadcast(&key, &[], &shape);
        cx.out.binary("add", x, &key)
    };
    let [x, y] = counter;
    let (mut x, mut y) = (inject(cx, &x, 0, 0), inject(cx, &y, 1, 0));
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            x = cx.out.binary("add", &x, &y);
            let left = cx.out.constant(Literal::int(DType::U32, i64::from(by)), &shape);
            let right = cx.out.constant(Literal::int(DType::U32, i64::from(32 - by)), &shape);
            let high = cx.out.binary("shift_left", &y, &left);
            let low = cx.out.binary("shift_right_logical", &y, &right);
            let turned = cx.out.binary("or", &high, &low);
            y = cx.out.binary("xor", &turned, &x);
        }
        x = inject(cx, &x, group + 1, 0);
        y = inject(cx, &y, group + 2, group as u32 + 1);
    }
    [x, y]
}

/// 32 random bits per element.
fn bits(cx: &mut Emit, key: &[Value; 2], shape: &[usize]) -> Value {
    let n: usize = shape.iter().product();
    let high = cx.out.constant(Literal::int(DType::U32, 0), &[n]);
    let low = cx.out.iota(DType::U32, &[n], 0);
    let [x, y] = threefry(cx, key, [high, low]);
    let bits = cx.out.binary("xor", &x, &y);
    let bits = cx.out.reshape(&bits, shape);
    alone(cx, &bits)
}

/// The same value, fused with nothing that follows: XLA:CPU, before it fuses something with a
/// conversion to `bf16`, follows every path back through the integer ops, and of those there are
/// twice as many with each round. See `random_tensors_compile_with_what_follows`.
pub(super) fn alone(cx: &mut Emit, x: &Value) -> Value {
    cx.out.unary("optimization_barrier", x)
}

/// Floats in `[0, 1)`: as many random bits as the type has behind the point.
fn uniform(cx: &mut Emit, key: &[Value; 2], shape: &[usize], dtype: DType) -> Value {
    let n_bits = match dtype {
        DType::BF16 => 7,
        DType::F16 => 10,
        _ => 23,
    };
    let bits = bits(cx, key, shape);
    let spare = cx.out.constant(Literal::int(DType::U32, 32 - n_bits), shape);
    let bits = cx.out.binary("shift_right_logical", &bits, &spare);
    // Exact: integers below 2^23, then a power of two.
    let number = cx.out.convert(&bits, DType::F32);
    let unit = Literal::float(DType::F32, (-(n_bits as f32)).exp2());
    let unit = cx.out.constant(unit, shape);
    let number = cx.out.binary("multiply", &number, &unit);
    cx.out.convert(&number, dtype)
}

/// Integers from 64 random bits each: no value is more likely than another by more than one in
/// 2^32.
fn integers(
    cx: &mut Emit,
    key: &[Value; 2],
    shape: &[usize],
    dtype: DType,
    inputs: &[Value],
) -> Value {
    let draws = [0, 1].map(|idx| {
        let counter = [word(cx, 0), word(cx, idx)];
        let key = threefry(cx, key, counter);
        bits(cx, &key, shape)
    });
    let [least, span, multiplier] = [1, 2, 3].map(|idx| cx.out.broadcast(&inputs[idx], &[], shape));
    let [high, low] = draws.map(|draw| cx.out.binary("remainder", &draw, &span));
    let high = cx.out.binary("multiply", &high, &multiplier);
    let sum = cx.out.binary("add", &high, &low);
    let offset = cx.out.binary("remainder", &sum, &span);
    let number = cx.out.binary("add", &least, &offset);
    // As `i32` first: narrower types take the low bits of either.
    let number = cx.out.bitcast(&number, DType::I32);
    cx.out.convert(&number, dtype)
}

impl Random {
    /// Whether a range of integers can be drawn from: what the least is, how many there are, and
    /// 2^32 modulo that.
    pub(crate) fn range(range: Range<i64>, dtype: DType) -> Result<[u32; 3], OpError> {
        let Range { start: least, end } = range;
        let (lowest, highest) = dtype.int_range().unwrap_or((0, 0));
        if least < lowest || end > highest + 1 || end <= least || end - least > i64::from(u32::MAX)
        {
            return Err(OpError::argument(format!(
                "`randint`: {least}..{end} is no range of fewer than 2^32 values of {dtype}"
            )));
        }
        let span = (end - least) as u32;
        // As JAX has it: zero where the square wraps.
        let root = (1u32 << 16) % span;
        Ok([least as u32, span, root.wrapping_mul(root) % span])
    }
}
