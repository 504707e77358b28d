//! What runs a kernel, and how often.

use super::Call;
use super::header::wrong;
use super::read::ast::{self, Attr, Op, find};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Core, Extent, GridAxis, Semantics};

/// The name of the attribute that marks the kernel's function.
pub(super) const CORE_TYPE: &str = "tpu.core_type";

/// As many cores and subcores run at the same time at most: several times what a chip has.
const MAX_UNITS: usize = 256;

/// What runs the kernel; a call says it, too.
pub(super) fn core(call: &Call, function: &Op) -> Result<Core, Diagnostic> {
    let core = match find(&function.attrs, CORE_TYPE) {
        Some(Attr::Other(text)) => match &**text {
            "#tpu.core_type<tc>" => Core::Tensor,
            "#tpu.core_type<sc_vector_subcore>" => Core::Sparse,
            "#tpu.core_type<sc_scalar_subcore>" => Core::SparseScalar,
            _ => {
                let message = format!("the kernel is for `{text}`, a core that is not known");
                return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
            }
        },
        _ => return Err(wrong(format!("`{CORE_TYPE}` of the kernel cannot be read"))),
    };
    let name = |is_sparse| if is_sparse { "a SparseCore" } else { "a TensorCore" };
    match call.sparse_core {
        Some(is_sparse) if is_sparse != core.is_sparse() => {
            let message = format!(
                "the call is for {}, the kernel in it for {}",
                name(is_sparse),
                name(core.is_sparse())
            );
            Err(Diagnostic::error(Code::IMPORT_CALL, message))
        }
        _ => Ok(core),
    }
}

fn semantics_of(text: &str) -> Option<Semantics> {
    let name = text.strip_prefix("#tpu.dimension_semantics<")?.strip_suffix('>')?;
    Semantics::ALL.iter().copied().find(|semantics| semantics.name() == name)
}

/// The grid; empty if the kernel runs once and takes no index.
pub(super) fn grid(function: &Op) -> Result<Vec<GridAxis>, Diagnostic> {
    let bounds = match find(&function.attrs, "iteration_bounds") {
        None => return Ok(Vec::new()),
        Some(Attr::Ints(bounds)) => bounds,
        Some(_) => return Err(wrong("`iteration_bounds` of the kernel are no numbers")),
    };
    let Some(Attr::Array(semantics)) = find(&function.attrs, "dimension_semantics") else {
        return Err(wrong("the kernel has a grid but no `dimension_semantics`"));
    };
    if semantics.len() != bounds.len() {
        return Err(wrong(format!(
            "the grid has {} axes, but the semantics of {} are given",
            bounds.len(),
            semantics.len()
        )));
    }
    let mut grid: Vec<GridAxis> = Vec::new();
    for (idx, (&bound, semantics)) in bounds.iter().zip(semantics.iter()).enumerate() {
        let semantics = match semantics {
            Attr::Other(text) => semantics_of(text).ok_or_else(|| {
                let message = format!("grid axis {idx} is `{text}`");
                Diagnostic::error(Code::IMPORT_UNSUPPORTED, message)
            })?,
            _ => return Err(wrong(format!("the semantics of grid axis {idx} cannot be read"))),
        };
        let extent = match usize::try_from(bound) {
            Ok(extent) => Extent::Static(extent),
            Err(_) if bound == ast::DYNAMIC => Extent::Dynamic { operand: n_dynamic(&grid) },
            Err(_) => return Err(wrong(format!("grid axis {idx} has {bound} steps"))),
        };
        grid.push(GridAxis { name: format!("i{idx}"), extent, semantics });
    }
    check_units(&grid)?;
    Ok(grid)
}

/// Checks how many cores and subcores a kernel asks for.
fn check_units(grid: &[GridAxis]) -> Result<(), Diagnostic> {
    let mut n_units = 1usize;
    for axis in grid {
        let runs_at_once =
            matches!(axis.semantics, Semantics::CoreParallel | Semantics::SubcoreParallel);
        match axis.extent {
            Extent::Static(extent) if runs_at_once => {
                n_units = n_units.saturating_mul(extent.max(1));
            }
            Extent::Dynamic { .. } if runs_at_once => {
                let message = "a number of cores that is known at run time alone";
                return Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message));
            }
            Extent::Static(_) | Extent::Dynamic { .. } => {}
        }
    }
    if n_units <= MAX_UNITS {
        return Ok(());
    }
    let message = format!("the kernel asks for {n_units} cores at once, more than {MAX_UNITS}");
    Err(Diagnostic::error(Code::IMPORT_UNSUPPORTED, message))
}

pub(super) fn n_dynamic(grid: &[GridAxis]) -> usize {
    grid.iter().filter(|axis| matches!(axis.extent, Extent::Dynamic { .. })).count()
}
