//! One conformance suite over op × element type, for every back end.
//!
//! Cases are generated from the op tables, so a new op is tested on the day it is added. Each is
//! compared with the meaning that the table gives it (or with plain loops), on the interpreter
//! and on XLA CPU through both plugins. A back end that is wrong on purpose must fail in every
//! family, and what a back end does not support is a declared row that must say so. Random kernels
//! and those that once went wrong are run on all of them and compared, in `fuzz`. Cases after Pallas' own
//! test suites, written with the macros, are in `pallas`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, in its helper functions too"
)]

mod backend;
mod batch;
mod control;
mod convert;
mod dot;
mod elementwise;
mod fuzz;
#[path = "../generate/mod.rs"]
mod generate;
mod grid;
#[path = "../stablehlo/kernels.rs"]
mod kernels;
mod memory;
mod pallas;
#[cfg(feature = "mlir")]
#[path = "../mosaic/program.rs"]
mod program;
mod reduce;
mod scalar;
mod shape;
#[path = "../sketch/mod.rs"]
mod sketch;
mod unsupported;

use backend::Backend;
use batch::Batch;
use libtest_mimic::{Arguments, Trial};
use std::sync::Arc;

/// At least so many cases per back end: a table that came out empty must not pass.
const MIN_CASES: usize = 900;

fn main() {
    let mut args = Arguments::from_args();
    // XLA compiles on threads of its own; more trials at once only fight for the cores.
    args.test_threads = args.test_threads.or(Some(2));
    let batches: Vec<Arc<Batch>> = batches().into_iter().map(Arc::new).collect();
    let mut trials = Vec::new();
    let backends = backend::all();
    for backend in &backends {
        trials.extend(suite(backend, &batches));
        trials.extend(unsupported::trials(backend));
    }
    trials.extend(fuzz::trials(&backends));
    trials.extend(pallas::trials(&backends));
    trials.extend(wrong_backend_fails(&batches));
    let n_cases: usize = batches.iter().map(|batch| batch.members.len()).sum();
    trials.push(Trial::test("the_suite_is_not_empty", move || {
        let enough = n_cases >= MIN_CASES;
        enough.then_some(()).ok_or_else(|| format!("{n_cases} cases, not {MIN_CASES}").into())
    }));
    libtest_mimic::run(&args, trials).exit();
}

fn batches() -> Vec<Batch> {
    let mut batches = elementwise::batches();
    batches.extend(scalar::batches());
    batches.extend(shape::batches());
    batches.extend(convert::batches());
    batches.extend(reduce::batches());
    batches.extend(dot::batches());
    batches.extend(memory::batches());
    batches.extend(control::batches());
    batches.extend(grid::batches());
    batches
}

/// The trials of one back end: one per case, named `backend::op::type`.
fn suite(backend: &Arc<Backend>, batches: &[Arc<Batch>]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for batch in batches {
        let run = Arc::new(batch::Run::new(backend.clone(), batch.clone()));
        for (idx, member) in batch.members.iter().enumerate() {
            let (run, name) = (run.clone(), format!("{}::{}", backend.name, member.name));
            trials.push(Trial::test(name, move || run.check(idx).map_err(Into::into)));
        }
    }
    trials
}

/// Every case must notice a back end that gets one element of the result wrong.
fn wrong_backend_fails(batches: &[Arc<Batch>]) -> Vec<Trial> {
    let mut families: Vec<&'static str> = batches.iter().map(|batch| batch.family).collect();
    families.dedup();
    let trial = |family: &'static str| {
        let batches: Vec<Arc<Batch>> =
            batches.iter().filter(|batch| batch.family == family).cloned().collect();
        Trial::test(format!("wrong::{family}_must_fail"), move || {
            let members = batches.iter().flat_map(|batch| &batch.members);
            let mut fooled = members.filter(|m| m.check(&m.wrong_result(), false).is_ok());
            match fooled.next() {
                Some(member) => Err(format!("{} passed a wrong result", member.name).into()),
                None => Ok(()),
            }
        })
    };
    families.into_iter().map(trial).collect()
}
