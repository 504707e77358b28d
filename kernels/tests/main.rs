//! The tests of the kernel library, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints what it measured, in its helper functions too"
)]
mod agreement;
mod cli;
mod collectives;
mod embedding;
mod encoder_attention;
#[cfg(feature = "mlir")]
mod modules;
mod refusals;
#[cfg(feature = "mlir")]
mod roundtrip;
