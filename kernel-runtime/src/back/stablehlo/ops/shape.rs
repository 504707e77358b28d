//! Ops that make or rearrange tiles.

use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, GatherDims, Tensor};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{Literal, RollStride, ShapeOp};
use crate::ir::ty::Shape;

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
    let vals: Vec<Val> = op.operands.iter().map(|&v| cx.val(v)).collect::<Result<_, _>>()?;
    let operands = match shape_op {
        // The shift stays a scalar.
        ShapeOp::Roll { .. } | ShapeOp::Extract => {
            vals.iter().map(|val| cx.materialise(val)).collect()
        }
        _ => cx.aligned(&op.operands, &vals),
    };
    let any = op.operands.iter().zip(&vals).any(|(&value, val)| cx.has_lanes(value, val));
    let n = cx.n_lanes.filter(|_| any);
    // How many axes stand before those of the kernel's type.
    let shift = usize::from(n.is_some());
    let behind = |shape: &[usize], lane: usize| -> Shape {
        n.map(|_| lane).into_iter().chain(shape.iter().copied()).collect()
    };
    let to_shape = |shape: &[usize]| behind(shape, n.unwrap_or(1));
    let result = match shape_op {
        ShapeOp::Splat(to) => {
            let dims: &[usize] = if n.is_some() { &[0] } else { &[] };
            cx.out.broadcast(&operands[0], dims, &to_shape(to))
        }
        ShapeOp::Broadcast(to) => {
            let dims: Vec<usize> = (0..to.len() + shift).collect();
            cx.out.broadcast(&operands[0], &dims, &to_shape(to))
        }
        ShapeOp::Reshape(to) => cx.out.reshape(&operands[0], &to_shape(to)),
        ShapeOp::Transpose(perm) => {
            let perm: Vec<usize> = perm.iter().map(|axis| axis + shift).collect();
            cx.out.transpose(&operands[0], &behind(&perm, 0))
        }
        ShapeOp::Concat { axis } => cx.out.concatenate(&operands, *axis + shift),
        ShapeOp::Slice { starts, sizes, strides } => {
            let (starts, strides) = (behind(starts, 0), behind(strides, 1));
            cx.out.slice(&operands[0], &starts, &to_shape(sizes), &strides)
        }
        ShapeOp::Iota { dtype, shape, axis } => cx.out.iota(*dtype, shape, *axis),
        ShapeOp::Roll { axis, stride: None } => roll(cx, &operands[0], &vals[1], *axis + shift),
        ShapeOp::Roll { axis, stride: Some(rows) } => {
            let rows = RollStride { axis: rows.axis + shift, ..*rows };
            roll_rows(cx, &operands[0], &vals[1], *axis + shift, rows)
        }
        ShapeOp::TakeAlongAxis { axis } => {
            take_along_axis(cx, &operands[0], &operands[1], *axis + shift)
        }
        ShapeOp::Extract => cx.out.reshape(&operands[0], &behind(&[], n.unwrap_or(1))),
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

/// As [`roll`], each row along another axis further than the one before: a gather.
fn roll_rows(
    cx: &mut Lowering<'_>,
    x: &Tensor,
    shift: &Val,
    axis: usize,
    rows: RollStride,
) -> Tensor {
    let n = x.shape[axis] as i64;
    let index = |value: i64| Literal::int(DType::I32, value);
    let place = cx.out.iota(DType::I32, &x.shape, axis);
    let row = cx.out.iota(DType::I32, &x.shape, rows.axis);
    // Below `n`, so that no product leaves 32 bits.
    let by = cx.out.constant(index(rows.by as i64 % n), &x.shape);
    let size = cx.out.constant(index(n), &x.shape);
    let shift = cx.materialise(shift);
    let whole = cx.out.index(n);
    let shift = cx.out.binary("remainder", &shift, &whole);
    let shift = cx.out.broadcast(&shift, &[], &x.shape);
    let further = cx.out.binary("multiply", &row, &by);
    let further = cx.out.binary("remainder", &further, &size);
    let from = cx.out.binary("subtract", &place, &shift);
    let from = cx.out.binary("subtract", &from, &further);
    // Above `-2n` now, so that two more make it positive.
    let from = cx.out.binary("add", &from, &size);
    let from = cx.out.binary("add", &from, &size);
    let from = cx.out.binary("remainder", &from, &size);
    take_along_axis(cx, x, &from, axis)
}

/// Each element from where the index along the axis says; clamped where it is outside.
fn take_along_axis(cx: &mut Lowering<'_>, x: &Tensor, indices: &Tensor, axis: usize) -> Tensor {
    let rank = x.shape.len();
    let column: Shape = indices.shape.iter().copied().chain([1]).collect();
    let coordinates: Vec<Tensor> = (0..rank)
        .map(|other| {
            let place = match other == axis {
                true => indices.clone(),
                false => cx.out.iota(DType::I32, &indices.shape, other),
            };
            cx.out.reshape(&place, &column)
        })
        .collect();
    let coordinates = cx.out.concatenate(&coordinates, rank);
    let dims = GatherDims {
        collapsed: (0..rank).collect(),
        start_map: (0..rank).collect(),
        ..GatherDims::default()
    };
    cx.out.gather(x, &coordinates, &dims, &vec![1; rank], &indices.shape)
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
