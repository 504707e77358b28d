//! The checking interpreter.

mod checks;
mod numerics;
mod support;
