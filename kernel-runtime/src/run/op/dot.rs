//! Products of tensors.

use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::ops::{dot, round};
use crate::back::stablehlo::text::DotDims;
use crate::diag::Diagnostics;
use crate::ir::ops::{Literal, Precision};
use crate::ir::{DType, Shape};
use crate::run::bounded::{Bounded, Bounds, Layout};
use crate::run::dispatch::apply;
use crate::run::graph::emit::Emit;
use crate::run::graph::{At, Ty};
use crate::run::numerics::{self, Numerics};
use crate::run::tensor::{DynTensor, NumKind, Tensor};
use smallvec::smallvec;
use std::panic::Location;

/// Products summed over contracted axes. Floats are accumulated in `f32` and rounded to their own
/// type; integers give `i32`.
#[derive(Clone, Debug, Hash)]
pub(super) struct DotGeneral {
    pub(super) dims: DotDims,
    pub(super) precision: Precision,
}

impl Op for DotGeneral {
    fn name(&self) -> &'static str {
        "dot_general"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let (lhs, rhs) = (inputs[0], inputs[1]);
        if lhs.dtype != rhs.dtype {
            return Err(OpError::dtype(format!("`dot_general` mixes {lhs} with {rhs}"))
                .help("convert one: `.cast::<T>()`"));
        }
        if lhs.dtype == DType::Bool {
            return Err(OpError::dtype("`dot_general` is not defined on `bool`"));
        }
        self.dims
            .check(&lhs.shape, &rhs.shape)
            .map_err(|why| OpError::shape(format!("the product of {lhs} and {rhs}: {why}")))?;
        let dtype = if lhs.dtype.is_float() { lhs.dtype } else { DType::I32 };
        Ok(smallvec![Ty { dtype, shape: self.dims.result_shape(&lhs.shape, &rhs.shape) }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (lhs, rhs) = (&inputs[0], &inputs[1]);
        let emulated = cx.options.chip.is_none() && cx.options.numerics == Numerics::Tpu;
        if emulated || !lhs.dtype.is_float() {
            let product = dot::emit(&mut cx.out, lhs, rhs, &self.dims, self.precision);
            let product = product.unwrap_or_else(|| lhs.clone());
            let narrow = lhs.dtype.is_float() && lhs.dtype != DType::F32;
            return Ok(vec![match narrow {
                true => round::narrow(&mut cx.out, &product, lhs.dtype),
                false => product,
            }]);
        }
        if lhs.dtype == DType::F32 {
            let precision = match self.precision {
                Precision::Medium => "DEFAULT",
                Precision::High => "HIGH",
                Precision::Highest => "HIGHEST",
            };
            let product = cx.out.dot_with(lhs, rhs, &self.dims, DType::F32, Some(precision));
            return Ok(vec![product]);
        }
        let product = cx.out.dot_with(lhs, rhs, &self.dims, DType::F32, None);
        Ok(vec![round::narrow(&mut cx.out, &product, lhs.dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let (lhs, rhs, d) = (bounds.input(0), bounds.input(1), &self.dims);
        let axes = |layout: &Layout, axes: &[usize]| -> Layout {
            axes.iter().map(|&axis| layout.axes[axis].clone()).collect()
        };
        let summed = axes(lhs, &d.lhs_contract);
        for (left, right) in [(&d.lhs_batch, &d.rhs_batch), (&d.lhs_contract, &d.rhs_contract)] {
            if axes(lhs, left) != axes(rhs, right) {
                return Err(OpError::bounded(
                    "`dot_general` pairs axes whose elements are not padded alike",
                ));
            }
        }
        let (left, right) = (d.lhs_free(lhs.axes.len()), d.rhs_free(rhs.axes.len()));
        let parts = [axes(lhs, &d.lhs_batch), axes(lhs, &left), axes(rhs, &right)];
        let mut bounded = Bounded::new([parts.into_iter().flat_map(|part| part.axes).collect()]);
        if !summed.is_fixed() {
            // Both: what stands in the padding of one may be infinite, and times zero be NaN.
            let zero = |idx| Some(Literal::from_f64(bounds.dtype(idx), 0.0));
            bounded.fills = smallvec![zero(0), zero(1)];
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (lhs, rhs) = (&vjp.inputs[0], &vjp.inputs[1]);
        let Some(g) = vjp.cotangent().filter(|_| lhs.dtype().is_float()) else {
            return Ok(smallvec![None, None]);
        };
        Ok(smallvec![
            Some(self.gradient_of(lhs, rhs, g, true)),
            Some(self.gradient_of(rhs, lhs, g, false)),
        ])
    }
}

impl DotGeneral {
    /// The gradient of one operand: the product of the result's gradient with the other operand
    /// over the other's free axes, with its axes brought back into order.
    fn gradient_of(
        &self,
        x: &DynTensor,
        other: &DynTensor,
        g: &DynTensor,
        left: bool,
    ) -> DynTensor {
        let d = &self.dims;
        let n_batch = d.lhs_batch.len();
        let (batch, contract, other_batch, other_contract) = match left {
            true => (&d.lhs_batch, &d.lhs_contract, &d.rhs_batch, &d.rhs_contract),
            false => (&d.rhs_batch, &d.rhs_contract, &d.lhs_batch, &d.lhs_contract),
        };
        let (x_free, other_free) = match left {
            true => (d.lhs_free(x.rank()), d.rhs_free(other.rank())),
            false => (d.rhs_free(x.rank()), d.lhs_free(other.rank())),
        };
        let n_left_free = if left { x_free.len() } else { other_free.len() };
        // The result's axes: batch, free axes of the left, free axes of the right.
        let (mine, theirs) = match left {
            true => (n_batch..n_batch + n_left_free, n_batch + n_left_free..g.rank()),
            false => (n_batch + n_left_free..g.rank(), n_batch..n_batch + n_left_free),
        };
        let dims = DotDims {
            lhs_batch: (0..n_batch).collect(),
            rhs_batch: other_batch.clone(),
            lhs_contract: theirs.collect(),
            rhs_contract: other_free,
        };
        let op = DotGeneral { dims, precision: self.precision };
        let at = g.node().at;
        let product: DynTensor = apply(op, &[g.node(), other.node()], at);
        // Its axes: batch, my free axes, then the other's contracted axes in the other's order.
        let _ = mine;
        let mut order: Vec<(usize, usize)> = contract.iter().copied().enumerate().collect();
        order.sort_by_key(|&(pair, _)| other_contract[pair]);
        let axes = batch.iter().chain(&x_free).copied().chain(order.iter().map(|&(_, axis)| axis));
        let mut perm = vec![0i64; x.rank()];
        for (place, axis) in axes.enumerate() {
            perm[axis] = place as i64;
        }
        product.transpose(&perm)
    }
}

impl DotDims {
    /// Whether operands of these shapes can be multiplied so.
    fn check(&self, lhs: &[usize], rhs: &[usize]) -> Result<(), String> {
        let lists = [
            (&self.lhs_batch, &self.rhs_batch, "batch"),
            (&self.lhs_contract, &self.rhs_contract, "contracted"),
        ];
        for (left, right, what) in lists {
            if left.len() != right.len() {
                return Err(format!("{} {what} axes meet {}", left.len(), right.len()));
            }
            for (&a, &b) in left.iter().zip(right.iter()) {
                let (Some(m), Some(n)) = (lhs.get(a), rhs.get(b)) else {
                    return Err(format!("there is no pair of {what} axes {a} and {b}"));
                };
                if m != n {
                    return Err(format!(
                        "the {what} axes {a} of the left and {b} of the right are {m} and {n}"
                    ));
                }
            }
        }
        let repeats = |batch: &Shape, contract: &Shape| {
            let all: Vec<usize> = batch.iter().chain(contract).copied().collect();
            (0..all.len()).any(|i| all[..i].contains(&all[i]))
        };
        if repeats(&self.lhs_batch, &self.lhs_contract)
            || repeats(&self.rhs_batch, &self.rhs_contract)
        {
            return Err("an axis is named twice".to_owned());
        }
        Ok(())
    }
}

impl<T: NumKind> Tensor<T> {
    /// The matrix product, as NumPy's: over the last axis of the left and the last but one of the
    /// right, with leading axes as a batch that broadcasts; a tensor of one axis is a vector. Floats are
    /// accumulated in `f32`; integers give `i32`.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor<T>) -> Tensor<T::Product> {
        self.matmul_at(other, numerics::precision(), Location::caller())
    }

    /// As [`Tensor::matmul`], with this precision for `f32`.
    #[track_caller]
    pub fn matmul_with(&self, other: &Tensor<T>, precision: Precision) -> Tensor<T::Product> {
        self.matmul_at(other, precision, Location::caller())
    }

    fn matmul_at(&self, other: &Tensor<T>, precision: Precision, at: At) -> Tensor<T::Product> {
        let (m, n) = (self.rank(), other.rank());
        if self.node().failure().is_some() || other.node().failure().is_some() || m == 0 || n == 0 {
            // The op's own rule says what is wrong.
            let dims = DotDims {
                lhs_contract: smallvec![m.saturating_sub(1)],
                rhs_contract: smallvec![n.saturating_sub(2)],
                ..DotDims::default()
            };
            return apply(DotGeneral { dims, precision }, &[self.node(), other.node()], at);
        }
        let n_batch = m.saturating_sub(2).max(n.saturating_sub(2));
        let (lhs, rhs) = if n_batch > 0 && m >= 2 && n >= 2 {
            self.with_common_batch(other, n_batch)
        } else {
            (self.clone(), other.clone())
        };
        let (m, n) = (lhs.rank(), rhs.rank());
        let n_batch = if m >= 3 && n >= 3 { n_batch } else { 0 };
        let dims = DotDims {
            lhs_batch: (0..n_batch).collect(),
            rhs_batch: (0..n_batch).collect(),
            lhs_contract: smallvec![m - 1],
            rhs_contract: smallvec![n.saturating_sub(2)],
        };
        apply(DotGeneral { dims, precision }, &[lhs.node(), rhs.node()], at)
    }

    /// Both operands with the same leading axes, repeated where one has them with size 1 or not at
    /// all.
    fn with_common_batch(&self, other: &Tensor<T>, n_batch: usize) -> (Tensor<T>, Tensor<T>) {
        let (a, b) = (self.shape(), other.shape());
        let size = |shape: &[usize], place: usize| {
            let rank = shape.len() - 2;
            (place + rank).checked_sub(n_batch).map_or(1, |axis| shape[axis])
        };
        let batch: Vec<usize> = (0..n_batch)
            .map(|place| match (size(a, place), size(b, place)) {
                (1, n) => n,
                (n, _) => n,
            })
            .collect();
        let spread = |x: &Tensor<T>| {
            let mut shape = batch.clone();
            shape.extend_from_slice(&x.shape()[x.rank() - 2..]);
            if x.shape() == shape.as_slice() { x.clone() } else { x.broadcast_to(&shape) }
        };
        (spread(self), spread(other))
    }

    /// Products summed over pairs of contracted axes, for pairs of batch axes. The result has the
    /// batch axes, then the other axes of the left, then those of the right, as StableHLO's
    /// `dot_general`. Element types as in [`Tensor::matmul`].
    #[track_caller]
    pub fn dot_general(
        &self,
        other: &Tensor<T>,
        contract: (&[usize], &[usize]),
        batch: (&[usize], &[usize]),
    ) -> Tensor<T::Product> {
        let dims = DotDims {
            lhs_batch: Shape::from_slice(batch.0),
            rhs_batch: Shape::from_slice(batch.1),
            lhs_contract: Shape::from_slice(contract.0),
            rhs_contract: Shape::from_slice(contract.1),
        };
        let op = DotGeneral { dims, precision: numerics::precision() };
        apply(op, &[self.node(), other.node()], Location::caller())
    }
}
