//! Reductions along one axis.

use super::elementwise::extreme;
use super::round;
use crate::back::stablehlo::lower::Lowering;
use crate::back::stablehlo::text::{Direction, Tensor, Writer};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{Literal, ReduceKind, ReduceOp};

/// Lowers a reduction.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    reduce: ReduceOp,
    op: &OpData,
) -> Result<Tensor, Diagnostic> {
    let x = cx.tensor(op.operands[0])?;
    let n_lane_axes = x.shape.len() - cx.kernel.ty(op.operands[0]).shape().len();
    let reduce = ReduceOp { axis: reduce.axis + n_lane_axes, ..reduce };
    Ok(emit(&mut cx.out, reduce, &x))
}

/// Writes a reduction; the axis stays with size 1.
pub(crate) fn emit(out: &mut Writer, reduce: ReduceOp, x: &Tensor) -> Tensor {
    match reduce.kind {
        ReduceKind::Sum if x.dtype.is_float() => {
            let wide = round::widen(out, x);
            let sum = reduce_axis(out, &wide, ReduceKind::Sum, reduce.axis);
            round::narrow(out, &sum, x.dtype)
        }
        ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => {
            reduce_axis(out, x, reduce.kind, reduce.axis)
        }
        ReduceKind::ArgMax => arg_reduce(out, x, ReduceKind::Max, reduce.axis),
        ReduceKind::ArgMin => arg_reduce(out, x, ReduceKind::Min, reduce.axis),
    }
}

/// Sum, maximum or minimum; the axis stays with size 1.
fn reduce_axis(out: &mut Writer, x: &Tensor, kind: ReduceKind, axis: usize) -> Tensor {
    let reduced = match kind {
        ReduceKind::Max if x.dtype.is_float() => float_extreme(out, x, kind, Direction::Gt, axis),
        ReduceKind::Min if x.dtype.is_float() => float_extreme(out, x, kind, Direction::Lt, axis),
        ReduceKind::Sum => reduce_by(out, x, kind, "add", axis),
        ReduceKind::Max | ReduceKind::ArgMax => reduce_by(out, x, kind, "maximum", axis),
        ReduceKind::Min | ReduceKind::ArgMin => reduce_by(out, x, kind, "minimum", axis),
    };
    let mut shape = x.shape.clone();
    shape[axis] = 1;
    out.reshape(&reduced, &shape)
}

fn reduce_by(out: &mut Writer, x: &Tensor, kind: ReduceKind, combine: &str, axis: usize) -> Tensor {
    let neutral = out.constant(neutral(kind, x.dtype), &[]);
    out.reduce(x, &neutral, combine, axis)
}

/// The largest or smallest float, in `f32`, since XLA:CPU is slow on regions of narrow floats.
fn float_extreme(
    out: &mut Writer,
    x: &Tensor,
    kind: ReduceKind,
    direction: Direction,
    axis: usize,
) -> Tensor {
    let wide = round::widen(out, x);
    let neutral = out.constant(neutral(kind, DType::F32), &[]);
    let open = out.begin_reduce(&wide, &neutral, axis);
    let better = extreme(out, direction, &open.args[0], &open.args[1]);
    let reduced = out.end_reduce(open, &better);
    out.convert(&reduced, x.dtype)
}

/// The element that leaves the others as they are.
pub(crate) fn neutral(kind: ReduceKind, dtype: DType) -> Literal {
    let (least, most) = dtype.int_range().unwrap_or((0, 0));
    match (kind, dtype.is_float()) {
        (ReduceKind::Max | ReduceKind::ArgMax, true) => Literal::float(dtype, f32::NEG_INFINITY),
        (ReduceKind::Min | ReduceKind::ArgMin, true) => Literal::float(dtype, f32::INFINITY),
        (ReduceKind::Max | ReduceKind::ArgMax, false) => Literal::int(dtype, least),
        (ReduceKind::Min | ReduceKind::ArgMin, false) => Literal::int(dtype, most),
        (ReduceKind::Sum, _) => Literal::from_f64(dtype, 0.0),
    }
}

/// The first index of the extreme element; NaN counts as extreme. Two plain reductions, which
/// every device does well, instead of one over pairs.
fn arg_reduce(out: &mut Writer, x: &Tensor, kind: ReduceKind, axis: usize) -> Tensor {
    let extreme = reduce_axis(out, x, kind, axis);
    let dims: Vec<usize> = (0..x.shape.len()).collect();
    let extreme = out.broadcast(&extreme, &dims, &x.shape);
    let mut hit = out.compare(Direction::Eq, x, &extreme);
    if x.dtype.is_float() {
        let is_nan = out.compare(Direction::Ne, x, x);
        hit = out.binary("or", &hit, &is_nan);
    }
    let index = out.iota(DType::I32, &x.shape, axis);
    let none = out.constant(Literal::int(DType::I32, i64::from(i32::MAX)), &x.shape);
    let index = out.select(&hit, &index, &none);
    reduce_axis(out, &index, ReduceKind::Min, axis)
}
