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
        _ => x.clone(),
    }
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
