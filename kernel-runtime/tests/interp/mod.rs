//! The checking interpreter.

mod checks;
mod limits;
mod numerics;
mod support;
