//! The StableHLO back end: golden texts, refusals, and what it has to avoid. Results are tested by
//! `conformance`.
mod golden;
mod kernels;
mod lanes;
mod refuse;
mod xla;
