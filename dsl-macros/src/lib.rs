//! The `#[tpu_kernel]`, `#[tpu_fn]` and `#[derive(Carried)]` macros.
