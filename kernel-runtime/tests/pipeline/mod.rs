//! Pipelines inside of kernels: on every back end, for every chip, and what is told of mistakes.

#[cfg(feature = "mlir")]
mod cycles;
mod kernels;
mod misuse;
mod ragged;
