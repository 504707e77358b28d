//! What a kernel computes and moves, counted from the IR.

use super::affine;
use crate::ir::ops::{
    Binary, Compare, ControlOp, DmaOp, Elementwise, MemoryOp, MxuOp, Op, ReduceKind, SparseOp,
    Unary,
};
use crate::ir::{BlockId, DType, Extent, Kernel, MemorySpace, OpData, Param, Type, Value};

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
    /// Bytes read from and written to HBM: a block moves when its index changes, and the kernel's
    /// own copies move what they name.
    pub bytes_accessed: u64,
}

/// The work of one call of a kernel: what its author states, and the count for the rest.
pub fn estimate(kernel: &Kernel) -> Cost {
    let n_steps: f64 = kernel.grid.iter().map(|axis| extent(axis.extent)).product();
    let step = block_cost(kernel, kernel.body);
    let bytes_accessed = || {
        let by_windows: f64 = kernel.params.iter().map(|param| bytes(kernel, param)).sum();
        whole(by_windows + step.bytes * n_steps)
    };
    let stated = kernel.compile.cost;
    Cost {
        flops: stated.flops.unwrap_or_else(|| whole(step.flops * n_steps)),
        transcendentals: stated
            .transcendentals
            .unwrap_or_else(|| whole(step.transcendentals * n_steps)),
        bytes_accessed: stated.bytes_accessed.unwrap_or_else(bytes_accessed),
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
    /// What copies of the kernel move from and to HBM.
    bytes: f64,
}

impl Work {
    fn plus(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            transcendentals: self.transcendentals + other.transcendentals,
            bytes: self.bytes + other.bytes,
        }
    }

    fn times(self, n: f64) -> Work {
        Work {
            flops: self.flops * n,
            transcendentals: self.transcendentals * n,
            bytes: self.bytes * n,
        }
    }
}

fn block_cost(kernel: &Kernel, block: BlockId) -> Work {
    let ops = kernel.block(block).ops.iter().map(|&id| kernel.op(id));
    ops.map(|op| op_cost(kernel, op)).fold(Work::default(), Work::plus)
}

fn op_cost(kernel: &Kernel, op: &OpData) -> Work {
    let n_elems = |value: Option<&Value>| value.map_or(0, |&v| tile_elems(kernel, v)) as f64;
    let flops = |flops: f64| Work { flops, ..Work::default() };
    let transcendentals = |transcendentals: f64| Work { transcendentals, ..Work::default() };
    match &op.op {
        Op::Elementwise(elementwise) => match elementwise {
            Elementwise::Unary(unary) if is_transcendental(*unary) => {
                transcendentals(n_elems(op.results.first()))
            }
            Elementwise::Binary(Binary::Pow | Binary::Atan2) => {
                transcendentals(n_elems(op.results.first()))
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
        // What it multiplies by is a square.
        Op::Mxu(MxuOp::AccLhs { .. }) => {
            let k = op.operands.first().map_or(0, |&lhs| kernel.ty(lhs).shape()[1]);
            flops(2.0 * n_elems(op.operands.first()) * k as f64)
        }
        Op::Sparse(sparse) => sparse_cost(kernel, sparse, op),
        Op::Dma(dma) => Work { bytes: copied_bytes(kernel, dma, op), ..Work::default() },
        Op::Control(control) => control_cost(kernel, *control, op),
        Op::Convert(_) => flops(n_elems(op.results.first())),
        Op::Shape(_)
        | Op::Random(_)
        | Op::Mxu(MxuOp::PushRhs { .. } | MxuOp::Pop { .. })
        | Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. })
        | Op::Sync(_)
        | Op::Debug(_) => Work::default(),
    }
}

/// What a copy moves from and to HBM.
fn copied_bytes(kernel: &Kernel, dma: &DmaOp, op: &OpData) -> f64 {
    let (DmaOp::Start(start), [from, to, ..]) = (dma, &op.operands[..]) else {
        return 0.0;
    };
    let ends = [kernel.ty(*from), kernel.ty(*to)];
    let is_far =
        |ty: &&&Type| matches!(ty, Type::Ref { space: MemorySpace::Hbm | MemorySpace::Any, .. });
    let n_far = ends.iter().filter(is_far).count();
    let n_elems: f64 = start.transfer.shape().iter().map(|&size| size as f64).product();
    n_far as f64 * n_elems * bytes_of(ends[0].dtype())
}

/// What an op of a SparseCore computes, and what it moves from and to HBM.
fn sparse_cost(kernel: &Kernel, sparse: &SparseOp, op: &OpData) -> Work {
    let n_elems = op.operands.first().map_or(0, |&v| tile_elems(kernel, v)) as f64;
    match sparse {
        SparseOp::Start(start) => {
            let Some(Type::Ref { dtype, space, .. }) = op.operands.first().map(|&v| kernel.ty(v))
            else {
                return Work::default();
            };
            let n: f64 = start.copy.rows.tile_shape().iter().map(|&size| size as f64).product();
            let bytes = n * bytes_of(*dtype);
            let is_far = matches!(space, MemorySpace::Hbm | MemorySpace::Any);
            Work { bytes: if is_far { bytes } else { 0.0 }, ..Work::default() }
        }
        SparseOp::Scan { .. } | SparseOp::Sort { .. } | SparseOp::ScanCount { .. } => {
            Work { flops: n_elems, ..Work::default() }
        }
        SparseOp::Wait(_)
        | SparseOp::Barrier
        | SparseOp::LoadIdx { .. }
        | SparseOp::StoreIdx { .. }
        | SparseOp::LoadExpanded { .. }
        | SparseOp::StoreCompressed { .. }
        | SparseOp::MaskCount
        | SparseOp::MaskFirst => Work::default(),
    }
}

/// Scalars are free beside tiles.
fn tile_elems(kernel: &Kernel, value: Value) -> usize {
    let ty = kernel.ty(value);
    if ty.is_tile() { ty.n_elems() } else { 0 }
}

/// Whether the op takes a series or iteration rather than an instruction.
pub(crate) fn is_transcendental(op: Unary) -> bool {
    match op {
        Unary::Exp
        | Unary::Exp2
        | Unary::ExpM1
        | Unary::Log
        | Unary::Log1P
        | Unary::Sqrt
        | Unary::Rsqrt
        | Unary::Reciprocal
        | Unary::ReciprocalApprox
        | Unary::Tan
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
        (ControlOp::For, [body]) => body.times(n_trips(kernel, op).unwrap_or(1) as f64),
        (ControlOp::Scope, [body]) => *body,
        (ControlOp::While, [cond, body]) => cond.plus(*body),
        _ => Work::default(),
    }
}

fn n_trips(kernel: &Kernel, op: &OpData) -> Option<i64> {
    let bound = |idx: usize| kernel.constant_int(*op.operands.get(idx)?);
    ControlOp::n_trips(bound(0)?, bound(1)?, bound(2)?)
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

/// The bytes of an element in HBM: half a one of 4 bits.
fn bytes_of(dtype: DType) -> f64 {
    dtype.size_bits() as f64 / 8.0
}

/// The bytes of a parameter that move: its block once per run of steps that share it.
fn bytes(kernel: &Kernel, param: &Param) -> f64 {
    let element = bytes_of(param.dtype);
    let n_elems = |shape: &[usize]| shape.iter().map(|&size| size as f64).product::<f64>();
    let n_ways = f64::from(u8::from(param.kind.is_input()) + u8::from(param.kind.is_output()));
    if matches!(param.space, MemorySpace::Hbm | MemorySpace::Any) {
        // Copies alone reach it, and are counted where they stand.
        return 0.0;
    }
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
