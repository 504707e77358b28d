//! Passes over the tile IR, kernel to kernel.
