//! Passes over the tile IR, kernel to kernel.
//!
//! A pass takes a kernel and gives a new one that means the same. What it gives is a plain
//! [`Kernel`](crate::ir::Kernel): the caller validates it again before a back end sees it.

pub mod fold;
pub mod pin;
pub mod steer;

pub use fold::fold;
pub use pin::{is_pinnable, n_choices, pin};
pub use steer::is_steered;
