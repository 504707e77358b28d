//! Sorting.
//!
//! NaN counts as larger than every number, and zero is equal to minus zero. Sorts are stable: of
//! equals, the one that was first stays first, in either order.

use super::shape::axis_of;
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::text::{Direction, Scatter};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::Literal;
use crate::ir::{DType, Shape};
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::{apply, apply_all};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, Kind, Tensor};
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// Which element of a sorted axis comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The smallest; NaN comes last.
    #[default]
    Ascending,
    /// The largest; NaN comes first.
    Descending,
}

/// The elements along an axis in order.
#[derive(Clone, Debug, Hash)]
struct Sort {
    axis: i64,
    order: Order,
}

/// The indices of the elements along an axis in order.
#[derive(Clone, Debug, Hash)]
struct ArgSort {
    axis: i64,
    order: Order,
}

/// The largest elements along an axis, and their indices.
#[derive(Clone, Debug, Hash)]
struct TopK {
    k: usize,
    axis: i64,
}

/// Writes a stable sort along an axis: the elements in order, and their indices if they are asked
/// for.
fn emit_sort(
    cx: &mut Emit,
    x: &Value,
    axis: usize,
    order: Order,
    with_indices: bool,
) -> (Value, Option<Value>) {
    let mut operands = vec![x.clone()];
    if with_indices {
        operands.push(cx.out.iota(DType::I32, &x.shape, axis));
    }
    let open = cx.out.begin_sort(&operands, axis);
    let (a, b) = (open.args[0].clone(), open.args[1].clone());
    let direction = match order {
        Order::Ascending => Direction::Lt,
        Order::Descending => Direction::Gt,
    };
    let mut before = cx.out.compare(direction, &a, &b);
    if x.dtype.is_float() {
        let (a_is_nan, b_is_nan) =
            (cx.out.compare(Direction::Ne, &a, &a), cx.out.compare(Direction::Ne, &b, &b));
        let nan_before = cx.out.compare(direction, &a_is_nan, &b_is_nan);
        before = cx.out.binary("or", &before, &nan_before);
    }
    let mut sorted = cx.out.end_sort(open, &before).into_iter();
    (sorted.next().unwrap_or_else(|| x.clone()), sorted.next())
}

/// Sorting with padding: it stays behind the real elements, since sorts are stable.
fn bounded_sort(
    name: &str,
    bounds: &Bounds<'_>,
    axis: i64,
    order: Order,
) -> Result<Bounded, OpError> {
    let layout = bounds.input(0);
    let axis = &layout.axes[axis_of(name, axis, layout.axes.len())?];
    let mut bounded = Bounded::new([layout.clone()]);
    if axis.is_fixed() {
        return Ok(bounded);
    }
    if !axis.is_dense() {
        let message = format!("`{name}` along an axis whose padding is not at its end");
        return Err(OpError::bounded(message).help("sort before axes are merged"));
    }
    let dtype = bounds.dtype(0);
    let last = match (order, dtype.int_range()) {
        (Order::Ascending, Some((_, most))) => Literal::int(dtype, most),
        (Order::Descending, Some((least, _))) => Literal::int(dtype, least),
        (order, None) if dtype == DType::Bool => {
            Literal::int(dtype, i64::from(order == Order::Ascending))
        }
        (Order::Ascending, None) => Literal::float(dtype, f32::NAN),
        (Order::Descending, None) => Literal::float(dtype, f32::NEG_INFINITY),
    };
    bounded.fills = smallvec![Some(last)];
    Ok(bounded)
}

impl Op for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axis = axis_of(self.name(), self.axis, inputs[0].shape.len());
        let axis = axis.map_err(Diagnostic::from)?;
        Ok(vec![emit_sort(cx, &inputs[0], axis, self.order, false).0])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        bounded_sort(self.name(), bounds, self.axis, self.order)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let x = &vjp.inputs[0];
        let to_x = |g: &DynTensor| {
            let indices = x.argsort(self.axis, self.order).to_dyn();
            x.zeros_like().put_along(&indices, self.axis, g, Scatter::Add)
        };
        Ok(smallvec![vjp.cotangent().filter(|_| x.dtype().is_float()).map(to_x)])
    }
}

impl Op for ArgSort {
    fn name(&self) -> &'static str {
        "argsort"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        Ok(smallvec![Ty { dtype: DType::I32, shape: inputs[0].shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axis = axis_of(self.name(), self.axis, inputs[0].shape.len());
        let axis = axis.map_err(Diagnostic::from)?;
        Ok(emit_sort(cx, &inputs[0], axis, self.order, true).1.into_iter().collect())
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        bounded_sort(self.name(), bounds, self.axis, self.order)
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None])
    }
}

impl Op for TopK {
    fn name(&self) -> &'static str {
        "top_k"
    }

    fn n_outputs(&self) -> usize {
        2
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len())?;
        if self.k > x.shape[axis] {
            return Err(OpError::shape(format!(
                "`top_k`: axis {axis} of {x} has {} elements, fewer than {}",
                x.shape[axis], self.k
            )));
        }
        let mut shape = x.shape.clone();
        shape[axis] = self.k;
        let indices = Ty { dtype: DType::I32, shape: shape.clone() };
        Ok(smallvec![Ty { dtype: x.dtype, shape }, indices])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let axis = axis_of(self.name(), self.axis, x.shape.len()).map_err(Diagnostic::from)?;
        let (values, indices) = emit_sort(cx, x, axis, Order::Descending, true);
        let mut shape = x.shape.clone();
        shape[axis] = self.k;
        let (starts, steps): (Shape, Shape) =
            (smallvec![0; shape.len()], smallvec![1; shape.len()]);
        let parts = std::iter::once(values).chain(indices);
        Ok(parts.map(|part| cx.out.slice(&part, &starts, &shape, &steps)).collect())
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut bounded = bounded_sort(self.name(), bounds, self.axis, Order::Descending)?;
        let mut layout = bounds.input(0).clone();
        let axis = axis_of(self.name(), self.axis, layout.axes.len())?;
        if let Some(dim) = layout.axes[axis].plain_dim() {
            bounded.at_least.push((dim, self.k));
        } else {
            bounds.expect_fixed(self.name(), 0, [axis])?;
        }
        layout.axes[axis] = Axis::fixed(self.k);
        bounded.outputs = smallvec![layout.clone(), layout];
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, indices) = (&vjp.inputs[0], &vjp.outputs[1]);
        let to_x = |g: &DynTensor| x.zeros_like().put_along(indices, self.axis, g, Scatter::Add);
        Ok(smallvec![vjp.cotangent().filter(|_| x.dtype().is_float()).map(to_x)])
    }
}

impl<T: Kind> Tensor<T> {
    /// The elements along an axis in order. NaN counts as the largest.
    #[track_caller]
    pub fn sort(&self, axis: i64, order: Order) -> Tensor<T> {
        apply(Sort { axis, order }, &[self.node()], Location::caller())
    }

    /// The indices along an axis that would sort it; of equals the lower index comes first.
    #[track_caller]
    pub fn argsort(&self, axis: i64, order: Order) -> Tensor<i32> {
        apply(ArgSort { axis, order }, &[self.node()], Location::caller())
    }

    /// The `k` largest elements along an axis, the largest first, and their indices; of equals the
    /// lower index comes first, and NaN counts as the largest.
    #[track_caller]
    pub fn top_k(&self, k: usize, axis: i64) -> (Tensor<T>, Tensor<i32>) {
        let at = Location::caller();
        let op = Arc::new(TopK { k, axis });
        let mut results = apply_all(op, &[self.node()], None, at).into_iter();
        match (results.next(), results.next()) {
            (Some(values), Some(indices)) => {
                (Tensor::from_node(values), Tensor::from_node(indices))
            }
            // An op gives as many results as it says.
            (_, _) => (self.clone(), self.argsort(axis, Order::Descending)),
        }
    }
}
