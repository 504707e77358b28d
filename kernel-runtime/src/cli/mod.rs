//! The command-line tool every kernel crate gets from `main`.
