//! Ops that move elements about, and change none.

use super::elementwise::{broadcast, unbroadcast};
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::Shape;
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{Kind, Tensor};
use smallvec::smallvec;
use std::panic::Location;

/// The axis that a number means in `0..rank`: negative ones count from the end.
pub(crate) fn axis_of(name: &str, axis: i64, rank: usize) -> Result<usize, OpError> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank).ok_or_else(|| {
        OpError::shape(format!("`{name}`: axis {axis} is not one of the {rank} axes"))
            .help(format!("axes run from {} to {}", -(rank as i64), rank as i64 - 1))
    })
}

/// The axes that numbers mean, each once.
pub(crate) fn axes_of(name: &str, axes: &[i64], rank: usize) -> Result<Shape, OpError> {
    let mut found = Shape::new();
    for &axis in axes {
        let axis = axis_of(name, axis, rank)?;
        if found.contains(&axis) {
            return Err(OpError::argument(format!("`{name}`: axis {axis} is named twice")));
        }
        found.push(axis);
    }
    Ok(found)
}

/// The same elements under another shape.
#[derive(Clone, Debug, Hash)]
struct Reshape {
    shape: Shape,
}

impl Op for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let n_elems: usize = self.shape.iter().product();
        if n_elems != x.n_elems() {
            return Err(OpError::shape(format!(
                "`reshape`: {x} has {} elements, {:?} would have {n_elems}",
                x.n_elems(),
                self.shape.as_slice()
            )));
        }
        Ok(smallvec![Ty { dtype: x.dtype, shape: self.shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        Ok(vec![cx.out.reshape(&inputs[0], &self.shape)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0).reshaped(&self.shape).ok_or_else(|| {
            let message = format!(
                "`reshape` to {:?} would end an axis within the elements of a bounded dim",
                self.shape.as_slice()
            );
            OpError::bounded(message).help("merge a bounded axis whole, or leave it alone")
        })?;
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &crate::run::tensor::DynTensor| g.reshape(vjp.inputs[0].shape());
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

/// Axes in another order.
#[derive(Clone, Debug, Hash)]
enum Transpose {
    /// Result axis `i` is operand axis `perm[i]`.
    Perm(Vec<i64>),
    /// Two axes exchanged.
    Swap(i64, i64),
    /// One axis to another place, the others in their order.
    Move(i64, i64),
}

impl Transpose {
    /// By axis of the result, the axis of the operand.
    fn axes(&self, rank: usize) -> Result<Shape, OpError> {
        let axis = |axis: i64| axis_of(self.name(), axis, rank);
        let mut axes: Shape = (0..rank).collect();
        match self {
            Transpose::Perm(perm) => {
                axes = axes_of(self.name(), perm, rank)?;
                if axes.len() != rank {
                    return Err(OpError::argument(format!(
                        "`transpose` was given {} axes for a tensor of {rank}",
                        axes.len()
                    )));
                }
            }
            Transpose::Swap(a, b) => axes.swap(axis(*a)?, axis(*b)?),
            Transpose::Move(from, to) => {
                let (from, to) = (axis(*from)?, axis(*to)?);
                axes.remove(from);
                axes.insert(to, from);
            }
        }
        Ok(axes)
    }
}

impl Op for Transpose {
    fn name(&self) -> &'static str {
        match self {
            Transpose::Perm(_) => "transpose",
            Transpose::Swap(..) => "swap_axes",
            Transpose::Move(..) => "move_axis",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axes = self.axes(x.shape.len())?;
        let shape = axes.iter().map(|&axis| x.shape[axis]).collect();
        Ok(smallvec![Ty { dtype: x.dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axes = self.axes(inputs[0].shape.len()).map_err(Diagnostic::from)?;
        Ok(vec![cx.out.transpose(&inputs[0], &axes)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axes = self.axes(layout.axes.len())?;
        Ok(Bounded::new([axes.iter().map(|&axis| layout.axes[axis].clone()).collect()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let axes = self.axes(vjp.inputs[0].rank())?;
        let mut inverse = vec![0; axes.len()];
        for (place, &axis) in axes.iter().enumerate() {
            inverse[axis] = place as i64;
        }
        Ok(smallvec![vjp.cotangent().map(|g| g.transpose(&inverse))])
    }
}

/// Axes of size 1 added or removed.
#[derive(Clone, Debug, Hash)]
enum UnitAxes {
    Expand(i64),
    Squeeze(Vec<i64>),
}

impl UnitAxes {
    fn shape(&self, x: &Ty) -> Result<Shape, OpError> {
        let mut shape = x.shape.clone();
        match self {
            UnitAxes::Expand(axis) => {
                shape.insert(axis_of(self.name(), *axis, x.shape.len() + 1)?, 1);
            }
            UnitAxes::Squeeze(axes) => {
                let mut axes = axes_of(self.name(), axes, x.shape.len())?;
                axes.sort_unstable();
                for &axis in axes.iter().rev() {
                    if shape.remove(axis) != 1 {
                        return Err(OpError::shape(format!(
                            "`squeeze`: axis {axis} of {x} has size {}, not 1",
                            x.shape[axis]
                        )));
                    }
                }
            }
        }
        Ok(shape)
    }
}

impl Op for UnitAxes {
    fn name(&self) -> &'static str {
        match self {
            UnitAxes::Expand(_) => "expand_dims",
            UnitAxes::Squeeze(_) => "squeeze",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape: self.shape(inputs[0])? }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let ty = Ty { dtype: inputs[0].dtype, shape: inputs[0].shape.clone() };
        let shape = self.shape(&ty).map_err(Diagnostic::from)?;
        Ok(vec![cx.out.reshape(&inputs[0], &shape)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut layout = bounds.input(0).clone();
        match self {
            UnitAxes::Expand(axis) => {
                let axis = axis_of(self.name(), *axis, layout.axes.len() + 1)?;
                layout.axes.insert(axis, Axis::fixed(1));
            }
            UnitAxes::Squeeze(axes) => {
                let axes = axes_of(self.name(), axes, layout.axes.len())?;
                let kept = layout.axes.into_iter().enumerate();
                let kept = kept.filter(|(axis, _)| !axes.contains(axis));
                layout = kept.map(|(_, axis)| axis).collect();
            }
        }
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![vjp.cotangent().map(|g| g.reshape(vjp.inputs[0].shape()))])
    }
}

/// Repeats along axes that are missing or have size 1.
#[derive(Clone, Debug, Hash)]
struct BroadcastTo {
    shape: Shape,
}

impl Op for BroadcastTo {
    fn name(&self) -> &'static str {
        "broadcast_to"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let fits = x.shape.len() <= self.shape.len()
            && x.shape
                .iter()
                .rev()
                .zip(self.shape.iter().rev())
                .all(|(&from, &to)| from == to || from == 1);
        if !fits {
            return Err(OpError::shape(format!(
                "`broadcast_to`: {x} cannot be repeated to {:?}",
                self.shape.as_slice()
            ))
            .help("paired from the last axis, sizes must be equal, or 1 to be repeated"));
        }
        Ok(smallvec![Ty { dtype: x.dtype, shape: self.shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        Ok(vec![broadcast(cx, &inputs[0], &self.shape)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let x = bounds.input(0);
        let n_new = self.shape.len() - x.axes.len();
        let axis = |(axis, &size): (usize, &usize)| match axis.checked_sub(n_new) {
            Some(from) if x.axes[from].size() == size => Ok(x.axes[from].clone()),
            _ => bounds.new_axis(0, axis),
        };
        let layout = self.shape.iter().enumerate().map(axis).collect::<Result<_, _>>()?;
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![vjp.cotangent().map(|g| unbroadcast(g.clone(), &vjp.inputs[0]))])
    }
}

impl<T: Kind> Tensor<T> {
    /// The same elements under another shape with as many.
    #[track_caller]
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Tensor<T> {
        let shape = Shape::from_slice(shape.as_ref());
        if self.shape() == shape.as_slice() && self.node().failure().is_none() {
            return self.clone();
        }
        apply(Reshape { shape }, &[self.node()], Location::caller())
    }

    /// Result axis `i` is axis `perm[i]`; negative axes count from the end.
    #[track_caller]
    pub fn transpose(&self, perm: &[i64]) -> Tensor<T> {
        apply(Transpose::Perm(perm.to_vec()), &[self.node()], Location::caller())
    }

    /// Exchanges two axes.
    #[track_caller]
    pub fn swap_axes(&self, a: i64, b: i64) -> Tensor<T> {
        apply(Transpose::Swap(a, b), &[self.node()], Location::caller())
    }

    /// Moves an axis to another place; the others keep their order.
    #[track_caller]
    pub fn move_axis(&self, from: i64, to: i64) -> Tensor<T> {
        apply(Transpose::Move(from, to), &[self.node()], Location::caller())
    }

    /// Repeats along axes that are missing, or have size 1, so that the shape becomes this one.
    #[track_caller]
    pub fn broadcast_to(&self, shape: impl AsRef<[usize]>) -> Tensor<T> {
        let op = BroadcastTo { shape: Shape::from_slice(shape.as_ref()) };
        apply(op, &[self.node()], Location::caller())
    }

    /// A new axis of size 1 before axis `axis`; -1 makes it the last.
    #[track_caller]
    pub fn expand_dims(&self, axis: i64) -> Tensor<T> {
        apply(UnitAxes::Expand(axis), &[self.node()], Location::caller())
    }

    /// The tensor without these axes, which have size 1.
    #[track_caller]
    pub fn squeeze(&self, axes: &[i64]) -> Tensor<T> {
        apply(UnitAxes::Squeeze(axes.to_vec()), &[self.node()], Location::caller())
    }
}
