//! The tile IR: what a kernel is.
//!
//! A [`Kernel`] is a grid, parameters with their block windows, scratch and a body. The body is an
//! arena of ops, values and blocks behind `Copy` indices. Every op is defined once, in
//! [`ops`]: its attributes, its type rule and, for element-wise ops, its scalar semantics. This
//! module depends on `diag` alone; nothing here knows of a back end or a chip.
//!
//! # The language
//!
//! * A **tile** is an immutable array of one element type and a static shape. A **scalar** is one
//!   element. A **reference** names memory (a block of a parameter, or scratch): only `load` and
//!   `store` touch it.
//! * A kernel runs once per grid step, in lexicographic order with the last axis fastest, apart
//!   from `parallel` axes, whose order is not defined. Before a step, the block of each `In` and
//!   `InOut` parameter that its index map names is in VMEM; an `Out` block starts undefined. When
//!   the block index changes (and at the end), an output block is written back.
//! * Scratch keeps its contents from step to step, but not across steps that differ in a
//!   `parallel` axis.
//! * A block that reaches over the end of its array reads **padding** there, which has no defined
//!   value and must not reach a result; what is stored there is dropped.
//!
//! # Numerics
//!
//! The meaning of an op is the same on every back end.
//!
//! * `f32` arithmetic is IEEE binary32, round to nearest even. `bf16` arithmetic is done in `f32`
//!   and rounded to `bf16` after each op (a chip with a bf16 vector unit gives the same result for
//!   one op, since each is correctly rounded from exact `f32` operands).
//! * `max` and `min` give NaN if either operand is NaN.
//! * Integers wrap. Integer division by zero gives -1 and the remainder the dividend, as in XLA; but
//!   XLA simplifies `x / x` to 1 and `x % x` to 0 without asking for zero, so do not rely on it.
//! * `cast` rounds to nearest even between floats; float to integer truncates towards zero and
//!   saturates, NaN gives 0; to `bool` it means `!= 0`.
//! * `dot` accumulates in `f32` (`i32` for integers). Its [`ops::Precision`] says how many bf16 passes
//!   stand for an `f32` product: `Medium` one, `High` three, `Highest` six.

pub mod array;
pub mod builder;
pub mod dtype;
pub mod kernel;
pub mod loc;
pub mod ops;
mod text;
pub mod ty;

pub use array::Array;
pub use builder::Builder;
pub use dtype::{DType, Element, Float, Int, Num};
pub use kernel::{
    BlockData, BlockDim, BlockId, Buffering, CompileParams, Extent, GridAxis, Kernel, OpData, OpId,
    Param, ParamAxis, ParamKind, Scratch, Semantics, Streams, Value, ValueDef, Window,
};
pub use loc::{Loc, LocId};
pub use ops::Op;
pub use ty::{MemorySpace, Shape, Type};
