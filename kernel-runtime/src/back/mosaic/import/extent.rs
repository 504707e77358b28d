//! How large the array of a window is in a module that does not say it.

use crate::ir::ops::{ControlOp, Elementwise, Op};
use crate::ir::{BlockDim, BlockId, Extent, Kernel, ValueDef};
use std::collections::HashMap;

/// Steps that are looked at; of larger grids it is the corners.
const MAX_STEPS: usize = 1 << 16;

/// The smallest sizes that hold every block which the index map names: whole blocks. `None` if the
/// map reads a table or an extent is not known.
pub(super) fn array_shape(kernel: &Kernel, block: &[BlockDim], map: BlockId) -> Option<Vec<usize>> {
    let mut extents = Vec::new();
    for axis in &kernel.grid {
        match axis.extent {
            Extent::Static(extent) => extents.push(i64::try_from(extent).ok()?),
            Extent::Dynamic { .. } => return None,
        }
    }
    let n_steps = extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent))?;
    let all = usize::try_from(n_steps).is_ok_and(|n| n <= MAX_STEPS);
    let choices: Vec<i64> = extents.iter().map(|&extent| if all { extent } else { 2 }).collect();
    let n_choices: i64 = choices.iter().product();
    let mut ends = vec![0usize; block.len()];
    for mut number in 0..n_choices {
        let mut step = vec![0i64; extents.len()];
        for axis in (0..extents.len()).rev() {
            let choice = number % choices[axis];
            number /= choices[axis];
            step[axis] = if all { choice } else { choice * (extents[axis] - 1) };
        }
        for (axis, idx) in block_index(kernel, map, &step)?.into_iter().enumerate() {
            let dim = block.get(axis)?;
            let start = match dim {
                BlockDim::Element(_) => idx,
                BlockDim::Blocked(_) | BlockDim::Squeezed => {
                    idx.checked_mul(i64::try_from(dim.size()).ok()?)?
                }
            };
            let end = usize::try_from(start).ok()?.checked_add(dim.size())?;
            ends[axis] = ends[axis].max(end);
        }
    }
    Some(ends)
}

/// What the index map gives at a step, if it computes with grid indices alone.
fn block_index(kernel: &Kernel, map: BlockId, step: &[i64]) -> Option<Vec<i64>> {
    let mut known = HashMap::new();
    for (&arg, &idx) in kernel.block(map).args.iter().zip(step) {
        known.insert(arg, idx);
    }
    for &id in &kernel.block(map).ops {
        let op = kernel.op(id);
        let operand = |idx: usize| known.get(op.operands.get(idx)?).copied();
        let dtype = |idx: usize| Some(kernel.ty(*op.operands.get(idx)?).dtype());
        let value = match &op.op {
            Op::Control(ControlOp::Yield) => break,
            Op::Elementwise(Elementwise::Constant(literal)) => literal.as_int()?,
            Op::Elementwise(Elementwise::Unary(unary)) if dtype(0)?.is_int() => {
                unary.eval_int(operand(0)?)
            }
            Op::Elementwise(Elementwise::Binary(binary)) if !dtype(0)?.is_float() => {
                binary.eval_int(operand(0)?, operand(1)?)
            }
            Op::Elementwise(Elementwise::Compare(compare)) if !dtype(0)?.is_float() => {
                i64::from(compare.eval(operand(0)?, operand(1)?))
            }
            Op::Elementwise(Elementwise::Select) => {
                if operand(0)? != 0 {
                    operand(1)?
                } else {
                    operand(2)?
                }
            }
            Op::Elementwise(Elementwise::Cast(to)) if !dtype(0)?.is_float() => {
                to.cast_int(operand(0)?)
            }
            Op::Elementwise(Elementwise::Bitcast(_)) => operand(0)?,
            Op::Elementwise(_)
            | Op::Shape(_)
            | Op::Convert(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Reduce(_)
            | Op::Dot(_)
            | Op::Memory(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Control(_)
            | Op::Debug(_) => return None,
        };
        let &result = op.results.first()?;
        known.insert(result, kernel.ty(result).dtype().wrap_int(value));
    }
    kernel
        .yields(map)
        .iter()
        .map(|value| match kernel.def(*value) {
            ValueDef::Arg(..) | ValueDef::Result(..) => known.get(value).copied(),
        })
        .collect()
}
