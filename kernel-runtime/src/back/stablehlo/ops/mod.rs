//! How each op becomes StableHLO, one file per family of [`crate::ir::ops`].

pub(super) mod control;
pub(super) mod convert;
pub(super) mod dma;
pub(crate) mod dot;
pub(crate) mod elementwise;
pub(crate) mod erf;
pub(super) mod memory;
pub(crate) mod reduce;
pub(crate) mod round;
pub(super) mod shape;
