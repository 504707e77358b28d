//! Compiling: the cache, the attempts, and several at a time.
use super::analyze::Analysis;
use super::cache::{self, Found, Gap};
use super::dumps::Dumps;
use super::report::{Report, Status};
use super::supervise::{self, Ending, Scratch, Wanted};
use super::worker::{Answer, Job};
use crate::pjrt::Plugin;
use crate::target::{Chip, Target};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One program to compile for one target.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to call it in messages: kernel and spec.
    pub name: String,
    /// What to compile for.
    pub target: &'static Target,
    /// StableHLO, text or bytecode.
    pub program: Vec<u8>,
    /// How.
    pub options: Options,
}

impl Request {
    /// A request with default options.
    pub fn new(
        name: impl Into<String>,
        target: &'static Target,
        program: impl Into<Vec<u8>>,
    ) -> Self {
        Self { name: name.into(), target, program: program.into(), options: Options::default() }
    }

    /// The topology that libtpu is asked for; none if the target is no TPU.
    fn topology(&self) -> Option<&str> {
        self.target.topology.map(|smallest| self.options.topology.as_deref().unwrap_or(smallest))
    }

    /// Whether the program has a kernel whose work depends on scalars of the call: our own calls
    /// say so in a comment.
    fn reads_tables(&self) -> bool {
        let mark = crate::back::READS_TABLES.as_bytes();
        self.program.windows(mark.len()).any(|window| window == mark)
    }

    /// The same request with other options.
    #[must_use]
    pub fn with(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}

/// How a program is compiled, and what is asked about it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Estimate cycles. Without, a compile takes a fraction of the time and tells only whether
    /// libtpu accepts the program, VMEM and code size.
    pub cycles: bool,
    /// Tell what each Rust line costs.
    pub lines: bool,
    /// Over how many devices the program is split, by the shardings that it is annotated with.
    pub n_partitions: usize,
    /// The topology to compile for, as `v5e:4x4`; `None` for the target's smallest.
    pub topology: Option<String>,
    /// Keep all operands in HBM, so that every transfer is part of the estimate. XLA otherwise
    /// moves some into VMEM before a kernel starts, at no cost in its estimate.
    pub operands_in_hbm: bool,
    /// Compiler flags of this program, such as `("xla_tpu_scoped_vmem_limit_kib", "32768")`.
    pub flags: Vec<(String, String)>,
    /// Process-wide flags of libtpu; an unknown one makes libtpu exit.
    pub init_flags: Vec<String>,
    /// When to kill a worker. A program that the profiler cannot model takes several workers.
    pub time_limit: Duration,
    /// Where results are kept; `None` for no cache. See [`super::result_cache`].
    pub cache: Option<PathBuf>,
    /// Keep job, answer and dumps of every attempt in a folder below this one.
    pub keep_dumps: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cycles: true,
            lines: true,
            n_partitions: 1,
            topology: None,
            operands_in_hbm: true,
            flags: Vec::new(),
            init_flags: Vec::new(),
            time_limit: Duration::from_secs(120),
            cache: Some(cache::result_cache_dir()),
            keep_dumps: None,
        }
    }
}

impl Options {
    /// The parts of the cache key that stand for these options.
    fn key(&self) -> String {
        let Self { cycles, lines, n_partitions, operands_in_hbm, flags, init_flags, .. } = self;
        format!("{cycles} {lines} {n_partitions} {operands_in_hbm} {flags:?} {init_flags:?}")
    }
}

/// Compiles one program, or takes its report from the cache. Whatever goes wrong is in the report.
///
/// A program with a kernel that reads tables gets no estimate: libtpu's figure would be that of
/// another kernel. See [`super::estimate_pinned`].
pub fn compile(request: &Request) -> Report {
    if request.options.cycles && request.reads_tables() {
        let options = Options { cycles: false, lines: false, ..request.options.clone() };
        let mut report = compile_as_asked(&request.clone().with(options));
        report.cycles_note = Some(TABLES_NOTE.to_owned());
        return report;
    }
    compile_as_asked(request)
}

/// Why there is no estimate of a kernel that reads tables.
const TABLES_NOTE: &str = "no estimate: the kernel reads tables or extents of the call, which libtpu's model does not know";

fn compile_as_asked(request: &Request) -> Report {
    let target = request.target;
    let failed = |text: String| Report::failed(&request.name, target, Status::Unavailable, text);
    let (Some(topology), Some(chip)) = (request.topology(), target.chip.as_ref()) else {
        return failed(format!("{} is no TPU: libtpu cannot compile for it", target.name));
    };
    let library = match Plugin::tpu_path() {
        Ok(library) => library,
        Err(error) => return failed(error.message),
    };
    let gap = match find(request, &library, topology, &[]) {
        Ok(Found::Report(report)) => return *report,
        Ok(Found::Nothing(gap)) => gap,
        Err(text) => return failed(text),
    };
    let job = Job {
        libtpu: library,
        topology: topology.to_owned(),
        flags: request.options.flags.clone(),
        n_partitions: request.options.n_partitions,
        time_limit_ms: u64::try_from(request.options.time_limit.as_millis()).unwrap_or(u64::MAX),
        want_executable: false,
    };
    let mut report = Attempts { request, chip, job }.run();
    report.cache_was_damaged = gap.was_damaged;
    // A crash or a time-out may be the machine's fault and must be tried again.
    if let Status::Ok | Status::Rejected = report.status {
        gap.fill(&report);
    }
    report
}

/// What the cache has for a request, with what else its report depends on.
fn find(
    request: &Request,
    library: &Path,
    topology: &str,
    more: &[&[u8]],
) -> Result<Found, String> {
    let identity = crate::pjrt::library_identity(library)
        .map_err(|error| format!("cannot read {}: {error}", library.display()))?;
    let options = &request.options;
    let Some(dir) = options.cache.as_deref() else {
        return Ok(Found::Nothing(Gap::default()));
    };
    let option_key = options.key();
    let mut parts =
        vec![identity.as_bytes(), topology.as_bytes(), option_key.as_bytes(), &request.program];
    parts.extend(more);
    let key = cache::key(&parts);
    // Who waits longer for another's compile than a compile may take is better off alone.
    Ok(match cache::find(&cache::result_cache(dir), &key, options.time_limit) {
        // The name is not part of the key: equal programs may go by several.
        Found::Report(report) => {
            Found::Report(Box::new(Report { name: request.name.clone(), ..*report }))
        }
        nothing => nothing,
    })
}

/// What the cache has for a program and what else its report depends on, `more`: a place to put
/// it where nothing can be found.
#[cfg(feature = "mlir")]
pub(super) fn find_with(request: &Request, more: &[&[u8]]) -> Found {
    let nothing = || Found::Nothing(Gap::default());
    let (Some(topology), Ok(library)) = (request.topology(), Plugin::tpu_path()) else {
        return nothing();
    };
    find(request, &library, topology, more).unwrap_or_else(|_| nothing())
}

/// Compiles one program and returns the serialised executable, for a machine with such TPUs and the
/// same libtpu. Nothing is cached.
///
/// # Errors
/// The report that says why there is no executable.
pub fn compile_to_executable(request: &Request) -> Result<Vec<u8>, Box<Report>> {
    let target = request.target;
    let failed = |status: Status, text: String| {
        Box::new(Report::failed(&request.name, target, status, text))
    };
    let Some(topology) = request.topology() else {
        return Err(failed(Status::Unavailable, format!("{} is no TPU", target.name)));
    };
    let libtpu = Plugin::tpu_path().map_err(|error| failed(Status::Unavailable, error.message))?;
    let job = Job {
        libtpu,
        topology: topology.to_owned(),
        flags: request.options.flags.clone(),
        n_partitions: request.options.n_partitions,
        time_limit_ms: u64::try_from(request.options.time_limit.as_millis()).unwrap_or(u64::MAX),
        want_executable: true,
    };
    let scratch = Scratch::new(request.options.keep_dumps.as_deref())
        .map_err(|error| failed(Status::Unavailable, error.to_string()))?;
    let wanted = Wanted {
        profile: false,
        only: None,
        critical_path: false,
        operands_in_hbm: request.options.operands_in_hbm,
        extra: &request.options.init_flags,
    };
    let ending = supervise::run(scratch.path(), &job, &request.program, wanted);
    match ending {
        Ending::Answered(Answer { error: None, .. }) => Answer::executable(scratch.path())
            .ok_or_else(|| failed(Status::Unavailable, "the worker wrote no executable".into())),
        other => Err(Box::new(failure(request, other))),
    }
}

/// Compiles many programs, at most `parallelism` at a time. `done` is called after each, from the
/// thread that compiled it, with its position and report. Reports are in the order of requests.
pub fn compile_many(
    requests: &[Request],
    parallelism: usize,
    done: impl Fn(usize, &Report) + Sync,
) -> Vec<Report> {
    in_parallel(requests, parallelism, |idx, request| {
        let report = compile(request);
        done(idx, &report);
        report
    })
}

/// What `work` makes of each item, in their order, at most `parallelism` at a time.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    parallelism: usize,
    work: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _thread in 0..parallelism.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let idx = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(item) = items.get(idx)
                {
                    let result = work(idx, item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((idx, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(idx, _)| *idx);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The report of a worker that gave no executable.
fn failure(request: &Request, ending: Ending) -> Report {
    let (status, text) = match ending {
        Ending::Answered(Answer { error: Some(failure), .. }) => {
            let status = if failure.rejected { Status::Rejected } else { Status::Unavailable };
            (status, failure.message)
        }
        Ending::Answered(_) => (Status::Unavailable, "the worker gave no reason".to_owned()),
        Ending::Crashed(text) => (Status::Crashed, text),
        Ending::TimedOut => {
            let seconds = request.options.time_limit.as_secs_f64();
            (Status::TimedOut, format!("libtpu did not end within {seconds} s and was killed"))
        }
        Ending::Broken(text) => (Status::Unavailable, text),
    };
    Report::failed(&request.name, request.target, status, text)
}

/// The attempts at one program: with the profiler; if that aborts, without; and then the profiler
/// on one program of the module after the other.
struct Attempts<'a> {
    request: &'a Request,
    chip: &'a Chip,
    job: Job,
}

/// How many programs of a module are profiled one by one after an abort.
const MAX_SINGLE_PROFILES: usize = 24;

impl Attempts<'_> {
    fn run(&self) -> Report {
        self.try_run().unwrap_or_else(|error| {
            let Request { name, target, .. } = self.request;
            Report::failed(name, target, Status::Unavailable, error.to_string())
        })
    }

    /// All attempts; and if libtpu cannot compile at all with operands kept in HBM (it lacks a
    /// transfer from HBM to HBM on some chips), all of them once more without.
    fn try_run(&self) -> std::io::Result<Report> {
        let report = self.try_placement(self.request.options.operands_in_hbm)?;
        if report.status != Status::Crashed || !self.request.options.operands_in_hbm {
            return Ok(report);
        }
        let mut second = self.try_placement(false)?;
        if second.status != Status::Ok {
            return Ok(report);
        }
        let note = "libtpu aborts with all operands in HBM, so XLA chose where they are";
        let rest = second.cycles_note.take();
        second.cycles_note = Some(rest.map_or(note.into(), |rest| format!("{note}; {rest}")));
        Ok(second)
    }

    fn try_placement(&self, in_hbm: bool) -> std::io::Result<Report> {
        let options = &self.request.options;
        let profile = options.cycles && self.chip.has_cycle_model;
        let scratch = Scratch::new(options.keep_dumps.as_deref())?;
        let ending = self.attempt(&scratch, in_hbm, profile, None);
        match ending {
            Ending::Answered(answer) if answer.error.is_none() => {
                Ok(self.report(&answer, &scratch, vec![Dumps::in_dir(scratch.path())], None))
            }
            // The profiler aborts the process on programs that it cannot model.
            Ending::Crashed(reason) if profile => self.after_abort(&scratch, in_hbm, &reason),
            Ending::TimedOut if profile => {
                self.after_abort(&scratch, in_hbm, "the profiler did not end within the time limit")
            }
            other => Ok(failure(self.request, other)),
        }
    }

    fn attempt(
        &self,
        scratch: &Scratch,
        operands_in_hbm: bool,
        profile: bool,
        only: Option<&str>,
    ) -> Ending {
        let options = &self.request.options;
        let wanted = Wanted {
            profile,
            only,
            critical_path: options.lines,
            operands_in_hbm,
            extra: &options.init_flags,
        };
        supervise::run(scratch.path(), &self.job, &self.request.program, wanted)
    }

    /// Compiles without the profiler, keeps the estimates that were written before the abort, and
    /// asks for those of the other programs one by one.
    fn after_abort(&self, first: &Scratch, in_hbm: bool, reason: &str) -> std::io::Result<Report> {
        let keep = self.request.options.keep_dumps.as_deref();
        let plain = Scratch::new(keep)?;
        let answer = match self.attempt(&plain, in_hbm, false, None) {
            Ending::Answered(answer) if answer.error.is_none() => answer,
            other => return Ok(failure(self.request, other)),
        };
        let mut dumps = vec![Dumps::in_dir(first.path())];
        let mut singles = Vec::new();
        let missing = answer.hlo(plain.path()).map(|module| {
            let mut missing = Analysis::new(&module, dumps.clone()).walk().missing;
            // Of programs that differ in their names alone, the first tells of all.
            let mut seen = HashSet::new();
            let signatures: HashMap<&str, u64> = module
                .all()
                .filter_map(|program| Some((program.name.as_str(), module.signature(program)?)))
                .collect();
            missing.retain(|name| signatures.get(name.as_str()).is_none_or(|&s| seen.insert(s)));
            // A module with one program has shown what its profile does.
            let is_single = module.all().filter(|other| other.opcode == "custom-call").count() == 1
                && missing.len() == 1;
            if is_single { Vec::new() } else { missing }
        });
        let start = Instant::now();
        for program in missing.unwrap_or_default().iter().take(MAX_SINGLE_PROFILES) {
            // With a space it is a remark on a program, not a name.
            if program.contains(' ') || start.elapsed() > self.request.options.time_limit {
                continue;
            }
            let single = Scratch::new(keep)?;
            self.attempt(&single, in_hbm, true, Some(program));
            dumps.push(Dumps::in_dir(single.path()));
            singles.push(single);
        }
        Ok(self.report(&answer, &plain, dumps, Some(reason)))
    }

    fn report(
        &self,
        answer: &Answer,
        scratch: &Scratch,
        dumps: Vec<Dumps>,
        abort: Option<&str>,
    ) -> Report {
        let target = self.request.target;
        let mut report = Report::new(&self.request.name, target, Status::Ok);
        report.n_partitions = self.request.options.n_partitions;
        report.memory = answer.memory;
        report.compile_ms = answer.compile_ms;
        report.libtpu = answer.libtpu.clone();
        let module = answer.hlo(scratch.path());
        if let Some(module) = &module {
            Analysis::new(module, dumps).walk().fill(&mut report, self.chip);
            report.vmem_bytes = module.all().map(|instruction| instruction.vmem_bytes()).max();
        }
        let mut notes: Vec<String> = Vec::new();
        if !self.request.options.cycles {
            report.cycles = None;
            report.cycles_note = Some("cycles were not asked for".to_owned());
        } else if !self.chip.has_cycle_model {
            report.cycles_note = Some(format!("libtpu has no cycle model for {}", target.name));
        } else if module.is_none() {
            report.cycles_note = Some("libtpu did not return the optimised program".to_owned());
        } else if let Some(reason) = abort {
            notes.push(match report.cycles {
                Some(_) => "libtpu's profiler aborted, but all estimates were written before, or \
                            came from profiles of one program at a time"
                    .to_owned(),
                None => format!("the profiler aborted ({reason})"),
            });
        }
        if report.cycles.is_some() && self.chip.n_cores > 1 {
            let n = self.chip.n_cores;
            notes.push(format!("figures of one core: `parallel` grid axes are split over {n}"));
        }
        notes.extend(report.cycles_note.take());
        report.cycles_note = (!notes.is_empty()).then(|| notes.join("; "));
        report
    }
}
