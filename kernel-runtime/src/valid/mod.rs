//! Validation of a kernel against a target.
