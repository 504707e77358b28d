//! How each op becomes StableHLO, one file per family of [`crate::ir::ops`].

pub(super) mod control;
pub(super) mod dot;
pub(super) mod elementwise;
pub(super) mod erf;
pub(super) mod memory;
pub(super) mod reduce;
pub(super) mod round;
pub(super) mod shape;
