//! The integration tests of this crate, in one binary: each further one would be linked anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helper functions too"
)]
mod aot;
mod cache;
mod cli;
mod dma;
mod fuzz;
mod generate;
mod golden;
mod import;
mod interp;
mod jobs;
#[cfg(feature = "mlir")]
mod mosaic;
mod mxu;
mod narrow;
mod pipeline;
mod pjrt;
mod readme;
mod remote;
mod run;
mod sketch;
mod sparse;
mod stablehlo;
mod tile;
mod trace;
