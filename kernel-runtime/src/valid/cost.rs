//! What a kernel computes and moves, counted from the IR.

use super::affine;
use crate::ir::ops::{Binary, Compare, ControlOp, Elementwise, MemoryOp, Op, ReduceKind, Unary};
use crate::ir::{BlockId, Extent, Kernel, OpData, Param, Value};

/// An estimate of the work of one call.
///
/// Dynamic grid extents and loops whose bounds are not constants count as one step; of a branch
/// the dearer arm counts, weighed by how often a comparison of a grid index lets it run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Additions and multiplications, those of matrix products among them; a comparison, choice
    /// or other element-wise op counts as one.
    pub flops: u64,
    /// Elements that exponentials, logarithms, roots and the like are taken of.
    pub transcendentals: u64,
    /// Bytes read from and written to HBM: a block moves when its index changes.
    pub bytes_accessed: u64,
}

/// Counts the work of one call of a kernel.
pub fn estimate(kernel: &Kernel) -> Cost {
    let n_steps: f64 = kernel.grid.iter().map(|axis| extent(axis.extent)).product();
    let step = block_cost(kernel, kernel.body);
    Cost {
        flops: whole(step.flops * n_steps),
        transcendentals: whole(step.transcendentals * n_steps),
        bytes_accessed: whole(kernel.params.iter().map(|param| bytes(kernel, param)).sum()),
    }
}

fn extent(extent: Extent) -> f64 {
    match extent {
        Extent::Static(extent) => extent as f64,
        Extent::Dynamic { .. } => 1.0,
    }
}

fn whole(x: f64) -> u64 {
    x.round() as u64
}

/// Counts as floats, since branches weigh less than one.
#[derive(Clone, Copy, Default)]
struct Work {
    flops: f64,
    transcendentals: f64,
}

impl Work {
    fn plus(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            transcendentals: self.transcendentals + other.transcendentals,
        }
    }

    fn times(self, n: f64) -> Work {
        Work { flops: self.flops * n, transcendentals: self.transcendentals * n }
    }
}

fn block_cost(kernel: &Kernel, block: BlockId) -> Work {
    let ops = kernel.block(block).ops.iter().map(|&id| kernel.op(id));
    ops.map(|op| op_cost(kernel, op)).fold(Work::default(), Work::plus)
}

fn op_cost(kernel: &Kernel, op: &OpData) -> Work {
    let n_elems = |value: Option<&Value>| value.map_or(0, |&v| tile_elems(kernel, v)) as f64;
    let flops = |flops: f64| Work { flops, transcendentals: 0.0 };
    match &op.op {
        Op::Elementwise(elementwise) => match elementwise {
            Elementwise::Unary(unary) if is_transcendental(*unary) => {
                Work { flops: 0.0, transcendentals: n_elems(op.results.first()) }
            }
            Elementwise::Binary(Binary::Pow) => {
                Work { flops: 0.0, transcendentals: n_elems(op.results.first()) }
            }
            Elementwise::Unary(_)
            | Elementwise::Binary(_)
            | Elementwise::Compare(_)
            | Elementwise::Select => flops(n_elems(op.results.first())),
            Elementwise::Constant(_) | Elementwise::Cast(_) | Elementwise::Bitcast(_) => {
                Work::default()
            }
        },
        Op::Reduce(reduce) => match reduce.kind {
            ReduceKind::Sum
            | ReduceKind::Max
            | ReduceKind::Min
            | ReduceKind::ArgMax
            | ReduceKind::ArgMin => flops(n_elems(op.operands.first())),
        },
        Op::Dot(dot) => match op.operands[..] {
            [lhs, rhs] => {
                let (m, k, n) = dot.sizes(kernel.ty(lhs).shape(), kernel.ty(rhs).shape());
                flops(2.0 * m as f64 * k as f64 * n as f64)
            }
            _ => Work::default(),
        },
        Op::Control(control) => control_cost(kernel, *control, op),
        Op::Shape(_)
        | Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. })
        | Op::Debug(_) => Work::default(),
    }
}

/// Scalars are free beside tiles.
fn tile_elems(kernel: &Kernel, value: Value) -> usize {
    let ty = kernel.ty(value);
    if ty.is_tile() { ty.n_elems() } else { 0 }
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

fn control_cost(kernel: &Kernel, control: ControlOp, op: &OpData) -> Work {
    let regions: Vec<Work> = op.regions.iter().map(|&r| block_cost(kernel, r)).collect();
    match (control, &regions[..]) {
        (ControlOp::If, [then, other]) => {
            let share = op.operands.first().and_then(|&cond| share_of_steps(kernel, cond));
            match share {
                Some(share) => then.times(share).plus(other.times(1.0 - share)),
                None if then.flops >= other.flops => *then,
                None => *other,
            }
        }
        (ControlOp::For, [body]) => body.times(trip_count(kernel, op)),
        (ControlOp::While, [cond, body]) => cond.plus(*body),
        _ => Work::default(),
    }
}

fn trip_count(kernel: &Kernel, op: &OpData) -> f64 {
    let bounds: Option<Vec<i64>> =
        op.operands.iter().take(3).map(|&v| kernel.constant_int(v)).collect();
    match bounds.as_deref() {
        Some(&[lo, hi, step]) if step > 0 => ((hi - lo).max(0) as f64 / step as f64).ceil(),
        _ => 1.0,
    }
}

/// In which part of the grid's steps a comparison of a grid index with a constant holds.
fn share_of_steps(kernel: &Kernel, cond: Value) -> Option<f64> {
    let op = kernel.defining_op(cond)?;
    let Op::Elementwise(Elementwise::Compare(compare)) = op.op else {
        return None;
    };
    let axis_of = |v: Value| {
        kernel.block(kernel.body).args[..kernel.grid.len()].iter().position(|&arg| arg == v)
    };
    let (axis, constant, flipped) = match (axis_of(op.operands[0]), axis_of(op.operands[1])) {
        (Some(axis), None) => (axis, kernel.constant_int(op.operands[1])?, false),
        (None, Some(axis)) => (axis, kernel.constant_int(op.operands[0])?, true),
        _ => return None,
    };
    let Extent::Static(extent) = kernel.grid[axis].extent else {
        return None;
    };
    let n = extent as i64;
    let below = constant.clamp(0, n);
    let equal = i64::from((0..n).contains(&constant));
    let above = n - below - equal;
    let (below, above) = if flipped { (above, below) } else { (below, above) };
    let holds = match compare {
        Compare::Eq => equal,
        Compare::Ne => n - equal,
        Compare::Lt => below,
        Compare::Le => below + equal,
        Compare::Gt => above,
        Compare::Ge => above + equal,
    };
    (n > 0).then(|| holds as f64 / n as f64)
}

/// The bytes of a parameter that move: its block once per run of steps that share it.
fn bytes(kernel: &Kernel, param: &Param) -> f64 {
    let element = param.dtype.size_bytes() as f64;
    let n_elems = |shape: &[usize]| shape.iter().map(|&size| size as f64).product::<f64>();
    let n_ways = f64::from(u8::from(param.kind.is_input()) + u8::from(param.kind.is_output()));
    let Some(indices) = affine::block_indices(kernel, param) else {
        return n_ways * element * n_elems(&param.array_shape());
    };
    let innermost =
        (0..kernel.grid.len()).rev().find(|&axis| affine::depends_on(&indices, kernel, axis));
    let n_moves: f64 = match innermost {
        Some(axis) => kernel.grid[..=axis].iter().map(|axis| extent(axis.extent)).product(),
        None => 1.0,
    };
    // An edge block moves only the part inside the array.
    let block: f64 = param
        .window_shape()
        .iter()
        .zip(param.array_shape())
        .map(|(&block, size)| size as f64 / (size as f64 / block as f64).ceil())
        .product();
    n_ways * element * n_moves * block
}
