//! Running sums, products and extremes.

use super::elementwise::share;
use super::shape::axis_of;
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::ops::{elementwise, round};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::DType;
use crate::ir::ops::{Binary, Elementwise, Literal};
use crate::run::bounded::{Bounded, Bounds};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, NumKind, Tensor};
use smallvec::smallvec;
use std::panic::Location;

/// What runs along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Running {
    Sum,
    Product,
    Max,
    Min,
}

impl Running {
    fn combine(self) -> Binary {
        match self {
            Running::Sum => Binary::Add,
            Running::Product => Binary::Mul,
            Running::Max => Binary::Max,
            Running::Min => Binary::Min,
        }
    }

    /// The value that leaves others as they are.
    fn neutral(self, dtype: DType) -> f64 {
        let (least, most) = match dtype.int_range() {
            Some((least, most)) => (least as f64, most as f64),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        match self {
            Running::Sum => 0.0,
            Running::Product => 1.0,
            Running::Max => least,
            Running::Min => most,
        }
    }
}

/// Each element combined with all before it along an axis; with all after it, if `backwards`.
///
/// Made in steps that double the distance, so that `n` elements take `log2 n` element-wise ops on
/// whole tensors, and the rounding of a float sum grows with `log2 n`.
#[derive(Clone, Debug, Hash)]
struct Cumulate {
    running: Running,
    axis: i64,
    backwards: bool,
}

impl Cumulate {
    /// The distances of the steps.
    fn distances(size: usize) -> impl DoubleEndedIterator<Item = usize> {
        let n = size.max(1).next_power_of_two().ilog2();
        (0..n).map(|step| 1 << step)
    }

    /// Edges that move elements along an axis.
    fn edges(&self, rank: usize, axis: usize, distance: i64) -> (Vec<i64>, Vec<i64>) {
        let distance = if self.backwards { -distance } else { distance };
        let (mut low, mut high) = (vec![0; rank], vec![0; rank]);
        (low[axis], high[axis]) = (distance, -distance);
        (low, high)
    }

    fn moved(&self, x: &DynTensor, axis: usize, distance: i64, fill: f64) -> DynTensor {
        let (low, high) = self.edges(x.rank(), axis, distance);
        let edges: Vec<(i64, i64)> = low.into_iter().zip(high).collect();
        x.pad(&edges, fill)
    }
}

impl Op for Cumulate {
    fn name(&self) -> &'static str {
        match self.running {
            Running::Sum => "cumsum",
            Running::Product => "cumprod",
            Running::Max => "cummax",
            Running::Min => "cummin",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        if inputs[0].dtype == DType::Bool {
            let message = format!("`{}` is not defined on `bool`", self.name());
            return Err(OpError::dtype(message).help("convert first: `.cast::<i32>()`"));
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let dtype = inputs[0].dtype;
        let rank = inputs[0].shape.len();
        let axis = axis_of(self.name(), self.axis, rank).map_err(Diagnostic::from)?;
        let mut x = match dtype.is_float() {
            true => round::widen(&mut cx.out, &inputs[0]),
            false => inputs[0].clone(),
        };
        let neutral = Literal::from_f64(x.dtype, self.running.neutral(x.dtype));
        let neutral = cx.out.constant(neutral, &[]);
        let combine = Elementwise::Binary(self.running.combine());
        for distance in Cumulate::distances(x.shape[axis]) {
            let (low, high) = self.edges(rank, axis, distance as i64);
            let moved = cx.out.pad(&x, &neutral, &low, &high, &vec![0; rank]);
            x = elementwise::emit(&mut cx.out, combine, &[moved, x]);
        }
        let narrow = dtype.is_float() && dtype != DType::F32;
        Ok(vec![if narrow { round::narrow(&mut cx.out, &x, dtype) } else { x }])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axis = &layout.axes[axis_of(self.name(), self.axis, layout.axes.len())?];
        let mut bounded = Bounded::new([layout.clone()]);
        // What comes after the real elements reaches them only backwards.
        if !axis.is_fixed() && (self.backwards || !axis.is_dense()) {
            let dtype = bounds.dtype(0);
            bounded.fills = smallvec![Some(Literal::from_f64(dtype, self.running.neutral(dtype)))];
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let x = &vjp.inputs[0];
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None]);
        };
        if self.running == Running::Sum {
            let op = Cumulate { backwards: !self.backwards, ..self.clone() };
            return Ok(smallvec![Some(apply(op, &[g.node()], Location::caller()))]);
        }
        // The same steps, the other way round.
        let axis = axis_of(self.name(), self.axis, x.rank())?;
        let neutral = self.running.neutral(DType::F32);
        let mut steps = Vec::new();
        let mut value = x.cast_to(DType::F32);
        for distance in Cumulate::distances(x.shape()[axis]) {
            let moved = self.moved(&value, axis, distance as i64, neutral);
            let next = match self.running {
                Running::Sum => &moved + &value,
                Running::Product => &moved * &value,
                Running::Max => moved.max(&value),
                Running::Min => moved.min(&value),
            };
            steps.push((distance as i64, moved, value));
            value = next;
        }
        let mut gradient = g.cast_to(DType::F32);
        for (distance, moved, value) in steps.into_iter().rev() {
            let (to_moved, to_value) = match self.running {
                Running::Sum => (gradient.clone(), gradient),
                Running::Product => (&gradient * &value, &gradient * &moved),
                Running::Max => share(moved.ge(&value), moved.eq(&value), &gradient),
                Running::Min => share(moved.le(&value), moved.eq(&value), &gradient),
            };
            gradient = to_value + self.moved(&to_moved, axis, -distance, 0.0);
        }
        Ok(smallvec![Some(gradient.cast_to(x.dtype()))])
    }
}

impl<T: NumKind> Tensor<T> {
    /// The sum of each element and all before it along an axis. Floats are accumulated in `f32`,
    /// integers wrap.
    #[track_caller]
    pub fn cumsum(&self, axis: i64) -> Tensor<T> {
        self.cumulate(Running::Sum, axis)
    }

    /// The product of each element and all before it along an axis. Floats are accumulated in
    /// `f32`, integers wrap.
    #[track_caller]
    pub fn cumprod(&self, axis: i64) -> Tensor<T> {
        self.cumulate(Running::Product, axis)
    }

    /// The largest of each element and all before it along an axis; NaN if any is.
    #[track_caller]
    pub fn cummax(&self, axis: i64) -> Tensor<T> {
        self.cumulate(Running::Max, axis)
    }

    /// The smallest of each element and all before it along an axis; NaN if any is.
    #[track_caller]
    pub fn cummin(&self, axis: i64) -> Tensor<T> {
        self.cumulate(Running::Min, axis)
    }

    #[track_caller]
    fn cumulate(&self, running: Running, axis: i64) -> Tensor<T> {
        let op = Cumulate { running, axis, backwards: false };
        apply(op, &[self.node()], Location::caller())
    }
}
