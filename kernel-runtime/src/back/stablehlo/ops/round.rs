//! Between `f32`, in which floats are computed, and the narrower float types.

use crate::back::stablehlo::lower::Lowering;
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::ir::DType;
use crate::ir::ops::Literal;

/// The smallest normal `f16`.
const F16_MIN_NORMAL: f32 = 6.103_515_6e-5;
/// Has an ULP of 2^-24, the distance of subnormal `f16` numbers.
const F16_SUBNORMAL_MAGIC: f32 = 0.75;

/// A float tensor as `f32`, exactly.
pub(in crate::back::stablehlo) fn widen(cx: &mut Lowering<'_>, x: &Tensor) -> Tensor {
    cx.out.convert(x, DType::F32)
}

/// An `f32` tensor rounded to a float type, to nearest even.
///
/// A plain `convert` there and back may be dropped by XLA (`xla_allow_excess_precision`, on by
/// default), so the rounding is said with `reduce_precision`.
pub(in crate::back::stablehlo) fn narrow(
    cx: &mut Lowering<'_>,
    x: &Tensor,
    dtype: DType,
) -> Tensor {
    let rounded = round(cx, x, dtype);
    cx.out.convert(&rounded, dtype)
}

/// An `f32` tensor of values that the float type has.
pub(in crate::back::stablehlo) fn round(cx: &mut Lowering<'_>, x: &Tensor, dtype: DType) -> Tensor {
    match dtype {
        DType::BF16 => cx.out.reduce_precision(x, "e8m7"),
        DType::F16 => round_to_f16(cx, x),
        _ => x.clone(),
    }
}

/// `reduce_precision` flushes numbers that are subnormal in the target format to zero, which
/// `f16` arithmetic does not; those are rounded by the addition of a number with their ULP.
fn round_to_f16(cx: &mut Lowering<'_>, x: &Tensor) -> Tensor {
    let reduced = cx.out.reduce_precision(x, "e5m10");
    let magic = cx.out.constant(Literal::float(DType::F32, F16_SUBNORMAL_MAGIC), &x.shape);
    let limit = cx.out.constant(Literal::float(DType::F32, F16_MIN_NORMAL), &x.shape);
    let shifted = cx.out.binary("add", x, &magic);
    let subnormal = cx.out.binary("subtract", &shifted, &magic);
    let size = cx.out.unary("abs", x);
    let small = cx.out.compare(Direction::Lt, &size, &limit);
    cx.out.select(&small, &subnormal, &reduced)
}
