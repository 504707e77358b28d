//! The checking interpreter: runs a kernel on the CPU and finds what would go wrong on a chip.
//!
//! Always on, and told with the Rust line, the grid step and the numbers:
//!
//! * accesses out of bounds, blocks that start outside their array, broken `multiple_of` promises;
//! * undefined elements (memory never written, padding of edge blocks, what a load's mask leaves
//!   out) that reach a result, a branch, an index, a print or an assertion;
//! * output blocks that two steps of a `parallel` axis both write, that are left and visited
//!   again, and output elements that are never stored;
//! * loops that never end or whose step is not positive, index arithmetic that leaves 32 bits,
//!   failed assertions; on request, results that stop being finite.
//!
//! Undefined elements are tracked through every op, so combining them is no error as long as the
//! outcome is thrown away. Each step of the `parallel` axes runs on its own, with fresh scratch,
//! in an order drawn from the seed and on several threads; what is computed and reported does not
//! depend on the number of threads.
//!
//! The path of a run: `plan` compiles the kernel, `exec` runs its steps with windows placed by
//! `window` and ops from `ops`, `outputs` puts the blocks together, `report` collects what is told.

mod exec;
mod input;
mod memory;
mod ops;
mod outputs;
mod plan;
mod report;
mod tile;
mod window;

use crate::diag::Diagnostics;
use crate::ir::{Array, Semantics};
use crate::valid::Valid;
use exec::{Executor, Found, Run};
use plan::Plan;
use report::Reports;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Draws the order in which steps of the `parallel` axes run.
    pub seed: u64,
    /// How much work loops may do in one grid step: a unit is an iteration, or a thousand elements
    /// in its body.
    pub fuel: u64,
    /// The number of threads; 0 takes all of rayon's.
    pub threads: usize,
    /// Whether an op that makes a NaN or an infinity from finite operands is an error.
    pub trap_non_finite: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { seed: 0, fuel: 1 << 25, threads: 0, trap_non_finite: false }
    }
}

/// What a kernel printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Print {
    /// The grid step, by axis.
    pub step: Vec<i64>,
    /// The message and the values.
    pub text: String,
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The arrays of the `Out` and `InOut` parameters, in their order.
    pub outputs: Vec<Array>,
    /// What was printed, in the order in which it happened.
    pub prints: Vec<Print>,
    /// The number of grid steps.
    pub n_steps: u64,
}

/// Runs a kernel.
///
/// `inputs` are the arrays of the parameters that take one ([`crate::ir::ParamKind::is_input`]), in their order;
/// before them, for a grid with dynamic extents, one `i32` array of a single element per operand.
///
/// # Errors
/// If the inputs do not fit, or for each problem found while running.
pub fn run(valid: &Valid, inputs: &[Array], options: &Options) -> Result<Outcome, Diagnostics> {
    let kernel = valid.kernel();
    let (extents, arrays) = input::bind(kernel, inputs)?;
    let is_parallel = |axis: &crate::ir::GridAxis| axis.semantics == Semantics::Parallel;
    let n_outer = kernel.grid.iter().rposition(is_parallel).map_or(0, |last| last + 1);
    let whole = kernel.params.iter().map(|_| OnceLock::new()).collect();
    let run = Run { plan: Plan::new(kernel), arrays, whole, extents, n_outer, options };

    let mut found = run_segments(&run);
    found.sort_by_key(|found| found.position);
    if let Some(end) = found.iter().position(|found| found.out_of_fuel) {
        found.truncate(end + 1);
    }
    let prints = found.iter_mut().flat_map(|found| std::mem::take(&mut found.prints)).collect();
    found.sort_by_key(|found| found.segment);
    let mut reports = Reports::default();
    for found in &mut found {
        reports.extend(std::mem::take(&mut found.reports));
    }
    let outputs = outputs::assemble(&run, &found, &mut reports);
    if !reports.is_empty() {
        return Err(reports.into_diagnostics());
    }
    Ok(Outcome { outputs, prints, n_steps: run.n_segments() * run.n_inner() })
}

/// Runs every segment, on as many threads as are worth it.
fn run_segments(run: &Run<'_>) -> Vec<Found> {
    // Below this (in thousands of elements) waking a thread costs more than it saves.
    const MIN_COST_PER_THREAD: u64 = 512;
    let n_segments = run.n_segments();
    let order = shuffled(n_segments, run.options.seed);
    let cost = run.plan.body.cost.max(1) * n_segments * run.n_inner();
    let n_threads = match run.options.threads {
        0 => rayon::current_num_threads().min((cost / MIN_COST_PER_THREAD) as usize),
        n => n,
    };
    let n_threads = n_threads.min(order.len()).max(1);

    let next = AtomicUsize::new(0);
    // Segments after one that ran out of fuel are not run, whichever thread gets there first.
    let end = AtomicUsize::new(usize::MAX);
    let all = Mutex::new(Vec::with_capacity(order.len()));
    let work = || {
        let mut executor = Executor::new(run);
        let mut mine = Vec::new();
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(&segment) = order.get(position) else { break };
            if position > end.load(Ordering::Relaxed) {
                break;
            }
            let found = executor.segment(segment, position);
            if found.out_of_fuel {
                end.fetch_min(position, Ordering::Relaxed);
            }
            mine.push(found);
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut mine);
    };
    if n_threads == 1 {
        work();
    } else {
        rayon::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(|_| work());
            }
            work();
        });
    }
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers below `n` in an order drawn from the seed.
fn shuffled(n: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..n).collect();
    // SplitMix64: a few lines, and good enough to mix up an order.
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    for idx in (1..order.len()).rev() {
        let other = (random() % (idx as u64 + 1)) as usize;
        order.swap(idx, other);
    }
    order
}
