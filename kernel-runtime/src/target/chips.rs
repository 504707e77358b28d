//! The table. Sources: JAX's `tpu_info` for sizes, peaks and matmul types; libtpu 0.0.51 by trial
//! for the scoped VMEM limits and topology names; clocks are peak flops over flops per cycle.

use super::{Chip, MxuSums, SparseCores, Target};
use crate::ir::DType::{self, BF16, F8E4M3FN, F8E5M2, F32, I4, I8, U8};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

// JAX lists float x i8 on v4 too; the IR's `dot` does not mix floats with integers.
const MATMUL_FLOAT: &[(DType, DType)] = &[(F32, F32), (F32, BF16), (BF16, F32), (BF16, BF16)];
// Floats of 8 bits multiply at the speed of bf16 but on 7x: libtpu 0.0.51 widens them in the matrix
// unit, where JAX's table has other kinds of them for v5 and v6 than those that it compiles.
const MATMUL_INT: &[(DType, DType)] = &[
    (F32, F32),
    (F32, BF16),
    (BF16, F32),
    (BF16, BF16),
    (F8E4M3FN, F8E4M3FN),
    (F8E4M3FN, F8E5M2),
    (F8E5M2, F8E4M3FN),
    (F8E5M2, F8E5M2),
    (BF16, F8E4M3FN),
    (BF16, F8E5M2),
    (F32, F8E4M3FN),
    (F32, F8E5M2),
    (I8, I8),
    (I8, U8),
    (U8, I8),
    (U8, U8),
    (I4, I4),
];
const MATMUL_FLOAT8: &[(DType, DType)] = &[
    (F32, F32),
    (F32, BF16),
    (BF16, F32),
    (BF16, BF16),
    (F8E4M3FN, F8E4M3FN),
    (F8E4M3FN, F8E5M2),
    (F8E5M2, F8E4M3FN),
    (F8E5M2, F8E5M2),
    (BF16, F8E4M3FN),
    (BF16, F8E5M2),
    (F32, F8E4M3FN),
    (F32, F8E5M2),
];

// Sizes of memory by trial with libtpu 0.0.51, which refuses SparseCore kernels on v4.
const SPARSE_LARGE: SparseCores = SparseCores {
    n_cores: 2,
    n_subcores: 16,
    lanes: 8,
    tile_bytes: 512 * KIB,
    shared_bytes: 8 * MIB,
    vector_smem_words: 2046,
    scalar_smem_words: 16327,
};

/// No chip: the interpreter and StableHLO.
pub static GENERIC: Target = Target { name: "generic", topology: None, chip: None };

/// TPU v4.
pub static V4: Target = Target {
    name: "v4",
    topology: Some("v4:2x2x1"),
    chip: Some(Chip {
        generation: 4,
        n_cores: 2,
        vmem_bytes: 16 * MIB,
        vmem_default_limit_bytes: 16 * MIB,
        vmem_max_limit_bytes: 16 * MIB,
        smem_bytes: MIB,
        lanes: 128,
        sublanes: 8,
        tile_rows_16bit: 8,
        mxu_size: 128,
        n_mxus: 4,
        clock_ghz: 1.05,
        bf16_flops_per_cycle: 131_072,
        hbm_bytes_per_second: 615e9,
        bf16_vpu: false,
        matmul: MATMUL_FLOAT,
        strided_roll: false,
        sublane_gather: false,
        stochastic_round: false,
        mxu_sums: None,
        has_cycle_model: false,
        sparse: None,
    }),
};

/// TPU v5e.
pub static V5E: Target = Target {
    name: "v5e",
    topology: Some("v5e:1x1"),
    chip: Some(Chip {
        generation: 5,
        n_cores: 1,
        vmem_bytes: 128 * MIB,
        vmem_default_limit_bytes: 16 * MIB,
        vmem_max_limit_bytes: 128 * MIB,
        smem_bytes: MIB,
        lanes: 128,
        sublanes: 8,
        tile_rows_16bit: 8,
        mxu_size: 128,
        n_mxus: 4,
        clock_ghz: 1.5,
        bf16_flops_per_cycle: 131_072,
        hbm_bytes_per_second: 820e9,
        bf16_vpu: false,
        matmul: MATMUL_INT,
        strided_roll: true,
        sublane_gather: true,
        stochastic_round: true,
        mxu_sums: None,
        has_cycle_model: true,
        sparse: None,
    }),
};

/// TPU v5p.
pub static V5P: Target = Target {
    name: "v5p",
    topology: Some("v5p:2x2x1"),
    chip: Some(Chip {
        generation: 5,
        n_cores: 2,
        vmem_bytes: 64 * MIB,
        vmem_default_limit_bytes: 16 * MIB,
        vmem_max_limit_bytes: 64 * MIB - 64 * KIB,
        smem_bytes: MIB,
        lanes: 128,
        sublanes: 8,
        tile_rows_16bit: 8,
        mxu_size: 128,
        n_mxus: 4,
        clock_ghz: 1.75,
        bf16_flops_per_cycle: 131_072,
        hbm_bytes_per_second: 1230e9,
        bf16_vpu: false,
        matmul: MATMUL_INT,
        strided_roll: true,
        sublane_gather: true,
        stochastic_round: true,
        mxu_sums: None,
        has_cycle_model: true,
        sparse: Some(SparseCores { n_cores: 4, ..SPARSE_LARGE }),
    }),
};

/// TPU v6e.
pub static V6E: Target = Target {
    name: "v6e",
    topology: Some("v6e:1x1"),
    chip: Some(Chip {
        generation: 6,
        n_cores: 1,
        vmem_bytes: 128 * MIB,
        vmem_default_limit_bytes: 32 * MIB,
        vmem_max_limit_bytes: 128 * MIB - 64 * KIB,
        smem_bytes: MIB,
        lanes: 128,
        sublanes: 8,
        tile_rows_16bit: 8,
        mxu_size: 256,
        n_mxus: 2,
        clock_ghz: 1.75,
        bf16_flops_per_cycle: 524_288,
        hbm_bytes_per_second: 1640e9,
        bf16_vpu: true,
        matmul: MATMUL_INT,
        strided_roll: true,
        sublane_gather: true,
        stochastic_round: true,
        mxu_sums: None,
        has_cycle_model: true,
        sparse: Some(SparseCores { tile_bytes: 256 * KIB, shared_bytes: 4 * MIB, ..SPARSE_LARGE }),
    }),
};

/// TPU 7x, one of the two devices of its chip.
pub static TPU7X: Target = Target {
    name: "tpu7x",
    topology: Some("tpu7x:2x2x1"),
    chip: Some(Chip {
        generation: 7,
        n_cores: 1,
        vmem_bytes: 64 * MIB,
        vmem_default_limit_bytes: 32 * MIB,
        vmem_max_limit_bytes: 64 * MIB - 64 * KIB,
        smem_bytes: MIB,
        lanes: 128,
        sublanes: 8,
        tile_rows_16bit: 16,
        mxu_size: 256,
        n_mxus: 2,
        clock_ghz: 2.2,
        bf16_flops_per_cycle: 524_288,
        hbm_bytes_per_second: 3700e9,
        bf16_vpu: true,
        matmul: MATMUL_FLOAT8,
        strided_roll: true,
        sublane_gather: true,
        stochastic_round: true,
        // By trial with libtpu 0.0.51.
        mxu_sums: Some(MxuSums { n_registers: 2, n_rows: 1024 }),
        has_cycle_model: true,
        sparse: Some(SparseCores { lanes: 16, ..SPARSE_LARGE }),
    }),
};
