//! Matrix products.

use super::round;
use crate::back::stablehlo::Dots;
use crate::back::stablehlo::lower::Lowering;
use crate::back::stablehlo::text::{DotDims, Tensor, Writer};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{DotOp, Literal, Precision};
use smallvec::smallvec;

/// Lowers a product: integers directly, floats as the bf16 passes of the precision.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    dot: DotOp,
    op: &OpData,
) -> Result<Tensor, Diagnostic> {
    let (lhs, rhs) = (cx.tensor(op.operands[0])?, cx.tensor(op.operands[1])?);
    let lanes = [&lhs, &rhs].map(|x| x.shape.len() - 2);
    let mut dims = DotDims {
        lhs_contract: smallvec![usize::from(!dot.transpose_lhs) + lanes[0]],
        rhs_contract: smallvec![usize::from(dot.transpose_rhs) + lanes[1]],
        ..DotDims::default()
    };
    if lanes == [1, 1] {
        (dims.lhs_batch, dims.rhs_batch) = (smallvec![0], smallvec![0]);
    }
    let product = product(cx, [&lhs, &rhs], &dims, dot.precision)?;
    // Lanes of the right operand alone come after the rows of the left one.
    Ok(if lanes == [0, 1] { cx.out.transpose(&product, &[1, 0, 2]) } else { product })
}

fn product(
    cx: &mut Lowering<'_>,
    [lhs, rhs]: [&Tensor; 2],
    dims: &DotDims,
    precision: Precision,
) -> Result<Tensor, Diagnostic> {
    if cx.options.dots == Dots::Native && lhs.dtype == DType::F32 {
        return Ok(cx.out.dot_general(lhs, rhs, dims, DType::F32));
    }
    emit(&mut cx.out, lhs, rhs, dims, precision).ok_or_else(|| cx.error("`dot` has no passes"))
}

/// Writes a product with exactly the passes of the precision, whatever the device would do by
/// itself: to `i32` for integers, else to `f32`.
pub(crate) fn emit(
    out: &mut Writer,
    lhs: &Tensor,
    rhs: &Tensor,
    dims: &DotDims,
    precision: Precision,
) -> Option<Tensor> {
    if lhs.dtype.is_int() {
        return Some(integer_dot(out, lhs, rhs, dims));
    }
    let n_parts = match precision {
        Precision::Medium => 1,
        Precision::High => 2,
        Precision::Highest => 3,
    };
    let (lhs, rhs) = (split(out, lhs, n_parts), split(out, rhs, n_parts));
    // Part `i` is about 2^-8i of the whole: the smallest products are added first, and those
    // below the level's last order are left out.
    let mut sum: Option<Tensor> = None;
    for order in (0..n_parts).rev() {
        for (i, part) in lhs.iter().enumerate().take(order + 1) {
            let Some(other) = rhs.get(order - i) else { continue };
            let product = float_dot(out, part, other, dims);
            sum = Some(match sum {
                Some(sum) => out.binary("add", &sum, &product),
                None => product,
            });
        }
    }
    sum
}

fn integer_dot(out: &mut Writer, lhs: &Tensor, rhs: &Tensor, dims: &DotDims) -> Tensor {
    // A matrix unit takes i8 by i8; other pairs are multiplied as i32.
    if lhs.dtype == DType::I8 && rhs.dtype == DType::I8 {
        return out.dot_general(lhs, rhs, dims, DType::I32);
    }
    let (lhs, rhs) = (out.convert(lhs, DType::I32), out.convert(rhs, DType::I32));
    out.dot_general(&lhs, &rhs, dims, DType::I32)
}

/// The parts of a float operand, largest first: `f32` as bf16 numbers, other types whole, since
/// their products are exact in `f32` anyway.
fn split(out: &mut Writer, x: &Tensor, n_parts: usize) -> Vec<Tensor> {
    if x.dtype != DType::F32 {
        return vec![x.clone()];
    }
    let mut rest = x.clone();
    let mut parts = Vec::with_capacity(n_parts);
    for idx in 0..n_parts {
        let part = round::round(out, &rest, DType::BF16);
        parts.push(out.convert(&part, DType::BF16));
        if idx + 1 < n_parts {
            // An infinity or NaN is all in its first part; inf - inf would make it NaN.
            let difference = out.binary("subtract", &rest, &part);
            let finite = out.is_finite(&part);
            let zero = out.constant(Literal::float(DType::F32, 0.0), &x.shape);
            rest = out.select(&finite, &difference, &zero);
        }
    }
    parts
}

/// One pass, accumulated in `f32`: bf16 by bf16, or whatever else as `f32`.
fn float_dot(out: &mut Writer, lhs: &Tensor, rhs: &Tensor, dims: &DotDims) -> Tensor {
    if lhs.dtype == DType::BF16 && rhs.dtype == DType::BF16 {
        return out.dot_general(lhs, rhs, dims, DType::F32);
    }
    let (lhs, rhs) = (round::widen(out, lhs), round::widen(out, rhs));
    out.dot_general(&lhs, &rhs, dims, DType::F32)
}
