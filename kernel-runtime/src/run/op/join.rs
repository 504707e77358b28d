//! Ops that join tensors, part them, and make them longer.

use super::shape::axis_of;
use super::slice::Pick;
use super::{Gradients, Op, OpError, Types, Value, Vjp, expect_same_dtype};
use crate::back::stablehlo::text::padded_size;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::Shape;
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::{apply, apply_all};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::node::Node;
use crate::run::tensor::{DynTensor, Kind, Operand, Tensor};
use smallvec::{SmallVec, smallvec};
use std::borrow::Borrow;
use std::panic::Location;
use std::sync::Arc;

/// Tensors one after the other along an axis.
#[derive(Clone, Debug, Hash)]
struct Concat {
    axis: i64,
}

impl Op for Concat {
    fn name(&self) -> &'static str {
        "concat"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let Some((&first, others)) = inputs.split_first() else { return Err(nothing("concat")) };
        expect_same_dtype(self.name(), inputs)?;
        let axis = axis_of(self.name(), self.axis, first.shape.len())?;
        let mut shape = first.shape.clone();
        for other in others {
            let same_rank = other.shape.len() == shape.len();
            let clash = (0..shape.len())
                .find(|&at| at != axis && other.shape.get(at) != first.shape.get(at));
            if !same_rank || clash.is_some() {
                return Err(OpError::shape(format!(
                    "`concat` along axis {axis}: {first} and {other} differ in {}",
                    clash
                        .filter(|_| same_rank)
                        .map_or_else(|| "the number of axes".to_owned(), |at| format!("axis {at}"))
                ))
                .help("all sizes but those of the joined axis must be equal"));
            }
            shape[axis] += other.shape[axis];
        }
        Ok(smallvec![Ty { dtype: first.dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axis = axis_of(self.name(), self.axis, inputs[0].shape.len());
        Ok(vec![cx.out.concatenate(inputs, axis.map_err(Diagnostic::from)?)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let axis = axis_of(self.name(), self.axis, bounds.input(0).axes.len())?;
        let mut layout = bounds.alike_but(self.name(), Some(axis))?;
        for input in 0..bounds.inputs().len() {
            bounds.expect_fixed(self.name(), input, [axis])?;
        }
        let sizes = bounds.inputs().iter().map(|input| input.axes[axis].size());
        layout.axes[axis] = Axis::fixed(sizes.sum());
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let Some(g) = vjp.cotangent() else { return Ok(smallvec![None; vjp.inputs.len()]) };
        let axis = axis_of(self.name(), self.axis, g.rank())?;
        let sizes: Vec<usize> = vjp.inputs.iter().map(|x| x.shape()[axis]).collect();
        Ok(g.split(&sizes, axis as i64).into_iter().map(Some).collect())
    }
}

/// Tensors of one shape, side by side along a new axis.
#[derive(Clone, Debug, Hash)]
struct Stack {
    axis: i64,
}

impl Op for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let Some(&first) = inputs.first() else { return Err(nothing("stack")) };
        expect_same_dtype(self.name(), inputs)?;
        if let Some(other) = inputs.iter().find(|other| other.shape != first.shape) {
            return Err(OpError::shape(format!(
                "`stack` takes tensors of one shape, not {first} and {other}"
            ))
            .help("to join tensors along an axis that they have: `concat`"));
        }
        let axis = axis_of(self.name(), self.axis, first.shape.len() + 1)?;
        let mut shape = first.shape.clone();
        shape.insert(axis, inputs.len());
        Ok(smallvec![Ty { dtype: first.dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axis = axis_of(self.name(), self.axis, inputs[0].shape.len() + 1);
        let axis = axis.map_err(Diagnostic::from)?;
        let mut shape = inputs[0].shape.clone();
        shape.insert(axis, 1);
        let parts: Vec<Value> = inputs.iter().map(|x| cx.out.reshape(x, &shape)).collect();
        Ok(vec![cx.out.concatenate(&parts, axis)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut layout = bounds.alike_but(self.name(), None)?;
        let axis = axis_of(self.name(), self.axis, layout.axes.len() + 1)?;
        layout.axes.insert(axis, Axis::fixed(bounds.inputs().len()));
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let Some(g) = vjp.cotangent() else { return Ok(smallvec![None; vjp.inputs.len()]) };
        let axis = axis_of(self.name(), self.axis, g.rank())? as i64;
        Ok((0..vjp.inputs.len()).map(|idx| Some(g.index_axis(axis, idx as i64))).collect())
    }
}

fn nothing(name: &str) -> OpError {
    OpError::argument(format!("`{name}` was given no tensors"))
}

/// Parts of given sizes along an axis.
#[derive(Clone, Debug, Hash)]
struct Split {
    sizes: Shape,
    axis: i64,
}

impl Op for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn n_outputs(&self) -> usize {
        self.sizes.len().max(1)
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len())?;
        if self.sizes.is_empty() {
            return Err(OpError::argument(format!("`split` of {x} into no parts")));
        }
        let sum: usize = self.sizes.iter().sum();
        if sum != x.shape[axis] {
            return Err(OpError::shape(format!(
                "`split`: parts of {:?} make {sum} elements, but axis {axis} of {x} has {}",
                self.sizes.as_slice(),
                x.shape[axis]
            )));
        }
        let part = |&size: &usize| {
            let mut shape = x.shape.clone();
            shape[axis] = size;
            Ty { dtype: x.dtype, shape }
        };
        Ok(self.sizes.iter().map(part).collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len()).map_err(Diagnostic::from)?;
        let mut starts: Shape = smallvec![0; x.shape.len()];
        let steps: Shape = smallvec![1; x.shape.len()];
        let mut parts = Vec::with_capacity(self.sizes.len());
        for &size in &self.sizes {
            let mut shape = x.shape.clone();
            shape[axis] = size;
            parts.push(cx.out.slice(x, &starts, &shape, &steps));
            starts[axis] += size;
        }
        Ok(parts)
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let x = bounds.input(0);
        let axis = axis_of(self.name(), self.axis, x.axes.len())?;
        bounds.expect_fixed(self.name(), 0, [axis])?;
        Ok(Bounded::new(self.sizes.iter().map(|&size| {
            let mut part = x.clone();
            part.axes[axis] = Axis::fixed(size);
            part
        })))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let parts = vjp.outputs.iter().zip(vjp.cotangents);
        let parts: Vec<DynTensor> =
            parts.map(|(y, g)| g.clone().unwrap_or_else(|| y.zeros_like())).collect();
        Ok(smallvec![Some(Tensor::concat(&parts, self.axis))])
    }
}

/// How many elements [`Tensor::pad`] adds along one axis: before the first, after the last, and
/// between each two. Where `low` or `high` is negative, so many are cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Padding {
    /// Before the first.
    pub low: i64,
    /// After the last.
    pub high: i64,
    /// Between each two; not negative.
    pub interior: i64,
}

impl From<(i64, i64)> for Padding {
    fn from((low, high): (i64, i64)) -> Padding {
        Padding { low, high, interior: 0 }
    }
}

impl From<(i64, i64, i64)> for Padding {
    fn from((low, high, interior): (i64, i64, i64)) -> Padding {
        Padding { low, high, interior }
    }
}

/// Elements added at the edges and between.
#[derive(Clone, Debug, Hash)]
struct Pad {
    edges: SmallVec<[Padding; 4]>,
}

impl Op for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let (x, value) = (inputs[0], inputs[1]);
        expect_same_dtype(self.name(), inputs)?;
        if !value.shape.is_empty() {
            return Err(OpError::shape(format!("`pad` fills with a scalar, not with {value}")));
        }
        if self.edges.len() != x.shape.len() {
            return Err(OpError::shape(format!(
                "`pad` was given edges of {} axes for {x}, which has {}",
                self.edges.len(),
                x.shape.len()
            )));
        }
        let mut shape = Shape::new();
        for (axis, (edge, &size)) in self.edges.iter().zip(&x.shape).enumerate() {
            let padded = padded_size(size, edge.low, edge.high, edge.interior);
            if edge.interior < 0 || padded < 0 {
                return Err(OpError::argument(format!(
                    "`pad`: {edge:?} leaves {padded} elements along axis {axis} of {x}"
                )));
            }
            shape.push(padded as usize);
        }
        Ok(smallvec![Ty { dtype: x.dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let low: Vec<i64> = self.edges.iter().map(|edge| edge.low).collect();
        let high: Vec<i64> = self.edges.iter().map(|edge| edge.high).collect();
        let interior: Vec<i64> = self.edges.iter().map(|edge| edge.interior).collect();
        Ok(vec![cx.out.pad(&inputs[0], &inputs[1], &low, &high, &interior)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let changed = (0..self.edges.len()).filter(|&at| self.edges[at] != Padding::default());
        bounds.expect_fixed(self.name(), 0, changed)?;
        let axis = |(axis, edge): (&Axis, &Padding)| match axis.is_fixed() {
            true => {
                let size = padded_size(axis.size(), edge.low, edge.high, edge.interior);
                Axis::fixed(size.unsigned_abs() as usize)
            }
            false => axis.clone(),
        };
        Ok(Bounded::new([bounds.input(0).axes.iter().zip(&self.edges).map(axis).collect()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, value) = (&vjp.inputs[0], &vjp.inputs[1]);
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None, None]);
        };
        // The other way round: what was added is cut off, what was cut off has no gradient.
        let cut = |edge: &Padding| (-edge.low, -edge.high, 0);
        let cut: Vec<(i64, i64, i64)> = self.edges.iter().map(cut).collect();
        let every = |edge: &Padding| Pick::by(.., edge.interior + 1);
        let every: Vec<Pick> = self.edges.iter().map(every).collect();
        let to_x = g.pad(&cut, 0.0).slice(every.as_slice());
        // What was not there before got the value.
        let apply_again = |x: &DynTensor, value: f64| -> DynTensor {
            let value = value.beside(x);
            apply(self.clone(), &[x.node(), value.node()], Location::caller())
        };
        let added = apply_again(&x.zeros_like(), 1.0);
        let axes: Vec<i64> = (0..g.rank() as i64).collect();
        let to_value = (g * added).sum(&axes).reshape(value.shape());
        Ok(smallvec![Some(to_x), Some(to_value)])
    }
}

/// Each element, or the whole, several times along axes.
#[derive(Clone, Debug, Hash)]
enum Again {
    /// Each element `n` times along an axis.
    Repeat { n: usize, axis: i64 },
    /// The whole, as often as it says per axis; paired with the axes from the last one.
    Tile { reps: Shape },
}

/// Per axis of the result: how often the whole, the size, and how often each element.
type Plan = SmallVec<[(usize, usize, usize); 4]>;

impl Again {
    fn plan(&self, shape: &[usize]) -> Result<Plan, OpError> {
        match self {
            Again::Repeat { n, axis } => {
                let axis = axis_of("repeat", *axis, shape.len())?;
                let times = |at| if at == axis { *n } else { 1 };
                Ok(shape.iter().enumerate().map(|(at, &size)| (1, size, times(at))).collect())
            }
            Again::Tile { reps } => {
                let rank = shape.len().max(reps.len());
                let from_end = |list: &[usize], at: usize| {
                    (at + list.len()).checked_sub(rank).map_or(1, |at| list[at])
                };
                Ok((0..rank).map(|at| (from_end(reps, at), from_end(shape, at), 1)).collect())
            }
        }
    }
}

impl Op for Again {
    fn name(&self) -> &'static str {
        match self {
            Again::Repeat { .. } => "repeat",
            Again::Tile { .. } => "tile",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let plan = self.plan(&inputs[0].shape)?;
        let shape = plan.iter().map(|(whole, size, each)| whole * size * each).collect();
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let plan = self.plan(&x.shape).map_err(Diagnostic::from)?;
        let apart: Shape =
            plan.iter().flat_map(|&(whole, size, each)| [whole, size, each]).collect();
        let shape: Shape = plan.iter().map(|(whole, size, each)| whole * size * each).collect();
        let missing = plan.len() - x.shape.len();
        let dims: Shape = (missing..plan.len()).map(|axis| 3 * axis + 1).collect();
        let spread = cx.out.broadcast(x, &dims, &apart);
        Ok(vec![cx.out.reshape(&spread, &shape)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let x = bounds.input(0);
        let plan = self.plan(&x.shape())?;
        let missing = plan.len() - x.axes.len();
        let axis = |(at, &(whole, size, each)): (usize, &(usize, usize, usize))| {
            let own = at.checked_sub(missing).map(|at| x.axes[at].clone());
            own.unwrap_or_else(|| Axis::fixed(size)).repeated(whole, each)
        };
        Ok(Bounded::new([plan.iter().enumerate().map(axis).collect()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let x = &vjp.inputs[0];
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None]);
        };
        let plan = self.plan(x.shape())?;
        let apart: Shape =
            plan.iter().flat_map(|&(whole, size, each)| [whole, size, each]).collect();
        let axes = (0..plan.len() as i64).flat_map(|axis| [3 * axis, 3 * axis + 2]);
        let axes: Vec<i64> = axes.collect();
        Ok(smallvec![Some(g.reshape(&apart).sum(&axes).reshape(x.shape()))])
    }
}

impl<T: Kind> Tensor<T> {
    /// The tensors one after the other along an axis that they have.
    #[track_caller]
    #[doc(alias = "concatenate")]
    pub fn concat(tensors: &[impl Borrow<Tensor<T>>], axis: i64) -> Tensor<T> {
        let inputs: SmallVec<[&Arc<Node>; 4]> = tensors.iter().map(|x| x.borrow().node()).collect();
        apply(Concat { axis }, &inputs, Location::caller())
    }

    /// The tensors, of one shape, side by side along a new axis before axis `axis`.
    #[track_caller]
    pub fn stack(tensors: &[impl Borrow<Tensor<T>>], axis: i64) -> Tensor<T> {
        let inputs: SmallVec<[&Arc<Node>; 4]> = tensors.iter().map(|x| x.borrow().node()).collect();
        apply(Stack { axis }, &inputs, Location::caller())
    }

    /// Parts of these sizes along an axis.
    #[track_caller]
    pub fn split(&self, sizes: &[usize], axis: i64) -> Vec<Tensor<T>> {
        let op = Arc::new(Split { sizes: Shape::from_slice(sizes), axis });
        let parts = apply_all(op, &[self.node()], None, Location::caller());
        parts.into_iter().map(Tensor::from_node).collect()
    }

    /// The tensor with `value` added at the edges, and between elements, of each axis: `(low,
    /// high)` or `(low, high, interior)` per axis. Negative edges cut elements off.
    #[track_caller]
    pub fn pad(&self, edges: &[impl Into<Padding> + Copy], value: impl Operand<T>) -> Tensor<T> {
        let value = value.beside(self);
        let op = Pad { edges: edges.iter().map(|&edge| edge.into()).collect() };
        apply(op, &[self.node(), value.node()], Location::caller())
    }

    /// Each element `n` times along an axis: `[1, 2]` gives `[1, 1, 2, 2]`.
    #[track_caller]
    pub fn repeat(&self, n: usize, axis: i64) -> Tensor<T> {
        apply(Again::Repeat { n, axis }, &[self.node()], Location::caller())
    }

    /// The whole several times: `[1, 2]` gives `[1, 2, 1, 2]`. The numbers are per axis, paired from
    /// the last one; what is missing is 1.
    #[track_caller]
    pub fn tile(&self, reps: impl AsRef<[usize]>) -> Tensor<T> {
        let op = Again::Tile { reps: Shape::from_slice(reps.as_ref()) };
        apply(op, &[self.node()], Location::caller())
    }
}
