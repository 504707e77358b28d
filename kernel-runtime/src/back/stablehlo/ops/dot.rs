//! Matrix products.

use super::round;
use crate::back::stablehlo::lower::Lowering;
use crate::back::stablehlo::text::Tensor;
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{DotOp, Literal, Precision};

/// Lowers a product: integers directly, floats as the bf16 passes of the precision.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    dot: DotOp,
    op: &OpData,
) -> Result<Tensor, Diagnostic> {
    let (lhs, rhs) = (cx.tensor(op.operands[0])?, cx.tensor(op.operands[1])?);
    let contract = (usize::from(!dot.transpose_lhs), usize::from(dot.transpose_rhs));
    if lhs.dtype.is_int() {
        return Ok(integer_dot(cx, lhs, rhs, contract));
    }
    let n_parts = match dot.precision {
        Precision::Medium => 1,
        Precision::High => 2,
        Precision::Highest => 3,
    };
    let (lhs, rhs) = (split(cx, &lhs, n_parts), split(cx, &rhs, n_parts));
    // Part `i` is about 2^-8i of the whole: the smallest products are added first, and those
    // below the level's last order are left out.
    let mut sum: Option<Tensor> = None;
    for order in (0..n_parts).rev() {
        for (i, part) in lhs.iter().enumerate().take(order + 1) {
            let Some(other) = rhs.get(order - i) else { continue };
            let product = float_dot(cx, part, other, contract);
            sum = Some(match sum {
                Some(sum) => cx.out.binary("add", &sum, &product),
                None => product,
            });
        }
    }
    sum.ok_or_else(|| cx.error("`dot` has no passes"))
}

fn integer_dot(
    cx: &mut Lowering<'_>,
    lhs: Tensor,
    rhs: Tensor,
    contract: (usize, usize),
) -> Tensor {
    // A matrix unit takes i8 by i8; other pairs are multiplied as i32.
    if lhs.dtype == DType::I8 && rhs.dtype == DType::I8 {
        return cx.out.dot(&lhs, &rhs, contract, DType::I32);
    }
    let (lhs, rhs) = (cx.out.convert(&lhs, DType::I32), cx.out.convert(&rhs, DType::I32));
    cx.out.dot(&lhs, &rhs, contract, DType::I32)
}

/// The parts of a float operand, largest first: `f32` as bf16 numbers, other types whole, since
/// their products are exact in `f32` anyway.
fn split(cx: &mut Lowering<'_>, x: &Tensor, n_parts: usize) -> Vec<Tensor> {
    if x.dtype != DType::F32 {
        return vec![x.clone()];
    }
    let mut rest = x.clone();
    let mut parts = Vec::with_capacity(n_parts);
    for idx in 0..n_parts {
        let part = round::round(cx, &rest, DType::BF16);
        parts.push(cx.out.convert(&part, DType::BF16));
        if idx + 1 < n_parts {
            // An infinity or NaN is all in its first part; inf - inf would make it NaN.
            let difference = cx.out.binary("subtract", &rest, &part);
            let finite = cx.out.is_finite(&part);
            let zero = cx.out.constant(Literal::float(DType::F32, 0.0), &x.shape);
            rest = cx.out.select(&finite, &difference, &zero);
        }
    }
    parts
}

/// One pass, accumulated in `f32`: bf16 by bf16, or whatever else as `f32`.
fn float_dot(
    cx: &mut Lowering<'_>,
    lhs: &Tensor,
    rhs: &Tensor,
    contract: (usize, usize),
) -> Tensor {
    if lhs.dtype == DType::BF16 && rhs.dtype == DType::BF16 {
        return cx.out.dot(lhs, rhs, contract, DType::F32);
    }
    let (lhs, rhs) = (round::widen(cx, lhs), round::widen(cx, rhs));
    cx.out.dot(&lhs, &rhs, contract, DType::F32)
}
