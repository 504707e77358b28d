//! Lanes: all steps of parallel grid axes at once.
//!
//! A loop over the grid runs its steps one after the other, each on operands too small to keep a
//! processor busy. The steps of a `parallel` axis do not depend on one another, so such an axis
//! need not be a loop: every value that differs between its steps gets a leading axis, the lane,
//! with one entry per step. A product becomes a batched product, and so on. Several axes share
//! the one leading axis: the last of them varies fastest along it.
//!
//! Which values have lanes shows in their rank, one more than the kernel's type says. Memory has
//! lanes if each step has its own: scratch, and parameters whose block depends on an axis.

use super::lower::{Lowering, Val};
use super::text::Tensor;
use crate::diag::Diagnostic;
use crate::ir::kernel::{BlockDim, BlockId, Extent, Param, Semantics, Value, ValueDef};
use crate::ir::ops::{Binary, ControlOp, Elementwise, MemoryOp, ShapeOp};
use crate::ir::ty::{MemorySpace, Shape};
use crate::ir::{DType, Kernel, Op};
use smallvec::SmallVec;

/// An axis is left a loop if its lanes together would need more scratch than this.
const MAX_LANE_BYTES: usize = 256 << 20;

/// Further axes are left loops if all lanes would need more than this: one axis keeps a processor
/// busy already, and more than its caches hold makes it wait.
const MAX_BYTES_OF_SEVERAL: usize = 64 << 20;

/// The grid axes whose steps are lanes.
pub(super) struct Lanes {
    /// Each axis's place in the grid and its number of steps, in the grid's order.
    pub(super) axes: SmallVec<[(usize, usize); 2]>,
    /// The number of lanes: the product of all steps.
    pub(super) n: usize,
    /// Per parameter, per axis: how its block follows the steps, if it does.
    params: Vec<SmallVec<[Option<Follow>; 2]>>,
}

/// How a block follows the steps of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Follow {
    /// The axis of the array along which it does.
    dim: usize,
    /// How many steps in a row see one block: the index is the step's divided by this.
    group: usize,
}

impl Lanes {
    /// The longest axis whose steps can be lanes, and such others as there is room for.
    pub(super) fn choose(kernel: &Kernel, written: &[bool]) -> Option<Lanes> {
        if !memory_may_have_lanes(kernel) {
            return None;
        }
        let mut candidates: Vec<Candidate> = (0..kernel.grid.len())
            .filter_map(|axis| Candidate::new(kernel, written, axis))
            .collect();
        candidates.sort_by_key(|candidate| std::cmp::Reverse((candidate.n, candidate.axis)));
        let bytes = bytes_per_step(kernel);
        let mut chosen: Vec<Candidate> = Vec::new();
        let mut n = 1_usize;
        for candidate in candidates {
            let all = n.saturating_mul(candidate.n);
            let limit = if chosen.is_empty() { MAX_LANE_BYTES } else { MAX_BYTES_OF_SEVERAL };
            chosen.push(candidate);
            if bytes.saturating_mul(all) <= limit && copies_little(kernel, &chosen) {
                n = all;
            } else {
                chosen.pop();
            }
        }
        if chosen.is_empty() {
            return None;
        }
        chosen.sort_by_key(|candidate| candidate.axis);
        let params = (0..kernel.params.len())
            .map(|param| chosen.iter().map(|candidate| candidate.params[param]).collect());
        let params = params.collect();
        let axes = chosen.iter().map(|candidate| (candidate.axis, candidate.n)).collect();
        Some(Lanes { axes, n, params })
    }

    /// Whether the steps of a grid axis are lanes.
    pub(super) fn contains(&self, axis: usize) -> bool {
        self.axes.iter().any(|&(of, _)| of == axis)
    }

    /// Whether each lane sees a block of its own, or a group of lanes does.
    pub(super) fn has_param(&self, param: usize) -> bool {
        self.params[param].iter().any(Option::is_some)
    }

    /// The window of all lanes together: `window` is one step's.
    pub(super) fn window(&self, param: usize, window: &[usize]) -> Shape {
        let mut shape = Shape::from_slice(window);
        for (&(_, n), follow) in self.axes.iter().zip(&self.params[param]) {
            if let Some(follow) = follow {
                shape[follow.dim] *= n / follow.group;
            }
        }
        shape
    }

    /// The index of an axis in every lane.
    pub(super) fn index(&self, cx: &mut Lowering<'_>, axis: usize) -> Tensor {
        let steps: Shape = self.axes.iter().map(|&(_, n)| n).collect();
        let place = self.axes.iter().position(|&(of, _)| of == axis).unwrap_or(0);
        let index = cx.out.iota(DType::I32, &steps, place);
        cx.out.reshape(&index, &[self.n])
    }

    /// A parameter's window of all lanes, cut into each lane's block of this shape.
    pub(super) fn split(
        &self,
        cx: &mut Lowering<'_>,
        x: &Tensor,
        param: usize,
        block: &[usize],
    ) -> Tensor {
        let follows = &self.params[param];
        // The blocks along an axis become an axis of their own before it.
        let mut shape = Shape::new();
        let mut places: SmallVec<[usize; 2]> = SmallVec::from_elem(0, follows.len());
        for (dim, &size) in x.shape.iter().enumerate() {
            let mut size = size;
            if let Some(lane) = lane_along(follows, dim) {
                let n_blocks = self.n_blocks(follows, lane);
                places[lane] = shape.len();
                shape.push(n_blocks);
                size /= n_blocks;
            }
            shape.push(size);
        }
        let split = cx.out.reshape(x, &shape);
        let lanes: Vec<usize> = (0..follows.len()).filter(|&l| follows[l].is_some()).collect();
        let leading: Vec<usize> = lanes.iter().map(|&lane| places[lane]).collect();
        let n_leading = leading.len();
        let rest = (0..shape.len()).filter(|axis| !leading.contains(axis));
        let perm: Vec<usize> = leading.iter().copied().chain(rest).collect();
        let first = if perm.is_sorted() { split } else { cx.out.transpose(&split, &perm) };
        // Lanes that see the same block get copies of it.
        let mut all = Shape::new();
        let mut kept: Vec<usize> = Vec::new();
        for (follow, &(_, n)) in follows.iter().zip(&self.axes) {
            if let Some(follow) = follow {
                kept.push(all.len());
                all.push(n / follow.group);
                if follow.group > 1 {
                    all.push(follow.group);
                }
            } else {
                all.push(n);
            }
        }
        let n_rest = first.shape.len() - n_leading;
        kept.extend((0..n_rest).map(|idx| all.len() + idx));
        all.extend_from_slice(&first.shape[n_leading..]);
        let full = if all == first.shape { first } else { cx.out.broadcast(&first, &kept, &all) };
        cx.out.reshape(&full, &with_lanes(self.n, block))
    }

    /// The inverse of [`Lanes::split`] for a parameter of which each lane has its own block:
    /// `window` is the shape of one step's block in the array.
    pub(super) fn join(
        &self,
        cx: &mut Lowering<'_>,
        x: &Tensor,
        param: usize,
        window: &[usize],
    ) -> Tensor {
        let follows = &self.params[param];
        let n_lanes = self.axes.len();
        let shape: Shape =
            self.axes.iter().map(|&(_, n)| n).chain(window.iter().copied()).collect();
        let first = cx.out.reshape(x, &shape);
        let mut perm: Vec<usize> = Vec::new();
        for dim in 0..window.len() {
            perm.extend(lane_along(follows, dim));
            perm.push(n_lanes + dim);
        }
        let split = if perm.is_sorted() { first } else { cx.out.transpose(&first, &perm) };
        cx.out.reshape(&split, &self.window(param, window))
    }

    /// How many blocks the lanes of an axis see.
    fn n_blocks(&self, follows: &[Option<Follow>], lane: usize) -> usize {
        self.axes[lane].1 / follows[lane].map_or(1, |follow| follow.group)
    }
}

/// Which of the axes an axis of the array follows.
fn lane_along(follows: &[Option<Follow>], dim: usize) -> Option<usize> {
    follows.iter().position(|follow| follow.is_some_and(|follow| follow.dim == dim))
}

/// A grid axis whose steps can be lanes.
struct Candidate {
    axis: usize,
    n: usize,
    /// By parameter.
    params: Vec<Option<Follow>>,
}

impl Candidate {
    fn new(kernel: &Kernel, written: &[bool], axis: usize) -> Option<Candidate> {
        let Extent::Static(n) = kernel.grid[axis].extent else { return None };
        if n < 2 || kernel.grid[axis].semantics != Semantics::Parallel {
            return None;
        }
        let mut params = Vec::with_capacity(kernel.params.len());
        for (idx, param) in kernel.params.iter().enumerate() {
            let follow = follow(kernel, param, axis, n).ok()?;
            // Steps that wrote one place would not be independent.
            let is_own = follow.is_some_and(|follow| follow.group == 1);
            if !is_own && (written[idx] || param.kind.is_output()) {
                return None;
            }
            params.push(follow);
        }
        steers_nothing(kernel, kernel.grid_index(axis)).then_some(Candidate { axis, n, params })
    }
}

/// Whether all that the kernel's steps write can be a lane's own.
fn memory_may_have_lanes(kernel: &Kernel) -> bool {
    // All lanes would write into one array.
    let mut copies = false;
    kernel.walk(kernel.body, &mut |_, op| copies |= matches!(op.op, Op::Dma(_)));
    // Memory of scopes has no lanes.
    let scopes = !kernel.scoped().is_empty();
    let scalars_in_vmem = kernel.scratch.iter().all(|s| s.space != MemorySpace::Smem);
    !copies && !scopes && scalars_in_vmem
}

/// Whether the blocks that several lanes see, of which each then gets a copy, are no more than twice
/// those that are a lane's own. A block that all lanes see is not copied.
fn copies_little(kernel: &Kernel, chosen: &[Candidate]) -> bool {
    let (mut own, mut copied) = (0_usize, 0_usize);
    for (idx, param) in kernel.params.iter().enumerate() {
        let n_elems: usize = param.window_shape().iter().product();
        let bytes = n_elems.saturating_mul(param.dtype.size_bytes());
        let follows = || chosen.iter().map(|candidate| candidate.params[idx]);
        if follows().all(|follow| follow.is_some_and(|follow| follow.group == 1)) {
            own = own.saturating_add(bytes);
        } else if follows().any(|follow| follow.is_some()) {
            copied = copied.saturating_add(bytes);
        }
    }
    copied <= own.saturating_mul(2)
}

/// How the block of a parameter follows a grid axis of `n` steps, none if it does not depend on it.
///
/// # Errors
/// If it depends on it in another way.
fn follow(kernel: &Kernel, param: &Param, axis: usize, n: usize) -> Result<Option<Follow>, ()> {
    let Some(window) = &param.window else { return Ok(None) };
    let index = kernel.block(window.index_map).args.get(axis).copied().ok_or(())?;
    let yields = kernel.yields(window.index_map);
    let mut follows = (0..yields.len())
        .filter_map(|dim| Some(Follow { dim, group: group(kernel, yields[dim], index)? }));
    let found = follows.next();
    if follows.next().is_some() {
        return Err(());
    }
    // Whatever else the map makes of the index.
    let mut is_used = false;
    kernel.walk(window.index_map, &mut |_, op| {
        let is_followed = match &op.op {
            Op::Control(ControlOp::Yield) => true,
            _ => found.is_some_and(|found| op.results.first() == Some(&yields[found.dim])),
        };
        is_used |= !is_followed && op.operands.contains(&index);
    });
    if is_used {
        return Err(());
    }
    let Some(Follow { dim, group }) = found else { return Ok(None) };
    let size = param.array_shape()[dim];
    let n_blocks = match window.block[dim] {
        BlockDim::Blocked(block) => size.div_ceil(block.max(1)),
        BlockDim::Squeezed => size,
        BlockDim::Element(_) => 0,
    };
    if n_blocks.checked_mul(group) != Some(n) || param.space == MemorySpace::Smem {
        return Err(());
    }
    Ok(found)
}

/// 1 if an entry of an index map is this index, `group` if it is the index divided by `group`.
fn group(kernel: &Kernel, entry: Value, index: Value) -> Option<usize> {
    if entry == index {
        return Some(1);
    }
    let ValueDef::Result(op, _) = kernel.def(entry) else { return None };
    let op = kernel.op(op);
    if op.op != Op::Elementwise(Elementwise::Binary(Binary::Div))
        || op.operands.first() != Some(&index)
    {
        return None;
    }
    match kernel.defining_op(*op.operands.get(1)?)?.op {
        Op::Elementwise(Elementwise::Constant(by)) => {
            usize::try_from(by.as_int()?).ok().filter(|&by| by > 0)
        }
        _ => None,
    }
}

/// Scratch and the largest value of a step.
fn bytes_per_step(kernel: &Kernel) -> usize {
    let scratch = kernel
        .scratch
        .iter()
        .map(|s| s.shape.iter().product::<usize>().saturating_mul(s.dtype.size_bytes()));
    let mut largest = 0;
    kernel.walk(kernel.body, &mut |_, op| {
        for &result in &op.results {
            let ty = kernel.ty(result);
            let n_elems: usize = ty.shape().iter().product();
            largest = largest.max(n_elems.saturating_mul(ty.dtype().size_bytes()));
        }
    });
    scratch.fold(largest, usize::saturating_add)
}

/// Whether a grid index, and every scalar made of it, ends in the values of tiles: where it decides
/// about a branch, a loop or an address, the steps go different ways.
fn steers_nothing(kernel: &Kernel, index: Value) -> bool {
    let mut tainted = vec![false; kernel.n_values()];
    tainted[index.0 as usize] = true;
    let mut steers = false;
    kernel.walk(kernel.body, &mut |_, op| {
        // A scalar taken out of a tile may differ between steps whatever made the tile.
        if op.op == Op::Shape(ShapeOp::Extract) {
            tainted[op.results[0].0 as usize] = true;
            return;
        }
        let scalar = |value: &Value| kernel.ty(*value).is_scalar() && tainted[value.0 as usize];
        if !op.operands.iter().any(scalar) {
            return;
        }
        match &op.op {
            Op::Elementwise(_) | Op::Shape(ShapeOp::Splat(_)) => {
                for result in &op.results {
                    tainted[result.0 as usize] = true;
                }
            }
            Op::Shape(_)
            | Op::Convert(_)
            | Op::Random(_)
            | Op::Mxu(_)
            | Op::Reduce(_)
            | Op::Dot(_)
            | Op::Dma(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Debug(_)
            | Op::Control(_) => steers = true,
            // The value that is stored may differ between lanes, in memory that has lanes; what
            // SMEM holds is a scalar again.
            Op::Memory(MemoryOp::Load { .. } | MemoryOp::Store { .. }) => steers = true,
        }
    });
    !steers
}

impl Lowering<'_> {
    /// Whether a value of the kernel has lanes.
    pub(super) fn has_lanes(&self, value: Value, val: &Val) -> bool {
        val.shape().len() > self.kernel.ty(value).shape().len()
    }

    /// A tensor of this rank without lanes, with its elements in every lane; one that has lanes as
    /// it is.
    pub(super) fn in_lanes(&mut self, x: &Tensor, rank: usize) -> Tensor {
        match self.n_lanes {
            Some(n) if x.shape.len() == rank => {
                let dims: Vec<usize> = (1..=rank).collect();
                let shape = with_lanes(n, &x.shape);
                self.out.broadcast(x, &dims, &shape)
            }
            _ => x.clone(),
        }
    }

    /// What a region yields or a loop carries: tiles have lanes, if there are any, and scalars have
    /// none.
    pub(super) fn carried(&mut self, value: Value, val: &Val) -> Tensor {
        let tensor = self.materialise(val);
        match self.kernel.ty(value).shape().len() {
            0 => tensor,
            rank => self.in_lanes(&tensor, rank),
        }
    }

    /// The values that a region yields, as [`Lowering::carried`].
    pub(super) fn carried_yields(&mut self, block: BlockId) -> Result<Vec<Tensor>, Diagnostic> {
        let vals = self.yields(block)?;
        let values = self.kernel.yields(block).to_vec();
        Ok(values.iter().zip(&vals).map(|(&value, val)| self.carried(value, val)).collect())
    }

    /// Operands of an op on equal shapes, all with lanes if one of them has. A scalar beside tiles
    /// that has lanes gets their shape.
    pub(super) fn aligned(&mut self, values: &[Value], vals: &[Val]) -> Vec<Tensor> {
        let tensors: Vec<Tensor> = vals.iter().map(|val| self.materialise(val)).collect();
        let kernel = self.kernel;
        let shape_of = |value: &Value| Shape::from_slice(kernel.ty(*value).shape());
        let any = values.iter().zip(vals).any(|(&value, val)| self.has_lanes(value, val));
        let (Some(n), true) = (self.n_lanes, any) else { return tensors };
        let shape = values.iter().map(shape_of).max_by_key(|shape| shape.len()).unwrap_or_default();
        let full = with_lanes(n, &shape);
        let align = |(value, x): (&Value, Tensor)| {
            let rank = kernel.ty(*value).shape().len();
            if rank == shape.len() {
                return self.in_lanes(&x, rank);
            }
            match x.shape.len() > rank {
                true => self.out.broadcast(&x, &[0], &full),
                false => x,
            }
        };
        values.iter().zip(tensors).map(align).collect()
    }
}

/// A shape behind `n` lanes.
pub(super) fn with_lanes(n: usize, shape: &[usize]) -> Shape {
    std::iter::once(n).chain(shape.iter().copied()).collect()
}
