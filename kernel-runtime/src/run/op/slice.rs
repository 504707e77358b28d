//! Parts of tensors: static slices, slices at computed places, and reversed axes.

use super::index::as_index;
use super::shape::{axes_of, axis_of};
use super::{Gradients, Op, OpError, ReadInput, Types, Value, Vjp, expect_int, expect_same_dtype};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::Shape;
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::node::Node;
use crate::run::tensor::{DynTensor, IntKind, Kind, Tensor};
use smallvec::{SmallVec, smallvec};
use std::borrow::Borrow;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::panic::Location;
use std::sync::Arc;

/// What [`Tensor::slice`] takes along one axis: an index, which removes the axis, or a range.
///
/// Made from integers and ranges of them; [`Pick::by`] adds a step. Negative numbers count from the
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pick {
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    is_index: bool,
}

impl Pick {
    /// Every `step`th element of a range. A negative step goes through the range backwards, from
    /// its last element: `Pick::by(.., -1)` reverses, and `Pick::by(2..5, -2)` takes elements 4 and
    /// 2, which is NumPy's `4:1:-2`.
    pub fn by(range: impl Into<Pick>, step: i64) -> Pick {
        Pick { step, ..range.into() }
    }

    fn range(start: Option<i64>, end: Option<i64>) -> Pick {
        Pick { start, end, step: 1, is_index: false }
    }

    /// Whether it means the same elements whatever the size of the axis is.
    fn counts_from_start(self) -> bool {
        let from_start = |n: Option<i64>| n.is_some_and(|n| n >= 0);
        match self.is_index {
            true => from_start(self.start),
            false => self.start.is_none_or(|start| start >= 0) && from_start(self.end),
        }
    }

    /// The elements that it means of an axis.
    fn resolve(self, axis: usize, ty: &Ty) -> Result<Picked, OpError> {
        let size = ty.shape[axis] as i64;
        let from_start = |n: i64| if n < 0 { n + size } else { n };
        let outside = |what: &str, n: i64| {
            OpError::shape(format!(
                "`slice`: {what} {n} is outside of axis {axis} of {ty}, whose size is {size}"
            ))
        };
        if self.step == 0 {
            return Err(OpError::argument(format!("`slice`: the step of axis {axis} is 0")));
        }
        if self.is_index {
            let given = self.start.unwrap_or(0);
            let index = from_start(given);
            if !(0..size).contains(&index) {
                return Err(outside("index", given).help(format!(
                    "indices run from {} to {}",
                    -size,
                    size - 1
                )));
            }
            return Ok(Picked { low: index as usize, n: 1, step: 1, is_index: true });
        }
        let (start, end) = (self.start.unwrap_or(0), self.end.unwrap_or(size));
        for (what, given) in [("start", start), ("end", end)] {
            if !(0..=size).contains(&from_start(given)) {
                return Err(outside(what, given));
            }
        }
        let (start, end) = (from_start(start), from_start(end).max(from_start(start)));
        let n = (end - start).unsigned_abs().div_ceil(self.step.unsigned_abs());
        let span = n.saturating_sub(1) as i64 * self.step.abs();
        // Backwards, the last element of the range is the first that is taken.
        let low = if self.step > 0 || n == 0 { start } else { end - 1 - span };
        Ok(Picked { low: low as usize, n: n as usize, step: self.step, is_index: false })
    }
}

impl From<RangeFull> for Pick {
    fn from(_all: RangeFull) -> Pick {
        Pick::range(None, None)
    }
}

/// What [`Tensor::slice`] takes: a [`Pick`], or a tuple, an array or a list with one per axis. Axes
/// that are not named are taken whole.
pub trait Picks {
    #[doc(hidden)]
    fn picks(self) -> SmallVec<[Pick; 4]>;
}

macro_rules! picks_from_numbers {
    ($($int:ty)*) => {$(
        impl From<$int> for Pick {
            fn from(index: $int) -> Pick {
                Pick { start: Some(index as i64), end: None, step: 1, is_index: true }
            }
        }
        impl From<Range<$int>> for Pick {
            fn from(range: Range<$int>) -> Pick {
                Pick::range(Some(range.start as i64), Some(range.end as i64))
            }
        }
        impl From<RangeFrom<$int>> for Pick {
            fn from(range: RangeFrom<$int>) -> Pick {
                Pick::range(Some(range.start as i64), None)
            }
        }
        impl From<RangeTo<$int>> for Pick {
            fn from(range: RangeTo<$int>) -> Pick {
                Pick::range(None, Some(range.end as i64))
            }
        }
        impl From<RangeInclusive<$int>> for Pick {
            fn from(range: RangeInclusive<$int>) -> Pick {
                Pick::range(Some(*range.start() as i64), after(*range.end() as i64))
            }
        }
        impl From<RangeToInclusive<$int>> for Pick {
            fn from(range: RangeToInclusive<$int>) -> Pick {
                Pick::range(None, after(range.end as i64))
            }
        }
        one_pick!($int, Range<$int>, RangeFrom<$int>, RangeTo<$int>, RangeInclusive<$int>, RangeToInclusive<$int>);
    )*};
}
macro_rules! one_pick {
    ($($ty:ty),*) => {$(
        impl Picks for $ty {
            fn picks(self) -> SmallVec<[Pick; 4]> {
                smallvec![Pick::from(self)]
            }
        }
    )*};
}
picks_from_numbers!(i32 i64 isize usize);
one_pick!(Pick, RangeFull);

/// The place after an index; none after the last, which is -1.
fn after(index: i64) -> Option<i64> {
    (index != -1).then_some(index + 1)
}

impl Picks for &[Pick] {
    fn picks(self) -> SmallVec<[Pick; 4]> {
        SmallVec::from_slice(self)
    }
}

impl<const N: usize> Picks for [Pick; N] {
    fn picks(self) -> SmallVec<[Pick; 4]> {
        SmallVec::from_slice(&self)
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Into<Pick>),*> Picks for ($($name,)*) {
            #[allow(non_snake_case, reason = "a value is named after its type")]
            fn picks(self) -> SmallVec<[Pick; 4]> {
                let ($($name,)*) = self;
                smallvec![$($name.into()),*]
            }
        }
    )*};
}
tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

/// The elements that a pick means: `n` from `low`, `step` apart, the last first if it is negative.
#[derive(Clone, Copy)]
struct Picked {
    low: usize,
    n: usize,
    step: i64,
    is_index: bool,
}

/// Ranges of elements along axes.
#[derive(Clone, Debug, Hash)]
struct Slice {
    picks: SmallVec<[Pick; 4]>,
}

impl Slice {
    fn resolve(&self, x: &Ty) -> Result<SmallVec<[Picked; 4]>, OpError> {
        if self.picks.len() > x.shape.len() {
            return Err(OpError::shape(format!(
                "`slice` was given {} ranges for {x}, which has {} axes",
                self.picks.len(),
                x.shape.len()
            )));
        }
        let all = std::iter::repeat(Pick::from(..));
        let picks = self.picks.iter().copied().chain(all).take(x.shape.len());
        picks.enumerate().map(|(axis, pick)| pick.resolve(axis, x)).collect()
    }
}

impl Op for Slice {
    fn name(&self) -> &'static str {
        "slice"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let picked = self.resolve(inputs[0])?;
        let shape = picked.iter().filter(|part| !part.is_index).map(|part| part.n).collect();
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let ty = Ty { dtype: x.dtype, shape: x.shape.clone() };
        let picked = self.resolve(&ty).map_err(Diagnostic::from)?;
        let lows: Shape = picked.iter().map(|part| part.low).collect();
        let sizes: Shape = picked.iter().map(|part| part.n).collect();
        let steps: Shape = picked.iter().map(|part| part.step.unsigned_abs() as usize).collect();
        let mut part = cx.out.slice(x, &lows, &sizes, &steps);
        let backwards = backwards(&picked);
        if !backwards.is_empty() {
            part = cx.out.reverse(&part, &backwards);
        }
        let shape: Shape = picked.iter().filter(|part| !part.is_index).map(|part| part.n).collect();
        Ok(vec![cx.out.reshape(&part, &shape)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let picked = self.resolve(bounds.input_type(0))?;
        let mut axes = Vec::with_capacity(picked.len());
        let mut at_least = SmallVec::new();
        for (at, (axis, part)) in bounds.input(0).axes.iter().zip(&picked).enumerate() {
            let pick = self.picks.get(at).copied().unwrap_or(Pick::from(..));
            let mut kept = Axis::fixed(part.n);
            if !axis.is_fixed() && pick == Pick::from(..) {
                kept = axis.clone();
            } else if let Some(dim) = axis.plain_dim().filter(|_| pick.counts_from_start()) {
                let span = part.n.saturating_sub(1) * part.step.unsigned_abs() as usize;
                at_least.push((dim, if part.n == 0 { part.low } else { part.low + span + 1 }));
            } else {
                bounds.expect_fixed(self.name(), 0, [at])?;
            }
            if !part.is_index {
                axes.push(kept);
            }
        }
        Ok(Bounded { at_least, ..Bounded::new([axes.into_iter().collect()]) })
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let x = &vjp.inputs[0];
        let Some(g) = vjp.cotangent() else { return Ok(smallvec![None]) };
        let picked = self.resolve(&x.node().ty)?;
        let sizes: Shape = picked.iter().map(|part| part.n).collect();
        let mut spread = g.reshape(&sizes);
        let backwards: Vec<i64> = backwards(&picked).into_iter().map(|axis| axis as i64).collect();
        if !backwards.is_empty() {
            spread = spread.flip(&backwards);
        }
        let edges = |(part, &size): (&Picked, &usize)| {
            let between = part.step.abs() - 1;
            let low = part.low as i64;
            let taken = crate::back::stablehlo::text::padded_size(part.n, low, 0, between);
            (low, size as i64 - taken, between)
        };
        let edges: Vec<(i64, i64, i64)> = picked.iter().zip(x.shape()).map(edges).collect();
        Ok(smallvec![Some(spread.pad(&edges, 0.0))])
    }
}

fn backwards(picked: &[Picked]) -> Shape {
    (0..picked.len()).filter(|&axis| picked[axis].step < 0).collect()
}

/// The elements in reverse order along axes.
#[derive(Clone, Debug, Hash)]
struct Flip {
    axes: Vec<i64>,
}

impl Op for Flip {
    fn name(&self) -> &'static str {
        "flip"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        axes_of(self.name(), &self.axes, inputs[0].shape.len())?;
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let axes = axes_of(self.name(), &self.axes, inputs[0].shape.len());
        Ok(vec![cx.out.reverse(&inputs[0], &axes.map_err(Diagnostic::from)?)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axes = axes_of(self.name(), &self.axes, layout.axes.len())?;
        bounds.expect_fixed(self.name(), 0, axes)?;
        Ok(Bounded::new([layout.clone()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![vjp.cotangent().map(|g| g.flip(&self.axes))])
    }
}

/// A slice that starts where scalars say.
#[derive(Clone, Debug, Hash)]
struct DynamicSlice {
    sizes: Shape,
}

/// A tensor with a slice of it replaced, which starts where scalars say.
#[derive(Clone, Debug, Hash)]
struct DynamicUpdateSlice;

impl Op for DynamicSlice {
    fn name(&self) -> &'static str {
        "dynamic_slice"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        check_starts(self.name(), inputs[0], &inputs[1..], &self.sizes)?;
        Ok(smallvec![Ty { dtype: inputs[0].dtype, shape: self.sizes.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let starts: Vec<Value> = inputs[1..].iter().map(|start| as_index(cx, start)).collect();
        Ok(vec![cx.out.dynamic_slice(&inputs[0], &starts, &self.sizes)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let x = bounds.input(0);
        // A slice of the whole axis starts at 0, wherever it is asked for.
        let cut = (0..x.axes.len()).filter(|&axis| self.sizes[axis] != x.axes[axis].size());
        bounds.expect_fixed(self.name(), 0, cut)?;
        let axis = |(axis, &size): (&Axis, &usize)| match axis.is_fixed() {
            true => Axis::fixed(size),
            false => axis.clone(),
        };
        Ok(Bounded::new([x.axes.iter().zip(&self.sizes).map(axis).collect()]))
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        check_start_values(self.name(), inputs[0], &self.sizes, 1, read)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, starts) = (&vjp.inputs[0], &vjp.inputs[1..]);
        let spread = |g: &DynTensor| x.zeros_like().dynamic_update_slice(g, starts);
        let mut gradients: Gradients = smallvec![vjp.cotangent().map(spread)];
        gradients.resize(vjp.inputs.len(), None);
        Ok(gradients)
    }
}

impl Op for DynamicUpdateSlice {
    fn name(&self) -> &'static str {
        "dynamic_update_slice"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let (x, update) = (inputs[0], inputs[1]);
        expect_same_dtype(self.name(), &[x, update])?;
        check_starts(self.name(), x, &inputs[2..], &update.shape)?;
        Ok(smallvec![x.clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let starts: Vec<Value> = inputs[2..].iter().map(|start| as_index(cx, start)).collect();
        Ok(vec![cx.out.dynamic_update_slice(&inputs[0], &inputs[1], &starts)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let (x, update) = (bounds.input(0), bounds.input(1));
        // What replaces the whole of an axis starts at 0, wherever it is put.
        let cut = || (0..x.axes.len()).filter(|&axis| x.axes[axis] != update.axes[axis]);
        bounds.expect_fixed(self.name(), 0, cut())?;
        bounds.expect_fixed(self.name(), 1, cut())?;
        Ok(Bounded::new([x.clone()]))
    }

    fn check_elements(&self, inputs: &[&Ty], read: ReadInput<'_>) -> Result<(), Diagnostics> {
        check_start_values(self.name(), inputs[0], &inputs[1].shape, 2, read)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (update, starts) = (&vjp.inputs[1], &vjp.inputs[2..]);
        let mut gradients: Gradients = smallvec![None; vjp.inputs.len()];
        if let Some(g) = vjp.cotangent() {
            gradients[0] = Some(g.dynamic_update_slice(&update.zeros_like(), starts));
            gradients[1] = Some(g.dynamic_slice(starts, update.shape()));
        }
        Ok(gradients)
    }
}

fn check_starts(name: &str, x: &Ty, starts: &[&Ty], sizes: &[usize]) -> Result<(), OpError> {
    if starts.len() != x.shape.len() || sizes.len() != x.shape.len() {
        return Err(OpError::shape(format!(
            "`{name}` was given {} starts and a slice of {sizes:?} for {x}, which has {} axes",
            starts.len(),
            x.shape.len()
        )));
    }
    for start in starts {
        expect_int(name, "starts", start)?;
        if !start.shape.is_empty() {
            return Err(OpError::shape(format!("`{name}`: a start is {start}, and no scalar")));
        }
    }
    match (0..sizes.len()).find(|&axis| sizes[axis] > x.shape[axis]) {
        Some(axis) => Err(OpError::shape(format!(
            "`{name}`: a slice of {sizes:?} does not fit in {x}: axis {axis} has {} elements",
            x.shape[axis]
        ))),
        None => Ok(()),
    }
}

/// Whether slices need not be moved to fit.
fn check_start_values(
    name: &str,
    x: &Ty,
    sizes: &[usize],
    first: usize,
    read: ReadInput<'_>,
) -> Result<(), Diagnostics> {
    for (axis, (&size, &n)) in x.shape.iter().zip(sizes).enumerate() {
        let start = read(first + axis)?.to_f64().first().copied().unwrap_or(0.0) as i64;
        if start < 0 || start as usize + n > size {
            let message = format!(
                "`{name}`: {n} elements from {start} do not fit along axis {axis} of {x}, whose size is {size}"
            );
            let help = format!("starts run from 0 to {}", size - n);
            return Err(Diagnostic::from(OpError::index(message).help(help)).into());
        }
    }
    Ok(())
}

impl<T: Kind> Tensor<T> {
    /// Elements by index and range, one per axis: `x.slice((0, 1..5, Pick::by(.., -1)))` is NumPy's
    /// `x[0, 1:5, ::-1]`.
    ///
    /// An index removes its axis; axes that are not named are taken whole; negative numbers count
    /// from the end. Unlike NumPy, a range that goes past the end is an error.
    #[track_caller]
    pub fn slice(&self, picks: impl Picks) -> Tensor<T> {
        apply(Slice { picks: picks.picks() }, &[self.node()], Location::caller())
    }

    /// The part at one index of an axis, without that axis.
    #[track_caller]
    pub fn index_axis(&self, axis: i64, index: i64) -> Tensor<T> {
        // A wrong axis is told by the rule of the op.
        let axis = axis_of("index_axis", axis, self.rank()).unwrap_or(self.rank());
        let mut picks: SmallVec<[Pick; 4]> = smallvec![Pick::from(..); axis];
        picks.push(Pick::from(index));
        apply(Slice { picks }, &[self.node()], Location::caller())
    }

    /// The elements in reverse order along axes.
    #[track_caller]
    pub fn flip(&self, axes: &[i64]) -> Tensor<T> {
        apply(Flip { axes: axes.to_vec() }, &[self.node()], Location::caller())
    }

    /// A slice of a fixed size that starts where tensors say, one integer scalar per axis.
    ///
    /// # Out of range
    /// The slice is moved so that it fits. In [`Mode::Debug`](crate::run::Mode::Debug) a slice that
    /// does not fit is an error.
    #[track_caller]
    pub fn dynamic_slice<I: IntKind>(
        &self,
        starts: &[impl Borrow<Tensor<I>>],
        sizes: impl AsRef<[usize]>,
    ) -> Tensor<T> {
        let op = DynamicSlice { sizes: Shape::from_slice(sizes.as_ref()) };
        let mut inputs: SmallVec<[&Arc<Node>; 4]> = smallvec![self.node()];
        inputs.extend(starts.iter().map(|start| start.borrow().node()));
        apply(op, &inputs, Location::caller())
    }

    /// The tensor with `update` in place of the slice that starts where tensors say, one integer
    /// scalar per axis. Out of range as [`Tensor::dynamic_slice`].
    #[track_caller]
    pub fn dynamic_update_slice<I: IntKind>(
        &self,
        update: &Tensor<T>,
        starts: &[impl Borrow<Tensor<I>>],
    ) -> Tensor<T> {
        let mut inputs: SmallVec<[&Arc<Node>; 4]> = smallvec![self.node(), update.node()];
        inputs.extend(starts.iter().map(|start| start.borrow().node()));
        apply(DynamicUpdateSlice, &inputs, Location::caller())
    }
}
