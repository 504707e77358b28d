//! Normal numbers from random bits, in integer arithmetic.
//!
//! Devices differ in the last bits of logarithms and square roots, and in whether they round
//! between a multiplication and an addition. Here every step that rounds is one of integers, which
//! all devices do alike, or a single addition or multiplication of floats; so a key makes the same
//! normal numbers everywhere.

use super::Value;
use super::random::alone;
use crate::back::stablehlo::text::Direction;
use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::run::graph::emit::Emit;

/// `-ln((3 + s) / 2)` for `s` in `-1..1`. Like all polynomials here: in units of 2^-28, from the
/// constant upwards; fits of our own at Chebyshev's nodes.
const LOG: [i64; 9] =
    [-108_841_211, -89_478_419, 14_913_061, -3_314_891, 828_767, -217_850, 60_442, -21_471, 6_298];
/// `ln 2` in units of 2^-26, those of `w`.
const LN_2: i64 = 46_516_320;

/// `sqrt(2) erfinv(y) / y` by `w = -ln(1 - y^2)`, over a part of the range of `w`.
struct Part {
    /// By `s = (w - center) / scale`, which is between -1 and 1.
    polynomial: [i64; 11],
    /// In units of 2^-26.
    center: i64,
    /// `s` in units of 2^-31 is the difference in those of `w`, shifted to the left by this,
    shift: i64,
    /// times this in units of 2^-31, doubled.
    factor: i64,
}

/// For `w` below 5.
const MIDDLE: Part = Part {
    polynomial: [
        569_972_619,
        239_694_942,
        -10_392_816,
        -7_978_873,
        3_558_785,
        -206_792,
        -366_240,
        126_961,
        11_725,
        -15_486,
        1_915,
    ],
    center: 167_772_160, // 2.5
    shift: 3,
    factor: 1_677_721_600, // for a scale of 2.56
};
/// For `w` from 5 to 15.95, which is that of the largest `y`.
const TAIL: Part = Part {
    polynomial: [
        1_167_045_578,
        329_724_362,
        -42_409_856,
        10_367_143,
        -2_846_546,
        643_268,
        -2_927,
        -127_762,
        124_771,
        -80_812,
        23_921,
    ],
    center: 704_643_072, // 10.5
    shift: 2,
    factor: 1_533_916_891, // for a scale of 5.6
};
/// Where the tail begins.
const TAIL_FROM: i64 = 5 << 26;

/// Numbers with the standard normal distribution, in `f32`: `sqrt(2) erfinv(u)` to within 2 ULP
/// for each of the 2^23 values of `u = (4 (bits >> 9) + 1) / 2^24 - 1`. They are from -5.42 to 5.42.
pub(super) fn emit(cx: &mut Emit, bits: &Value) -> Value {
    let mut ints = Ints { cx, shape: bits.shape.to_vec() };
    let high = ints.shifted("shift_right_logical", bits, 9);
    let high = ints.shifted("shift_left", &high, 2);
    let high = ints.cx.out.bitcast(&high, DType::I32);
    let least = ints.signed(1 - (1 << 24));
    let u = ints.op("add", &high, &least);
    let size = ints.cx.out.unary("abs", &u);

    // y = |u| in units of 2^-32. It is odd in those of 2^-24, so neither 0 nor 1.
    let y = ints.cx.out.bitcast(&size, DType::U32);
    let y = ints.shifted("shift_left", &y, 8);
    let w = ints.minus_log_of_one_minus_square(&y);
    let factor = ints.factor(&w);

    // Exact, rounded once, rounded once, exact.
    let (u, factor) = (ints.cx.out.convert(&u, DType::F32), ints.float(&factor));
    let product = ints.op("multiply", &u, &factor);
    let unit = Literal::float(DType::F32, (-24.0 - 28.0_f32).exp2());
    let unit = ints.cx.out.constant(unit, &ints.shape);
    let number = ints.op("multiply", &product, &unit);
    alone(cx, &number)
}

/// Integer arithmetic on tensors of one shape.
struct Ints<'a> {
    cx: &'a mut Emit,
    shape: Vec<usize>,
}

impl Ints<'_> {
    fn signed(&mut self, value: i64) -> Value {
        self.cx.out.constant(Literal::int(DType::I32, value), &self.shape)
    }

    fn word(&mut self, value: i64) -> Value {
        self.cx.out.constant(Literal::int(DType::U32, value), &self.shape)
    }

    fn op(&mut self, name: &str, x: &Value, y: &Value) -> Value {
        self.cx.out.binary(name, x, y)
    }

    fn shifted(&mut self, name: &str, x: &Value, by: i64) -> Value {
        let by = self.cx.out.constant(Literal::int(x.dtype, by), &self.shape);
        self.op(name, x, &by)
    }

    /// The high and the low 16 bits of either sign.
    fn halves(&mut self, x: &Value) -> (Value, Value) {
        let right =
            if x.dtype == DType::I32 { "shift_right_arithmetic" } else { "shift_right_logical" };
        let high = self.shifted(right, x, 16);
        let mask = self.cx.out.constant(Literal::int(x.dtype, 0xffff), &self.shape);
        (high, self.op("and", x, &mask))
    }

    /// The product of two numbers in units of 2^-32, up to two units too small.
    fn product_of_words(&mut self, x: &Value, y: &Value) -> Value {
        let ((x_high, x_low), (y_high, y_low)) = (self.halves(x), self.halves(y));
        let mut sum = self.op("multiply", &x_high, &y_high);
        for (high, low) in [(&x_high, &y_low), (&y_high, &x_low)] {
            let cross = self.op("multiply", high, low);
            let cross = self.shifted("shift_right_logical", &cross, 16);
            sum = self.op("add", &sum, &cross);
        }
        sum
    }

    /// `x s`, where `s`, by its halves, is a number in units of 2^-31; up to two units too small.
    fn scaled(&mut self, x: &Value, (s_high, s_low): &(Value, Value)) -> Value {
        let (x_high, x_low) = self.halves(x);
        let highs = self.op("multiply", &x_high, s_high);
        let mut sum = self.shifted("shift_left", &highs, 1);
        for (high, low) in [(&x_high, s_low), (s_high, &x_low)] {
            let cross = self.op("multiply", high, low);
            let cross = self.shifted("shift_right_arithmetic", &cross, 15);
            sum = self.op("add", &sum, &cross);
        }
        sum
    }

    /// The polynomial with these coefficients at `s`.
    fn polynomial(&mut self, coefficients: Vec<Value>, s: &(Value, Value)) -> Value {
        let mut highest_first = coefficients.into_iter().rev();
        let first = highest_first.next();
        let mut sum = first.unwrap_or_else(|| self.signed(0));
        for coefficient in highest_first {
            let product = self.scaled(&sum, s);
            sum = self.op("add", &product, &coefficient);
        }
        sum
    }

    /// `w = -ln(1 - y^2)` in units of 2^-26.
    fn minus_log_of_one_minus_square(&mut self, y: &Value) -> Value {
        // (1 - y) (1 + y) / 2, with the leading bit of each factor in place.
        let zero = self.word(0);
        let rest = self.op("subtract", &zero, y);
        let n = self.cx.out.unary("count_leading_zeros", &rest);
        let left = self.op("shift_left", &rest, &n);
        let half = self.word(1 << 31);
        let right = self.shifted("shift_right_logical", y, 1);
        let right = self.op("add", &right, &half);
        let product = self.product_of_words(&left, &right);
        let more = self.cx.out.unary("count_leading_zeros", &product);
        let mantissa = self.op("shift_left", &product, &more);
        let exponent = self.op("add", &n, &more);
        let exponent = self.cx.out.bitcast(&exponent, DType::I32);
        let s = self.shifted("shift_left", &mantissa, 1);
        let s = self.op("xor", &s, &half);
        let s = self.cx.out.bitcast(&s, DType::I32);
        let s = self.halves(&s);
        let coefficients = LOG.map(|coefficient| self.signed(coefficient));
        let log = self.polynomial(coefficients.into(), &s);
        let log = self.shifted("shift_right_arithmetic", &log, 2);
        let ln_2 = self.signed(LN_2);
        let powers = self.op("multiply", &exponent, &ln_2);
        self.op("add", &powers, &log)
    }

    /// `sqrt(2) erfinv(y) / y` by `w`, in units of 2^-28.
    fn factor(&mut self, w: &Value) -> Value {
        let from = self.signed(TAIL_FROM);
        let in_tail = self.cx.out.compare(Direction::Ge, w, &from);
        let mut either = |middle: i64, tail: i64| {
            let (middle, tail) = (self.signed(middle), self.signed(tail));
            self.cx.out.select(&in_tail, &tail, &middle)
        };
        let center = either(MIDDLE.center, TAIL.center);
        let shift = either(MIDDLE.shift, TAIL.shift);
        let factor = either(MIDDLE.factor, TAIL.factor);
        let pairs = MIDDLE.polynomial.iter().zip(&TAIL.polynomial);
        let coefficients = pairs.map(|(&middle, &tail)| either(middle, tail)).collect();
        let away = self.op("subtract", w, &center);
        let away = self.op("shift_left", &away, &shift);
        let factor = self.halves(&factor);
        let s = self.scaled(&away, &factor);
        let s = self.shifted("shift_left", &s, 1);
        let s = self.halves(&s);
        self.polynomial(coefficients, &s)
    }

    /// A number that is not negative as `f32`. Both parts are exact, so that it rounds once, to
    /// nearest even.
    fn float(&mut self, x: &Value) -> Value {
        let high = self.shifted("shift_right_logical", x, 12);
        let mask = self.signed(4095);
        let low = self.op("and", x, &mask);
        let (high, low) =
            (self.cx.out.convert(&high, DType::F32), self.cx.out.convert(&low, DType::F32));
        let unit = self.cx.out.constant(Literal::float(DType::F32, 4096.0), &self.shape);
        let high = self.op("multiply", &high, &unit);
        self.op("add", &high, &low)
    }
}
