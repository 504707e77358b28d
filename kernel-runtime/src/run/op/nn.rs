//! Ops of neural networks. Each is one op, computed in `f32` and rounded once, so that it gives the
//! same bits eagerly and compiled.

use super::elementwise::unbroadcast;
use super::shape::{axes_of, axis_of};
use super::{Gradients, Op, OpError, Types, Value, Vjp, expect_float, expect_same_dtype};
use crate::back::stablehlo::ops::{elementwise, reduce, round};
use crate::back::stablehlo::text::Direction;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::{Elementwise, Literal, ReduceKind, ReduceOp, Unary};
use crate::ir::{DType, Shape};
use crate::run::bounded::{Bounded, Bounds};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, FloatKind, IntKind, Tensor};
use smallvec::{SmallVec, smallvec};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use std::panic::Location;

/// sqrt(2 / pi), of the approximation of `gelu` by tanh.
const TANH_SCALE: f64 = FRAC_1_SQRT_2 * FRAC_2_SQRT_PI;
/// The coefficient of the cube in it.
const TANH_CUBE: f64 = 0.044_715;

/// Below it, `gelu` is zero to within 1e-7.
const GELU_IS_ZERO_BELOW: f64 = -5.6;

/// A number for each element of a tensor.
fn splat(cx: &mut Emit, value: f64, like: &Value) -> Value {
    cx.out.constant(Literal::from_f64(DType::F32, value), &like.shape)
}

/// Reduces along axes, which stay with size 1.
fn reduced(cx: &mut Emit, kind: ReduceKind, x: &Value, axes: &[usize]) -> Value {
    let reduce = |x: Value, &axis: &usize| reduce::emit(&mut cx.out, ReduceOp { kind, axis }, &x);
    axes.iter().fold(x.clone(), reduce)
}

/// Repeats along axes of size 1.
fn spread(cx: &mut Emit, x: &Value, shape: &[usize]) -> Value {
    let dims: Shape = (0..shape.len()).collect();
    cx.out.broadcast(x, &dims, shape)
}

/// The largest elements along axes, which stay with size 1, where there is a finite one; else zero.
fn finite_max(cx: &mut Emit, x: &Value, axes: &[usize]) -> Value {
    let most = reduced(cx, ReduceKind::Max, x, axes);
    let is_finite = cx.out.is_finite(&most);
    let zero = splat(cx, 0.0, &most);
    cx.out.select(&is_finite, &most, &zero)
}

/// The exponentials over their sum along an axis, or the logarithm of that.
#[derive(Clone, Debug, Hash)]
struct Softmax {
    axis: i64,
    log: bool,
}

impl Op for Softmax {
    fn name(&self) -> &'static str {
        if self.log { "log_softmax" } else { "softmax" }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        expect_float(self.name(), inputs[0])?;
        axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = round::widen(&mut cx.out, &inputs[0]);
        let axis = axis_of(self.name(), self.axis, x.shape.len()).map_err(Diagnostic::from)?;
        let most = reduced(cx, ReduceKind::Max, &x, &[axis]);
        let most = spread(cx, &most, &x.shape);
        let below = cx.out.binary("subtract", &x, &most);
        let powers = cx.out.unary("exponential", &below);
        let sum = reduced(cx, ReduceKind::Sum, &powers, &[axis]);
        let y = if self.log {
            let log = cx.out.unary("log", &sum);
            let log = spread(cx, &log, &x.shape);
            cx.out.binary("subtract", &below, &log)
        } else {
            let sum = spread(cx, &sum, &x.shape);
            cx.out.binary("divide", &powers, &sum)
        };
        Ok(vec![round::narrow(&mut cx.out, &y, inputs[0].dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axis = axis_of(self.name(), self.axis, layout.axes.len())?;
        let mut bounded = Bounded::new([layout.clone()]);
        if !layout.axes[axis].is_fixed() {
            bounded.fills = smallvec![Some(Literal::from_f64(bounds.dtype(0), f64::NEG_INFINITY))];
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (y, dtype) = (vjp.outputs[0].cast_to(DType::F32), vjp.inputs[0].dtype());
        let Some(g) = vjp.cotangent().map(|g| g.cast_to(DType::F32)) else {
            return Ok(smallvec![None]);
        };
        let sum = |x: &DynTensor| x.sum(&[self.axis]).expand_dims(self.axis);
        let to_x = match self.log {
            true => &g - y.exp() * sum(&g),
            false => &y * (&g - sum(&(&g * &y))),
        };
        Ok(smallvec![Some(to_x.cast_to(dtype))])
    }
}

/// The logarithm of the sum of exponentials along axes, which the result does not have.
#[derive(Clone, Debug, Hash)]
struct LogSumExp {
    axes: Vec<i64>,
}

impl Op for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        expect_float(self.name(), x)?;
        let axes = axes_of(self.name(), &self.axes, x.shape.len())?;
        let kept = (0..x.shape.len()).filter(|axis| !axes.contains(axis));
        Ok(smallvec![Ty { dtype: x.dtype, shape: kept.map(|axis| x.shape[axis]).collect() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = round::widen(&mut cx.out, &inputs[0]);
        let axes = axes_of(self.name(), &self.axes, x.shape.len()).map_err(Diagnostic::from)?;
        let most = finite_max(cx, &x, &axes);
        let all_most = spread(cx, &most, &x.shape);
        let below = cx.out.binary("subtract", &x, &all_most);
        let powers = cx.out.unary("exponential", &below);
        let sum = reduced(cx, ReduceKind::Sum, &powers, &axes);
        let log = cx.out.unary("log", &sum);
        let y = cx.out.binary("add", &log, &most);
        let y = round::narrow(&mut cx.out, &y, inputs[0].dtype);
        let kept = (0..x.shape.len()).filter(|axis| !axes.contains(axis));
        let shape: Shape = kept.map(|axis| x.shape[axis]).collect();
        Ok(vec![cx.out.reshape(&y, &shape)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axes = axes_of(self.name(), &self.axes, layout.axes.len())?;
        let kept = (0..layout.axes.len()).filter(|axis| !axes.contains(axis));
        let mut bounded = Bounded::new([kept.map(|axis| layout.axes[axis].clone()).collect()]);
        if axes.iter().any(|&axis| !layout.axes[axis].is_fixed()) {
            bounded.fills = smallvec![Some(Literal::from_f64(bounds.dtype(0), f64::NEG_INFINITY))];
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, y) = (&vjp.inputs[0], &vjp.outputs[0]);
        let Some(g) = vjp.cotangent() else { return Ok(smallvec![None]) };
        let mut kept = x.shape().to_vec();
        for axis in axes_of(self.name(), &self.axes, x.rank())? {
            kept[axis] = 1;
        }
        let wide = |x: &DynTensor| x.cast_to(DType::F32);
        let share = (wide(x) - wide(y).reshape(&kept)).exp();
        let to_x = wide(g).reshape(&kept) * share;
        Ok(smallvec![Some(to_x.cast_to(x.dtype()))])
    }
}

/// Elements along the last axis by their root mean square, after their mean was subtracted if
/// `centered`; then times a weight, and, if centered, plus a bias.
#[derive(Clone, Copy, Debug, Hash)]
struct Norm {
    centered: bool,
    /// Bits of the `f32` that is added to the mean square.
    eps: u32,
}

impl Norm {
    fn eps(self) -> f64 {
        f64::from(f32::from_bits(self.eps))
    }
}

impl Op for Norm {
    fn name(&self) -> &'static str {
        if self.centered { "layer_norm" } else { "rms_norm" }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let x = inputs[0];
        expect_float(self.name(), x)?;
        expect_same_dtype(self.name(), inputs)?;
        let last = axis_of(self.name(), -1, x.shape.len())?;
        for other in &inputs[1..] {
            if other.shape.as_slice() != &x.shape[last..] {
                return Err(OpError::shape(format!(
                    "`{}` of {x} takes one weight per element of the last axis, {:?}, not {other}",
                    self.name(),
                    &x.shape[last..]
                )));
            }
        }
        Ok(smallvec![x.clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let mut x = round::widen(&mut cx.out, &inputs[0]);
        let last = axis_of(self.name(), -1, x.shape.len()).map_err(Diagnostic::from)?;
        let n = x.shape[last] as f64;
        if self.centered {
            let mean = mean(cx, &x, last, n);
            let mean = spread(cx, &mean, &x.shape.clone());
            x = cx.out.binary("subtract", &x, &mean);
        }
        let squares = cx.out.binary("multiply", &x, &x);
        let square = mean(cx, &squares, last, n);
        let eps = splat(cx, self.eps(), &square);
        let square = cx.out.binary("add", &square, &eps);
        let scale = cx.out.unary("rsqrt", &square);
        let scale = spread(cx, &scale, &x.shape);
        let mut y = cx.out.binary("multiply", &x, &scale);
        for (other, op) in inputs[1..].iter().zip(["multiply", "add"]) {
            let other = round::widen(&mut cx.out, other);
            let other = cx.out.broadcast(&other, &[last], &x.shape);
            y = cx.out.binary(op, &y, &other);
        }
        Ok(vec![round::narrow(&mut cx.out, &y, inputs[0].dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        if layout.axes.last().is_some_and(|axis| !axis.is_fixed()) {
            let message = format!("`{}` is along an axis whose size is bounded", self.name());
            return Err(OpError::bounded(message).help("write it out with `mean`, which counts"));
        }
        Ok(Bounded::new([layout.clone()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let dtype = vjp.inputs[0].dtype();
        let wide: SmallVec<[DynTensor; 3]> =
            vjp.inputs.iter().map(|x| x.cast_to(DType::F32)).collect();
        let Some(g) = vjp.cotangent().map(|g| g.cast_to(DType::F32)) else {
            return Ok(smallvec![None; vjp.inputs.len()]);
        };
        let mean = |x: &DynTensor| x.mean(&[-1]).expand_dims(-1);
        let mut x = wide[0].clone();
        if self.centered {
            x = &x - mean(&x);
        }
        let scale = (mean(&(&x * &x)) + self.eps()).rsqrt();
        let unit = &x * &scale;
        let by_unit = &g * &wide[1];
        let mut to_x = &by_unit - &unit * mean(&(&by_unit * &unit));
        if self.centered {
            to_x -= mean(&by_unit);
        }
        let mut gradients: Gradients = smallvec![Some((to_x * scale).cast_to(dtype))];
        gradients.push(Some(unbroadcast(&g * unit, &wide[1]).cast_to(dtype)));
        if self.centered {
            gradients.push(Some(unbroadcast(g, &wide[2]).cast_to(dtype)));
        }
        Ok(gradients)
    }
}

fn mean(cx: &mut Emit, x: &Value, axis: usize, n: f64) -> Value {
    let sum = reduced(cx, ReduceKind::Sum, x, &[axis]);
    let n = splat(cx, n, &sum);
    cx.out.binary("divide", &sum, &n)
}

/// A function between the layers of a network.
#[derive(Clone, Copy, Debug, Hash)]
enum Activation {
    Gelu,
    GeluTanh,
    Silu,
}

impl Op for Activation {
    fn name(&self) -> &'static str {
        match self {
            Activation::Gelu => "gelu",
            Activation::GeluTanh => "gelu_tanh",
            Activation::Silu => "silu",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        expect_float(self.name(), inputs[0])?;
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = round::widen(&mut cx.out, &inputs[0]);
        let gate = match self {
            Activation::Silu => cx.out.unary("logistic", &x),
            Activation::Gelu => {
                let scale = splat(cx, FRAC_1_SQRT_2, &x);
                let scaled = cx.out.binary("multiply", &x, &scale);
                let erf = Elementwise::Unary(Unary::Erf);
                let erf = elementwise::emit(&mut cx.out, erf, &[scaled]);
                let gate = half_of_one_plus(cx, &erf);
                // `erf` may miss -1 by the last bit, which would grow with `x`.
                let (zero, limit) = (splat(cx, 0.0, &x), splat(cx, GELU_IS_ZERO_BELOW, &x));
                let is_zero = cx.out.compare(Direction::Lt, &x, &limit);
                cx.out.select(&is_zero, &zero, &gate)
            }
            Activation::GeluTanh => {
                let square = cx.out.binary("multiply", &x, &x);
                let cube = splat(cx, TANH_CUBE * TANH_SCALE, &x);
                let cube = cx.out.binary("multiply", &square, &cube);
                let line = splat(cx, TANH_SCALE, &x);
                let slope = cx.out.binary("add", &cube, &line);
                let inner = cx.out.binary("multiply", &x, &slope);
                let tanh = cx.out.unary("tanh", &inner);
                half_of_one_plus(cx, &tanh)
            }
        };
        let y = cx.out.binary("multiply", &x, &gate);
        Ok(vec![round::narrow(&mut cx.out, &y, inputs[0].dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([bounds.input(0).clone()]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, dtype) = (vjp.inputs[0].cast_to(DType::F32), vjp.inputs[0].dtype());
        let Some(g) = vjp.cotangent().map(|g| g.cast_to(DType::F32)) else {
            return Ok(smallvec![None]);
        };
        let slope = match self {
            Activation::Silu => {
                let gate = x.logistic();
                &gate + &x * (&gate - &gate * &gate)
            }
            Activation::Gelu => {
                let gate = ((&x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
                let density = (&x * &x * -0.5).exp() * (0.5 * TANH_SCALE);
                gate + &x * density
            }
            Activation::GeluTanh => {
                let square = &x * &x;
                let tanh = (&x * (&square * (TANH_CUBE * TANH_SCALE) + TANH_SCALE)).tanh();
                let inner = square * (3.0 * TANH_CUBE * TANH_SCALE) + TANH_SCALE;
                (&tanh + 1.0) * 0.5 + &x * (&tanh * &tanh - 1.0) * inner * -0.5
            }
        };
        Ok(smallvec![Some((g * slope).cast_to(dtype))])
    }
}

fn half_of_one_plus(cx: &mut Emit, x: &Value) -> Value {
    let (one, half) = (splat(cx, 1.0, x), splat(cx, 0.5, x));
    let sum = cx.out.binary("add", x, &one);
    cx.out.binary("multiply", &sum, &half)
}

impl<T: FloatKind> Tensor<T> {
    /// `exp(x)` over its sum along an axis; the largest element is subtracted first, so that
    /// nothing overflows. NaN where all along the axis are minus infinity.
    #[track_caller]
    pub fn softmax(&self, axis: i64) -> Tensor<T> {
        apply(Softmax { axis, log: false }, &[self.node()], Location::caller())
    }

    /// The logarithm of [`Tensor::softmax`], exact also where that is zero.
    #[track_caller]
    pub fn log_softmax(&self, axis: i64) -> Tensor<T> {
        apply(Softmax { axis, log: true }, &[self.node()], Location::caller())
    }

    /// `log(sum(exp(x)))` over axes, which the result does not have, without overflow.
    #[track_caller]
    pub fn logsumexp(&self, axes: &[i64]) -> Tensor<T> {
        apply(LogSumExp { axes: axes.to_vec() }, &[self.node()], Location::caller())
    }

    /// `(x - mean) / sqrt(variance + eps) * weight + bias`, mean and variance along the last axis;
    /// `weight` and `bias` have one element per element of that axis.
    #[track_caller]
    pub fn layer_norm(&self, weight: &Tensor<T>, bias: &Tensor<T>, eps: f32) -> Tensor<T> {
        let op = Norm { centered: true, eps: eps.to_bits() };
        apply(op, &[self.node(), weight.node(), bias.node()], Location::caller())
    }

    /// `x / sqrt(mean(x^2) + eps) * weight`, the mean along the last axis; `weight` has one element
    /// per element of that axis.
    #[track_caller]
    pub fn rms_norm(&self, weight: &Tensor<T>, eps: f32) -> Tensor<T> {
        let op = Norm { centered: false, eps: eps.to_bits() };
        apply(op, &[self.node(), weight.node()], Location::caller())
    }

    /// `x * P(X <= x)` for a standard normal `X`, by the error function.
    #[track_caller]
    pub fn gelu(&self) -> Tensor<T> {
        apply(Activation::Gelu, &[self.node()], Location::caller())
    }

    /// [`Tensor::gelu`] approximated by tanh: `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 *
    /// x^3)))`.
    #[track_caller]
    pub fn gelu_tanh(&self) -> Tensor<T> {
        apply(Activation::GeluTanh, &[self.node()], Location::caller())
    }

    /// `x / (1 + exp(-x))`.
    #[track_caller]
    #[doc(alias = "swish")]
    pub fn silu(&self) -> Tensor<T> {
        apply(Activation::Silu, &[self.node()], Location::caller())
    }

    /// Per row of logits along the last axis, minus the logarithm of the probability that
    /// [`Tensor::softmax`] gives to the label: `-log_softmax(x)[label]`. `labels` has the shape
    /// without the last axis. A label out of range is as in [`Tensor::take`].
    #[track_caller]
    pub fn cross_entropy<I: IntKind>(&self, labels: &Tensor<I>) -> Tensor<T> {
        let labels = labels.expand_dims(-1);
        self.log_softmax(-1).take_along_axis(&labels, -1).squeeze(&[-1]).neg()
    }
}
