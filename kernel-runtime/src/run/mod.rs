//! Running kernels: what a registered kernel is, its sample inputs, and how results are compared.
//!
//! * [`registry`]: [`KernelEntry`] and [`Spec`], the tables that the command line, the tests and
//!   the benches read.
//! * [`rng`]: random tensors.
//! * [`sample`]: seeded inputs.
//! * [`tensor_file`]: arrays in safetensors files.
//! * [`tensor`]: arrays on a device, with the ops of `op` on them, run as [`Mode`] says by
//!   `dispatch`, recorded into programs of `graph`, and compiled once by [`compiler`].
//! * `mesh`: several devices that hold parts of tensors; see [`Mesh`].
//! * `bounded`: axes whose sizes differ from call to call, up to a bound, in one program; see
//!   [`Jit::bounded`].
//! * [`device`]: devices, and kernels on host arrays through one.
//! * [`call`](mod@call): calling kernels, on host arrays or on tensors.
//! * [`mod@compare`]: distance in ULP between a result and its reference.
//! * `compile` (feature `mlir`): a kernel to libtpu's report.

mod bounded;
pub mod call;
pub mod compare;
#[cfg(feature = "mlir")]
pub mod compile;
pub mod compiler;
pub mod device;
mod dispatch;
mod grad;
mod graph;
mod hazard;
mod jit;
mod mesh;
pub mod numerics;
mod op;
pub mod registry;
pub mod rng;
pub mod sample;
pub mod tensor;
pub mod tensor_file;

pub use bounded::Dim;
pub use call::{CallArg, Caller, HostCaller, call, call_devices};
pub use compare::{Comparison, Tolerance, compare, compare_all, ulp_distance};
#[cfg(feature = "mlir")]
pub use compile::compile_for;
pub use compiler::{Compiler, CompilerStats, PROGRAM_CACHE_VARIABLE, ProgramCache};
pub use device::{Device, XlaDevice, with_device};
pub use dispatch::mode::{Mode, mode, set_mode, with_mode};
pub use dispatch::queue::{DeferLimits, flush};
pub use grad::{GradientCheck, GradientReport, check_gradient, custom_vjp, grad, value_and_grad};
pub use jit::{Jit, JitFn, Lowered, Outcome, Static, StaticVisitor, Tree, jit};
pub use mesh::{Mesh, Partition};
pub use numerics::{Numerics, precision, set_precision, with_precision};
pub use op::{
    DebugKernels, KernelOp, KernelState, Order, Padding, Pick, Picks, ShardMap, TensorCaller,
    axis_index, cond, debug_kernels, fori_loop, scan, while_loop, with_debug_kernels,
};
pub use registry::{KernelEntry, Spec};
pub use sample::Sampler;
/// Implements the trait for structs and enums.
pub use systole_macros::Tree;
pub use tensor::{Any, DynTensor, FloatKind, IntKind, Kind, NumKind, Operand, Status, Tensor};
