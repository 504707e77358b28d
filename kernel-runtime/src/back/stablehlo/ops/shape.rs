//! Ops that make or rearrange tiles.

use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{Literal, ShapeOp};

/// Lowers a shape op.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    shape_op: &ShapeOp,
    op: &OpData,
) -> Result<Val, Diagnostic> {
    if let ShapeOp::Splat(to) | ShapeOp::Broadcast(to) | ShapeOp::Reshape(to) = shape_op
        && let Val::Uniform(literal, _) = cx.val(op.operands[0])?
    {
        return Ok(Val::Uniform(literal, to.clone()));
    }
    let mut operands = Vec::with_capacity(op.operands.len());
    for &operand in &op.operands {
        operands.push(cx.tensor(operand)?);
    }
    let result = match shape_op {
        ShapeOp::Splat(to) => cx.out.broadcast(&operands[0], &[], to),
        ShapeOp::Broadcast(to) => {
            let dims: Vec<usize> = (0..to.len()).collect();
            cx.out.broadcast(&operands[0], &dims, to)
        }
        ShapeOp::Reshape(to) => cx.out.reshape(&operands[0], to),
        ShapeOp::Transpose(perm) => cx.out.transpose(&operands[0], perm),
        ShapeOp::Concat { axis } => cx.out.concatenate(&operands, *axis),
        ShapeOp::Slice { starts, sizes, strides } => {
            cx.out.slice(&operands[0], starts, sizes, strides)
        }
        ShapeOp::Iota { dtype, shape, axis } => cx.out.iota(*dtype, shape, *axis),
        ShapeOp::Roll { axis } => {
            let shift = cx.val(op.operands[1])?;
            roll(cx, &operands[0], &shift, *axis)
        }
    };
    Ok(result.into())
}

/// Element `i` lands at `(i + shift) mod n`: a window of the tile written twice in a row.
fn roll(cx: &mut Lowering<'_>, x: &Tensor, shift: &Val, axis: usize) -> Tensor {
    let n = x.shape[axis];
    let mut sizes = x.shape.clone();
    if let Some(shift) = shift.as_int() {
        let start = (-shift).rem_euclid(n as i64) as usize;
        if start == 0 {
            return x.clone();
        }
        let (mut starts, strides) = (vec![0; sizes.len()], vec![1; sizes.len()]);
        sizes[axis] = start;
        let back = cx.out.slice(x, &starts, &sizes, &strides);
        starts[axis] = start;
        sizes[axis] = n - start;
        let front = cx.out.slice(x, &starts, &sizes, &strides);
        return cx.out.concatenate(&[front, back], axis);
    }
    let shift = cx.materialise(shift);
    let start = negated_mod(cx, &shift, n as i64);
    let twice = cx.out.concatenate(&[x.clone(), x.clone()], axis);
    let zero = cx.out.index(0);
    let starts: Vec<Tensor> =
        (0..sizes.len()).map(|i| if i == axis { start.clone() } else { zero.clone() }).collect();
    cx.out.dynamic_slice(&twice, &starts, &sizes)
}

/// `-x mod n` in `0..n`, for an `i32` scalar.
fn negated_mod(cx: &mut Lowering<'_>, x: &Tensor, n: i64) -> Tensor {
    let (n, zero) = (cx.out.index(n), cx.out.constant(Literal::int(DType::I32, 0), &[]));
    let remainder = cx.out.binary("remainder", x, &n);
    let negated = cx.out.unary("negate", &remainder);
    let below = cx.out.compare(Direction::Lt, &negated, &zero);
    let raised = cx.out.binary("add", &negated, &n);
    cx.out.select(&below, &raised, &negated)
}
