//! The StableHLO back end: golden texts, refusals, and kernels run by XLA on the CPU.
mod golden;
mod kernels;
mod refuse;
mod run;
