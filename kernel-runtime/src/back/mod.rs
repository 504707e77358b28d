//! Back ends: each takes a validated kernel and gives an artifact or an error.

pub mod interp;
#[cfg(feature = "mlir")]
pub(crate) mod mlir;
#[cfg(feature = "mlir")]
pub mod mosaic;
/// What of Mosaic needs no MLIR.
#[cfg(not(feature = "mlir"))]
pub mod mosaic {
    pub mod import;
}
pub mod stablehlo;

/// The comment in a program with a kernel whose work depends on tables, scalars or extents of the
/// call.
pub(crate) const READS_TABLES: &str = "// This kernel reads tables or extents of the call.";
