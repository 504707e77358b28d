//! StableHLO back end: a kernel as one function of plain StableHLO, for any PJRT device.
//!
//! [`lower`] gives the text of a module whose `main` takes the kernel's inputs (first the sizes of
//! dynamic grid axes, as `i32` scalars) and gives its outputs, in the order of the parameters. The
//! text is written directly: neither MLIR nor a plugin is needed to make it.
//!
//! # How a kernel becomes values
//!
//! * The grid is a nest of `while` loops, small axes are unrolled. Arrays are padded to whole
//!   blocks first and cut back at the end.
//! * A window is read with `dynamic_slice` at the outermost loop level that determines its index
//!   map, and written back there with `dynamic_update_slice`: so an output block that stays put
//!   while an inner axis runs is carried as a value, and revisiting it later finds what was
//!   written.
//! * Memory (blocks, scratch, SMEM) is a value that changes: a store makes a new one. Branches and
//!   loops carry the memory that they write.
//!
//! # Numerics
//!
//! They are those of [`crate::ir`], and do not depend on compile options: rounding to `bf16` and
//! `f16` is written as `reduce_precision`, which XLA must not drop; every `dot` of `f32` operands
//! as the bf16 passes of its precision; `max` and `min` of floats as comparisons, since XLA:CPU's
//! own lose NaN. Two liberties stay with the device's compiler: XLA:CPU fuses `a * b + c` into one
//! rounding and flushes subnormal numbers to zero.
//!
//! # What it does not check
//!
//! A dynamic start outside its reference is clamped, uninitialised memory reads as zero and so
//! does the padding of an edge block (or as NaN, see [`Padding`]). The interpreter reports all
//! three. `assert` and `print` cannot be expressed and are refused.

mod grid;
mod lower;
mod ops;
mod text;

pub use text::TensorType;

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::kernel::Extent;
use crate::ir::ops::DebugOp;
use crate::ir::{Kernel, LocId, Op};
use crate::valid::Valid;

/// What fills the part of an edge block that lies outside its array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Padding {
    /// Zero: kind to a kernel that multiplies padding by zero.
    #[default]
    Zero,
    /// NaN, or the largest value of an integer type: shows where padding reaches a result.
    Poison,
}

/// How to lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether each op carries the Rust line it comes from.
    pub locations: bool,
    /// What edge blocks read outside their array.
    pub padding: Padding,
}

/// Lowers a kernel to the text of a StableHLO module.
///
/// # Errors
/// [`Code::STABLEHLO_UNSUPPORTED`] for each op that StableHLO cannot express.
pub fn lower(valid: &Valid, options: &Options) -> Result<String, Diagnostics> {
    let kernel = valid.kernel();
    let unsupported = find_unsupported(kernel);
    if unsupported.has_errors() {
        return Err(unsupported);
    }
    let text = grid::lower_kernel(kernel, *options).map_err(Diagnostics::from)?;
    Ok(text)
}

/// The number of leading scalar inputs that give the sizes of dynamic grid axes.
pub fn n_dynamic_extents(kernel: &Kernel) -> usize {
    let operands = kernel.grid.iter().map(|axis| match axis.extent {
        Extent::Static(_) => 0,
        Extent::Dynamic { operand } => operand + 1,
    });
    operands.max().unwrap_or(0)
}

fn find_unsupported(kernel: &Kernel) -> Diagnostics {
    let mut found = Diagnostics::default();
    kernel.walk(kernel.body, &mut |_, op| match &op.op {
        Op::Debug(debug @ (DebugOp::Assert { .. } | DebugOp::Print { .. })) => {
            let message = format!("`{}` cannot be expressed in StableHLO", debug.mnemonic());
            found.push(
                unsupported(kernel, op.loc, message)
                    .help("run this kernel on the interpreter, or leave the op out"),
            );
        }
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Reduce(_)
        | Op::Dot(_)
        | Op::Memory(_)
        | Op::Control(_) => {}
    });
    found
}

fn unsupported(kernel: &Kernel, loc: LocId, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::STABLEHLO_UNSUPPORTED, message).at_opt(kernel.span(loc), "")
}
