//! How each family of ops runs. One file per family, as in `ir::ops`.

mod control;
mod convert;
mod debug;
mod dma;
mod dot;
mod elementwise;
mod gemm;
mod indirect;
mod memory;
mod mxu;
mod random;
mod reduce;
mod shape;
mod sparse;
mod sync;

pub(super) use mxu::MatrixUnits;
