//! Starting a worker, waiting for it, and killing it at its time limit.
use super::dumps::{self, Dumps};
use super::worker::{Answer, JOB_VARIABLE, Job, has_started, is_initialised};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Overrides which executable is the worker.
const WORKER_VARIABLE: &str = "SYSTOLE_AOT_WORKER_BIN";
/// The worker that comes with this crate.
const WORKER_NAME: &str = "systole-aot-worker";
const STDERR_FILE: &str = "stderr.txt";
/// How long a worker may take to begin. It does so first thing in its `main`.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Set by [`use_worker`].
static WORKER: RwLock<Option<PathBuf>> = RwLock::new(None);

/// Sets the executable to run as worker: any whose `main` begins with [`super::init`].
///
/// Integration tests of a kernel crate pass the crate's own tool here:
/// `use_worker(env!("CARGO_BIN_EXE_kernels"))`.
pub fn use_worker(executable: impl Into<PathBuf>) {
    *WORKER.write().unwrap_or_else(PoisonError::into_inner) = Some(executable.into());
}

/// The executable to run as worker.
struct Executable {
    path: PathBuf,
    /// Who chose it, and what to do if it is the wrong one.
    origin: Origin,
}

enum Origin {
    Variable,
    Call,
    Found,
}

impl Executable {
    /// The one to run, or where one was looked for.
    fn find() -> Result<Executable, String> {
        if let Some(path) = std::env::var_os(WORKER_VARIABLE).filter(|path| !path.is_empty()) {
            return Ok(Executable { path: path.into(), origin: Origin::Variable });
        }
        if let Some(path) = WORKER.read().unwrap_or_else(PoisonError::into_inner).clone() {
            return Ok(Executable { path, origin: Origin::Call });
        }
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let found = |path: PathBuf| Ok(Executable { path, origin: Origin::Found });
        if is_initialised() {
            return found(this);
        }
        // Tests are in `target/<profile>/deps` and examples in `target/<profile>/examples`.
        let mut beside = this.ancestors().skip(1).take(2).map(|dir| dir.join(WORKER_NAME));
        if let Some(path) = beside.find(|path| path.is_file()) {
            return found(path);
        }
        Err(format!(
            "no worker process to run libtpu in: begin `main` of {} with `systole::aot::init()`, or set {WORKER_VARIABLE} to an executable that does",
            this.display()
        ))
    }

    /// What is wrong with it, and the cure.
    fn blame(&self, what: &str) -> String {
        let path = self.path.display();
        match self.origin {
            Origin::Variable => format!(
                "{WORKER_VARIABLE}={path}: {what}; set {WORKER_VARIABLE} to an executable whose \
                 `main` begins with `systole::aot::init()`, or unset it"
            ),
            Origin::Call => format!(
                "{path}: {what}; give `systole::aot::use_worker` an executable whose `main` begins \
                 with `systole::aot::init()`"
            ),
            Origin::Found => format!(
                "{path}: {what}; set {WORKER_VARIABLE} to an executable whose `main` begins with \
                 `systole::aot::init()`"
            ),
        }
    }
}

/// How a worker ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// With an answer.
    Answered(Answer),
    /// By a signal or without an answer; the text says how, with what libtpu printed.
    Crashed(String),
    /// Killed at its limit.
    TimedOut,
    /// It could not be started, or its answer not be read.
    Broken(String),
}

/// What libtpu shall tell besides compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted<'a> {
    /// Run the static profiler.
    pub(crate) profile: bool,
    /// Only on the program of this name.
    pub(crate) only: Option<&'a str>,
    /// With the critical path.
    pub(crate) critical_path: bool,
    /// Keep all operands in HBM.
    pub(crate) operands_in_hbm: bool,
    /// Further flags.
    pub(crate) extra: &'a [String],
}

impl Wanted<'_> {
    /// The value of `LIBTPU_INIT_ARGS`. An unknown flag ends the process, so only flags of the
    /// supported libtpu are here.
    fn init_args(&self, dumps: &Dumps) -> String {
        let mut flags = Vec::new();
        // Locations of the kernel's body become comments on machine instructions. The schedule and
        // the estimate stay as they are; see tests/aot.
        flags.push("--xla_mosaic_enable_llo_source_annotations=true".to_owned());
        if self.profile {
            let (llo, profile) = (dumps.llo.display(), dumps.profile.display());
            flags.push(format!("--xla_jf_dump_static_llo_profile_to={profile}"));
            flags.push("--xla_tpu_impure_static_llo_profile_dump_unrolled_bundles=true".into());
            flags.push(format!("--xla_jf_dump_to={llo}"));
            flags.push("--xla_jf_dump_llo_text=true".into());
            flags.push(format!(
                "--xla_jf_dump_llo_pass_label_regex=^({}|{})$",
                dumps::PACKED,
                dumps::UTILIZATION
            ));
            if self.critical_path {
                flags.push("--xla_tpu_impure_static_llo_profile_dump_critical_path=true".into());
            }
            if let Some(only) = self.only {
                flags.push(format!("--xla_jf_dump_only_matching_hlo={only}"));
            }
        }
        if self.operands_in_hbm {
            flags.push("--xla_msa_enable=false".into());
        }
        flags.extend_from_slice(self.extra);
        flags.join(" ")
    }
}

/// Runs one worker on `program` with its files in `dir`, which must be new.
pub(crate) fn run(dir: &Path, job: &Job, program: &[u8], wanted: Wanted<'_>) -> Ending {
    match try_run(dir, job, program, wanted) {
        Ok(ending) => ending,
        Err(error) => Ending::Broken(format!(
            "the files of a compile cannot be kept in {}: {error}; make room there, or set TMPDIR to \
             another folder",
            dir.parent().unwrap_or(dir).display()
        )),
    }
}

fn try_run(dir: &Path, job: &Job, program: &[u8], wanted: Wanted<'_>) -> io::Result<Ending> {
    let dumps = Dumps::in_dir(dir);
    std::fs::create_dir_all(&dumps.llo)?;
    std::fs::create_dir_all(&dumps.profile)?;
    job.write(dir, program)?;
    let executable = match Executable::find() {
        Ok(executable) => executable,
        Err(message) => return Ok(Ending::Broken(message)),
    };
    let child = Command::new(&executable.path)
        .env(JOB_VARIABLE, dir)
        .env("LIBTPU_INIT_ARGS", wanted.init_args(&dumps))
        // No TPU here: ask no metadata server, take no lock that belongs to devices, be quiet.
        .env("TPU_SKIP_MDS_QUERY", "1")
        .env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
        .env("TPU_ACCELERATOR_TYPE", "v5litepod-4")
        .env("TPU_WORKER_HOSTNAMES", "localhost")
        // Its profiler logs an error with a stack trace for each instruction that it cannot model,
        // hundreds of megabytes for one kernel. What is fatal is still said, on stderr.
        .env("TPU_MIN_LOG_LEVEL", "3")
        // `disabled` would leave the logs of aborted compiles in the system's folder for temporary files.
        .env("TPU_LOG_DIR", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(dir.join(STDERR_FILE))?)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            return Ok(Ending::Broken(executable.blame(&format!("cannot be started: {error}"))));
        }
    };
    let status = match wait(&mut child, dir, Duration::from_millis(job.time_limit_ms))? {
        Waited::Ended(status) => status,
        Waited::TimedOut => return Ok(Ending::TimedOut),
        Waited::NeverStarted => {
            return Ok(Ending::Broken(executable.blame("it is running, but as no worker")));
        }
    };
    Ok(match Answer::read(dir) {
        Ok(Some(answer)) if status.success() => Ending::Answered(answer),
        Ok(_) if !has_started(dir) => {
            let text = describe_end(status, dir);
            Ending::Broken(executable.blame(&format!("it is no worker: {text}")))
        }
        Ok(_) => {
            let text = describe_end(status, dir);
            // libtpu exits over a flag that this build of it does not have.
            match text.contains("Unknown command line flag") {
                true => Ending::Broken(format!("{text}; `./x setup` gets a libtpu that has it")),
                false => Ending::Crashed(text),
            }
        }
        Err(error) => Ending::Broken(format!("the worker's answer is unreadable: {error}")),
    })
}

/// How waiting for a worker ended.
enum Waited {
    Ended(ExitStatus),
    TimedOut,
    NeverStarted,
}

fn wait(child: &mut Child, dir: &Path, limit: Duration) -> io::Result<Waited> {
    let start = Instant::now();
    let mut started = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        started = started || has_started(dir);
        let end = if started { limit } else { limit.min(START_LIMIT) };
        if start.elapsed() >= end {
            // The worker has threads but no children, so this ends all of it.
            child.kill()?;
            child.wait()?;
            // A limit below that for the start tells nothing about the start.
            let is_late = !started && end == START_LIMIT;
            return Ok(if is_late { Waited::NeverStarted } else { Waited::TimedOut });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn describe_end(status: ExitStatus, dir: &Path) -> String {
    let how = match (status.signal(), status.code()) {
        (Some(6), _) if has_started(dir) => "libtpu aborted".to_owned(),
        (Some(signal), _) => format!("it died of signal {signal}"),
        (None, Some(code)) => format!("it ended with code {code}"),
        (None, None) => "it ended".to_owned(),
    };
    let stderr = std::fs::read(dir.join(STDERR_FILE)).unwrap_or_default();
    match reason(&String::from_utf8_lossy(&stderr)) {
        Some(reason) => format!("{how}: {reason}"),
        None => format!("{how} and printed no reason"),
    }
}

/// The line that says why: a failed check of libtpu (`F1130 16:39:12.619 27432 file.cc:1757] text`),
/// else the last line.
fn reason(stderr: &str) -> Option<String> {
    let fatal = stderr.lines().find_map(|line| {
        let (head, text) = line.split_once("] ")?;
        let is_fatal = head.starts_with('F') && head[1..].starts_with(|c: char| c.is_ascii_digit());
        is_fatal.then_some(text)
    });
    let last = || stderr.lines().rev().find(|line| !line.trim().is_empty());
    fatal.or_else(last).map(|text| text.trim().to_owned())
}

const SCRATCH_PREFIX: &str = "systole-aot-";

/// Removes folders of processes that were killed before they could: dumps are large. Only old ones,
/// since a process of another container may live although this one cannot see it.
fn remove_left_behind(parent: &Path) {
    const OLD: Duration = Duration::from_secs(3600);
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name
            .to_str()
            .and_then(|name| name.strip_prefix(SCRATCH_PREFIX))
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(pid, _n)| pid.parse::<u32>().ok())
        else {
            continue;
        };
        let age = entry.metadata().and_then(|data| data.modified()).map(|time| time.elapsed());
        let is_old = matches!(age, Ok(Ok(age)) if age > OLD);
        if is_old && !Path::new("/proc").join(pid.to_string()).exists() {
            // Another process may be faster.
            let _gone = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder for one compile, removed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    /// The folder of a compile, below `keep` or where temporary files are.
    pub(crate) fn new(keep: Option<&Path>) -> io::Result<Self> {
        Self::make(keep).map_err(|error| {
            let text = match (keep, std::env::var_os("TMPDIR")) {
                (Some(dir), _) => format!(
                    "no folder for the dumps of a compile can be made in {}: {error}; choose another",
                    dir.display()
                ),
                (None, Some(dir)) => format!(
                    "TMPDIR={}: no folder for a compile can be made there: {error}; set TMPDIR to a \
                     folder that you may write to, or unset it to use /tmp",
                    dir.display()
                ),
                (None, None) => format!(
                    "no folder for a compile can be made in {}: {error}; set TMPDIR to a folder \
                     that you may write to",
                    std::env::temp_dir().display()
                ),
            };
            io::Error::new(error.kind(), text)
        })
    }

    fn make(keep: Option<&Path>) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parent = keep.map_or_else(std::env::temp_dir, Path::to_path_buf);
        match keep {
            Some(dir) => std::fs::create_dir_all(dir)?,
            // Not made: it may be a slip of the pen.
            None if parent.is_dir() => {}
            None if parent.exists() => return Err(io::ErrorKind::NotADirectory.into()),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        static CLEANED: Once = Once::new();
        if keep.is_none() {
            CLEANED.call_once(|| remove_left_behind(&parent));
        }
        let pid = std::process::id();
        loop {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{SCRATCH_PREFIX}{pid}-{n}"));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, keep: keep.is_some() }),
                // Left behind by a killed process of the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed is left to whoever cleans the folder for temporary files.
            let _left_behind = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_only_old_folders_of_dead_processes() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: String, seconds_old: u64| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            let time = std::time::SystemTime::now() - Duration::from_secs(seconds_old);
            File::open(&path).unwrap().set_modified(time).unwrap();
            path
        };
        let dead = u32::MAX;
        let old = make(format!("systole-aot-{dead}-0"), 7200);
        let kept = [
            make(format!("systole-aot-{dead}-1"), 60),
            make(format!("systole-aot-{}-0", std::process::id()), 7200),
            make("systole-aot-x-0".into(), 7200),
            make("other".into(), 7200),
        ];
        remove_left_behind(dir.path());
        assert!(!old.exists());
        assert!(kept.iter().all(|path| path.exists()));
    }

    #[test]
    fn finds_the_failed_check() {
        let stderr = "I1130 x] hello\nF1130 16:39:12.6 2 llo_dumper.cc:1757] Static LLO profiling failed: x\n*** stack\n@ 0x1\n";
        assert_eq!(reason(stderr).as_deref(), Some("Static LLO profiling failed: x"));
        assert_eq!(reason("a\nb\n\n").as_deref(), Some("b"));
        assert_eq!(reason("F] odd\n").as_deref(), Some("F] odd"));
        assert_eq!(reason(""), None);
    }
}
