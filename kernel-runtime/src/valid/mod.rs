//! Validation of a kernel against a target.
//!
//! [`check`] is the one way to a [`Valid`], which is the only thing a back end takes: from there on
//! code is made, or a back end returns an error, and nothing panics. Every rule that a kernel
//! breaks is told at once.
//!
//! | File | Rules | Targets |
//! |---|---|---|
//! | `structure` | arenas, visibility of values, types inferred again, yields, arguments | all |
//! | `header` | grid, parameters, windows and index maps, sizes | all |
//! | `dma` | copies and semaphores | all; alignment on TPUs |
//! | `peer` | the mesh of devices, ids of devices and cores, axes over cores | all; number of cores on TPUs |
//! | `block` | block shapes that the tiling of arrays allows | TPUs |
//! | `dtype` | element types and matrix products of the generation | TPUs |
//! | `memory` | VMEM and SMEM budgets, with buffers and padding | TPUs |
//! | `hazard` | blocks outside their array, output blocks that steps fight over, index overflow | TPUs |
//! | `waste` | warnings: padding of lanes, matrix unit and arrays, relayouts | TPUs |
//! | `sparse` | SparseCore kernels: their parts; registers, copies and budgets of the chip | all; TPUs |
//!
//! What `hazard` proves from index maps, the interpreter finds by running the kernel, in the maps
//! that read tables as well; therefore these rules leave the generic target alone.

mod affine;
mod block;
pub mod cost;
mod dma;
mod dtype;
mod hazard;
mod header;
mod memory;
mod mxu;
mod peer;
mod sparse;
mod structure;
#[cfg(test)]
mod tests;
mod waste;

pub use cost::Cost;
pub use memory::{VmemEntry, VmemEstimate, n_buffers, padded_bytes};

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Kernel, LocId};
use crate::target::{Chip, Target};
use std::collections::BTreeSet;

/// A kernel that obeys every rule of its target: the only thing a back end takes.
#[derive(Clone, Debug)]
pub struct Valid {
    kernel: Kernel,
    target: &'static Target,
    warnings: Diagnostics,
    vmem: VmemEstimate,
}

impl Valid {
    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What it was validated for.
    pub fn target(&self) -> &'static Target {
        self.target
    }

    /// What it wastes.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The VMEM that its windows and scratch take; empty if the target is no TPU.
    pub fn vmem_estimate(&self) -> &VmemEstimate {
        &self.vmem
    }

    /// What it computes and moves.
    pub fn cost(&self) -> Cost {
        cost::estimate(&self.kernel)
    }

    /// The kernel, for a pass to work on.
    pub fn into_kernel(self) -> Kernel {
        self.kernel
    }
}

/// Validates a kernel for a target.
///
/// # Errors
/// Every rule that it breaks, and with them the warnings. Rules that build on sound structure are
/// tried only once it is sound. [`Diagnostics::is_unsupported`] tells a kernel that the chip's
/// generation cannot run from one that is wrong.
pub fn check(kernel: Kernel, target: &'static Target) -> Result<Valid, Diagnostics> {
    let mut context = Context::new(&kernel);
    structure::check(&mut context);
    if !context.diagnostics.has_errors() {
        header::check(&mut context);
        dma::check(&mut context);
        sparse::check(&mut context);
        peer::check(&mut context);
    }
    let mut vmem = VmemEstimate::default();
    if let Some(chip) = &target.chip
        && !context.diagnostics.has_errors()
    {
        vmem = check_chip(&mut context, target, chip);
    }
    let warnings = context.diagnostics;
    if warnings.has_errors() {
        return Err(warnings);
    }
    Ok(Valid { kernel, target, warnings, vmem })
}

fn check_chip(context: &mut Context<'_>, target: &Target, chip: &Chip) -> VmemEstimate {
    if context.kernel.core.is_sparse() {
        let own = sparse::check_chip(context, target);
        hazard::check_loops(context);
        return own;
    }
    block::check(context, chip);
    dtype::check(context, target, chip);
    mxu::check(context, target, chip);
    dma::check_chip(context, chip);
    peer::check_chip(context, target, chip);
    let vmem = memory::check(context, target, chip);
    hazard::check(context);
    waste::check(context, target, chip);
    vmem
}

/// What the rules work with: the kernel, and where they tell what is wrong.
struct Context<'k> {
    kernel: &'k Kernel,
    diagnostics: Diagnostics,
    /// Code, place and message of all there is, so that a line that is unrolled a hundred times
    /// is told once.
    told: BTreeSet<(Code, LocId, String)>,
}

impl<'k> Context<'k> {
    fn new(kernel: &'k Kernel) -> Context<'k> {
        Context { kernel, diagnostics: Diagnostics::default(), told: BTreeSet::new() }
    }

    /// Adds a diagnostic at a place, unless it stands there already.
    fn report_at(&mut self, loc: LocId, diagnostic: Diagnostic) {
        if self.told.insert((diagnostic.code, loc, diagnostic.message.clone())) {
            let mut diagnostic = diagnostic.at_opt(self.kernel.span(loc), "");
            for outer in self.kernel.callers(loc) {
                diagnostic = diagnostic.at_opt(self.kernel.span(outer), "called here");
            }
            self.diagnostics.push(diagnostic);
        }
    }

    fn error(&mut self, code: Code, loc: LocId, message: impl Into<String>) {
        self.report_at(loc, Diagnostic::error(code, message));
    }
}

/// Bytes for people: `16.0 MiB`.
pub(crate) fn mib(bytes: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    if bytes < 1024 * 1024 {
        return format!("{:.1} KiB", bytes as f64 / 1024.0);
    }
    format!("{:.1} MiB", bytes as f64 / MIB)
}
