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
//! * A parameter without a block is seen whole, where it lies (HBM): copies alone reach it.
//! * Scratch keeps its contents from step to step, but not across steps that differ in a
//!   `parallel` axis.
//! * A block that reaches over the end of its array reads **padding** there, which has no defined
//!   value and must not reach a result; what is stored there is dropped.
//!
//! # Copies and semaphores
//!
//! * `dma_start` starts a copy and goes on; the copy is **in flight** until waits on its semaphore
//!   have taken all bytes that copies on it move. Until then nothing may touch its target, nor
//!   write its source: what either holds is not defined. Copies that overlap in time have no order.
//! * A copy counts the bytes it has moved in its semaphore; `dma_wait` waits for as many bytes as
//!   its target takes, and takes them off. It does not matter which copy they came from, so of two
//!   copies on one semaphore none is known to be done before both have been waited for.
//! * Semaphores start at zero, and are zero again when the kernel ends, or the step does if the
//!   next one differs in a `parallel` axis: each copy is waited for, each signal taken.
//!
//! # SparseCores
//!
//! A kernel of [`Core::Sparse`] has two grid axes, the cores (`core_parallel`) and the subcores of a
//! core (`subcore_parallel`); one of [`Core::SparseScalar`] has the cores alone. Every step is a
//! subcore, and all run at the same time, once. Parameters stay in HBM.
//!
//! * `vmem` scratch (TileSpmem), `smem` scratch and semaphores are each subcore's own; `spmem` scratch
//!   is shared by the subcores of a core.
//! * Between two barriers the subcores have no order: what one writes, no other may touch, unless
//!   all of them add to it.
//! * Tiles are registers: one axis, as many elements as the chip has lanes.
//! * An indirect copy moves the rows of a table that a list of ids names, one row per id in their
//!   order. A scatter that does not add lists no row twice.
//!
//! # Numerics
//!
//! The meaning of an op is the same on every back end.
//!
//! * `f32` arithmetic is IEEE binary32, round to nearest even. `bf16` arithmetic is done in `f32`
//!   and rounded to `bf16` after each op (a chip with a bf16 vector unit gives the same result for
//!   one op, since each is correctly rounded from exact `f32` operands).
//! * `max` and `min` give NaN if either operand is NaN.
//! * Integers wrap. Integer division by zero gives -1 (all bits set), and the remainder is the
//!   dividend.
//! * `cast` rounds to nearest even between floats; float to integer truncates towards zero and
//!   saturates, NaN gives 0; to `bool` it means `!= 0`.
//! * `i4`, `f8e4m3fn` and `f8e5m2` [only store](DType::only_stores) numbers. A `cast` to an 8-bit
//!   float rounds once, to nearest even; what is too large becomes an infinity, which `f8e4m3fn`
//!   has not and takes NaN for.
//! * `dot` accumulates in `f32` (`i32` for integers). Its [`ops::Precision`] says how many bf16 passes
//!   stand for an `f32` product: `Medium` one, `High` three, `Highest` six.

pub mod array;
pub mod builder;
pub mod dtype;
pub mod kernel;
pub mod loc;
pub mod narrow;
pub mod ops;
mod text;
pub mod ty;

pub use array::Array;
pub use builder::Builder;
pub use dtype::{DType, Element, Factor, Float, Int, Num};
pub use kernel::{
    BlockData, BlockDim, BlockId, Buffering, CompileParams, Core, Extent, GridAxis, Kernel,
    MeshAxis, OpData, OpId, Param, ParamAxis, ParamKind, Scratch, Semantics, SemaphoreArray,
    SideEffects, StatedCost, Streams, Value, ValueDef, Window,
};
pub use loc::{Loc, LocId};
pub use narrow::{f8e4m3fn, f8e5m2, i4};
pub use ops::Op;
pub use ty::{MemorySpace, SemaphoreKind, Shape, Type};
