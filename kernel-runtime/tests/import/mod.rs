//! Mosaic modules back to tile IR.

mod errors;
mod fixtures;
// JAX is asked once, not again in the run without MLIR.
#[cfg(feature = "mlir")]
mod pallas;
#[cfg(feature = "mlir")]
mod python;
mod recorded;
#[cfg(feature = "mlir")]
pub(crate) mod roundtrip;
mod sparse;
mod support;
