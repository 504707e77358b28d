//! The integration tests of this crate, in one binary: each further one would be linked anew.
mod pjrt;
