//! The ops, one file per family. Each op stands once: attributes, type rule, semantics, doc.
//!
//! `infer` is the only type rule: the builder calls it to type a new op, the validator calls it
//! again and compares. Back ends match on [`Op`] and its family enums without a `_` arm, so rustc
//! lists what a new op still needs.

pub mod control;
pub mod convert;
pub mod debug;
pub mod dma;
pub mod dot;
pub mod elementwise;
pub mod indirect;
pub mod memory;
pub mod mxu;
pub mod random;
pub mod reduce;
pub mod shape;
pub mod sparse;
pub mod sync;

pub use control::ControlOp;
pub use convert::ConvertOp;
pub use debug::DebugOp;
pub use dma::{DmaOp, DmaOperands, DmaScalars, DmaStart, DmaWait, Length, Peer, Transfer};
pub use dot::{DotOp, Precision};
pub use elementwise::{Binary, Compare, Elementwise, Literal, Unary};
pub use indirect::{
    Direction, Indirect, IndirectOperands, IndirectRef, IndirectStart, IndirectValues,
};
pub use memory::{Access, AccessDim, MAX_MULTIPLE, MemoryOp, Start};
pub use mxu::MxuOp;
pub use random::RandomOp;
pub use reduce::{ReduceKind, ReduceOp};
pub use shape::{RollStride, ShapeOp};
pub use sparse::{ScanKind, SparseOp};
pub use sync::SyncOp;

use super::ty::Type;
use crate::diag::{Code, Diagnostic, Span};
use smallvec::SmallVec;

/// What an op does, with its attributes, by family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// One result element from the operands' elements at the same place.
    Elementwise(Elementwise),
    /// Rearranges elements.
    Shape(ShapeOp),
    /// Converts bits across rows or words.
    Convert(ConvertOp),
    /// Combines the elements along an axis.
    Reduce(ReduceOp),
    /// Matrix product.
    Dot(DotOp),
    /// Explicit control of the matrix units.
    Mxu(MxuOp),
    /// Loads and stores.
    Memory(MemoryOp),
    /// Asynchronous copies.
    Dma(DmaOp),
    /// Semaphores.
    Sync(SyncOp),
    /// What a SparseCore has and no TensorCore.
    Sparse(SparseOp),
    /// Branches, loops and their ends.
    Control(ControlOp),
    /// The core's random number generator.
    Random(RandomOp),
    /// Messages, assertions and marks.
    Debug(DebugOp),
}

/// The result types of an op.
pub type Results = SmallVec<[Type; 2]>;

/// Why an op does not take its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct InferError {
    /// The diagnostic code.
    pub code: Code,
    /// What clashes, with the numbers.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl InferError {
    /// A type clash.
    pub fn ty(message: impl Into<String>) -> InferError {
        InferError { code: Code::IR_TYPE, message: message.into(), help: None }
    }

    /// A shape clash.
    pub fn shape(message: impl Into<String>) -> InferError {
        InferError { code: Code::IR_SHAPE, message: message.into(), help: None }
    }

    /// An index that does not fit.
    pub fn index(message: impl Into<String>) -> InferError {
        InferError { code: Code::IR_INDEX, message: message.into(), help: None }
    }

    /// Regions that do not fit.
    pub fn region(message: impl Into<String>) -> InferError {
        InferError { code: Code::IR_REGION, message: message.into(), help: None }
    }

    /// Says what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> InferError {
        self.help = Some(text.into());
        self
    }

    /// As a diagnostic, at a place if it is known.
    pub fn into_diagnostic(self, span: Option<Span>) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.code, self.message).at_opt(span, "");
        match self.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// The types of a region: its block arguments and what it yields.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionTypes {
    /// Types of the block arguments.
    pub args: Vec<Type>,
    /// Types of the values its `yield` gives.
    pub yields: Vec<Type>,
}

impl Op {
    /// The name in the text form.
    pub fn mnemonic(&self) -> &'static str {
        match self {
            Op::Elementwise(op) => op.mnemonic(),
            Op::Shape(op) => op.mnemonic(),
            Op::Convert(op) => op.mnemonic(),
            Op::Random(op) => op.mnemonic(),
            Op::Reduce(op) => op.mnemonic(),
            Op::Dot(_) => DotOp::MNEMONIC,
            Op::Mxu(op) => op.mnemonic(),
            Op::Memory(op) => op.mnemonic(),
            Op::Dma(op) => op.mnemonic(),
            Op::Sync(op) => op.mnemonic(),
            Op::Sparse(op) => op.mnemonic(),
            Op::Control(op) => op.mnemonic(),
            Op::Debug(op) => op.mnemonic(),
        }
    }

    /// The result types for these operand types.
    ///
    /// # Errors
    /// If the op does not take them; the message names the types and shapes that clash.
    pub fn infer(
        &self,
        operands: &[&Type],
        regions: &[RegionTypes],
    ) -> Result<Results, InferError> {
        let results = self.infer_results(operands, regions)?;
        if !self.takes_stored() {
            let types = operands.iter().copied().chain(&results);
            expect_computed(self.mnemonic(), types.map(Type::dtype))?;
        }
        Ok(results)
    }

    fn infer_results(
        &self,
        operands: &[&Type],
        regions: &[RegionTypes],
    ) -> Result<Results, InferError> {
        match self {
            Op::Elementwise(op) => op.infer(operands),
            Op::Shape(op) => op.infer(operands),
            Op::Convert(op) => op.infer(operands),
            Op::Random(op) => op.infer(operands),
            Op::Reduce(op) => op.infer(operands),
            Op::Dot(op) => op.infer(operands),
            Op::Mxu(op) => op.infer(operands),
            Op::Memory(op) => op.infer(operands),
            Op::Dma(op) => op.infer(operands),
            Op::Sync(op) => op.infer(operands),
            Op::Sparse(op) => op.infer(operands),
            Op::Control(op) => op.infer(operands, regions),
            Op::Debug(op) => op.infer(operands),
        }
    }

    /// Whether it takes element types that [only store](super::DType::only_stores).
    fn takes_stored(&self) -> bool {
        match self {
            // Their type rule says it of each.
            Op::Elementwise(_) => true,
            Op::Dot(_) | Op::Mxu(_) | Op::Control(_) => true,
            Op::Memory(op) => !op.masked(),
            Op::Dma(DmaOp::Start(start)) => !start.add,
            Op::Dma(DmaOp::Wait(_)) => true,
            Op::Shape(_)
            | Op::Convert(_)
            | Op::Reduce(_)
            | Op::Sync(_)
            | Op::Sparse(_)
            | Op::Random(_)
            | Op::Debug(_) => false,
        }
    }

    /// Whether the op does more than make its results: it must stay even if nobody uses them.
    pub fn has_effect(&self) -> bool {
        match self {
            Op::Elementwise(_) | Op::Shape(_) | Op::Convert(_) | Op::Reduce(_) | Op::Dot(_) => {
                false
            }
            Op::Memory(op) => matches!(op, MemoryOp::Store { .. }),
            Op::Sparse(op) => op.has_effect(),
            Op::Control(op) => !matches!(op, ControlOp::GridExtent { .. } | ControlOp::DeviceId),
            Op::Mxu(_) | Op::Dma(_) | Op::Sync(_) | Op::Random(_) | Op::Debug(_) => true,
        }
    }
}

/// Checks the number of operands.
pub(crate) fn expect_operands(name: &str, operands: &[&Type], n: usize) -> Result<(), InferError> {
    if operands.len() == n {
        return Ok(());
    }
    Err(InferError::ty(format!("`{name}` takes {n} operands, but {} were given", operands.len())))
}

/// Refuses element types that [only store](super::DType::only_stores).
pub(crate) fn expect_computed(
    name: &str,
    dtypes: impl IntoIterator<Item = super::DType>,
) -> Result<(), InferError> {
    let Some(dtype) = dtypes.into_iter().find(|dtype| dtype.only_stores()) else { return Ok(()) };
    let wider = if dtype.is_float() { "f32" } else { "i32" };
    Err(InferError::ty(format!("`{name}` does not compute with `{dtype}`, which only stores"))
        .help(format!("cast first: `.cast::<{wider}>()`, or bf16; and back before it is stored")))
}

/// The element type and shape of an operand that must be a tile.
pub(crate) fn expect_tile<'a>(
    name: &str,
    ty: &'a Type,
) -> Result<(super::DType, &'a [usize]), InferError> {
    match ty {
        Type::Tile { dtype, shape } => Ok((*dtype, shape)),
        Type::Scalar(_) | Type::Ref { .. } | Type::Semaphore { .. } => {
            Err(InferError::ty(format!("`{name}` takes a tile, but was given `{ty}`")))
        }
    }
}
