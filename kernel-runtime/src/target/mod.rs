//! Chip tables: what each TPU generation has and allows. Data only.

use crate::ir::DType;

/// What a kernel is validated and compiled for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The name on the command line: `v5e`.
    pub name: &'static str,
    /// The PJRT topology that libtpu compiles for; `None` for a target that is no TPU.
    pub topology: Option<&'static str>,
    /// What limits kernels, if it is a TPU.
    pub chip: Option<Chip>,
}

/// One core of a TPU generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// Physical VMEM of a core in bytes.
    pub vmem_bytes: u64,
    /// The scoped VMEM limit if the kernel does not raise it.
    pub vmem_default_limit_bytes: u64,
    /// The highest scoped VMEM limit that libtpu accepts.
    pub vmem_max_limit_bytes: u64,
    /// SMEM of a core in bytes.
    pub smem_bytes: u64,
    /// Lanes of a vector register.
    pub lanes: usize,
    /// Sublanes of a vector register of 32-bit elements.
    pub sublanes: usize,
    /// Edge of a matrix unit.
    pub mxu_size: usize,
    /// Number of matrix units of a core.
    pub n_mxus: usize,
    /// Clock in GHz, inferred from the published peak.
    pub clock_ghz: f64,
    /// bf16 flops per cycle of a core.
    pub bf16_flops_per_cycle: u64,
    /// HBM bandwidth of a core in bytes per second.
    pub hbm_bytes_per_second: f64,
    /// Whether the vector unit computes in bf16; otherwise bf16 is computed in f32.
    pub bf16_vpu: bool,
    /// Element types the matrix unit multiplies, `(lhs, rhs)`.
    pub matmul: &'static [(DType, DType)],
    /// Whether libtpu estimates cycles for it.
    pub has_cycle_model: bool,
}
