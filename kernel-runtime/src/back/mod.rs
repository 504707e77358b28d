//! Back ends: each takes a validated kernel and gives an artifact or an error.

pub mod interp;
pub mod stablehlo;
