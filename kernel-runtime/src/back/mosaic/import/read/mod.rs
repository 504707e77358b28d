//! Reads MLIR modules in the generic form, as text or as bytecode, without MLIR.
//!
//! MLIR itself cannot serve here: it refuses the text of memrefs whose space is an attribute of a
//! dialect that it does not know, which is every memref of a Mosaic module; and what it does with
//! damaged bytecode is its own affair. These readers take any bytes, and give a module or one
//! [`Fault`]; the work and memory that they take grow with the length of the input alone.

pub(crate) mod ast;
mod builtin;
mod bytecode;
mod cursor;
mod text;
mod value;

pub(crate) use cursor::Cursor;
pub(crate) use value::ValueReader;

use ast::Module;

/// Regions, types and attributes may nest so deep.
const MAX_DEPTH: usize = 64;

/// A vector or memref may have so many axes.
const MAX_RANK: usize = 16;

/// An op may have so many attributes.
const MAX_ATTRS: usize = 256;

/// Why the input is no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong.
    pub(crate) message: String,
    /// At which byte of the input.
    pub(crate) at: usize,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Fault {
        Fault { message: message.into(), at }
    }
}

/// What reading gives.
pub(crate) type Read<T> = Result<T, Fault>;

/// The first bytes of bytecode.
const MAGIC: &[u8] = b"ML\xefR";

/// Whether the input begins as bytecode does.
pub(crate) fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a module from bytecode or text.
pub(crate) fn module(bytes: &[u8]) -> Read<Module> {
    if is_bytecode(bytes) { bytecode::module(bytes) } else { text::module(bytes) }
}
