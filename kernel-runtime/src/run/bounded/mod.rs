//! Bounded dims: one program for every size of an axis up to a bound.
//!
//! A function given to [`jit`](super::jit) is traced with a bounded axis at its bucket: the
//! smallest size that the dim has programs for and that the real size fits in. At a call the
//! argument is padded to the bucket, and the real size becomes a hidden argument of the program.
//! [`bound`] then goes through the program with a [`Layout`] per value, which says where its
//! padding is, and asks each op ([`Op::bounded`](super::op::Op::bounded)) what it needs there: a
//! sum needs zeros, a maximum the least value, an element-wise op nothing. So real elements never
//! depend on padding, whatever stands in it. That this holds for every op is tested to the bit, with
//! [`Numerics::InOrder`](super::Numerics::InOrder), in tests/run/ops/bounded.rs.
//!
//! The function sees the bucket as the size, so what it computes from a shape would be wrong for
//! other sizes. It is traced once more per dim, with that dim at another size, and [`compare`]
//! refuses whatever differs in anything but shapes.
//!
//! * `dim`: what users write.
//! * [`layout`]: where the padding of a value is.
//! * [`corner`]: padding arrays, and cutting the real elements out of them.

pub(crate) mod compare;
pub(crate) mod corner;
mod dim;
pub(crate) mod layout;
mod pass;

pub use dim::Dim;
pub(crate) use layout::{Axis, DimIdx, Layout};
pub(crate) use pass::{BoundedGraph, Need, bound};

use super::graph::Ty;
use super::op::{Op, OpError};
use crate::ir::DType;
use crate::ir::ops::Literal;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A bounded dim while a program is made.
#[derive(Clone, Debug)]
pub(crate) struct BoundDim {
    /// As users know it.
    pub(crate) name: String,
    /// The size that the program is for.
    pub(crate) bucket: usize,
    /// The other size at which the function was traced.
    pub(crate) check: usize,
}

/// What an op is told to say what padding does to it.
#[derive(Debug)]
pub(crate) struct Bounds<'a> {
    pub(super) inputs: SmallVec<[&'a Layout; 4]>,
    pub(super) input_types: SmallVec<[&'a Ty; 4]>,
    pub(super) outputs: SmallVec<[&'a Ty; 1]>,
    /// By dim: the types of the results with that dim at its other size.
    pub(super) checks: SmallVec<[SmallVec<[&'a Ty; 1]>; 2]>,
    pub(super) dims: &'a [BoundDim],
}

/// What padding does to an op.
#[derive(Debug)]
pub(crate) struct Bounded {
    /// Where the padding of each result is.
    pub(crate) outputs: SmallVec<[Layout; 1]>,
    /// By input: what its padding must be; whatever it is for those that are none or missing.
    pub(crate) fills: SmallVec<[Option<Literal>; 4]>,
    /// The dims that it needs elements of, as it does without padding, and how many.
    pub(crate) at_least: SmallVec<[(DimIdx, usize); 2]>,
    /// What takes its place.
    pub(crate) op: Option<Arc<dyn Op>>,
    /// The dims whose real sizes that one has as further inputs.
    pub(crate) sizes: SmallVec<[DimIdx; 2]>,
}

impl Bounded {
    /// An op to which the padding of its inputs does no harm.
    pub(crate) fn new(outputs: impl IntoIterator<Item = Layout>) -> Bounded {
        Bounded {
            outputs: outputs.into_iter().collect(),
            fills: SmallVec::new(),
            at_least: SmallVec::new(),
            op: None,
            sizes: SmallVec::new(),
        }
    }
}

impl Bounds<'_> {
    /// Where the padding of an input is.
    pub(crate) fn input(&self, idx: usize) -> &Layout {
        self.inputs[idx]
    }

    /// All inputs.
    pub(crate) fn inputs(&self) -> &[&Layout] {
        &self.inputs
    }

    /// The layout that inputs have in common but for one of their axes; the axis of the first one
    /// stands in its place.
    pub(crate) fn alike_but(&self, name: &str, axis: Option<usize>) -> Result<Layout, OpError> {
        let Some((&first, others)) = self.inputs.split_first() else {
            return Ok(Layout::default());
        };
        let is_alike = |other: &&Layout| {
            let mut axes = first.axes.iter().zip(&other.axes).enumerate();
            axes.all(|(at, (mine, theirs))| Some(at) == axis || mine == theirs)
        };
        match others.iter().all(is_alike) {
            true => Ok(first.clone()),
            false => Err(self.not_alike(name)),
        }
    }

    /// The refusal of tensors that go together but for their padding.
    pub(crate) fn not_alike(&self, name: &str) -> OpError {
        let types: Vec<String> = self.input_types.iter().map(ToString::to_string).collect();
        OpError::bounded(format!(
            "`{name}` of {}: their elements are not padded alike",
            types.join(" and ")
        ))
        .help("bound the same axes of all of them by one dim")
    }

    /// Refuses an op that treats the elements of a padded axis by their number or place.
    pub(crate) fn expect_fixed(
        &self,
        name: &str,
        input: usize,
        axes: impl IntoIterator<Item = usize>,
    ) -> Result<(), OpError> {
        let padded = axes.into_iter().find(|&axis| !self.inputs[input].axes[axis].is_fixed());
        match padded {
            None => Ok(()),
            Some(axis) => Err(OpError::bounded(format!(
                "`{name}` along axis {axis} of {}, whose size is bounded",
                self.input_types[input]
            ))
            .help("apply it along axes whose size is the same in every call")),
        }
    }

    /// The type of an input, padding included.
    pub(crate) fn input_type(&self, idx: usize) -> &Ty {
        self.input_types[idx]
    }

    /// The element type of an input.
    pub(crate) fn dtype(&self, idx: usize) -> DType {
        self.input_types[idx].dtype
    }

    /// The layout of an axis of a result that comes of no input, but was asked for with a size.
    pub(crate) fn new_axis(&self, output: usize, axis: usize) -> Result<Axis, OpError> {
        let size = self.outputs[output].shape[axis];
        let mut found = Axis::fixed(size);
        for (idx, dim) in self.dims.iter().enumerate() {
            let other = self.checks[idx][output].shape[axis];
            if other == size {
                continue;
            }
            if (size, other) != (dim.bucket, dim.check) || !found.is_fixed() {
                return Err(OpError::bounded(format!(
                    "axis {axis} of {} is made with a size that is computed from `{}`: it is {size} for {}, and {other} for {}",
                    self.outputs[output], dim.name, dim.bucket, dim.check
                ))
                .help("make it with the dim itself as an axis, and `reshape` it"));
            }
            found = Axis::bounded(size, idx);
        }
        Ok(found)
    }

    /// The layout of an element-wise result: of inputs broadcast to one shape.
    pub(crate) fn broadcast(&self, name: &str) -> Result<Layout, OpError> {
        self.broadcast_of(name, 0..self.inputs.len())
    }

    /// The layout of some of the inputs broadcast to one shape.
    pub(crate) fn broadcast_of(&self, name: &str, inputs: Range<usize>) -> Result<Layout, OpError> {
        self.broadcast_with(name, &self.inputs[inputs])
    }

    /// The layout of these broadcast to one shape.
    pub(crate) fn broadcast_with(&self, name: &str, inputs: &[&Layout]) -> Result<Layout, OpError> {
        let rank = inputs.iter().map(|layout| layout.axes.len()).max().unwrap_or(0);
        let axis = |axis: usize| {
            let mut found: Option<&Axis> = None;
            for layout in inputs {
                let n_missing = rank - layout.axes.len();
                let Some(given) = axis.checked_sub(n_missing).map(|axis| &layout.axes[axis]) else {
                    continue;
                };
                match found {
                    _ if given.size() == 1 => {}
                    None => found = Some(given),
                    Some(found) if found == given => {}
                    Some(_) => {
                        return Err(OpError::bounded(format!(
                            "`{name}` pairs tensors whose axis {axis} is not padded alike"
                        )));
                    }
                }
            }
            Ok(found.cloned().unwrap_or_else(|| Axis::fixed(1)))
        };
        (0..rank).map(axis).collect()
    }
}
