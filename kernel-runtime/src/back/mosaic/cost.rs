//! What a kernel costs, for XLA's scheduler, and how much VMEM it asks for.

use crate::ir::ops::{ControlOp, Elementwise, Unary};
use crate::ir::{BlockId, Buffering, Extent, Kernel, MemorySpace, Op, OpData, Param, ValueDef};
use crate::target::Chip;

/// Operations and traffic of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) flops: u64,
    pub(super) transcendentals: u64,
    pub(super) bytes: u64,
}

/// The cost of one call. Branches count as their dearer arm, loops of unknown length as one round.
pub(super) fn estimate(kernel: &Kernel) -> Cost {
    let mut cost = Cost::default();
    count_block(kernel, kernel.body, n_steps(kernel, kernel.grid.len()), &mut cost);
    cost.bytes = kernel.params.iter().map(|param| bytes_moved(kernel, param)).sum();
    cost
}

/// Steps of the outermost `n_axes` axes. Axes of unknown extent count as one.
fn n_steps(kernel: &Kernel, n_axes: usize) -> u64 {
    let extents = kernel.grid[..n_axes].iter().map(|axis| match axis.extent {
        Extent::Static(extent) => extent as u64,
        Extent::Dynamic { .. } => 1,
    });
    extents.product()
}

fn count_block(kernel: &Kernel, block: BlockId, times: u64, cost: &mut Cost) {
    for &id in &kernel.block(block).ops {
        count_op(kernel, kernel.op(id), times, cost);
    }
}

fn count_op(kernel: &Kernel, op: &OpData, times: u64, cost: &mut Cost) {
    let n_elems = |idx: usize| op.operands.get(idx).map_or(0, |&v| kernel.ty(v).n_elems()) as u64;
    let is_tile = op.results.first().is_some_and(|&result| kernel.ty(result).is_tile());
    match &op.op {
        Op::Dot(dot) => {
            let [lhs, rhs] = [kernel.ty(op.operands[0]), kernel.ty(op.operands[1])];
            let (m, k, n) = dot.sizes(lhs.shape(), rhs.shape());
            cost.flops += times * 2 * (m * k * n) as u64;
        }
        Op::Elementwise(elementwise) if is_tile => match elementwise {
            Elementwise::Unary(unary) if is_transcendental(*unary) => {
                cost.transcendentals += times * n_elems(0);
            }
            Elementwise::Unary(_) | Elementwise::Binary(_) | Elementwise::Compare(_) => {
                cost.flops += times * n_elems(0);
            }
            Elementwise::Select => cost.flops += times * n_elems(1),
            Elementwise::Constant(_) | Elementwise::Cast(_) | Elementwise::Bitcast(_) => {}
        },
        Op::Reduce(_) => cost.flops += times * n_elems(0),
        Op::Control(ControlOp::If) => {
            let mut arms = [Cost::default(); 2];
            for (arm, &region) in arms.iter_mut().zip(&op.regions) {
                count_block(kernel, region, times, arm);
            }
            let dearer = if arms[0].flops >= arms[1].flops { arms[0] } else { arms[1] };
            cost.flops += dearer.flops;
            cost.transcendentals += dearer.transcendentals;
        }
        Op::Control(ControlOp::For) => {
            let rounds = n_rounds(kernel, op).unwrap_or(1);
            count_block(kernel, op.regions[0], times * rounds, cost);
        }
        Op::Control(ControlOp::While) => count_block(kernel, op.regions[1], times, cost),
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Memory(_)
        | Op::Debug(_)
        | Op::Control(ControlOp::Yield) => {}
    }
}

fn is_transcendental(op: Unary) -> bool {
    match op {
        Unary::Exp
        | Unary::Exp2
        | Unary::ExpM1
        | Unary::Log
        | Unary::Log1P
        | Unary::Sqrt
        | Unary::Rsqrt
        | Unary::Reciprocal
        | Unary::Tanh
        | Unary::Logistic
        | Unary::Sin
        | Unary::Cos
        | Unary::Erf => true,
        Unary::Neg
        | Unary::Abs
        | Unary::Sign
        | Unary::Floor
        | Unary::Ceil
        | Unary::RoundEven
        | Unary::Not => false,
    }
}

fn n_rounds(kernel: &Kernel, op: &OpData) -> Option<u64> {
    let constant = |idx: usize| {
        let def = kernel.defining_op(*op.operands.get(idx)?)?;
        match def.op {
            Op::Elementwise(Elementwise::Constant(literal)) => literal.as_int(),
            _ => None,
        }
    };
    let (lo, hi, step) = (constant(0)?, constant(1)?, constant(2)?);
    (step > 0 && hi > lo).then(|| ((hi - lo) as u64).div_ceil(step as u64))
}

/// Bytes between HBM and VMEM: a block moves whenever an axis of its index map steps.
fn bytes_moved(kernel: &Kernel, param: &Param) -> u64 {
    let n_ways = u64::from(param.kind.is_input()) + u64::from(param.kind.is_output());
    let array: usize = param.array_shape().iter().product();
    let Some(window) = &param.window else {
        return (array * param.dtype.size_bytes()) as u64 * n_ways;
    };
    let block: usize = param.window_shape().iter().product();
    let map = window.index_map;
    let mut last_axis = 0;
    let mut see = |value: crate::ir::Value| {
        if let ValueDef::Arg(block, idx) = kernel.def(value)
            && block == map
        {
            last_axis = last_axis.max((idx as usize + 1).min(kernel.grid.len()));
        }
    };
    kernel.walk(map, &mut |_, op| op.operands.iter().for_each(|&operand| see(operand)));
    n_steps(kernel, last_axis) * (block * param.dtype.size_bytes()) as u64 * n_ways
}

/// The scoped VMEM limit to ask for: the kernel's own, or what its buffers need if that is more
/// than the chip's default, with room for the compiler's temporaries.
pub(super) fn vmem_limit(kernel: &Kernel, chip: &Chip) -> Option<u64> {
    if kernel.compile.vmem_limit_bytes.is_some() {
        return kernel.compile.vmem_limit_bytes;
    }
    let buffers = buffer_bytes(kernel, chip);
    let wanted = buffers + buffers / 4 + (1 << 20);
    (wanted > chip.vmem_default_limit_bytes).then(|| wanted.min(chip.vmem_max_limit_bytes))
}

fn buffer_bytes(kernel: &Kernel, chip: &Chip) -> u64 {
    let windows = kernel.params.iter().filter(|param| param.space == MemorySpace::Vmem);
    let windows = windows.map(|param| {
        let n_buffers = param.window.as_ref().map_or(1, |window| match window.buffering {
            Buffering::Single => 1,
            Buffering::Double => 2,
            Buffering::Multiple(n) => n,
        });
        let n_ways = usize::from(param.kind.is_input()) + usize::from(param.kind.is_output());
        padded_bytes(&param.window_shape(), param.dtype, chip) * (n_buffers * n_ways) as u64
    });
    let scratch = kernel.scratch.iter().filter(|scratch| scratch.space == MemorySpace::Vmem);
    let scratch = scratch.map(|scratch| padded_bytes(&scratch.shape, scratch.dtype, chip));
    windows.sum::<u64>() + scratch.sum::<u64>()
}

/// Bytes of an array in VMEM, its last two axes padded to whole native tiles.
fn padded_bytes(shape: &[usize], dtype: crate::ir::DType, chip: &Chip) -> u64 {
    let (sublanes, lanes) = chip.native_tile(dtype);
    let size_bytes = if dtype == crate::ir::DType::Bool { 4 } else { dtype.size_bytes() };
    let n = shape.len();
    let padded = shape.iter().enumerate().map(|(axis, &size)| match n - axis {
        1 => size.next_multiple_of(lanes),
        2 => size.next_multiple_of(sublanes),
        _ => size,
    });
    (padded.product::<usize>() * size_bytes) as u64
}
