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
mod buffers;
mod carried;
mod compare;
mod context;
mod control;
mod convert;
mod copy;
mod debug;
mod einshape;
mod gather;
mod handle;
mod index;
mod kernel_fn;
pub(crate) mod key;
mod launch;
mod math;
mod mesh;
mod mxu;
mod operators;
mod pack;
mod pipeline;
mod place;
mod random;
mod refs;
mod remote;
mod replay;
mod scope;
mod semaphore;
mod shape;
mod sparse;

pub use arith::Bits;
pub use buffers::{Buffers, Owned, Permit, Permits, Slot, SlotPart};
pub use carried::{Carried, Value};
pub use convert::{IntoScalar, IntoTile};
pub use copy::{CopyBuilder, CopySource, CopyTarget, Join, Pending, Through, copy, copy_into};
pub use debug::{Printed, Scope, delay, device_assert, device_print, named_scope};
pub use gather::{Ids, IndirectBuilder, Rows, gather, scatter};
pub use handle::{Scalar, SelectCondition, Tile, full, scalar, select, zeros};
pub use index::{AxisIndex, RefIndex, Slice, ds};
pub use kernel_fn::{ArgSpec, KernelFn, ParamSpec};
pub use mesh::{MeshAxis, Remote, barrier, barrier_semaphore, core, device, device_at, device_id};
pub use mxu::MatrixUnit;
pub use pack::{Packed, pack};
pub use pipeline::{
    Block, BlockIndex, BlockSize, BlockSizes, BlockSpec, Fetched, PipelineGrid, Sent, Spec, Specs,
    Squeezed, Updated, pipeline, pipeline_fold,
};
pub use place::{Far, Near, ReadOnly, View};
pub use random::{
    Seeds, Word, normal, philox_4x32, prng_bits, prng_seed, row_major, threefry_2x32,
    threefry_bits, threefry_fold_in, uniform,
};
pub use refs::{
    Hbm, HbmInOut, HbmOut, In, InOut, Out, Smem, SmemIn, SmemInOut, SmemOut, Spmem, Vmem, Writable,
};
pub use remote::{
    Arriving, Departing, RemotePending, RemoteSource, RemoteTarget, remote_copy, start_remote_copy,
};
pub use scope::{Scoped, ScopedScratch, run_scoped, scratch};
pub use semaphore::{
    DmaSemaphore, OneDmaSemaphore, OneSemaphore, ReadableView, Semaphore, WritableView, start_copy,
    wait_copy,
};
pub use shape::{concat, dot, dot_mixed, dot_t, dot_with, iota};
pub use sparse::{sort, sort_descending, sort_masked, subcore_barrier};

/// What macro output calls. Not for people: it changes with the macros.
#[doc(hidden)]
pub mod hooks {
    pub use super::carried::{Carried, Leaves, Value};
    pub use super::compare::{eq, ge, gt, le, lt, ne};
    pub use super::control::*;
    pub use super::handle::Scalar;
    pub use super::kernel_fn::{ArgSpec, KernelFn, ParamSpec};
    pub use super::key::{Comptime, KernelKey, KeyByBits, KeyByEq, KeyBySize};
    pub use super::launch::{Cover, Fetch, Launch, ParamRef, ScratchRef, TableRef, grid_extent};
    pub use super::mesh::MeshAxis;
    pub use super::refs::HostStore;
    pub use crate::diag::Diagnostics;
    pub use crate::ir::{Core, Kernel, MemorySpace, Semantics, SideEffects};
}
