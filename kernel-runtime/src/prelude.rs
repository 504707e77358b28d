//! Everything a kernel's source needs: `use systole::prelude::*;`.

pub use crate::ir::ops::{DotOp, Precision};
pub use crate::ir::{Array, DType, Element, Factor, Float, Int, Num, f8e4m3fn, f8e5m2, i4};
pub use crate::trace::{
    ArgSpec, Arriving, Buffers, DmaSemaphore, Hbm, HbmInOut, HbmOut, In, InOut, IntoScalar,
    IntoTile, KernelFn, MatrixUnit, MeshAxis, Out, Pending, Permit, Permits, Remote, RemotePending,
    Scalar, Semaphore, Slot, Smem, SmemIn, SmemInOut, SmemOut, Spmem, Squeezed, Tile, Vmem,
    barrier, barrier_semaphore, concat, copy, copy_into, core, delay, device, device_assert,
    device_at, device_id, device_print, dot, dot_mixed, dot_t, dot_with, ds, full, gather, iota,
    named_scope, normal, pack, philox_4x32, pipeline, pipeline_fold, prng_bits, prng_seed,
    remote_copy, row_major, run_scoped, scalar, scatter, scratch, select, sort, sort_descending,
    sort_masked, start_copy, start_remote_copy, subcore_barrier, threefry_2x32, threefry_bits,
    threefry_fold_in, uniform, wait_copy, zeros,
};
pub use crate::{Carried, tpu_fn, tpu_kernel};
pub use half::{bf16, f16};
