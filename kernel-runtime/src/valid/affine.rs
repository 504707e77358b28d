//! What is known of scalar indices without running the kernel: affine functions of the grid
//! indices, and on which grid axes any other value depends.

use crate::ir::ops::{Binary, Elementwise, Op, Unary};
use crate::ir::{BlockId, DType, Extent, Kernel, OpData, Param, Type, Value};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The values from `lo` to `hi`, both of which are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// What is known of an `i32` scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Index {
    /// A constant plus multiples of the grid indices, by axis.
    Affine { constant: i64, factors: SmallVec<[i64; 4]> },
    /// Depends on these grid axes in some way.
    Opaque { axes: SmallVec<[bool; 4]> },
}

impl Index {
    /// Whether it may change along a grid axis.
    pub(super) fn depends_on(&self, axis: usize) -> bool {
        match self {
            Index::Affine { factors, .. } => factors[axis] != 0,
            Index::Opaque { axes } => axes[axis],
        }
    }

    /// Whether it is sure to change from each step along a grid axis to the next.
    pub(super) fn changes_along(&self, axis: usize) -> bool {
        match self {
            Index::Affine { factors, .. } => factors[axis] != 0,
            Index::Opaque { .. } => false,
        }
    }
}

/// The scalar indices of one block that does not see values from outside.
pub(super) struct Indices<'k> {
    kernel: &'k Kernel,
    /// The scalars of the block.
    known: HashMap<Value, Index>,
}

impl<'k> Indices<'k> {
    /// Analyses the ops of an index map or of the body, but not those in regions.
    pub(super) fn of_block(kernel: &'k Kernel, block: BlockId) -> Indices<'k> {
        let n_axes = kernel.grid.len();
        let data = kernel.block(block);
        let mut indices = Indices { kernel, known: HashMap::new() };
        for (axis, &arg) in data.args.iter().take(n_axes).enumerate() {
            let mut factors = SmallVec::from_elem(0, n_axes);
            factors[axis] = 1;
            indices.known.insert(arg, Index::Affine { constant: 0, factors });
        }
        for &id in &data.ops {
            let op = kernel.op(id);
            for &result in op.results.iter().filter(|v| kernel.ty(**v).is_scalar()) {
                let index = indices.result(op);
                indices.known.insert(result, index);
            }
        }
        indices
    }

    /// The index of a value, if it is a scalar of the block.
    pub(super) fn get(&self, value: Value) -> Option<&Index> {
        self.known.get(&value)
    }

    /// The values that an affine index takes over a static grid.
    pub(super) fn range(&self, value: Value) -> Option<Range> {
        let Index::Affine { constant, factors } = self.get(value)? else {
            return None;
        };
        let mut range = Range { lo: *constant, hi: *constant };
        for (axis, &factor) in self.kernel.grid.iter().zip(factors) {
            if factor == 0 {
                continue;
            }
            let Extent::Static(extent) = axis.extent else {
                return None;
            };
            let reach = factor.checked_mul(i64::try_from(extent).ok()?.checked_sub(1)?)?;
            range.lo = range.lo.checked_add(reach.min(0))?;
            range.hi = range.hi.checked_add(reach.max(0))?;
        }
        Some(range)
    }

    fn result(&self, op: &OpData) -> Index {
        self.affine_result(op).unwrap_or_else(|| {
            let n_axes = self.kernel.grid.len();
            let depends = |axis: usize| {
                op.operands.iter().any(|&v| self.get(v).is_some_and(|index| index.depends_on(axis)))
                    // What a region computes is not looked at.
                    || !op.regions.is_empty()
            };
            Index::Opaque { axes: (0..n_axes).map(depends).collect() }
        })
    }

    fn affine_result(&self, op: &OpData) -> Option<Index> {
        let is_i32 = |v: &Value| *self.kernel.ty(*v) == Type::Scalar(DType::I32);
        if !op.results.iter().all(is_i32) || op.results.is_empty() {
            return None;
        }
        let Op::Elementwise(elementwise) = &op.op else {
            return None;
        };
        let operand = |idx: usize| match self.get(op.operands[idx])? {
            Index::Affine { constant, factors } => Some((*constant, factors)),
            Index::Opaque { .. } => None,
        };
        match elementwise {
            Elementwise::Constant(literal) => Some(Index::Affine {
                constant: literal.as_int()?,
                factors: SmallVec::from_elem(0, self.kernel.grid.len()),
            }),
            Elementwise::Unary(Unary::Neg) => scale(operand(0)?, -1),
            Elementwise::Binary(Binary::Add) => combine(operand(0)?, operand(1)?, 1),
            Elementwise::Binary(Binary::Sub) => combine(operand(0)?, operand(1)?, -1),
            Elementwise::Binary(Binary::Mul) => {
                let (lhs, rhs) = (operand(0)?, operand(1)?);
                let is_constant = |x: &Parts<'_>| x.1.iter().all(|&factor| factor == 0);
                if is_constant(&rhs) {
                    scale(lhs, rhs.0)
                } else if is_constant(&lhs) {
                    scale(rhs, lhs.0)
                } else {
                    None
                }
            }
            Elementwise::Unary(_)
            | Elementwise::Binary(_)
            | Elementwise::Compare(_)
            | Elementwise::Select
            | Elementwise::Cast(_)
            | Elementwise::Bitcast(_) => None,
        }
    }
}

type Parts<'a> = (i64, &'a SmallVec<[i64; 4]>);

fn scale((constant, factors): Parts<'_>, by: i64) -> Option<Index> {
    let factors = factors.iter().map(|factor| factor.checked_mul(by)).collect::<Option<_>>()?;
    Some(Index::Affine { constant: constant.checked_mul(by)?, factors })
}

fn combine(lhs: Parts<'_>, rhs: Parts<'_>, sign: i64) -> Option<Index> {
    let add = |x: i64, y: i64| x.checked_add(y.checked_mul(sign)?);
    let factors = lhs.1.iter().zip(rhs.1).map(|(&x, &y)| add(x, y)).collect::<Option<_>>()?;
    Some(Index::Affine { constant: add(lhs.0, rhs.0)?, factors })
}

/// What is known of a parameter's block index: one entry per axis of the array, with its range.
/// `None` without a window.
pub(super) fn block_indices(kernel: &Kernel, param: &Param) -> Option<Vec<(Index, Option<Range>)>> {
    let window = param.window.as_ref()?;
    let indices = Indices::of_block(kernel, window.index_map);
    let yields = kernel.yields(window.index_map);
    yields.iter().map(|&v| Some((indices.get(v)?.clone(), indices.range(v)))).collect()
}

/// Whether a parameter's block may change along a grid axis that has several steps.
pub(super) fn depends_on(indices: &[(Index, Option<Range>)], kernel: &Kernel, axis: usize) -> bool {
    kernel.grid[axis].extent != Extent::Static(1)
        && indices.iter().any(|(index, _)| index.depends_on(axis))
}
