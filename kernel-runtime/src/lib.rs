//! Systole: write TPU kernels in Rust.
//!
//! ```text
//!  #[tpu_kernel] fn ── trace ──► ir::Kernel ── valid ──► Valid<Kernel> ──┬─► back::interp     CPU, every hazard checked
//!                                                                        ├─► back::mosaic     tpu_custom_call ──► aot (libtpu)
//!                                                                        └─► back::stablehlo  any PJRT device (pjrt)
//! ```
pub mod aot;
pub mod back;
pub mod cache;
pub mod cli;
pub mod diag;
pub mod ir;
pub mod pallas;
pub mod pass;
pub mod pjrt;
pub mod prelude;
pub mod run;
pub mod target;
pub mod trace;
pub mod valid;

pub use systole_macros::{Carried, tpu_fn, tpu_kernel};

/// What macro output calls. Not for people: it changes with the macros.
#[doc(hidden)]
pub mod __dsl {
    pub use crate::run::call::take;
    pub use crate::run::{
        CallArg, Caller, DynTensor, HostCaller, KernelState, Outcome, StaticVisitor, Tree,
    };
    pub use crate::trace::hooks::*;
}

// Macro output names this crate `::systole`, also in its own tests.
extern crate self as systole;
