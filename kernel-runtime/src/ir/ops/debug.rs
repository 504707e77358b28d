//! Messages, assertions and marks from inside a kernel.

use super::{InferError, Results};
use crate::ir::dtype::DType;
use crate::ir::ty::Type;

/// An op for the person who debugs the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DebugOp {
    /// Prints the message and then the operands: scalars or tiles.
    Print {
        /// What to print before the values.
        message: String,
    },
    /// Operand: a `bool` scalar. Stops the kernel with the message if it is false.
    Assert {
        /// What to say.
        message: String,
    },
    /// Opens a named scope, which a profiler shows around the ops up to its end. Scopes nest; one
    /// ends in the block that it begins in.
    ScopeStart {
        /// Its name.
        name: String,
    },
    /// Ends the innermost scope.
    ScopeEnd,
    /// Operand: an `i32` scalar. Does nothing for at least so many nanoseconds, to provoke races.
    Delay,
}

impl DebugOp {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            DebugOp::Print { .. } => "print",
            DebugOp::Assert { .. } => "assert",
            DebugOp::ScopeStart { .. } => "scope_start",
            DebugOp::ScopeEnd => "scope_end",
            DebugOp::Delay => "delay",
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(&self, operands: &[&Type]) -> Result<Results, InferError> {
        match self {
            DebugOp::Print { .. } => {
                if let Some(bad) = operands.iter().find(|ty| ty.is_ref()) {
                    return Err(InferError::ty(format!(
                        "`print` takes values, not the reference `{bad}`"
                    )));
                }
            }
            DebugOp::ScopeStart { .. } | DebugOp::ScopeEnd => {
                super::expect_operands(self.mnemonic(), operands, 0)?;
            }
            DebugOp::Delay => {
                super::expect_operands("delay", operands, 1)?;
                if *operands[0] != Type::Scalar(DType::I32) {
                    return Err(InferError::ty(format!(
                        "`delay` takes an `i32` scalar, not `{}`",
                        operands[0]
                    )));
                }
            }
            DebugOp::Assert { .. } => {
                super::expect_operands("assert", operands, 1)?;
                if *operands[0] != Type::Scalar(DType::Bool) {
                    return Err(InferError::ty(format!(
                        "`assert` takes a `bool` scalar, not `{}`",
                        operands[0]
                    )));
                }
            }
        }
        Ok(Results::new())
    }
}
