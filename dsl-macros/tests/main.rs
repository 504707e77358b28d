//! What rustc and the macros say of kernels, right and wrong.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helper functions too"
)]
mod ui;
