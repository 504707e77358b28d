//! Running kernels: host arrays and device buffers.
