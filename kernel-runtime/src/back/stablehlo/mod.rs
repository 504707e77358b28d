//! StableHLO back end: a kernel as one function of plain StableHLO, for any PJRT device.
//!
//! [`lower`] gives the text of a module whose `main` takes the kernel's inputs (first the sizes of
//! dynamic grid axes, as `i32` scalars) and gives its outputs, in the order of the parameters. The
//! text is written directly: neither MLIR nor a plugin is needed to make it.
//!
//! # How a kernel becomes values
//!
//! * The grid is a nest of `while` loops; one parallel axis becomes lanes, steps that are computed
//!   at once (see `lanes`), and small axes are unrolled. Arrays are padded to whole
//!   blocks first and cut back at the end.
//! * A window is read with `dynamic_slice` at the outermost loop level that determines its index
//!   map, and written back there with `dynamic_update_slice`: so an output block that stays put
//!   while an inner axis runs is carried as a value, and revisiting it later finds what was
//!   written.
//! * Memory (blocks, scratch, SMEM) is a value that changes: a store makes a new one. Branches and
//!   loops carry the memory that they write.
//! * A copy is done where it starts; waits and semaphores vanish. A kernel that the interpreter has
//!   nothing to say about cannot tell the difference.
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
//! three. `assert`, `print` and the core's random numbers cannot be expressed and are refused;
//! scopes and delays leave no trace.

mod grid;
mod lanes;
mod lower;
pub(crate) mod ops;
pub(crate) mod text;

pub use text::TensorType;

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::kernel::Extent;
use crate::ir::ops::{ControlOp, DebugOp, DmaOp, SyncOp};
use crate::ir::{Kernel, LocId, Op, OpData};
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

/// How products of `f32` tiles are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dots {
    /// As the bf16 passes of their precision, whatever the device has.
    #[default]
    Passes,
    /// As one product in the device's own `f32`, which is more exact than any number of passes,
    /// and on a CPU much faster.
    Native,
}

/// How far a program's rounding may depend on its shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// As the device's compiler likes it: it adds the elements of a sum in an order that suits the
    /// shapes at hand.
    #[default]
    Fast,
    /// Not at all, as far as can be: sums go over their elements one after the other, and nothing
    /// is rewritten by shape. For comparing programs of different shapes. Slow.
    InOrder,
}

/// How to lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether each op carries the Rust line it comes from.
    pub locations: bool,
    /// What edge blocks read outside their array.
    pub padding: Padding,
    /// How products of `f32` tiles are written.
    pub dots: Dots,
    /// How far rounding may depend on shapes.
    pub arithmetic: Arithmetic,
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
    Ok(grid::lower_kernel(kernel, *options)?)
}

/// As [`lower`], but a function of this name without a module around it, for a module that calls
/// it.
///
/// # Errors
/// As [`lower`].
pub(crate) fn lower_function(
    valid: &Valid,
    name: &str,
    options: &Options,
) -> Result<String, Diagnostics> {
    let kernel = valid.kernel();
    let unsupported = find_unsupported(kernel);
    if unsupported.has_errors() {
        return Err(unsupported);
    }
    Ok(grid::lower_function(kernel, name, *options)?)
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
    if kernel.core.is_sparse() {
        // One error says all: whatever else is wrong follows from it.
        found.push(sparse(kernel));
        return found;
    }
    kernel.walk(kernel.body, &mut |_, op| match &op.op {
        Op::Debug(debug @ (DebugOp::Assert { .. } | DebugOp::Print { .. })) => {
            let message = format!("`{}` cannot be expressed in StableHLO", debug.mnemonic());
            found.push(
                unsupported(kernel, op.loc, message)
                    .help("run this kernel on the interpreter, or leave the op out"),
            );
        }
        Op::Dma(dma @ DmaOp::Start(_)) if !dma.peer().is_self() => {
            found.push(to_peer(kernel, op));
        }
        Op::Sync(sync @ SyncOp::Signal { .. }) if !sync.peer().is_self() => {
            found.push(to_peer(kernel, op));
        }
        Op::Sync(SyncOp::Read { .. }) => {
            let message = "`sem_read` cannot be expressed in StableHLO: its copies are done at once, so there is nothing to look at";
            found.push(unsupported(kernel, op.loc, message).help("wait instead"));
        }
        Op::Mxu(mxu) => {
            let message = format!("`{}` cannot be expressed in StableHLO", mxu.mnemonic());
            found.push(unsupported(kernel, op.loc, message).help("use `dot`"));
        }
        Op::Random(random) => {
            let message = format!("`{}` cannot be expressed in StableHLO", random.mnemonic());
            found.push(unsupported(kernel, op.loc, message).help(
                "use a generator that is the same everywhere: `threefry_bits` or `philox_4x32`",
            ));
        }
        Op::Control(ControlOp::DeviceId) => {
            let message = "`device_id` cannot be expressed in StableHLO, where a kernel is a function of one device";
            found.push(unsupported(kernel, op.loc, message).help(
                "write what the devices exchange as a collective around the kernel",
            ));
        }
        Op::Elementwise(_)
        | Op::Shape(_)
        | Op::Convert(_)
        | Op::Reduce(_)
        | Op::Dot(_)
        | Op::Memory(_)
        | Op::Dma(DmaOp::Start(_) | DmaOp::Wait(_))
        | Op::Sync(SyncOp::Signal { .. } | SyncOp::Wait { .. })
        | Op::Sparse(_)
        | Op::Control(_)
        | Op::Debug(DebugOp::ScopeStart { .. } | DebugOp::ScopeEnd | DebugOp::Delay) => {}
    });
    found
}

/// Subcores run at once and share memory, which no sequence of array ops says.
fn sparse(kernel: &Kernel) -> Diagnostic {
    let loc = kernel.params.first().map_or(LocId::UNKNOWN, |param| param.loc);
    let message = format!(
        "`{}` is a SparseCore kernel (`core({})`), which cannot be expressed in StableHLO",
        kernel.name,
        kernel.core.name()
    );
    unsupported(kernel, loc, message).help(
        "run it on the interpreter; on devices without a SparseCore use a TensorCore kernel \
         (without `core(..)`), or plain ops such as `take`",
    )
}

fn to_peer(kernel: &Kernel, op: &OpData) -> Diagnostic {
    let what = op.op.mnemonic();
    let message = format!("`{what}` to another device or core cannot be expressed in StableHLO");
    unsupported(kernel, op.loc, message)
        .help("write what the devices exchange as a collective around the kernel")
}

fn unsupported(kernel: &Kernel, loc: LocId, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::STABLEHLO_UNSUPPORTED, message).at_opt(kernel.span(loc), "")
}
