//! A safe, small layer over MLIR's C API: the only place that knows `melior` and `mlir_sys`.
//!
//! A [`Session`] is one MLIR context with the modules built in it. Every handle (type, attribute,
//! value, block, operation) is `Copy` and borrows the session; nothing is ever erased before the
//! session ends, so a handle cannot dangle. Sessions of one thread take turns on a pooled context:
//! making one costs more than lowering a small kernel.
//!
//! What it offers: building modules from upstream dialects and unregistered ops, or of ops in the
//! versioned form that libtpu reads ([`Session::stable`]), verifying the former, text and bytecode. What an op means is the business of the back ends.

mod attr;
mod build;
mod module;
mod session;
mod ty;

pub(crate) use attr::Attr;
pub(crate) use build::{Block, OpSpec, Operation, Value};
pub(crate) use module::{Complaint, Module};
pub(crate) use session::{Location, Session};
pub(crate) use ty::{Elem, Type};
