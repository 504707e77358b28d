//! Kernels for TPUs written with Systole.
//!
//! One folder per kernel, all with the same files: `kernel.rs` (the kernel), `reference.rs` (its
//! meaning in plain loops), `specs.rs` (named shapes with tolerance and work) and `mod.rs` (the
//! public functions). [`KERNELS`] lists them all.

use systole::run::KernelEntry;

/// Every kernel of this crate.
pub static KERNELS: &[KernelEntry] = &[];
