//! The error function, which plain StableHLO does not have.

use crate::back::stablehlo::text::{Tensor, Writer};
use crate::ir::DType;
use crate::ir::ops::Literal;

/// Beyond it `erf` is 1 to within `f32`.
const LIMIT: f32 = 3.95;
/// `erf(x) = x P(x^2) / Q(x^2)` on `-LIMIT..=LIMIT`: a weighted least-squares fit of our own, with
/// a relative error of 2.1e-8 before rounding and at most 6 ULP when evaluated in `f32`.
/// Coefficients from the constant upwards.
const P: [f32; 6] = [
    std::f32::consts::FRAC_2_SQRT_PI,
    0.191_546_02,
    0.052_874_874,
    0.003_807_974_7,
    0.000_284_683_05,
    2.025_935_8e-6,
];
const Q: [f32; 6] = [1.0, 0.503_085_9, 0.114_557_85, 0.015_054_718, 0.001_170_679_5, 3.783_184e-5];

/// `erf` of an `f32` tensor.
pub(super) fn lower(out: &mut Writer, x: &Tensor) -> Tensor {
    let scalar = |out: &mut Writer, value| out.constant(Literal::float(DType::F32, value), &[]);
    let (lo, hi) = (scalar(out, -LIMIT), scalar(out, LIMIT));
    let x = out.clamp(&lo, x, &hi);
    let square = out.binary("multiply", &x, &x);
    let p = polynomial(out, &square, &P);
    let q = polynomial(out, &square, &Q);
    let numerator = out.binary("multiply", &x, &p);
    let quotient = out.binary("divide", &numerator, &q);
    let (lo, hi) = (scalar(out, -1.0), scalar(out, 1.0));
    out.clamp(&lo, &quotient, &hi)
}

fn polynomial(out: &mut Writer, x: &Tensor, coefficients: &[f32; 6]) -> Tensor {
    let constant =
        |out: &mut Writer, value| out.constant(Literal::float(DType::F32, value), &x.shape);
    let mut sum = constant(out, coefficients[5]);
    for &coefficient in coefficients[..5].iter().rev() {
        let product = out.binary("multiply", &sum, x);
        let term = constant(out, coefficient);
        sum = out.binary("add", &product, &term);
    }
    sum
}
