//! Explicit control of the matrix units, for chips whose units keep sums by themselves.

use super::{InferError, Results, expect_operands, expect_tile};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Type};
use smallvec::smallvec;

/// An op on a matrix unit, which is state: ops on it stay in their order.
///
/// A unit has staging registers, which right operands are put into; the right operand that it
/// multiplies by; and rows of `f32` sums. All are empty when the kernel begins, and registers and
/// sums must be empty again when it ends, or its step of the `parallel` axes does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MxuOp {
    /// Operand: a square tile, the right side of products. It goes into a register that is empty.
    PushRhs {
        /// Which unit.
        unit: usize,
        /// Which of its registers.
        register: usize,
        /// Whether the tile is the right side transposed.
        transpose: bool,
    },
    /// Operand: a tile `[m, k]`. Its product with the unit's right operand is added to the `m` rows
    /// of sums from `row` on, by the rules of `dot`.
    AccLhs {
        /// Which unit.
        unit: usize,
        /// The first row of sums.
        row: usize,
        /// From which register the right operand is taken before, which then is empty; the one that
        /// the unit has already if it is `None`.
        load: Option<usize>,
    },
    /// Takes rows of sums out of the unit, as an `f32` tile; they are empty then. No operands.
    Pop {
        /// Which unit.
        unit: usize,
        /// The first row of sums.
        row: usize,
        /// Rows, and columns of the right operand.
        shape: Shape,
    },
}

/// The largest number of a unit, a register or a row: they are `i32` in what a chip is told.
const MAX_NUMBER: usize = i32::MAX as usize;

impl MxuOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            MxuOp::PushRhs { .. } => "matmul_push_rhs",
            MxuOp::AccLhs { .. } => "matmul_acc_lhs",
            MxuOp::Pop { .. } => "matmul_pop",
        }
    }

    /// The unit that it works on.
    pub fn unit(&self) -> usize {
        match self {
            MxuOp::PushRhs { unit, .. } | MxuOp::AccLhs { unit, .. } | MxuOp::Pop { unit, .. } => {
                *unit
            }
        }
    }

    /// No number of a unit, a register or a row is beyond what an `i32` counts.
    fn check_numbers(&self, n_rows: usize) -> Result<(), InferError> {
        let (what, number) = match *self {
            MxuOp::PushRhs { register, .. } => ("register", Some(register)),
            MxuOp::AccLhs { row, load, .. } if load.is_none_or(|load| load <= MAX_NUMBER) => {
                ("row", row.checked_add(n_rows))
            }
            MxuOp::AccLhs { load, .. } => ("register", load),
            MxuOp::Pop { row, .. } => ("row", row.checked_add(n_rows)),
        };
        let (what, number) =
            if self.unit() > MAX_NUMBER { ("unit", Some(self.unit())) } else { (what, number) };
        if number.is_some_and(|number| number <= MAX_NUMBER) {
            return Ok(());
        }
        let number = number.map_or("2^64".to_string(), |number| number.to_string());
        Err(InferError::index(format!(
            "`{}` reaches {what} {number}; units, registers and rows end at {MAX_NUMBER}",
            self.mnemonic()
        ))
        .help("they are counted from 0; a chip has a few units and some thousand rows"))
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        if let MxuOp::Pop { shape, .. } = self {
            expect_operands(name, operands, 0)?;
            if shape.len() != 2 || shape.contains(&0) {
                return Err(InferError::shape(format!("`{name}` gives a matrix, not {shape:?}")));
            }
            self.check_numbers(shape[0])?;
            return Ok(smallvec![Type::Tile { dtype: DType::F32, shape: shape.clone() }]);
        }
        expect_operands(name, operands, 1)?;
        let (dtype, shape) = expect_tile(name, operands[0])?;
        if !dtype.is_float() {
            return Err(InferError::ty(format!("`{name}` takes floats, not `{dtype}`"))
                .help("multiply integers with `dot`"));
        }
        let is_square = shape.len() == 2 && shape[0] == shape[1];
        if shape.len() != 2 || matches!(self, MxuOp::PushRhs { .. }) && !is_square {
            let what = if matches!(self, MxuOp::PushRhs { .. }) { "a square" } else { "a matrix" };
            return Err(InferError::shape(format!("`{name}` takes {what}, not `{}`", operands[0])));
        }
        self.check_numbers(shape[0])?;
        Ok(Results::new())
    }
}
