//! The checking interpreter: runs a kernel on the CPU and finds what would go wrong on a chip.
//!
//! Always on, and told with the Rust line, the grid step and the numbers:
//!
//! * accesses out of bounds, blocks that start outside their array, broken `multiple_of` promises;
//! * undefined elements (memory never written, padding of edge blocks, what a load's mask leaves
//!   out) that reach a result, a branch, an index, a print or an assertion;
//! * output blocks that two steps of a `parallel` axis both write, that are left and visited
//!   again, and output elements that are never stored;
//! * copies: memory that is touched while a copy of it is in flight, copies and signals that are
//!   not waited for, waits that never end;
//! * between devices and cores: accesses that nothing orders, waits in a circle, signals to what has
//!   not begun, results that depend on who is faster ([`run_devices`]);
//! * kernels that take more memory than there is; loops that never end or whose step is not positive, index arithmetic that leaves 32 bits,
//!   failed assertions; on request, results that stop being finite.
//!
//! Undefined elements are tracked through every op, so combining them is no error as long as the
//! outcome is thrown away. Each step of the `parallel` axes runs on its own, with fresh scratch,
//! in an order drawn from the seed and on several threads; what is computed and reported does not
//! depend on the number of threads.
//!
//! Devices and cores that talk to each other are agents that take turns as the seed says, see
//! `agents`; the same seed gives the same report.
//!
//! The path of a run: `plan` compiles the kernel, `exec` runs its steps with windows placed by
//! `window` and ops from `ops`, `outputs` puts the blocks together, `report` collects what is told.

mod agents;
mod budget;
mod devices;
mod exec;
mod flight;
mod generator;
mod input;
mod landing;
mod memory;
mod ops;
mod outputs;
mod plan;
mod pool;
mod report;
mod rounding;
mod semaphores;
mod stamps;
mod tile;
mod window;

use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::ops::DotOp;
use crate::ir::{Array, DType};
use crate::valid::Valid;
use budget::Budget;
use exec::{Executor, Found, Run};
use report::Reports;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Draws the order in which steps of the `parallel` axes run.
    pub seed: u64,
    /// How much work loops may do in one grid step, in units of some 30 ns on one core: an op of a
    /// loop's body costs 2 if it has scalars alone, else 16 and one for every 128 elements that it
    /// reads and writes (64 of a reduction or a move, 32 of a division, power or exponential), or
    /// for every 2048 multiplications of a product. The default, 2^25, ends a loop that never ends
    /// after about a second, and lets one do 16 million scalar ops, 4 billion elements or 34
    /// billion multiplications.
    pub fuel: u64,
    /// How many bytes arrays, blocks and tiles may take; 0 is half of what the machine has free.
    /// A kernel that takes more is refused before it starts; one that fits runs on as many threads
    /// as fit.
    pub memory_bytes: u64,
    /// The number of threads; 0 takes all of rayon's.
    pub threads: usize,
    /// Whether an op that makes a NaN or an infinity from finite operands is an error.
    pub trap_non_finite: bool,
    /// In how many ways a kernel on several devices or cores is run: who runs when, and when
    /// copies move. At least 1.
    pub schedules: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            fuel: 1 << 25,
            memory_bytes: 0,
            threads: 0,
            trap_non_finite: false,
            schedules: 8,
        }
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

/// A kind of matrix product: the op, its sizes and element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Product {
    /// Transposes and precision.
    pub op: DotOp,
    /// `m`, `k` and `n`.
    pub sizes: [usize; 3],
    /// Element type of the left operand.
    pub lhs: DType,
    /// Element type of the right operand.
    pub rhs: DType,
    /// Whether the kernel controls the matrix unit by itself: [`crate::ir::ops::MxuOp`].
    pub on_unit: bool,
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
    /// The matrix products that were run, and how often: those in branches not taken are not
    /// among them.
    pub products: BTreeMap<Product, u64>,
}

/// Runs a kernel.
///
/// `inputs` are the arrays of the parameters that take one ([`crate::ir::ParamKind::is_input`]), in their order;
/// before them, for a grid with dynamic extents, one `i32` array of a single element per operand.
/// A kernel whose grid has an axis over cores runs on all of them at the same time.
///
/// # Errors
/// If the inputs do not fit, the kernel is for several devices, or for each problem found while
/// running.
pub fn run(valid: &Valid, inputs: &[Array], options: &Options) -> Result<Outcome, Diagnostics> {
    let kernel = valid.kernel();
    if kernel.n_devices() > 1 {
        return Err(devices::one_for_many(kernel).into());
    }
    if devices::has_several_agents(kernel) {
        let mut outcomes = devices::run(kernel, &[inputs], options)?;
        return outcomes.pop().ok_or_else(Diagnostics::default);
    }
    let run = Run::new(kernel, inputs, options)?;
    let found = run_segments(&run)?;
    let mut reports = Reports::default();
    let outcome = gather(&run, found, &mut reports);
    if reports.is_empty() { Ok(outcome) } else { Err(reports.into_diagnostics()) }
}

/// Runs a kernel on all devices of its mesh at the same time, in several schedules.
///
/// `inputs` has what [`run`] takes, per device in the order of their numbers; the outcomes are in
/// that order too.
///
/// # Errors
/// If the inputs do not fit, or for each problem found in the first schedule that has one: races
/// between devices, waits in a circle, copies and signals that nobody waits for, results that
/// differ between schedules, and all that [`run`] finds.
pub fn run_devices(
    valid: &Valid,
    inputs: &[Vec<Array>],
    options: &Options,
) -> Result<Vec<Outcome>, Diagnostics> {
    let inputs: Vec<&[Array]> = inputs.iter().map(Vec::as_slice).collect();
    devices::run(valid.kernel(), &inputs, options)
}

/// Checks that arrays of so many bytes fit beside what is free, before they are made for a run.
///
/// # Errors
/// If they do not.
pub fn check_arrays(bytes: u64, options: &Options) -> Result<(), Diagnostic> {
    budget::check_arrays(bytes, options)
}

/// Puts together what the steps of a run gave.
fn gather(run: &Run<'_>, mut found: Vec<Found>, reports: &mut Reports) -> Outcome {
    found.sort_by_key(|found| found.position);
    if let Some(end) = found.iter().position(|found| found.out_of_fuel) {
        found.truncate(end + 1);
    }
    let prints = found.iter_mut().flat_map(|found| std::mem::take(&mut found.prints)).collect();
    found.sort_by_key(|found| found.segment);
    let mut products = BTreeMap::new();
    for found in &mut found {
        reports.extend(std::mem::take(&mut found.reports));
        for (product, n) in std::mem::take(&mut found.products) {
            *products.entry(product).or_default() += n;
        }
    }
    let outputs = outputs::assemble(run, &found, reports);
    Outcome { outputs, prints, n_steps: run.n_segments() * run.n_inner(), products }
}

/// Runs every segment, on as many threads as are worth it.
fn run_segments(run: &Run<'_>) -> Result<Vec<Found>, Diagnostic> {
    // Below this (in thousands of elements) waking a thread costs more than it saves.
    const MIN_COST_PER_THREAD: u64 = 512;
    let n_segments = run.n_segments();
    let n_steps = n_segments.saturating_mul(run.n_inner());
    let cost = run.plan.body.cost.max(1).saturating_mul(n_steps);
    let n_threads = match run.options.threads {
        0 => rayon::current_num_threads().min((cost / MIN_COST_PER_THREAD) as usize),
        n => n,
    };
    // Segments that write one array take turns, so that the writes of each can be told apart.
    let n_threads = if run.shares_outputs() { 1 } else { n_threads };
    let n_threads = n_threads.min(usize::try_from(n_segments).unwrap_or(usize::MAX)).max(1);
    let n_threads = Budget::of(run).n_threads(n_threads, run)?;
    let order = shuffled(n_segments, run.options.seed);

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
        if let (true, Some(last)) = (run.shares_outputs(), mine.last_mut()) {
            executor.write_back_whole(last);
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
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// SplitMix64: a few lines, and good enough to mix up an order.
#[derive(Clone, Debug, Default)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The numbers below `n` in an order drawn from the seed.
fn shuffled(n: u64, seed: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..n).collect();
    let mut random = Random(seed);
    for idx in (1..order.len()).rev() {
        let other = random.below(idx as u64 + 1) as usize;
        order.swap(idx, other);
    }
    order
}
