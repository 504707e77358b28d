//! Reductions.

use super::bounded::real_count;
use super::elementwise::broadcast;
use super::shape::{axes_of, axis_of};
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::ops::reduce::{emit, neutral};
use crate::back::stablehlo::text::Direction;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::{Literal, ReduceKind, ReduceOp};
use crate::ir::{DType, Shape};
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::{apply, trace};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, FloatKind, Kind, NumKind, Tensor};
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// Combines the elements along axes, which the result does not have.
#[derive(Clone, Debug, Hash)]
struct Reduce {
    kind: ReduceKind,
    axes: Vec<i64>,
}

impl Reduce {
    fn is_arg(&self) -> bool {
        matches!(self.kind, ReduceKind::ArgMax | ReduceKind::ArgMin)
    }

    fn axes(&self, rank: usize) -> Result<Shape, OpError> {
        let mut axes = match self.is_arg() {
            true => smallvec![axis_of(self.name(), self.axes[0], rank)?],
            false => axes_of(self.name(), &self.axes, rank)?,
        };
        axes.sort_unstable();
        Ok(axes)
    }
}

impl Op for Reduce {
    fn name(&self) -> &'static str {
        self.kind.name()
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axes = self.axes(x.shape.len())?;
        if x.dtype == DType::Bool {
            let message = format!("`{}` is not defined on `bool`", self.name());
            return Err(OpError::dtype(message).help("convert first: `.cast::<i32>()`"));
        }
        if let Some(&axis) = axes.iter().find(|&&axis| x.shape[axis] == 0)
            && self.kind != ReduceKind::Sum
        {
            return Err(OpError::shape(format!(
                "`{}`: axis {axis} of {x} is empty, so there is no element to give",
                self.name()
            )));
        }
        let kept = |(axis, &size): (usize, &usize)| (!axes.contains(&axis)).then_some(size);
        let shape = x.shape.iter().enumerate().filter_map(kept).collect();
        let dtype = if self.is_arg() { DType::I32 } else { x.dtype };
        Ok(smallvec![Ty { dtype, shape }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let mut x = inputs[0].clone();
        let axes = self.axes(x.shape.len()).map_err(Diagnostic::from)?;
        let shape: Shape = (0..x.shape.len())
            .filter(|axis| !axes.contains(axis))
            .map(|axis| x.shape[axis])
            .collect();
        for axis in axes {
            x = emit(&mut cx.out, ReduceOp { kind: self.kind, axis }, &x);
        }
        Ok(vec![cx.out.reshape(&x, &shape)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axes = self.axes(layout.axes.len())?;
        let summed = || axes.iter().map(|&axis| &layout.axes[axis]);
        let kept = (0..layout.axes.len()).filter(|axis| !axes.contains(axis));
        let mut bounded = Bounded::new([kept.map(|axis| layout.axes[axis].clone()).collect()]);
        if summed().all(Axis::is_fixed) {
            return Ok(bounded);
        }
        if self.is_arg() && !summed().all(Axis::is_dense) {
            let message = format!(
                "`{}` gives an index along an axis whose padding is not at its end",
                self.name()
            );
            return Err(OpError::bounded(message).help("reduce before the axes are merged"));
        }
        bounded.fills = smallvec![Some(neutral(self.kind, bounds.dtype(0)))];
        if self.kind != ReduceKind::Sum {
            bounded.at_least = summed().flat_map(Axis::dims).map(|dim| (dim, 1)).collect();
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, y) = (&vjp.inputs[0], &vjp.outputs[0]);
        let Some(g) = vjp.cotangent().filter(|_| !self.is_arg()) else {
            return Ok(smallvec![None]);
        };
        let mut kept = x.shape().to_vec();
        for axis in self.axes(x.rank())? {
            kept[axis] = 1;
        }
        let spread = |t: &DynTensor| t.reshape(&kept).broadcast_to(x.shape());
        if self.kind == ReduceKind::Sum {
            return Ok(smallvec![Some(spread(g))]);
        }
        // Shared evenly by all that are extreme.
        let hit = x.eq(spread(y)).cast_to(x.dtype());
        let share = &hit / spread(&hit.sum(&self.axes));
        Ok(smallvec![Some(spread(g) * share)])
    }
}

impl<T: NumKind> Tensor<T> {
    /// The sum over axes, which the result does not have; negative axes count from the end, and no
    /// axes leave the tensor as it is. Floats are accumulated in `f32`.
    #[track_caller]
    pub fn sum(&self, axes: &[i64]) -> Tensor<T> {
        self.reduce(ReduceKind::Sum, axes)
    }

    /// The largest element over axes; NaN if any is.
    #[track_caller]
    pub fn reduce_max(&self, axes: &[i64]) -> Tensor<T> {
        self.reduce(ReduceKind::Max, axes)
    }

    /// The smallest element over axes; NaN if any is.
    #[track_caller]
    pub fn reduce_min(&self, axes: &[i64]) -> Tensor<T> {
        self.reduce(ReduceKind::Min, axes)
    }

    #[track_caller]
    fn reduce(&self, kind: ReduceKind, axes: &[i64]) -> Tensor<T> {
        apply(Reduce { kind, axes: axes.to_vec() }, &[self.node()], Location::caller())
    }

    /// The index of the largest element along an axis; the first of equals, and of NaN if there is
    /// one.
    #[track_caller]
    pub fn argmax(&self, axis: i64) -> Tensor<i32> {
        let op = Reduce { kind: ReduceKind::ArgMax, axes: vec![axis] };
        apply(op, &[self.node()], Location::caller())
    }

    /// The index of the smallest element along an axis; the first of equals, and of NaN if there
    /// is one.
    #[track_caller]
    pub fn argmin(&self, axis: i64) -> Tensor<i32> {
        let op = Reduce { kind: ReduceKind::ArgMin, axes: vec![axis] };
        apply(op, &[self.node()], Location::caller())
    }
}

impl<T: FloatKind> Tensor<T> {
    /// The mean over axes, which the result does not have.
    #[track_caller]
    pub fn mean(&self, axes: &[i64]) -> Tensor<T> {
        apply(Mean { axes: axes.to_vec(), n_fixed: None }, &[self.node()], Location::caller())
    }
}

/// The sum over axes by the number of elements, rounded once.
#[derive(Clone, Debug, Hash)]
struct Mean {
    axes: Vec<i64>,
    /// Where some of the elements are padding: the number of the others is this times the sizes
    /// that follow the tensor among the inputs.
    n_fixed: Option<usize>,
}

impl Mean {
    fn sum(&self) -> Reduce {
        Reduce { kind: ReduceKind::Sum, axes: self.axes.clone() }
    }
}

impl Op for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        if !inputs[0].dtype.is_float() {
            return Err(OpError::dtype(format!("`mean` takes floats, not {}", inputs[0]))
                .help("convert first: `.cast::<f32>()`"));
        }
        self.sum().infer(inputs)
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        use crate::back::stablehlo::ops::round;
        let x = &inputs[0];
        let wide = round::widen(&mut cx.out, x);
        let sum = self.sum().emit(cx, &[wide])?.remove(0);
        let n = match self.n_fixed {
            Some(n_fixed) => {
                let n = real_count(cx, n_fixed, &inputs[1..]);
                cx.out.convert(&n, DType::F32)
            }
            None => {
                let axes = self.sum().axes(x.shape.len()).map_err(Diagnostic::from)?;
                let n: usize = axes.iter().map(|&axis| x.shape[axis]).product();
                let n = cx.out.constant(Literal::float(DType::F32, n as f32), &[]);
                // XLA would multiply by the rounded reciprocal of a constant.
                cx.out.optimization_barrier(&n)
            }
        };
        let n = broadcast(cx, &n, &sum.shape.clone());
        let mean = cx.out.binary("divide", &sum, &n);
        Ok(vec![round::narrow(&mut cx.out, &mean, x.dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let mut bounded = self.sum().bounded(bounds)?;
        let layout = bounds.input(0);
        let axes = self.sum().axes(layout.axes.len())?;
        let summed = || axes.iter().map(|&axis| &layout.axes[axis]);
        if !summed().all(Axis::is_fixed) {
            let n_fixed = Some(summed().map(Axis::n_fixed).product());
            bounded.op = Some(Arc::new(Mean { axes: self.axes.clone(), n_fixed }));
            bounded.sizes = summed().flat_map(Axis::dims).collect();
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, gradients) = (&vjp.inputs[0], self.sum().vjp(vjp)?);
        let axes = self.sum().axes(x.rank())?;
        let share = |g: DynTensor| match trace::is_active() {
            // In a program the number of elements may be bounded, and is no constant then.
            true => {
                let size = |&axis: &usize| x.axis_size(axis as i64).cast::<f32>();
                let n = axes.iter().map(size).reduce(|n, size| n * size);
                match n {
                    Some(n) => &g * (Tensor::<f32>::scalar(1.0) / n).cast_to(g.dtype()),
                    None => g,
                }
            }
            false => {
                let n: usize = axes.iter().map(|&axis| x.shape()[axis]).product();
                g * (1.0 / n as f64)
            }
        };
        Ok(gradients.into_iter().map(|g| g.map(share)).collect())
    }
}

/// Whether any, or all, of the elements along axes are not zero.
#[derive(Clone, Debug, Hash)]
struct Truth {
    all: bool,
    axes: Vec<i64>,
}

impl Op for Truth {
    fn name(&self) -> &'static str {
        if self.all { "all" } else { "any" }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        let axes = axes_of(self.name(), &self.axes, x.shape.len())?;
        let kept = (0..x.shape.len()).filter(|axis| !axes.contains(axis));
        Ok(smallvec![Ty { dtype: DType::Bool, shape: kept.map(|axis| x.shape[axis]).collect() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let mut axes = axes_of(self.name(), &self.axes, x.shape.len()).map_err(Diagnostic::from)?;
        axes.sort_unstable();
        let mut truth = match x.dtype {
            DType::Bool => x.clone(),
            dtype => {
                let zero = cx.out.constant(Literal::from_f64(dtype, 0.0), &x.shape);
                cx.out.compare(Direction::Ne, x, &zero)
            }
        };
        let start = cx.out.constant(Literal::int(DType::Bool, i64::from(self.all)), &[]);
        for &axis in axes.iter().rev() {
            truth = cx.out.reduce(&truth, &start, if self.all { "and" } else { "or" }, axis);
        }
        Ok(vec![truth])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axes = axes_of(self.name(), &self.axes, layout.axes.len())?;
        let kept = (0..layout.axes.len()).filter(|axis| !axes.contains(axis));
        let mut bounded = Bounded::new([kept.map(|axis| layout.axes[axis].clone()).collect()]);
        let neutral = Literal::from_f64(bounds.dtype(0), f64::from(u8::from(self.all)));
        bounded.fills = smallvec![Some(neutral)];
        Ok(bounded)
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None])
    }
}

impl<T: Kind> Tensor<T> {
    /// Whether any element along the axes is not zero; NaN is not. False where there are none.
    #[track_caller]
    pub fn any(&self, axes: &[i64]) -> Tensor<bool> {
        let op = Truth { all: false, axes: axes.to_vec() };
        apply(op, &[self.node()], Location::caller())
    }

    /// Whether all elements along the axes are not zero; NaN is not. True where there are none.
    #[track_caller]
    pub fn all(&self, axes: &[i64]) -> Tensor<bool> {
        let op = Truth { all: true, axes: axes.to_vec() };
        apply(op, &[self.node()], Location::caller())
    }
}
