//! Reductions along one axis.

use super::{InferError, Results, expect_operands, expect_tile};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Sizes, Type};
use smallvec::smallvec;

/// How elements are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceKind {
    /// Sum. Floats accumulate in `f32`, whatever the element type, in an order that is not
    /// defined: back ends may differ by rounding.
    Sum,
    /// Largest; NaN if any is NaN.
    Max,
    /// Smallest; NaN if any is NaN.
    Min,
    /// Index (`i32`) of the largest; the first of equals.
    ArgMax,
    /// Index (`i32`) of the smallest; the first of equals.
    ArgMin,
}

impl ReduceKind {
    /// Every kind.
    pub const ALL: &[ReduceKind] = &[
        ReduceKind::Sum,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::ArgMax,
        ReduceKind::ArgMin,
    ];

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            ReduceKind::Sum => "reduce_sum",
            ReduceKind::Max => "reduce_max",
            ReduceKind::Min => "reduce_min",
            ReduceKind::ArgMax => "reduce_argmax",
            ReduceKind::ArgMin => "reduce_argmin",
        }
    }
}

/// Combines the elements along an axis, which stays with size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReduceOp {
    /// How.
    pub kind: ReduceKind,
    /// Along which axis.
    pub axis: usize,
}

impl ReduceOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        self.kind.name()
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        expect_operands(name, operands, 1)?;
        let (dtype, shape) = expect_tile(name, operands[0])?;
        if self.axis >= shape.len() {
            return Err(InferError::shape(format!(
                "`{name}`: axis {} is not one of the {} axes of {}",
                self.axis,
                shape.len(),
                Sizes(shape)
            )));
        }
        if dtype == DType::Bool {
            return Err(InferError::ty(format!("`{name}` is not defined on `bool`"))
                .help("convert first with `.cast::<i32>()`"));
        }
        let dtype = match self.kind {
            ReduceKind::ArgMax | ReduceKind::ArgMin => DType::I32,
            ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => dtype,
        };
        let mut shape = Shape::from_slice(shape);
        shape[self.axis] = 1;
        Ok(smallvec![Type::Tile { dtype, shape }])
    }
}
