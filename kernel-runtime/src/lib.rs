//! Systole: write TPU kernels in Rust.
//!
//! ```text
//!  #[tpu_kernel] fn ── trace ──► ir::Kernel ── valid ──► Valid<Kernel> ──┬─► back::interp     CPU, every hazard checked
//!                                                                        ├─► back::mosaic     tpu_custom_call ──► aot (libtpu)
//!                                                                        └─► back::stablehlo  any PJRT device (pjrt)
//! ```
pub mod aot;
pub mod back;
pub mod cli;
pub mod diag;
pub mod ir;
pub mod pass;
pub mod pjrt;
pub mod run;
pub mod target;
pub mod trace;
pub mod valid;
