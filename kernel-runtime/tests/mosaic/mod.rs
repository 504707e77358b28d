//! The Mosaic back end: recorded modules, determinism, refusals, and what each op becomes.

mod alignment;
mod aot;
mod call;
pub(crate) mod cases;
mod golden;
pub(crate) mod ops;
mod program;
mod refuse;
mod sketch;
mod stable;
pub(crate) mod table;
