//! The random number generator of the core.

use super::{InferError, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::{Shape, Sizes, Type};
use smallvec::smallvec;

/// An op on the core's generator, which is state: ops on it stay in their order.
///
/// Which numbers come is not said: those of a chip and of the interpreter differ. Generators whose
/// numbers are the same everywhere are functions of the DSL, made of integer ops:
/// [`crate::trace::threefry_2x32`] and [`crate::trace::philox_4x32`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RandomOp {
    /// Operands: one or two `i32` scalars. The same seeds give the same numbers again.
    Seed,
    /// The next numbers: a `u32` tile of this shape whose bits are independent. No operands. The
    /// generator must have been seeded in the same step, or one before it in the same steps of the
    /// `parallel` axes.
    Bits(Shape),
}

impl RandomOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            RandomOp::Seed => "prng_seed",
            RandomOp::Bits(_) => "prng_bits",
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        match self {
            RandomOp::Seed => {
                let fits = (1..=2).contains(&operands.len())
                    && operands.iter().all(|ty| **ty == Type::Scalar(DType::I32));
                if !fits {
                    let types: Vec<String> = operands.iter().map(|ty| ty.to_string()).collect();
                    return Err(InferError::ty(format!(
                        "`prng_seed` takes one or two `i32` scalars, not ({})",
                        types.join(", ")
                    )));
                }
                Ok(Results::new())
            }
            RandomOp::Bits(shape) => {
                super::expect_operands("prng_bits", operands, 0)?;
                if shape.is_empty() || shape.contains(&0) {
                    return Err(InferError::shape(format!(
                        "`prng_bits` would give an empty tile, {}",
                        Sizes(shape)
                    )));
                }
                Ok(smallvec![Type::Tile { dtype: DType::U32, shape: shape.clone() }])
            }
        }
    }
}
