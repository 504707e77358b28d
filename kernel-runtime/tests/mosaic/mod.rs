//! The Mosaic back end: recorded modules, determinism, refusals, and what each op becomes.

mod aot;
mod cases;
mod golden;
mod refuse;
mod sketch;
mod stable;
mod table;
