//! The worker: a process that loads libtpu, compiles one program and ends.
//!
//! libtpu reads its flags from the environment when it is loaded, and aborts on some inputs; so
//! each compile has a process of its own. Parent and worker share a folder: the parent puts the job
//! and the program there and the worker its answer, beside the dumps that libtpu writes.
use crate::pjrt::{Code, CompileOptions, Error, Plugin, Value};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set for a worker process, to the folder of its job.
pub(crate) const JOB_VARIABLE: &str = "SYSTOLE_AOT_WORKER";
const JOB_FILE: &str = "job.json";
const PROGRAM_FILE: &str = "program.mlir";
const ANSWER_FILE: &str = "answer.json";
/// Made before anything else: tells a worker from any other executable.
const STARTED_FILE: &str = "started";
const HLO_FILE: &str = "hlo.pb";
const EXECUTABLE_FILE: &str = "executable.bin";

/// Whether [`init`] was called, so this executable can be run again as a worker.
static INITIALISED: AtomicBool = AtomicBool::new(false);

/// Makes this executable its own worker. Call it first thing in `main`: in a worker process it
/// compiles its job and never returns; otherwise it returns at once.
///
/// ```
/// // In a worker process this line does not return.
/// systole::aot::init();
/// ```
pub fn init() {
    if let Some(dir) = std::env::var_os(JOB_VARIABLE) {
        std::process::exit(worker_main(Path::new(&dir)));
    }
    INITIALISED.store(true, Ordering::Relaxed);
}

/// Whether the process with the job in `dir` is a worker at all.
pub(crate) fn has_started(dir: &Path) -> bool {
    dir.join(STARTED_FILE).exists()
}

pub(crate) fn is_initialised() -> bool {
    INITIALISED.load(Ordering::Relaxed)
}

/// What the parent wants.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) libtpu: PathBuf,
    pub(crate) topology: String,
    /// Compiler flags of this program.
    pub(crate) flags: Vec<(String, String)>,
    /// Over how many devices the program is split.
    pub(crate) n_partitions: usize,
    pub(crate) time_limit_ms: u64,
    /// Whether the serialised executable is wanted.
    pub(crate) want_executable: bool,
}

/// What the worker found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// `None` if the program compiled.
    pub(crate) error: Option<Failure>,
    pub(crate) memory: Option<super::Memory>,
    pub(crate) compile_ms: u64,
    pub(crate) libtpu: String,
    /// Format of the optimised program, which is in a file of its own.
    pub(crate) hlo_format: Option<String>,
}

/// Why there is no executable.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) message: String,
    /// Whether the program is at fault, and not the set-up.
    pub(crate) rejected: bool,
}

impl Job {
    pub(crate) fn write(&self, dir: &Path, program: &[u8]) -> std::io::Result<()> {
        std::fs::write(dir.join(PROGRAM_FILE), program)?;
        std::fs::write(dir.join(JOB_FILE), serde_json::to_vec(self)?)
    }
}

impl Answer {
    /// Reads the answer of a worker that ended; `None` if it wrote none.
    pub(crate) fn read(dir: &Path) -> std::io::Result<Option<Self>> {
        match std::fs::read(dir.join(ANSWER_FILE)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The optimised program.
    pub(crate) fn hlo(&self, dir: &Path) -> Option<super::hlo::Module> {
        let bytes = std::fs::read(dir.join(HLO_FILE)).ok()?;
        super::hlo::Module::parse(self.hlo_format.as_deref()?, &bytes)
    }

    /// The serialised executable, if it was wanted.
    pub(crate) fn executable(dir: &Path) -> Option<Vec<u8>> {
        std::fs::read(dir.join(EXECUTABLE_FILE)).ok()
    }
}

/// Runs the job in `dir`; returns the exit code.
fn worker_main(dir: &Path) -> i32 {
    if let Err(error) = std::fs::write(dir.join(STARTED_FILE), "") {
        eprintln!("systole aot worker: cannot write into {}: {error}", dir.display());
        return 3;
    }
    let job: Job = match std::fs::read(dir.join(JOB_FILE))
        .map_err(|error| error.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
    {
        Ok(job) => job,
        Err(error) => {
            eprintln!("systole aot worker: cannot read the job in {}: {error}", dir.display());
            return 2;
        }
    };
    watch_over(Duration::from_millis(job.time_limit_ms));
    let answer = match compile(&job, dir) {
        Ok(answer) => answer,
        Err(failure) => Answer {
            error: Some(failure),
            memory: None,
            compile_ms: 0,
            libtpu: String::new(),
            hlo_format: None,
        },
    };
    match write_answer(&answer, dir) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("systole aot worker: cannot write into {}: {error}", dir.display());
            3
        }
    }
}

/// Ends this process if its parent is gone or its time long over: nobody would read the answer.
fn watch_over(limit: Duration) {
    let parent = std::os::unix::process::parent_id();
    let start = Instant::now();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            if std::os::unix::process::parent_id() != parent || start.elapsed() > 2 * limit {
                std::process::exit(4);
            }
        }
    });
}

fn compile(job: &Job, dir: &Path) -> Result<Answer, Failure> {
    let set_up = |error: Error| Failure { message: error.to_string(), rejected: false };
    let unusable = |error: Error| set_up(Plugin::blame_tpu(error));
    let program = std::fs::read(dir.join(PROGRAM_FILE))
        .map_err(|error| Failure { message: error.to_string(), rejected: false })?;
    let topology = Plugin::load(&job.libtpu)
        .and_then(|plugin| plugin.topology(&job.topology))
        .map_err(unusable)?;
    let libtpu = topology.platform_version().map_err(unusable)?;
    let split = CompileOptions::default().partitions(job.n_partitions);
    let options = job
        .flags
        .iter()
        .fold(split, |options, (name, value)| options.flag(name, flag_value(value)));
    let start = Instant::now();
    let compiled = topology.compile(&program, &options).map_err(|error| Failure {
        rejected: !matches!(error.code, Code::Unavailable | Code::NotFound),
        message: error.message,
    })?;
    let compile_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let bytes = |size: i64| u64::try_from(size).unwrap_or_default();
    let memory = compiled.memory().ok().map(|stats| super::Memory {
        code_bytes: bytes(stats.code_bytes),
        argument_bytes: bytes(stats.argument_bytes),
        output_bytes: bytes(stats.output_bytes),
        temp_bytes: bytes(stats.temp_bytes),
    });
    // A compile that cannot be described further is still a compile.
    let hlo_format = compiled.optimized().ok().and_then(|(format, hlo)| {
        std::fs::write(dir.join(HLO_FILE), hlo).ok()?;
        Some(format)
    });
    if job.want_executable {
        let bytes = compiled.serialize().map_err(set_up)?;
        std::fs::write(dir.join(EXECUTABLE_FILE), bytes)
            .map_err(|error| Failure { message: error.to_string(), rejected: false })?;
    }
    Ok(Answer { error: None, memory, compile_ms, libtpu, hlo_format })
}

/// Flags travel as text; the message wants their type.
fn flag_value(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(int) => Value::Int(int),
        Err(_) => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            other => Value::Str(other.to_owned()),
        },
    }
}

/// The parent must never see half an answer.
fn write_answer(answer: &Answer, dir: &Path) -> std::io::Result<()> {
    let temporary = dir.join("answer.tmp");
    std::fs::write(&temporary, serde_json::to_vec(answer)?)?;
    std::fs::rename(temporary, dir.join(ANSWER_FILE))
}
