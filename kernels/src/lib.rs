//! Kernels for TPUs written with Systole.
