//! Back ends: each takes a validated kernel and gives an artifact or an error.

pub mod interp;
#[cfg(feature = "mlir")]
pub(crate) mod mlir;
#[cfg(feature = "mlir")]
pub mod mosaic;
pub mod stablehlo;
