//! Everything a kernel's source needs: `use systole::prelude::*;`.

pub use crate::ir::ops::{DotOp, Precision};
pub use crate::ir::{Array, DType, Element, Float, Int, Num};
pub use crate::trace::{
    ArgSpec, In, InOut, IntoScalar, IntoTile, KernelFn, Out, Scalar, Smem, Tile, Vmem, concat,
    device_assert, device_print, dot, dot_t, dot_with, ds, full, iota, scalar, select, zeros,
};
pub use crate::{Carried, tpu_fn, tpu_kernel};
pub use half::{bf16, f16};
