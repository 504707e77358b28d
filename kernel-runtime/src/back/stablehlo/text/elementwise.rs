//! Ops on each element, and the types of elements.

use super::{Tensor, Writer};
use crate::back::stablehlo::Arithmetic;
use crate::ir::DType;

/// Comparison directions of StableHLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Eq,
    Ne,
    Ge,
    Gt,
    Le,
    Lt,
}

impl Writer {
    /// An element-wise op of one operand that keeps the type.
    pub(crate) fn unary(&mut self, name: &str, x: &Tensor) -> Tensor {
        self.op(x.dtype, &x.shape, format_args!("{name} {x} : {}", x.ty()))
    }

    /// The same elements, of which a compiler is told nothing.
    pub(crate) fn optimization_barrier(&mut self, x: &Tensor) -> Tensor {
        self.unary("optimization_barrier", x)
    }

    /// An element-wise op of two operands that keeps the type.
    pub(crate) fn binary(&mut self, name: &str, x: &Tensor, y: &Tensor) -> Tensor {
        if name == "divide" && x.dtype.is_float() && self.arithmetic() == Arithmetic::InOrder {
            // XLA would multiply by the rounded reciprocal of what is one number everywhere.
            let y = self.optimization_barrier(y);
            return self.op(x.dtype, &x.shape, format_args!("{name} {x}, {y} : {}", x.ty()));
        }
        self.op(x.dtype, &x.shape, format_args!("{name} {x}, {y} : {}", x.ty()))
    }

    /// A comparison; of `bf16` by way of `f32`, since LLVM, in one build of XLA:CPU, dies of some that
    /// compare a `bf16` with itself. See `tests/tile/run/bf16_compared_with_itself.tile`.
    pub(crate) fn compare(&mut self, direction: Direction, x: &Tensor, y: &Tensor) -> Tensor {
        if x.dtype == DType::BF16 {
            let [x, y] = [x, y].map(|operand| self.convert(operand, DType::F32));
            return self.compare(direction, &x, &y);
        }
        let direction = match direction {
            Direction::Eq => "EQ",
            Direction::Ne => "NE",
            Direction::Ge => "GE",
            Direction::Gt => "GT",
            Direction::Le => "LE",
            Direction::Lt => "LT",
        };
        let kind = if x.dtype.is_float() {
            "FLOAT"
        } else if x.dtype.is_signed_int() {
            "SIGNED"
        } else {
            "UNSIGNED"
        };
        let result = self.fresh(DType::Bool, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.compare {direction}, {x}, {y}, {kind} : ({}, {}) -> {}",
            x.ty(),
            y.ty(),
            result.ty()
        ));
        result
    }

    /// Whether each element is neither infinite nor NaN.
    pub(crate) fn is_finite(&mut self, x: &Tensor) -> Tensor {
        self.mapped("is_finite", x, DType::Bool, &x.shape.clone())
    }

    /// `then` where `cond`, else `other`; a scalar condition chooses whole tensors.
    pub(crate) fn select(&mut self, cond: &Tensor, then: &Tensor, other: &Tensor) -> Tensor {
        let text = format_args!("select {cond}, {then}, {other} : {}, {}", cond.ty(), then.ty());
        self.op(then.dtype, &then.shape, text)
    }

    /// `x` limited to `lo..=hi`, both scalars.
    pub(crate) fn clamp(&mut self, lo: &Tensor, x: &Tensor, hi: &Tensor) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.clamp {lo}, {x}, {hi} : ({}, {}, {}) -> {}",
            lo.ty(),
            x.ty(),
            hi.ty(),
            result.ty()
        ));
        result
    }

    /// Conversion of the value.
    pub(crate) fn convert(&mut self, x: &Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype {
            return x.clone();
        }
        self.mapped("convert", x, dtype, &x.shape.clone())
    }

    /// Reads the bits as another type of the same size.
    pub(crate) fn bitcast(&mut self, x: &Tensor, dtype: DType) -> Tensor {
        if x.dtype == dtype {
            return x.clone();
        }
        self.mapped("bitcast_convert", x, dtype, &x.shape.clone())
    }

    /// Reads the bits as a type of another size: parts of an element lie along a last axis.
    pub(crate) fn bitcast_to(&mut self, x: &Tensor, dtype: DType, shape: &[usize]) -> Tensor {
        self.mapped("bitcast_convert", x, dtype, shape)
    }

    pub(super) fn mapped(
        &mut self,
        name: &str,
        x: &Tensor,
        dtype: DType,
        shape: &[usize],
    ) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!(
            "{result} = stablehlo.{name} {x} : ({}) -> {}",
            x.ty(),
            result.ty()
        ));
        result
    }

    /// Rounds `f32` to this many exponent and mantissa bits.
    pub(crate) fn reduce_precision(&mut self, x: &Tensor, format: &str) -> Tensor {
        let text = format_args!("reduce_precision {x}, format = {format} : {}", x.ty());
        self.op(x.dtype, &x.shape, text)
    }
}
