//! Elements chosen by indices: gathers, scatters, one-hot codes.
//!
//! # Indices
//! Indices are integers of any type; negative ones count from the end, as in NumPy. Nobody looks at
//! the elements of a tensor before a program runs, so an index that is outside of its axis is no
//! error in general: taking gives a value that shows (NaN; the smallest value of a signed
//! integer, the largest of an unsigned one, true), putting leaves the element out. In
//! [`Mode::Debug`](crate::run::Mode::Debug) the op looks, and is an error that names the index.

use super::elementwise::{broadcast, broadcast_shapes, unbroadcast};
use super::shape::axis_of;
use super::{Gradients, Op, OpError, ReadInput, Types, Value, Vjp, expect_int, expect_same_dtype};
use crate::back::stablehlo::ops::round;
use crate::back::stablehlo::text::{Direction, GatherDims, Scatter};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::Literal;
use crate::ir::{DType, Element, Shape};
use crate::run::bounded::{Bounded, Bounds, Layout};
use crate::run::device::with_device;
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::node::Node;
use crate::run::tensor::{DynTensor, IntKind, Kind, NumKind, Operand, Tensor};
use smallvec::{SmallVec, smallvec};
use std::borrow::Borrow;
use std::panic::Location;
use std::sync::Arc;

/// Integers as `i32`; what is too large for it becomes its largest value.
pub(super) fn as_index(cx: &mut Emit, x: &Value) -> Value {
    if x.dtype == DType::U32 {
        let most = Literal::int(DType::U32, i64::from(i32::MAX));
        let most = cx.out.constant(most, &x.shape);
        let x = cx.out.binary("minimum", x, &most);
        return cx.out.convert(&x, DType::I32);
    }
    cx.out.convert(x, DType::I32)
}

/// Indices as `i32`, those from the end counted from the start.
fn from_start(cx: &mut Emit, index: &Value, size: usize) -> Value {
    let signed = index.dtype.is_signed_int();
    let index = as_index(cx, index);
    if !signed {
        return index;
    }
    let zero = cx.out.constant(Literal::int(DType::I32, 0), &index.shape);
    let size = cx.out.constant(Literal::int(DType::I32, size as i64), &index.shape);
    let negative = cx.out.compare(Direction::Lt, &index, &zero);
    let wrapped = cx.out.binary("add", &index, &size);
    cx.out.select(&negative, &wrapped, &index)
}

/// Which indices, counted from the start, are on their axis.
fn inside(cx: &mut Emit, index: &Value, size: usize) -> Value {
    let zero = cx.out.constant(Literal::int(DType::I32, 0), &index.shape);
    let size = cx.out.constant(Literal::int(DType::I32, size as i64), &index.shape);
    let not_below = cx.out.compare(Direction::Ge, index, &zero);
    let not_above = cx.out.compare(Direction::Lt, index, &size);
    cx.out.binary("and", &not_below, &not_above)
}

/// What a gather gives for indices that are outside of their axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outside {
    /// A value that shows.
    Mark,
    /// Nothing, in gradients.
    Zero,
}

impl Outside {
    fn literal(self, dtype: DType) -> Literal {
        match (self, dtype.int_range()) {
            (Outside::Zero, _) => Literal::from_f64(dtype, 0.0),
            (Outside::Mark, Some((least, _))) if dtype.is_signed_int() => {
                Literal::int(dtype, least)
            }
            (Outside::Mark, Some((_, most))) => Literal::int(dtype, most),
            (Outside::Mark, None) if dtype == DType::Bool => Literal::int(dtype, 1),
            (Outside::Mark, None) => Literal::float(dtype, f32::NAN),
        }
    }
}

/// Refuses indices outside of an axis.
fn check_indices(name: &str, x: &Ty, axis: usize, indices: &[f64]) -> Result<(), Diagnostics> {
    let size = x.shape[axis] as f64;
    match indices.iter().position(|&index| index < -size || index >= size) {
        Some(at) => {
            let message = format!(
                "`{name}`: index {} is outside of axis {axis} of {x}, whose size is {size}",
                indices[at]
            );
            let help = format!(
                "it is element {at} of the indices; they run from {} to {}",
                -size,
                size - 1.0
            );
            Err(Diagnostic::from(OpError::index(message).help(help)).into())
        }
        None => Ok(()),
    }
}

/// How tensors of indices lie on a tensor: the axes that they choose from, the shape to which they
/// are broadcast, and the shape of what they choose.
struct Places {
    axis: usize,
    n_indexed: usize,
    batch: Shape,
    shape: Shape,
}

impl Places {
    fn new(name: &str, axis: Option<i64>, x: &Ty, indices: &[&Ty]) -> Result<Places, OpError> {
        let axis = axis_of(name, axis.unwrap_or(0), x.shape.len())?;
        if indices.is_empty() || axis + indices.len() > x.shape.len() {
            return Err(OpError::shape(format!(
                "`{name}`: {} tensors of indices for {x}, which has {} axes",
                indices.len(),
                x.shape.len()
            )));
        }
        for index in indices {
            expect_int(name, "indices", index)?;
        }
        let batch = broadcast_shapes(name, indices)?;
        let mut shape = Shape::from_slice(&x.shape[..axis]);
        shape.extend_from_slice(&batch);
        shape.extend_from_slice(&x.shape[axis + indices.len()..]);
        Ok(Places { axis, n_indexed: indices.len(), batch, shape })
    }

    fn of_values(name: &str, axis: Option<i64>, inputs: &[Value]) -> Result<Places, Diagnostic> {
        let types: SmallVec<[Ty; 4]> = inputs.iter().map(ty_of).collect();
        let indices: SmallVec<[&Ty; 4]> = types[1..].iter().collect();
        Places::new(name, axis, &types[0], &indices).map_err(Diagnostic::from)
    }

    fn dims(&self) -> GatherDims {
        let indexed: Shape = (self.axis..self.axis + self.n_indexed).collect();
        let batch = self.axis..self.axis + self.batch.len();
        GatherDims {
            offset: (0..self.shape.len()).filter(|axis| !batch.contains(axis)).collect(),
            collapsed: indexed.clone(),
            start_map: indexed,
            ..GatherDims::default()
        }
    }

    /// The coordinates along a last axis, and which of them are on their axes.
    fn coordinates(&self, cx: &mut Emit, x: &Value, indices: &[Value]) -> (Value, Value) {
        let mut apart = self.batch.clone();
        apart.push(1);
        let mut parts = Vec::with_capacity(indices.len());
        let mut all_inside: Option<Value> = None;
        for (idx, index) in indices.iter().enumerate() {
            let size = x.shape[self.axis + idx];
            let index = from_start(cx, index, size);
            let index = broadcast(cx, &index, &self.batch);
            let is_inside = inside(cx, &index, size);
            all_inside = Some(match all_inside {
                Some(others) => cx.out.binary("and", &others, &is_inside),
                None => is_inside,
            });
            parts.push(cx.out.reshape(&index, &apart));
        }
        let coordinates = cx.out.concatenate(&parts, self.batch.len());
        let none = || cx.out.constant(Literal::int(DType::Bool, 1), &self.batch);
        let all_inside = all_inside.unwrap_or_else(none);
        (coordinates, all_inside)
    }

    /// Whether there is nothing to choose from.
    fn is_empty(&self, x: &Value) -> bool {
        x.shape[self.axis..self.axis + self.n_indexed].contains(&0)
    }
}

fn ty_of(x: &Value) -> Ty {
    Ty { dtype: x.dtype, shape: x.shape.clone() }
}

/// The parts of a tensor at indices of consecutive axes.
#[derive(Clone, Debug, Hash)]
struct Gather {
    /// The first of the axes; none for the first axis of all.
    axis: Option<i64>,
    outside: Outside,
}

impl Op for Gather {
    fn name(&self) -> &'static str {
        if self.axis.is_some() { "take" } else { "take_at" }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let places = Places::new(self.name(), self.axis, inputs[0], &inputs[1..])?;
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape: places.shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let places = Places::of_values(self.name(), self.axis, inputs)?;
        let fill = cx.out.constant(self.outside.literal(x.dtype), &places.shape);
        if places.is_empty(x) {
            return Ok(vec![fill]);
        }
        let (coordinates, is_inside) = places.coordinates(cx, x, &inputs[1..]);
        let dims = places.dims();
        let mut sizes = x.shape.clone();
        dims.collapsed.iter().for_each(|&axis| sizes[axis] = 1);
        let found = cx.out.gather(x, &coordinates, &dims, &sizes, &places.shape);
        let along: Shape = (places.axis..places.axis + places.batch.len()).collect();
        let is_inside = cx.out.broadcast(&is_inside, &along, &places.shape);
        Ok(vec![cx.out.select(&is_inside, &found, &fill)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let x = bounds.input(0);
        let axis = axis_of(self.name(), self.axis.unwrap_or(0), x.axes.len())?;
        let n_indexed = bounds.inputs().len() - 1;
        if x.axes[axis..axis + n_indexed].iter().any(|axis| !axis.is_fixed()) {
            // An index beyond the real size would find padding, and a negative one the wrong end.
            let message = format!("`{}` chooses along an axis whose size is bounded", self.name());
            return Err(OpError::bounded(message).help("choose by a mask: `select`, and a sum"));
        }
        let batch = bounds.broadcast_of(self.name(), 1..1 + n_indexed)?;
        let before = x.axes[..axis].iter().cloned();
        let after = x.axes[axis + n_indexed..].iter().cloned();
        Ok(Bounded::new([before.chain(batch.axes).chain(after).collect()]))
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        let places = Places::new(self.name(), self.axis, inputs[0], &inputs[1..]);
        let axis = places.map_err(Diagnostic::from)?.axis;
        (1..inputs.len()).try_for_each(|idx| {
            check_indices(self.name(), inputs[0], axis + idx - 1, &read(idx)?.to_f64())
        })
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, indices) = (&vjp.inputs[0], &vjp.inputs[1..]);
        let mut gradients: Gradients = smallvec![None; vjp.inputs.len()];
        if let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) {
            gradients[0] = Some(put(&x.zeros_like(), self.axis, indices, g, Scatter::Add));
        }
        Ok(gradients)
    }
}

/// A tensor with other parts at indices of consecutive axes. The updates come last.
#[derive(Clone, Debug, Hash)]
struct ScatterInto {
    /// The first of the axes; none for the first axis of all.
    axis: Option<i64>,
    how: Scatter,
}

impl Op for ScatterInto {
    fn name(&self) -> &'static str {
        match self.how {
            Scatter::Set => "put_at",
            Scatter::Add => "add_at",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let (x, updates) = (inputs[0], inputs[inputs.len() - 1]);
        expect_same_dtype(self.name(), &[x, updates])?;
        if self.how == Scatter::Add && x.dtype == DType::Bool {
            return Err(OpError::dtype("`add_at` is not defined on `bool`"));
        }
        let places = Places::new(self.name(), self.axis, x, &inputs[1..inputs.len() - 1])?;
        let wanted = Ty { dtype: x.dtype, shape: places.shape };
        let fits = broadcast_shapes(self.name(), &[&wanted, updates]);
        if !fits.is_ok_and(|shape| shape == wanted.shape) {
            return Err(OpError::shape(format!(
                "`{}`: updates {updates} for places of {wanted} in {x}",
                self.name()
            )));
        }
        Ok(smallvec![x.clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (x, last) = (&inputs[0], inputs.len() - 1);
        let places = Places::of_values(self.name(), self.axis, &inputs[..last])?;
        if places.is_empty(x) {
            return Ok(vec![x.clone()]);
        }
        let (coordinates, _) = places.coordinates(cx, x, &inputs[1..last]);
        let updates = broadcast(cx, &inputs[last], &places.shape);
        Ok(vec![scatter(cx, x, &coordinates, &updates, &places.dims(), self.how)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let (x, last) = (bounds.input(0), bounds.inputs().len() - 1);
        let axis = axis_of(self.name(), self.axis.unwrap_or(0), x.axes.len())?;
        let indexed = axis..axis + last - 1;
        bounds.expect_fixed(self.name(), 0, indexed.clone())?;
        let batch = bounds.broadcast_of(self.name(), 1..last)?;
        let (before, after) = (x.axes[..axis].iter(), x.axes[indexed.end..].iter());
        let places: Layout = before.chain(&batch.axes).chain(after).cloned().collect();
        if bounds.broadcast_with(self.name(), &[&places, bounds.input(last)])? != places {
            return Err(bounds.not_alike(self.name()));
        }
        let mut bounded = Bounded::new([x.clone()]);
        for idx in 1..last {
            // Updates of padding are put beyond the end, and so left out.
            let dtype = bounds.dtype(idx);
            let padded = !bounds.input(idx).is_fixed();
            if padded && !matches!(dtype, DType::I32 | DType::U32) {
                let message = format!("`{}`: padded indices of `{dtype}`", self.name());
                return Err(OpError::bounded(message).help("convert them: `.cast::<i32>()`"));
            }
            let beyond = Literal::int(dtype, i64::from(i32::MAX));
            bounded.fills.resize(idx + 1, None);
            bounded.fills[idx] = padded.then_some(beyond);
        }
        Ok(bounded)
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        let places = Places::new(self.name(), self.axis, inputs[0], &inputs[1..inputs.len() - 1]);
        let axis = places.map_err(Diagnostic::from)?.axis;
        (1..inputs.len() - 1).try_for_each(|idx| {
            check_indices(self.name(), inputs[0], axis + idx - 1, &read(idx)?.to_f64())
        })
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let last = vjp.inputs.len() - 1;
        let (x, indices, updates) = (&vjp.inputs[0], &vjp.inputs[1..last], &vjp.inputs[last]);
        let mut gradients: Gradients = smallvec![None; vjp.inputs.len()];
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(gradients);
        };
        let mut to_updates = get(g, self.axis, indices, Outside::Zero);
        gradients[0] = Some(match self.how {
            Scatter::Add => g.clone(),
            Scatter::Set => {
                let zero = to_updates.zeros_like();
                let kept = put(g, self.axis, indices, &zero, Scatter::Set);
                let number = numbered(&to_updates);
                let none = x.zeros_like().cast_to(DType::I32);
                let winner = put(&none, self.axis, indices, &number, Scatter::Set);
                let winner = get(&winner, self.axis, indices, Outside::Mark);
                to_updates = winner.eq(&number).select(&to_updates, &zero);
                kept
            }
        });
        gradients[last] = Some(unbroadcast(to_updates, updates));
        Ok(gradients)
    }
}

/// A number of its own for each element: which of several that are put to one place is the one that
/// stays, is found out by putting their numbers there.
fn numbered(x: &DynTensor) -> DynTensor {
    let numbers = with_device(x.device(), || Tensor::<i32>::arange(x.n_elems()));
    numbers.reshape(x.shape()).to_dyn()
}

fn scatter(
    cx: &mut Emit,
    x: &Value,
    coordinates: &Value,
    updates: &Value,
    dims: &GatherDims,
    how: Scatter,
) -> Value {
    if how == Scatter::Set || !x.dtype.is_float() {
        return cx.out.scatter(x, coordinates, updates, dims, how);
    }
    let (wide, wide_updates) = (round::widen(&mut cx.out, x), round::widen(&mut cx.out, updates));
    let sum = cx.out.scatter(&wide, coordinates, &wide_updates, dims, how);
    round::narrow(&mut cx.out, &sum, x.dtype)
}

/// The gather that goes with a scatter.
fn get(x: &DynTensor, axis: Option<i64>, indices: &[DynTensor], outside: Outside) -> DynTensor {
    let inputs: SmallVec<[&Arc<Node>; 4]> =
        std::iter::once(x.node()).chain(indices.iter().map(Tensor::node)).collect();
    apply(Gather { axis, outside }, &inputs, Location::caller())
}

/// The scatter that goes with a gather.
fn put(
    x: &DynTensor,
    axis: Option<i64>,
    indices: &[DynTensor],
    updates: &DynTensor,
    how: Scatter,
) -> DynTensor {
    let mut inputs: SmallVec<[&Arc<Node>; 4]> =
        std::iter::once(x.node()).chain(indices.iter().map(Tensor::node)).collect();
    inputs.push(updates.node());
    apply(ScatterInto { axis, how }, &inputs, Location::caller())
}

/// One element per index along an axis; the other axes go together.
#[derive(Clone, Debug, Hash)]
struct TakeAlong {
    axis: i64,
    outside: Outside,
}

/// A tensor with elements replaced at one index each along an axis; the other axes go together.
#[derive(Clone, Debug, Hash)]
struct PutAlong {
    axis: i64,
    how: Scatter,
}

/// The axis, if the other axes of indices are as long as the tensor's.
fn along(name: &str, axis: i64, x: &Ty, indices: &Ty) -> Result<usize, OpError> {
    expect_int(name, "indices", indices)?;
    let axis = axis_of(name, axis, x.shape.len())?;
    let fits = indices.shape.len() == x.shape.len()
        && (0..x.shape.len()).all(|at| at == axis || indices.shape[at] == x.shape[at]);
    if !fits {
        return Err(OpError::shape(format!(
            "`{name}` along axis {axis}: indices {indices} do not go with {x}"
        ))
        .help("all sizes but those of that axis must be equal"));
    }
    Ok(axis)
}

/// How indices of as many axes hang together with a tensor, and their coordinates.
fn along_dims(cx: &mut Emit, x: &Value, indices: &Value, axis: usize) -> (GatherDims, Value) {
    let others: Shape = (0..x.shape.len()).filter(|&at| at != axis).collect();
    let dims = GatherDims {
        collapsed: smallvec![axis],
        batching: others.clone(),
        indices_batching: others,
        start_map: smallvec![axis],
        ..GatherDims::default()
    };
    let mut apart = indices.shape.clone();
    apart.push(1);
    let index = from_start(cx, indices, x.shape[axis]);
    (dims, cx.out.reshape(&index, &apart))
}

impl Op for TakeAlong {
    fn name(&self) -> &'static str {
        "take_along_axis"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        along(self.name(), self.axis, inputs[0], inputs[1])?;
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape: inputs[1].shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (x, indices) = (&inputs[0], &inputs[1]);
        let axis = along(self.name(), self.axis, &ty_of(x), &ty_of(indices));
        let axis = axis.map_err(Diagnostic::from)?;
        let fill = cx.out.constant(self.outside.literal(x.dtype), &indices.shape);
        if x.shape[axis] == 0 {
            return Ok(vec![fill]);
        }
        let (dims, coordinates) = along_dims(cx, x, indices, axis);
        let sizes: Shape = smallvec![1; x.shape.len()];
        let found = cx.out.gather(x, &coordinates, &dims, &sizes, &indices.shape);
        let index = cx.out.reshape(&coordinates, &indices.shape);
        let is_inside = inside(cx, &index, x.shape[axis]);
        Ok(vec![cx.out.select(&is_inside, &found, &fill)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let axis = axis_of(self.name(), self.axis, bounds.input(0).axes.len())?;
        bounds.expect_fixed(self.name(), 0, [axis])?;
        bounds.alike_but(self.name(), Some(axis))?;
        Ok(Bounded::new([bounds.input(1).clone()]))
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        let axis = along(self.name(), self.axis, inputs[0], inputs[1]).map_err(Diagnostic::from)?;
        check_indices(self.name(), inputs[0], axis, &read(1)?.to_f64())
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, indices) = (&vjp.inputs[0], &vjp.inputs[1]);
        let to_x = |g: &DynTensor| x.zeros_like().put_along(indices, self.axis, g, Scatter::Add);
        Ok(smallvec![vjp.cotangent().filter(|_| x.dtype().is_float()).map(to_x), None])
    }
}

impl Op for PutAlong {
    fn name(&self) -> &'static str {
        "put_along_axis"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let (x, indices, values) = (inputs[0], inputs[1], inputs[2]);
        along(self.name(), self.axis, x, indices)?;
        expect_same_dtype(self.name(), &[x, values])?;
        let shape = broadcast_shapes(self.name(), &[indices, values])?;
        if shape != indices.shape {
            return Err(OpError::shape(format!(
                "`put_along_axis`: values {values} for indices {indices}"
            )));
        }
        Ok(smallvec![x.clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (x, indices) = (&inputs[0], &inputs[1]);
        let axis = along(self.name(), self.axis, &ty_of(x), &ty_of(indices));
        let axis = axis.map_err(Diagnostic::from)?;
        let values = broadcast(cx, &inputs[2], &indices.shape);
        let (dims, coordinates) = along_dims(cx, x, indices, axis);
        Ok(vec![scatter(cx, x, &coordinates, &values, &dims, self.how)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let (x, indices) = (bounds.input(0), bounds.input(1));
        let axis = axis_of(self.name(), self.axis, x.axes.len())?;
        bounds.expect_fixed(self.name(), 0, [axis])?;
        // What is put by padding must not get to where real elements are.
        bounds.expect_fixed(self.name(), 1, [axis])?;
        let is_alike = (0..x.axes.len()).all(|at| at == axis || x.axes[at] == indices.axes[at]);
        let values = bounds.broadcast_of(self.name(), 1..3)?;
        if !is_alike || values != *indices {
            return Err(bounds.not_alike(self.name()));
        }
        Ok(Bounded::new([x.clone()]))
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        let axis = along(self.name(), self.axis, inputs[0], inputs[1]).map_err(Diagnostic::from)?;
        check_indices(self.name(), inputs[0], axis, &read(1)?.to_f64())
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, indices, values) = (&vjp.inputs[0], &vjp.inputs[1], &vjp.inputs[2]);
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None; 3]);
        };
        let op = TakeAlong { axis: self.axis, outside: Outside::Zero };
        let mut to_values: DynTensor = apply(op, &[g.node(), indices.node()], Location::caller());
        let to_x = match self.how {
            Scatter::Add => g.clone(),
            Scatter::Set => {
                let zero = to_values.zeros_like();
                let number = numbered(&to_values);
                let none = x.zeros_like().cast_to(DType::I32);
                let winner = none.put_along(indices, self.axis, &number, Scatter::Set);
                let winner = winner.take_along_axis(indices, self.axis);
                to_values = winner.eq(&number).select(&to_values, &zero);
                g.put_along(indices, self.axis, &zero, Scatter::Set)
            }
        };
        Ok(smallvec![Some(to_x), None, Some(unbroadcast(to_values, values))])
    }
}

impl DynTensor {
    /// [`Tensor::put_along_axis`], combining as it says.
    pub(super) fn put_along(
        &self,
        indices: &DynTensor,
        axis: i64,
        values: &DynTensor,
        how: Scatter,
    ) -> DynTensor {
        let inputs = [self.node(), indices.node(), values.node()];
        apply(PutAlong { axis, how }, &inputs, Location::caller())
    }
}

/// One where the place along a new last axis is the index, else zero.
#[derive(Clone, Debug, Hash)]
struct OneHot {
    n: usize,
    dtype: DType,
}

impl Op for OneHot {
    fn name(&self) -> &'static str {
        "one_hot"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        expect_int(self.name(), "indices", inputs[0])?;
        let mut shape = inputs[0].shape.clone();
        shape.push(self.n);
        Ok(smallvec![Ty { dtype: self.dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let index = as_index(cx, &inputs[0]);
        let mut shape = index.shape.clone();
        shape.push(self.n);
        let dims: Shape = (0..index.shape.len()).collect();
        let index = cx.out.broadcast(&index, &dims, &shape);
        let place = cx.out.iota(DType::I32, &shape, dims.len());
        let hit = cx.out.compare(Direction::Eq, &index, &place);
        Ok(vec![cx.out.convert(&hit, self.dtype)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut layout = bounds.input(0).clone();
        layout.axes.push(bounds.new_axis(0, layout.axes.len())?);
        Ok(Bounded::new([layout]))
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None])
    }
}

impl<T: Kind> Tensor<T> {
    /// The parts at indices of an axis, which the axes of `indices` replace. An embedding lookup is
    /// `table.take(&ids, 0)`.
    ///
    /// # Out of range
    /// Negative indices count from the end. For an index outside of the axis the part is filled
    /// with a value that shows: NaN; the smallest value of a signed integer, the largest of an
    /// unsigned one; true. Nothing flows back from there into the gradient. In
    /// [`Mode::Debug`](crate::run::Mode::Debug) it is an error that names the index.
    #[track_caller]
    #[doc(alias = "embedding")]
    pub fn take<I: IntKind>(&self, indices: &Tensor<I>, axis: i64) -> Tensor<T> {
        let op = Gather { axis: Some(axis), outside: Outside::Mark };
        apply(op, &[self.node(), indices.node()], Location::caller())
    }

    /// The elements, or parts, at indices of the first axes, one tensor per axis, broadcast to one
    /// shape: NumPy's `x[i, j]`. Out of range as [`Tensor::take`].
    #[track_caller]
    #[doc(alias = "gather")]
    pub fn take_at<I: IntKind>(&self, indices: &[impl Borrow<Tensor<I>>]) -> Tensor<T> {
        let mut inputs: SmallVec<[&Arc<Node>; 4]> = smallvec![self.node()];
        inputs.extend(indices.iter().map(|index| index.borrow().node()));
        apply(Gather { axis: None, outside: Outside::Mark }, &inputs, Location::caller())
    }

    /// The tensor with `updates` at indices of the first axes, one tensor per axis, broadcast to
    /// one shape: NumPy's `x[i, j] = updates`. Which of several updates of one place stays, is not
    /// defined.
    ///
    /// # Out of range
    /// Negative indices count from the end. An index outside of its axis leaves its update out. In
    /// [`Mode::Debug`](crate::run::Mode::Debug) it is an error that names the index.
    #[track_caller]
    #[doc(alias = "scatter")]
    #[doc(alias = "index_put")]
    pub fn put_at<I: IntKind>(
        &self,
        indices: &[impl Borrow<Tensor<I>>],
        updates: impl Operand<T>,
    ) -> Tensor<T> {
        self.scatter_into(indices, &updates.beside(self), Scatter::Set)
    }

    #[track_caller]
    fn scatter_into<I: IntKind>(
        &self,
        indices: &[impl Borrow<Tensor<I>>],
        updates: &Tensor<T>,
        how: Scatter,
    ) -> Tensor<T> {
        let mut inputs: SmallVec<[&Arc<Node>; 4]> = smallvec![self.node()];
        inputs.extend(indices.iter().map(|index| index.borrow().node()));
        inputs.push(updates.node());
        apply(ScatterInto { axis: None, how }, &inputs, Location::caller())
    }

    /// One element per index along an axis: result element `[i, j]` is `x[i, indices[i, j]]` for
    /// the last of two axes. All sizes but those of that axis are equal. Out of range as
    /// [`Tensor::take`].
    #[track_caller]
    pub fn take_along_axis<I: IntKind>(&self, indices: &Tensor<I>, axis: i64) -> Tensor<T> {
        let op = TakeAlong { axis, outside: Outside::Mark };
        apply(op, &[self.node(), indices.node()], Location::caller())
    }

    /// The tensor with `values` where [`Tensor::take_along_axis`] would have taken them. Out of
    /// range, and where several meet, as [`Tensor::put_at`].
    #[track_caller]
    pub fn put_along_axis<I: IntKind>(
        &self,
        indices: &Tensor<I>,
        axis: i64,
        values: impl Operand<T>,
    ) -> Tensor<T> {
        let values = values.beside(self);
        let inputs = [self.node(), indices.node(), values.node()];
        apply(PutAlong { axis, how: Scatter::Set }, &inputs, Location::caller())
    }
}

impl<T: NumKind> Tensor<T> {
    /// The tensor with `updates` added at indices of the first axes; those of one place are all
    /// added, floats in `f32`. Out of range as [`Tensor::put_at`].
    #[track_caller]
    #[doc(alias = "scatter_add")]
    #[doc(alias = "index_put")]
    pub fn add_at<I: IntKind>(
        &self,
        indices: &[impl Borrow<Tensor<I>>],
        updates: impl Operand<T>,
    ) -> Tensor<T> {
        self.scatter_into(indices, &updates.beside(self), Scatter::Add)
    }
}

impl<I: IntKind> Tensor<I> {
    /// One at the place along a new last axis of `n` that the index says, else zero; an index
    /// outside of `0..n` gives zeros, in every mode.
    #[track_caller]
    pub fn one_hot<T: Element>(&self, n: usize) -> Tensor<T> {
        apply(OneHot { n, dtype: T::DTYPE }, &[self.node()], Location::caller())
    }
}
