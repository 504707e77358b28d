//! One file per family of ops, as in the lowering.

mod cast;
mod control;
mod debug;
mod dma;
mod dot;
mod elementwise;
mod memory;
mod mxu;
mod random;
mod reduce;
mod shape;
mod sparse;
mod view;

#[cfg(feature = "mlir")]
pub(in crate::back::mosaic) use mxu::ROWS_PER_ADDRESS;

use super::body::{Importer, Outcome};
use super::header::short_name;
use super::read::ast::Op;

/// Whether an op ends its block.
pub(super) fn is_terminator(op: &Op) -> bool {
    matches!(short_name(op), "func.return" | "scf.yield" | "scf.condition" | "tpu.yield")
}

/// Imports an op into the block at hand, and binds its results.
pub(super) fn import<'m>(importer: &mut Importer<'m>, op: &'m Op) -> Outcome<()> {
    let name = short_name(op);
    let families = [
        elementwise::import,
        cast::import,
        shape::import,
        reduce::import,
        dot::import,
        memory::import,
        view::import,
        dma::import,
        random::import,
        mxu::import,
        debug::import,
        sparse::import,
    ];
    for family in families {
        if let Some(outcome) = family(importer, name, op) {
            return outcome;
        }
    }
    if let Some(outcome) = control::import(importer, name, op) {
        return outcome;
    }
    Err(importer.unsupported(op, "there is no such op in the tile IR"))
}
