//! Between `f32`, in which floats are computed, and the narrower float types.

use crate::back::stablehlo::text::{Direction, Tensor, Writer};
use crate::ir::DType;
use crate::ir::ops::Literal;

/// The smallest normal `f16`.
const F16_MIN_NORMAL: f32 = 6.103_515_6e-5;
/// Has an ULP of 2^-24, the distance of subnormal `f16` numbers.
const F16_SUBNORMAL_MAGIC: f32 = 0.75;

/// A float tensor as `f32`, exactly.
pub(crate) fn widen(out: &mut Writer, x: &Tensor) -> Tensor {
    out.convert(x, DType::F32)
}

/// An `f32` tensor rounded to a float type, to nearest even.
///
/// A plain `convert` there and back may be dropped by XLA (`xla_allow_excess_precision`, on by
/// default), so the rounding is said with `reduce_precision`.
pub(crate) fn narrow(out: &mut Writer, x: &Tensor, dtype: DType) -> Tensor {
    let rounded = round(out, x, dtype);
    out.convert(&rounded, dtype)
}

/// An `f32` tensor of values that the float type has.
pub(crate) fn round(out: &mut Writer, x: &Tensor, dtype: DType) -> Tensor {
    match dtype {
        DType::BF16 => out.reduce_precision(x, "e8m7"),
        DType::F16 => round_to_f16(out, x),
        DType::F8E4M3FN => round_to_float8(out, x, &E4M3FN),
        DType::F8E5M2 => round_to_float8(out, x, &E5M2),
        _ => x.clone(),
    }
}

/// What is needed to round to a float of 8 bits.
struct Float8 {
    /// `f32` with as many fraction bits.
    reduced: &'static str,
    min_normal: f32,
    /// Has an ULP of the distance of subnormal numbers.
    subnormal_magic: f32,
    max_finite: f32,
    /// What becomes of larger numbers.
    overflow: f32,
}

const E4M3FN: Float8 = Float8 {
    reduced: "e8m3",
    min_normal: 0.015_625,
    subnormal_magic: 24_576.0,
    max_finite: 448.0,
    overflow: f32::NAN,
};
const E5M2: Float8 = Float8 {
    reduced: "e8m2",
    min_normal: 6.103_515_6e-5,
    subnormal_magic: 192.0,
    max_finite: 57_344.0,
    overflow: f32::INFINITY,
};

/// As [`round_to_f16`], but zeros keep their sign, and the fraction alone is rounded first: not
/// every format has the largest number or the infinities that `reduce_precision` supposes.
fn round_to_float8(out: &mut Writer, x: &Tensor, format: &Float8) -> Tensor {
    let constant =
        |out: &mut Writer, value| out.constant(Literal::float(DType::F32, value), &x.shape);
    let reduced = out.reduce_precision(x, format.reduced);
    let (size, sign) = (out.unary("abs", x), out.unary("sign", x));
    let magic = constant(out, format.subnormal_magic);
    let shifted = out.binary("add", &size, &magic);
    let subnormal = out.binary("subtract", &shifted, &magic);
    let subnormal = out.binary("multiply", &subnormal, &sign);
    let limit = constant(out, format.min_normal);
    let small = out.compare(Direction::Lt, &size, &limit);
    let rounded = out.select(&small, &subnormal, &reduced);
    let rounded_size = out.unary("abs", &rounded);
    let max_finite = constant(out, format.max_finite);
    let large = out.compare(Direction::Gt, &rounded_size, &max_finite);
    let overflow = constant(out, format.overflow);
    let overflow = out.binary("multiply", &overflow, &sign);
    out.select(&large, &overflow, &rounded)
}

/// `reduce_precision` flushes numbers that are subnormal in the target format to zero, which
/// `f16` arithmetic does not; those are rounded by the addition of a number with their ULP.
fn round_to_f16(out: &mut Writer, x: &Tensor) -> Tensor {
    let reduced = out.reduce_precision(x, "e5m10");
    let magic = out.constant(Literal::float(DType::F32, F16_SUBNORMAL_MAGIC), &x.shape);
    let limit = out.constant(Literal::float(DType::F32, F16_MIN_NORMAL), &x.shape);
    let shifted = out.binary("add", x, &magic);
    let subnormal = out.binary("subtract", &shifted, &magic);
    let size = out.unary("abs", x);
    let small = out.compare(Direction::Lt, &size, &limit);
    out.select(&small, &subnormal, &reduced)
}
