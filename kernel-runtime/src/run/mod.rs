//! Running kernels: what a registered kernel is, its sample inputs, and how results are compared.
//!
//! * [`registry`]: [`KernelEntry`] and [`Spec`], the tables that the command line, the tests and
//!   the benches read.
//! * [`sample`]: seeded inputs.
//! * [`tensor_file`]: arrays in safetensors files.
//! * [`device`]: kernels on a PJRT device, such as XLA on the CPU.
//! * [`call`](mod@call): kernels on host arrays.
//! * [`mod@compare`]: distance in ULP between a result and its reference.
//! * `compile` (feature `mlir`): a kernel to libtpu's report.

pub mod call;
pub mod compare;
#[cfg(feature = "mlir")]
pub mod compile;
pub mod device;
pub mod registry;
pub mod sample;
pub mod tensor_file;

pub use call::{HostCaller, call};
pub use compare::{Comparison, Tolerance, compare, compare_all, ulp_distance};
#[cfg(feature = "mlir")]
pub use compile::compile_for;
pub use device::XlaDevice;
pub use registry::{KernelEntry, Spec};
pub use sample::Sampler;
