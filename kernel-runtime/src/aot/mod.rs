//! Ahead-of-time compilation by libtpu, without a TPU, and what can be learnt from it.
//!
//! [`compile`] takes a StableHLO program and a target and returns a [`Report`]: whether libtpu
//! accepts it, with its messages at the user's Rust lines if not; estimated cycles, units, spills,
//! transfers, VMEM and code size if so; and what each Rust line costs. [`compile_many`] does so for
//! many, several at a time. Every compile runs in a worker process of its own, with a time limit,
//! and good results are cached on disk: see [`result_cache`].
//!
//! An executable that compiles must begin its `main` with [`init`], so that it can be its own
//! worker; command-line tools made by `systole::cli::main` do.
//!
//! ```no_run
//! use systole::aot::{self, Request};
//! use systole::target::V5E;
//!
//! aot::init();
//! let program = "func.func @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
//!     %y = stablehlo.add %x, %x : tensor<8x128xf32>
//!     return %y : tensor<8x128xf32>
//! }";
//! let report = aot::compile(&Request::new("double", &V5E, program));
//! println!("{:?} cycles", report.cycles);
//! ```
mod analyze;
mod bundles;
mod cache;
mod compile;
mod dumps;
mod hlo;
#[cfg(feature = "mlir")]
mod pinned;
mod place;
pub(crate) mod proto;
mod report;
mod scalars;
mod supervise;
mod worker;

pub use cache::{result_cache, result_cache_dir};
#[cfg(feature = "mlir")]
pub(crate) use compile::in_parallel;
pub use compile::{Options, Request, compile, compile_many, compile_to_executable};
#[cfg(feature = "mlir")]
pub use pinned::estimate_pinned;
pub use place::{Place, chained_file};
pub use report::{
    Bound, DmaCounts, LineCost, Memory, Message, Occupancy, OpCounts, Overhead, Program, Report,
    Status,
};
pub use supervise::use_worker;
pub use worker::init;
