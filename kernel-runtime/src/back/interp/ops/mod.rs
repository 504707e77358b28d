//! How each family of ops runs. One file per family, as in `ir::ops`.

mod control;
mod debug;
mod dot;
mod elementwise;
mod gemm;
mod memory;
mod reduce;
mod shape;
