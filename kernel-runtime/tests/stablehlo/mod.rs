//! The StableHLO back end: golden texts and refusals. Results are tested by `conformance`.
mod golden;
mod kernels;
mod refuse;
