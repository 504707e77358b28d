//! The tile IR.
