//! The memory that a run takes, counted before it starts: an allocation that fails ends the
//! process, without a word on the line that asked for it.

use super::Options;
use super::agents::Counter;
use super::exec::{Found, Run};
use super::plan::{Code as Block, IndexMap, Plan};
use super::tile::Storage;
use super::window::WriteBack;
use crate::diag::{Code, Diagnostic};
use crate::ir::{BlockDim, DType, LocId, Param, Value};
use crate::valid::mib;

/// What a run takes.
#[derive(Debug, Default)]
pub(super) struct Budget {
    /// Once for all threads.
    shared: Vec<Entry>,
    /// For each thread.
    each: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    what: String,
    loc: LocId,
    bytes: u64,
}

impl Budget {
    /// Counts what a run takes at most: windows, scratch, the tiles that are alive at once, and the
    /// output blocks, which stay until the last step is done.
    pub(super) fn of(run: &Run<'_>) -> Budget {
        let mut budget = Budget::default();
        let kernel = run.kernel();
        let grid = run.n_segments().saturating_mul((size_of::<Found>() + size_of::<u64>()) as u64);
        budget.shared.push(Entry {
            what: format!("{} steps of the grid's parallel axes", run.n_segments()),
            loc: LocId::UNKNOWN,
            bytes: grid,
        });
        for param in &kernel.params {
            let block = held_bytes(param.dtype, &param.window_shape());
            let entry = |what: &str, bytes| Entry {
                what: format!("{what} `{}`", param.name),
                loc: param.loc,
                bytes,
            };
            if param.kind.is_output() {
                budget.shared.push(entry("the output", output_bytes(run, param)));
            }
            if !param.kind.is_output() && param.window_shape() == param.array_shape() {
                budget.shared.push(entry("the whole of", block));
            } else {
                budget.each.push(entry("the block of", block));
            }
        }
        for scratch in &kernel.scratch {
            budget.each.push(Entry {
                what: format!("the scratch `{}`", scratch.name),
                loc: scratch.loc,
                bytes: held_bytes(scratch.dtype, &scratch.shape),
            });
        }
        for (dtype, shape) in &run.plan.scoped {
            budget.each.push(Entry {
                what: "the memory of a `scope`".to_owned(),
                loc: LocId::UNKNOWN,
                bytes: held_bytes(*dtype, shape),
            });
        }
        let mut alive = Alive { plan: &run.plan, now: 0, most: 0, at: LocId::UNKNOWN };
        alive.walk(&run.plan.body);
        for map in run.plan.index_maps.iter().flatten() {
            match map {
                IndexMap::Computed(code) => alive.walk(code),
                IndexMap::Direct(_) => {}
            }
        }
        let what = "tiles that are alive at once".to_owned();
        budget.each.push(Entry { what, loc: alive.at, bytes: alive.most });
        budget
    }

    /// Counts as well what so many agents know of each other, their semaphores and who has which
    /// memory.
    pub(super) fn with_agents(mut self, n: usize, run: &Run<'_>) -> Budget {
        let kernel = run.kernel();
        let semaphores = run.plan.semaphores.iter().map(|array| n_elems(&array.shape));
        let semaphores = semaphores.fold(0, u64::saturating_add);
        let n_memories = kernel.params.len() + kernel.scratch.len() + run.plan.scoped.len();
        let each = (size_of::<Counter>() as u64)
            .saturating_mul(semaphores)
            .saturating_add((size_of::<usize>() * n_memories) as u64)
            // A time of each of the others.
            .saturating_add((size_of::<u32>() as u64).saturating_mul(n as u64));
        self.shared.push(Entry {
            what: format!("what {n} cores know of each other"),
            loc: LocId::UNKNOWN,
            bytes: each.saturating_mul(n as u64),
        });
        self
    }

    /// How many of `n` threads fit into the memory that the run may take.
    ///
    /// # Errors
    /// If not even one does.
    pub(super) fn n_threads(&self, n: usize, run: &Run<'_>) -> Result<usize, Diagnostic> {
        let (shared, each) = (total(&self.shared), total(&self.each));
        // What is free is asked for only where it may matter: small kernels run in microseconds.
        const SURELY_THERE: u64 = 64 << 20;
        let all = each.saturating_mul(n as u64).saturating_add(shared);
        let asked = run.options.memory_bytes;
        if asked == 0 && all <= SURELY_THERE {
            return Ok(n);
        }
        let limit = if asked == 0 { free_bytes() / 2 } else { asked };
        if shared.saturating_add(each) > limit {
            return Err(self.refuse(run, limit));
        }
        let fit = (limit - shared).checked_div(each).unwrap_or(u64::MAX);
        Ok(usize::try_from(fit).map_or(n, |fit| fit.min(n)))
    }

    /// Checks that so many threads fit.
    ///
    /// # Errors
    /// If they do not.
    pub(super) fn check(&self, n: usize, run: &Run<'_>) -> Result<(), Diagnostic> {
        if self.n_threads(n, run)? >= n {
            return Ok(());
        }
        Err(Diagnostic::error(
            Code::INTERP_MEMORY,
            format!(
                "to interpret this kernel on {n} cores at once takes {} of memory",
                mib(total(&self.each).saturating_mul(n as u64).saturating_add(total(&self.shared)))
            ),
        )
        .help("use smaller arrays or fewer devices, or raise `Options::memory_bytes`"))
    }

    fn refuse(&self, run: &Run<'_>, limit: u64) -> Diagnostic {
        let mut entries: Vec<&Entry> = self.shared.iter().chain(&self.each).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.bytes));
        let needed = total(&self.shared).saturating_add(total(&self.each));
        let whose = whose_limit(run.options);
        let message = format!(
            "to interpret this kernel takes {} of memory, but {whose} is {}",
            mib(needed),
            mib(limit)
        );
        let mut diagnostic = Diagnostic::error(Code::INTERP_MEMORY, message);
        if let Some(first) = entries.first() {
            let text = format!("{}: {}", first.what, mib(first.bytes));
            diagnostic = diagnostic.at_opt(run.kernel().span(first.loc), text);
        }
        for entry in entries.iter().filter(|entry| entry.bytes > 0) {
            diagnostic = diagnostic.note(format!("{:>12}  {}", mib(entry.bytes), entry.what));
        }
        diagnostic.help("use smaller blocks and tiles, or raise `Options::memory_bytes`")
    }
}

/// Checks that arrays of so many bytes, which a run is to be given, can be made at all.
///
/// # Errors
/// If they take more than the run may.
pub(super) fn check_arrays(bytes: u64, options: &Options) -> Result<(), Diagnostic> {
    let limit = if options.memory_bytes == 0 { free_bytes() / 2 } else { options.memory_bytes };
    if bytes <= limit {
        return Ok(());
    }
    let whose = whose_limit(options);
    let (bytes, limit) = (mib(bytes), mib(limit));
    let message = format!("the operands take {bytes} of memory, but {whose} is {limit}");
    Err(Diagnostic::error(Code::INTERP_MEMORY, message)
        .help("run it with smaller arrays, or where there is more memory"))
}

fn whose_limit(options: &Options) -> &'static str {
    match options.memory_bytes {
        0 => "half of what the machine has free",
        _ => "`Options::memory_bytes`",
    }
}

fn total(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.bytes))
}

/// The bytes of elements as the interpreter holds them.
fn held_bytes(dtype: DType, shape: &[usize]) -> u64 {
    n_elems(shape).saturating_mul(Storage::of(dtype).element_bytes())
}

fn n_elems(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |n, &size| n.saturating_mul(size as u64))
}

/// The blocks that are kept, the array that they become, and a byte per element for the check that
/// all are stored.
fn output_bytes(run: &Run<'_>, param: &Param) -> u64 {
    let window = param.window_shape();
    let overlaps = param
        .window
        .as_ref()
        .is_some_and(|window| window.block.iter().any(|dim| matches!(dim, BlockDim::Element(_))));
    let sizes = param.array_shape();
    let n_blocks: u64 = sizes
        .iter()
        .zip(&window)
        .fold(1, |n, (&size, &block)| n.saturating_mul(size.div_ceil(block.max(1)) as u64));
    let n_steps = run.n_segments().saturating_mul(run.n_inner());
    // Each segment keeps what it wrote, also if it is the block of another.
    let n_kept = if overlaps { n_steps } else { n_blocks.max(run.n_segments()).min(n_steps) };
    let block = held_bytes(param.dtype, &window).saturating_add(size_of::<WriteBack>() as u64);
    // Places that overlap are found by the block that owns each element.
    let per_elem = param.dtype.size_bytes() as u64 + if overlaps { 5 } else { 1 };
    n_kept.saturating_mul(block).saturating_add(n_elems(&sizes).saturating_mul(per_elem))
}

/// Follows the values of a block through its ops.
struct Alive<'p> {
    plan: &'p Plan<'p>,
    /// Bytes of the tiles that are alive.
    now: u64,
    /// The most they ever are.
    most: u64,
    /// The op where they are.
    at: LocId,
}

impl Alive<'_> {
    fn walk(&mut self, code: &Block<'_>) {
        let before = self.now;
        self.start(&code.args);
        for inst in &code.insts {
            for region in &inst.regions {
                self.walk(region);
            }
            self.start(&inst.results);
            if self.now > self.most {
                (self.most, self.at) = (self.now, inst.loc);
            }
            let used = inst.uses.iter().filter(|used| used.last).map(|used| used.value);
            for value in used.chain(inst.drops.iter().copied()) {
                self.now = self.now.saturating_sub(self.bytes(value));
            }
        }
        self.now = before;
    }

    fn start(&mut self, values: &[Value]) {
        for &value in values {
            self.now = self.now.saturating_add(self.bytes(value));
        }
    }

    fn bytes(&self, value: Value) -> u64 {
        let ty = self.plan.ty(value);
        if ty.is_tile() { held_bytes(ty.dtype(), ty.shape()) } else { 0 }
    }
}

/// The bytes of memory that are free; 8 GiB where the system does not tell.
fn free_bytes() -> u64 {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    });
    // A container may have less than the machine.
    let allowed = std::fs::read_to_string("/sys/fs/cgroup/memory.max")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    available.unwrap_or(8 << 30).min(allowed.unwrap_or(u64::MAX))
}
