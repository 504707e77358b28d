//! Ops that make tensors from nothing.

use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::text::Direction;
use crate::diag::Diagnostics;
use crate::ir::ops::Literal;
use crate::ir::{Array, DType, Element, Float, Num, Shape};
use crate::run::bounded::{Axis, Bounded, Bounds};
use crate::run::dispatch::{apply, current_device, refuse, scalar};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, Kind, Tensor};
use smallvec::smallvec;
use std::panic::Location;

/// The index along an axis.
#[derive(Clone, Debug, Hash)]
struct Iota {
    dtype: DType,
    shape: Shape,
    axis: usize,
}

impl Op for Iota {
    fn name(&self) -> &'static str {
        "iota"
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        if self.axis >= self.shape.len() || self.dtype == DType::Bool {
            return Err(OpError::argument(format!(
                "`iota` of {}{:?} has no axis {}",
                self.dtype,
                self.shape.as_slice(),
                self.axis
            )));
        }
        Ok(smallvec![Ty { dtype: self.dtype, shape: self.shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, _inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        Ok(vec![cx.out.iota(self.dtype, &self.shape, self.axis)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let axes = (0..self.shape.len()).map(|axis| bounds.new_axis(0, axis));
        Ok(Bounded::new([axes.collect::<Result<_, _>>()?]))
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![])
    }
}

/// One on the diagonal, else zero.
#[derive(Clone, Debug, Hash)]
struct Eye {
    dtype: DType,
    n: usize,
}

impl Op for Eye {
    fn name(&self) -> &'static str {
        "eye"
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![Ty::new(self.dtype, &[self.n, self.n])])
    }

    fn emit(&self, cx: &mut Emit, _inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let shape = [self.n, self.n];
        let (i, j) = (cx.out.iota(DType::I32, &shape, 0), cx.out.iota(DType::I32, &shape, 1));
        let hit = cx.out.compare(Direction::Eq, &i, &j);
        Ok(vec![cx.out.convert(&hit, self.dtype)])
    }

    fn has_shape_attrs(&self) -> bool {
        true
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([[bounds.new_axis(0, 0)?, bounds.new_axis(0, 1)?].into_iter().collect()]))
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![])
    }
}

/// The elements of matrices on one side of a diagonal, and on it; zero elsewhere.
#[derive(Clone, Copy, Debug, Hash)]
struct Triangle {
    upper: bool,
    diagonal: i64,
}

impl Op for Triangle {
    fn name(&self) -> &'static str {
        if self.upper { "triu" } else { "tril" }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        if inputs[0].shape.len() < 2 {
            let message = format!("`{}` takes matrices, not {}", self.name(), inputs[0]);
            return Err(OpError::shape(message));
        }
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        let last = x.shape.len() - 1;
        let i = cx.out.iota(DType::I32, &x.shape, last - 1);
        let j = cx.out.iota(DType::I32, &x.shape, last);
        let diagonal = self.diagonal.clamp(i64::from(i32::MIN / 2), i64::from(i32::MAX / 2));
        let diagonal = cx.out.constant(Literal::int(DType::I32, diagonal), &x.shape);
        let on_diagonal = cx.out.binary("add", &i, &diagonal);
        let direction = if self.upper { Direction::Ge } else { Direction::Le };
        let keep = cx.out.compare(direction, &j, &on_diagonal);
        let zero = cx.out.constant(Literal::from_f64(x.dtype, 0.0), &x.shape);
        Ok(vec![cx.out.select(&keep, x, &zero)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        // Places are counted along the axes as they are padded.
        if !layout.axes.iter().rev().take(2).all(Axis::is_dense) {
            let message =
                format!("`{}` counts along an axis whose padding is not at its end", self.name());
            return Err(OpError::bounded(message).help("apply it before axes are merged"));
        }
        Ok(Bounded::new([layout.clone()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &DynTensor| apply(*self, &[g.node()], Location::caller());
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}

impl<T: Element> Tensor<T> {
    /// One value everywhere.
    #[track_caller]
    pub fn full(shape: impl AsRef<[usize]>, value: T) -> Tensor<T> {
        Tensor::scalar(value).broadcast_to(shape)
    }

    /// Zero everywhere.
    #[track_caller]
    pub fn zeros(shape: impl AsRef<[usize]>) -> Tensor<T> {
        Tensor::full(shape, T::from_f64(0.0))
    }

    /// One everywhere.
    #[track_caller]
    pub fn ones(shape: impl AsRef<[usize]>) -> Tensor<T> {
        Tensor::full(shape, T::from_f64(1.0))
    }

    /// The index along an axis, in a tensor of this shape.
    #[track_caller]
    pub fn iota(shape: impl AsRef<[usize]>, axis: usize) -> Tensor<T> {
        let op = Iota { dtype: T::DTYPE, shape: Shape::from_slice(shape.as_ref()), axis };
        apply(op, &[], Location::caller())
    }

    /// `0, 1, .. n - 1`.
    #[track_caller]
    pub fn arange(n: usize) -> Tensor<T> {
        Tensor::iota([n], 0)
    }
}

impl<T: Num> Tensor<T> {
    /// The unit matrix: one on the diagonal, else zero.
    #[track_caller]
    pub fn eye(n: usize) -> Tensor<T> {
        apply(Eye { dtype: T::DTYPE, n }, &[], Location::caller())
    }
}

impl<T: Float> Tensor<T> {
    /// `n` numbers at even distances from `start` to `stop`, both included; computed on the host.
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, n: usize) -> Tensor<T> {
        let at = Location::caller();
        let step = (stop - start) / n.saturating_sub(1).max(1) as f64;
        let number = |idx: usize| match idx {
            0 => start,
            last if last + 1 == n => stop,
            idx => start + step * idx as f64,
        };
        let numbers: Vec<f64> = (0..n).map(number).collect();
        match Array::from_f64(T::DTYPE, &[n], &numbers) {
            Ok(array) => Tensor::host(array, current_device(), at),
            Err(error) => refuse(&current_device(), OpError::shape(error.to_string()), at),
        }
    }
}

impl<T: Kind> Tensor<T> {
    /// Matrices, along the last two axes, with what is above a diagonal set to zero. The diagonal is
    /// counted from the main one, upwards.
    #[track_caller]
    pub fn tril(&self, diagonal: i64) -> Tensor<T> {
        apply(Triangle { upper: false, diagonal }, &[self.node()], Location::caller())
    }

    /// Matrices, along the last two axes, with what is below a diagonal set to zero. The diagonal is
    /// counted from the main one, upwards.
    #[track_caller]
    pub fn triu(&self, diagonal: i64) -> Tensor<T> {
        apply(Triangle { upper: true, diagonal }, &[self.node()], Location::caller())
    }

    /// Zero everywhere, in the shape of this tensor.
    #[track_caller]
    pub fn zeros_like(&self) -> Tensor<T> {
        let zero: Tensor<T> = scalar(self.dtype(), 0.0, self.device(), Location::caller());
        zero.broadcast_to(self.shape())
    }
}
