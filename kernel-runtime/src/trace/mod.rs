//! Tracing: Rust expressions to tile IR.
