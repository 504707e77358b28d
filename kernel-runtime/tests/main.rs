//! The integration tests of this crate, in one binary: each further one would be linked anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helper functions too"
)]
mod aot;
mod cli;
mod fuzz;
mod golden;
mod interp;
#[cfg(feature = "mlir")]
mod mosaic;
mod pjrt;
mod run;
mod sketch;
mod stablehlo;
mod tile;
mod trace;
