//! Matrix products.

use super::{InferError, Results, expect_operands, expect_tile};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Type};
use smallvec::smallvec;

/// How an `f32` product is made of bf16 passes on the matrix unit.
///
/// With `x = x1 + x2 + x3` split into bf16 parts by repeated rounding, `Medium` multiplies
/// `x1*y1`; `High` adds `x1*y2 + x2*y1`; `Highest` adds `x2*y2 + x1*y3 + x3*y1`. Operands that are
/// bf16 already need one pass and are exact at every level. Each product of bf16 values is exact
/// in `f32`, sums are accumulated in `f32` in an order that is not defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Precision {
    /// One bf16 pass: operands are rounded to bf16.
    #[default]
    Medium,
    /// Three passes.
    High,
    /// Six passes, close to true `f32`.
    Highest,
}

impl Precision {
    /// Every level, least exact first.
    pub const ALL: &[Precision] = &[Precision::Medium, Precision::High, Precision::Highest];

    /// The name in the text form and in spec names.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Medium => "medium",
            Precision::High => "high",
            Precision::Highest => "highest",
        }
    }

    /// Number of bf16 passes for `f32` operands.
    pub fn n_passes(self) -> usize {
        match self {
            Precision::Medium => 1,
            Precision::High => 3,
            Precision::Highest => 6,
        }
    }
}

/// The product of two matrices, `[m, k] x [k, n] -> [m, n]`, either of which may be given
/// transposed. Floats give `f32`, integers give `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct DotOp {
    /// The left operand is `[k, m]`.
    pub transpose_lhs: bool,
    /// The right operand is `[n, k]`.
    pub transpose_rhs: bool,
    /// For `f32` operands.
    pub precision: Precision,
}

impl DotOp {
    /// The name in the text form.
    pub const MNEMONIC: &'static str = "dot";

    /// `(m, k, n)` for operand shapes that fit.
    pub fn sizes(&self, lhs: &[usize], rhs: &[usize]) -> (usize, usize, usize) {
        let (m, k) = if self.transpose_lhs { (lhs[1], lhs[0]) } else { (lhs[0], lhs[1]) };
        let n = if self.transpose_rhs { rhs[0] } else { rhs[1] };
        (m, k, n)
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        expect_operands("dot", operands, 2)?;
        let (lhs_dtype, lhs) = expect_tile("dot", operands[0])?;
        let (rhs_dtype, rhs) = expect_tile("dot", operands[1])?;
        if lhs.len() != 2 || rhs.len() != 2 {
            return Err(InferError::shape(format!(
                "`dot` multiplies matrices, but was given `{}` and `{}`",
                operands[0], operands[1]
            ))
            .help("drop leading axes with a squeezed block or `reshape`"));
        }
        let dtype = if lhs_dtype.is_float() && rhs_dtype.is_float() {
            DType::F32
        } else if lhs_dtype.is_int() && rhs_dtype.is_int() {
            DType::I32
        } else {
            return Err(InferError::ty(format!("`dot` mixes `{lhs_dtype}` with `{rhs_dtype}`"))
                .help("element types never convert silently: use `.cast::<T>()`"));
        };
        let (m, k, n) = self.sizes(lhs, rhs);
        let rhs_k = if self.transpose_rhs { rhs[1] } else { rhs[0] };
        if k != rhs_k {
            return Err(InferError::shape(format!(
                "`dot`: contraction sizes differ: `{}` (k = {k}) with `{}` (k = {rhs_k})",
                operands[0], operands[1]
            )));
        }
        Ok(smallvec![Type::Tile { dtype, shape: Shape::from_slice(&[m, n]) }])
    }
}
