//! Chip tables: what each TPU generation has and allows. Data only.
//!
//! A [`Target`] is what a kernel is validated and compiled for: one of the TPU generations in
//! [`Target::TPUS`], or [`GENERIC`] for the back ends that are no TPU (the interpreter and
//! StableHLO). All figures are per TensorCore, since that is what runs one kernel's grid step.

mod chips;

pub use chips::{GENERIC, TPU7X, V4, V5E, V5P, V6E};

use crate::diag::{Code, Diagnostic};
use crate::ir::DType;
use std::fmt;

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

impl Target {
    /// The TPU generations, oldest first.
    pub const TPUS: &[&Target] = &[&V4, &V5E, &V5P, &V6E, &TPU7X];

    /// Every target: the TPU generations and [`GENERIC`].
    pub const ALL: &[&Target] = &[&V4, &V5E, &V5P, &V6E, &TPU7X, &GENERIC];

    /// The target of this name; `7x` is an alias of `tpu7x`.
    ///
    /// # Errors
    /// If there is none; the diagnostic lists the names.
    pub fn parse(name: &str) -> Result<&'static Target, Diagnostic> {
        let canonical = if name == "7x" { TPU7X.name } else { name };
        if let Some(target) = Target::ALL.iter().find(|target| target.name == canonical) {
            return Ok(target);
        }
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name).collect();
        Err(Diagnostic::error(Code::TARGET_UNKNOWN, format!("there is no target `{name}`"))
            .help(format!("targets are {}", names.join(", "))))
    }

    /// Its SparseCores, if it has any that kernels can be compiled for.
    pub fn sparse(&self) -> Option<SparseCores> {
        self.chip.and_then(|chip| chip.sparse)
    }

    /// Whether it is a TPU.
    pub fn is_tpu(&self) -> bool {
        self.chip.is_some()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One TensorCore of a TPU generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chip {
    /// The generation: 4, 5, 6 or 7.
    pub generation: u32,
    /// TensorCores that one device splits `parallel` grid axes over (megacore).
    pub n_cores: usize,
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
    /// Rows of a tile in VMEM of an array of 16-bit elements that has a multiple of 16 rows.
    pub tile_rows_16bit: usize,
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
    /// Whether a roll along the lanes can shift each row further than the one before.
    pub strided_roll: bool,
    /// Whether elements can be taken along the sublanes; along the lanes they always can.
    pub sublane_gather: bool,
    /// Whether the vector unit rounds by chance.
    pub stochastic_round: bool,
    /// What its matrix units keep, if kernels may control them.
    pub mxu_sums: Option<MxuSums>,
    /// Whether libtpu estimates cycles for it.
    pub has_cycle_model: bool,
    /// Its SparseCores, if libtpu compiles for them.
    pub sparse: Option<SparseCores>,
}

/// What a matrix unit keeps by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MxuSums {
    /// Registers that right operands are staged in.
    pub n_registers: usize,
    /// Rows of `f32` sums.
    pub n_rows: usize,
}

/// The SparseCores of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SparseCores {
    /// How many there are.
    pub n_cores: usize,
    /// Vector subcores of each.
    pub n_subcores: usize,
    /// 32-bit elements of a vector register.
    pub lanes: usize,
    /// A subcore's own memory (TileSpmem) in bytes.
    pub tile_bytes: u64,
    /// The memory of a core (Spmem) in bytes, out of which all its TileSpmem is taken.
    pub shared_bytes: u64,
    /// Words of a vector subcore's SMEM that a kernel may use.
    pub vector_smem_words: u64,
    /// Words of the scalar subcore's SMEM that a kernel may use.
    pub scalar_smem_words: u64,
}

impl Chip {
    /// How many elements of a type share a 32-bit word: rows packed into one sublane.
    pub fn packing(&self, dtype: DType) -> usize {
        32 / dtype.memory_bits()
    }

    /// The native tile of a type: `(sublanes x packing, lanes)`.
    pub fn native_tile(&self, dtype: DType) -> (usize, usize) {
        (self.sublanes * self.packing(dtype), self.lanes)
    }

    /// Whether the matrix unit multiplies these element types.
    pub fn multiplies(&self, lhs: DType, rhs: DType) -> bool {
        self.matmul.contains(&(lhs, rhs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_every_name_and_the_alias() {
        for &target in Target::ALL {
            assert_eq!(Target::parse(target.name).map(|t| t.name), Ok(target.name));
        }
        assert_eq!(Target::parse("7x"), Ok(&TPU7X));
    }

    #[test]
    fn unknown_name_lists_the_names() {
        let error = Target::parse("v9").expect_err("v9 is no target");
        assert_eq!(error.code.as_str(), "target::unknown");
        assert_eq!(error.help.as_deref(), Some("targets are v4, v5e, v5p, v6e, tpu7x, generic"));
    }

    #[test]
    fn limits_are_ordered() {
        for chip in Target::TPUS.iter().filter_map(|target| target.chip) {
            assert!(chip.vmem_default_limit_bytes <= chip.vmem_max_limit_bytes);
            assert!(chip.vmem_max_limit_bytes <= chip.vmem_bytes);
        }
        assert!(GENERIC.chip.is_none() && GENERIC.topology.is_none());
    }

    #[test]
    fn peak_is_flops_per_cycle_times_clock() {
        // Published bf16 TFLOP/s of one core.
        let peaks = [137.5, 197.0, 229.5, 920.0, 1155.0];
        for (target, peak) in Target::TPUS.iter().zip(peaks) {
            let chip = target.chip.expect("a TPU");
            let computed = chip.clock_ghz * chip.bf16_flops_per_cycle as f64 / 1e3;
            assert!((computed / peak - 1.0).abs() < 0.01, "{}: {computed} vs {peak}", target.name);
        }
    }
}
