//! Tracing: Rust expressions to tile IR.
//!
//! The body of a kernel is ordinary Rust. It runs once, with [`Tile`] and [`Scalar`] handles
//! instead of data, and every operator, method and index adds an op to the kernel being built on
//! this thread. `#[tpu_kernel]` rewrites only control flow, comparisons and stores, to the
//! functions in [`hooks`].
//!
//! A mistake in a kernel is a diagnostic at the user's line, never a panic, and does not hide the
//! next one.

mod arith;
mod carried;
mod compare;
mod context;
mod control;
mod convert;
mod handle;
mod index;
mod kernel_fn;
mod launch;
mod operators;
mod refs;
mod shape;

pub use arith::Bits;
pub use carried::{Carried, Value};
pub use convert::{IntoScalar, IntoTile};
pub use handle::{Scalar, SelectCondition, Tile, full, scalar, select, zeros};
pub use index::{AxisIndex, RefIndex, Slice, ds};
pub use kernel_fn::{ArgSpec, CallArg, Caller, KernelFn, ParamSpec};
pub use refs::{In, InOut, Out, Smem, Vmem, Writable};
pub use shape::{Printed, concat, device_assert, device_print, dot, dot_t, dot_with, iota};

/// What macro output calls. Not for people: it changes with the macros.
#[doc(hidden)]
pub mod hooks {
    pub use super::carried::{Carried, Leaves, Value};
    pub use super::compare::{eq, ge, gt, le, lt, ne};
    pub use super::control::*;
    pub use super::handle::Scalar;
    pub use super::kernel_fn::{ArgSpec, CallArg, Caller, KernelFn, ParamSpec, take};
    pub use super::launch::{Cover, Launch, ParamRef, ScratchRef};
    pub use super::refs::HostStore;
    pub use crate::diag::Diagnostics;
    pub use crate::ir::{Kernel, Semantics};
}
