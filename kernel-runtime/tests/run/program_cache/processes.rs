//! Several processes at one cache of programs. Each is this test binary, told by a variable to do a
//! job.
use super::{AMPLE, CLIENT, entries, expected, fresh, in_folder, numbered, run};
use crate::cache::at_length;
use crate::jobs::{self, finish};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};
use systole::cache::{DiskCache, Key};
use systole::pjrt::Plugin;
use systole::run::{Device, with_device};

/// Job and folder of a child.
const JOB: &str = "PROGRAM_CACHE_TEST_JOB";
const DIR: &str = "PROGRAM_CACHE_TEST_DIR";
const N_PROCESSES: usize = 4;
const N_THREADS: usize = 8;
const N_PROGRAMS: usize = 12;

fn command(job: &str, dir: &Path) -> Command {
    let mut command = jobs::command("run::program_cache::processes::child", JOB, job);
    command.env(DIR, dir);
    command
}

/// Does the job it was started for; as one test among others, nothing.
#[test]
fn child() {
    let (Ok(job), Some(dir)) = (std::env::var(JOB), std::env::var_os(DIR)) else { return };
    let dir = Path::new(&dir);
    match job.as_str() {
        "hammer" => hammer(dir),
        "rewrite" => rewrite_for_ever(dir),
        "environment" => tell_of_environment(dir),
        "full" => meet_a_full_disk(dir),
        "read-only" => meet_a_read_only_folder(dir),
        "die" => die_while_compiling(dir),
        other => panic!("no job {other}"),
    }
}

/// Runs every program in every thread, half of which share a compiler, and writes down how many
/// were compiled.
fn hammer(dir: &Path) {
    let cache = in_folder(&dir.join("programs"));
    let devices: Vec<Device> =
        (0..1 + N_THREADS / 2).map(|_| fresh(&CLIENT, &cache).remove(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let device = &devices[thread.saturating_sub(N_THREADS / 2 - 1)];
            scope.spawn(move || {
                for idx in 0..N_PROGRAMS {
                    let n = (idx + 5 * thread) % N_PROGRAMS;
                    assert_eq!(with_device(device, || numbered(n)), expected(n));
                }
            });
        }
    });
    let compiles = |device: &Device| device.compiler().unwrap().stats().compiles;
    let compiles: u64 = devices.iter().map(compiles).sum();
    let disk = cache.disk().unwrap();
    assert_eq!((disk.counters().healed, disk.problem()), (0, None));
    std::fs::write(dir.join(std::process::id().to_string()), compiles.to_string()).unwrap();
}

#[test]
fn one_of_all_processes_and_threads_compiles_each_program() {
    let dir = tempfile::tempdir().unwrap();
    finish((0..N_PROCESSES).map(|_| command("hammer", dir.path()).spawn().unwrap()));
    let told = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path());
    let told: Vec<PathBuf> = told.filter(|path| path.is_file()).collect();
    assert_eq!(told.len(), N_PROCESSES);
    let compiles =
        |path: &PathBuf| std::fs::read_to_string(path).unwrap().parse::<usize>().unwrap();
    assert_eq!(told.iter().map(compiles).sum::<usize>(), N_PROGRAMS);
    let verified = in_folder(&dir.path().join("programs")).disk().unwrap().verify().unwrap();
    assert_eq!((verified.n_good, verified.n_damaged), (N_PROGRAMS as u64, 0));
}

/// Removes and stores the entries that are there, over and over.
fn rewrite_for_ever(dir: &Path) {
    let cache = DiskCache::open(dir.join("programs"), AMPLE);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let values: Vec<(Key, Vec<u8>)> = entries(&dir.join("copy"))
        .iter()
        .map(|path| {
            let key = Key::parse(&(name(path.parent().unwrap()) + &name(path))).unwrap();
            (key, std::fs::read(path).unwrap().split_off(56))
        })
        .collect();
    assert_eq!(values.len(), 4);
    std::fs::write(dir.join("ready"), "").unwrap();
    for (key, value) in values.iter().cycle() {
        cache.discard(key);
        cache.put(key, value);
    }
}

#[test]
fn kills_while_programs_are_written_cost_compiles_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("programs");
    let all = || (0..4).map(numbered).collect::<Vec<_>>();
    let right: Vec<_> = (0..4).map(expected).collect();
    run(&in_folder(&folder), all);
    for path in entries(&folder) {
        let copy = dir.path().join("copy").join(path.strip_prefix(&folder).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(path, copy).unwrap();
    }
    let (mut loads, mut compiles) = (0, 0);
    let n_kills = at_length(20, 200) as u64;
    for _kill in 0..n_kills {
        let mut child = command("rewrite", dir.path()).spawn().unwrap();
        let ready = dir.path().join("ready");
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(1));
            assert!(child.try_wait().unwrap().is_none());
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        std::thread::sleep(Duration::from_micros(u64::from(now.subsec_nanos()) % 5000));
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(ready).unwrap();
        let (results, stats) = run(&in_folder(&folder), all);
        assert_eq!(results, right);
        let disk = stats.disk.unwrap();
        assert_eq!((disk.healed, disk.failures), (0, 0));
        loads += stats.loads;
        compiles += stats.compiles;
    }
    assert_eq!(loads + compiles, 4 * n_kills);
    assert!(loads > 2 * n_kills, "{loads}");
    let (results, stats) = run(&in_folder(&folder), all);
    assert_eq!((results, stats.compiles), (right, 0));
}

/// With the environment as it is; tells how many programs were compiled and loaded.
fn tell_of_environment(dir: &Path) {
    let device = Device::cpu();
    assert_eq!(with_device(&device, || numbered(1)), expected(1));
    let stats = device.compiler().unwrap().stats();
    let at = device.compiler().unwrap().cache().disk().map(|disk| disk.dir().to_owned());
    std::fs::write(dir.join("told"), format!("{} {} {at:?}", stats.compiles, stats.loads)).unwrap();
}

#[test]
fn the_environment_says_where_programs_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let told = |variables: &[(&str, &Path)]| {
        let mut command = command("environment", dir.path());
        // The plugins are in the cache folder too, unless told otherwise.
        command.env("SYSTOLE_PJRT_CPU", Plugin::cpu().unwrap().path());
        command.env("SYSTOLE_CACHE_DIR", dir.path()).env_remove("SYSTOLE_PROGRAM_CACHE");
        command.envs(variables.iter().copied());
        finish([command.spawn().unwrap()]);
        std::fs::read_to_string(dir.path().join("told")).unwrap()
    };
    let default = dir.path().join("programs");
    assert_eq!(told(&[]), format!("1 0 Some({default:?})"));
    assert_eq!(told(&[]), format!("0 1 Some({default:?})"));
    let variable = systole::run::PROGRAM_CACHE_VARIABLE;
    assert_eq!(told(&[(variable, Path::new(""))]), format!("0 1 Some({default:?})"));
    assert_eq!(told(&[(variable, Path::new("off"))]), "1 0 None");
    let other = dir.path().join("other");
    assert_eq!(told(&[(variable, &other)]), format!("1 0 Some({other:?})"));
    assert_eq!(told(&[(variable, &other)]), format!("0 1 Some({other:?})"));
    // Flags of the compiler make other programs.
    let flags = Path::new("--xla_cpu_enable_fast_math=true");
    assert_eq!(told(&[("XLA_FLAGS", flags)]), format!("1 0 Some({default:?})"));
}

/// Run with a limit on the size of files, which fails writes as a full disk does.
fn meet_a_full_disk(dir: &Path) {
    let cache = in_folder(&dir.join("programs"));
    let (result, stats) = run(&cache, || numbered(6));
    assert_eq!((result, stats.compiles), (expected(6), 1));
    let disk = stats.disk.unwrap();
    assert_eq!((disk.stored, disk.failures), (0, 1), "{:?}", cache.disk().unwrap().problem());
}

#[test]
fn a_full_disk_fails_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    let this = std::env::current_exe().unwrap();
    // Of 1024 bytes each, in bash. Ignored, the signal becomes an error of the write.
    let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" --exact run::program_cache::processes::child --nocapture";
    shell.args(["-c", script]).arg(this).env(JOB, "full").env(DIR, dir.path());
    finish([shell.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()]);
    let (result, stats) = run(&in_folder(&dir.path().join("programs")), || numbered(6));
    assert_eq!((result, stats.compiles), (expected(6), 1));
}

/// Run where the folder of programs cannot be written, not even by root.
fn meet_a_read_only_folder(dir: &Path) {
    let cache = in_folder(&dir.join("programs"));
    let (results, stats) = run(&cache, || (numbered(1), numbered(4)));
    assert_eq!(results, (expected(1), expected(4)));
    assert_eq!((stats.loads, stats.compiles), (1, 1));
    let (disk, problem) = (stats.disk.unwrap(), cache.disk().unwrap().problem().unwrap());
    assert_eq!((disk.hits, disk.stored), (1, 0));
    assert!(disk.failures > 0 && problem.contains("Read-only"), "{problem}");
    let kept = cache.disk().unwrap().stats().unwrap();
    assert_eq!(kept.n_entries, 1);
}

#[test]
fn a_read_only_folder_still_gives() {
    let dir = tempfile::tempdir().unwrap();
    run(&in_folder(&dir.path().join("programs")), || numbered(1));
    let mut shell = Command::new("unshare");
    let script = format!(
        "mount --bind \"${DIR}\" \"${DIR}\" && mount -o remount,bind,ro \"${DIR}\" && exec \"$0\" \
         --exact run::program_cache::processes::child --nocapture"
    );
    // In a namespace that ends with the process.
    shell.args(["--user", "--map-root-user", "--mount", "bash", "-c", &script]);
    shell.arg(std::env::current_exe().unwrap()).env(JOB, "read-only").env(DIR, dir.path());
    let output = shell.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Where namespaces are forbidden there is no such folder to be had.
    let is_forbidden = stderr.contains("unshare:") || stderr.contains("mount:");
    assert!(output.status.success() || is_forbidden, "{stderr}");
}

/// Ends as a plugin does that finds itself broken: a signal in the middle of a compilation.
fn die_while_compiling(dir: &Path) {
    let cache = in_folder(&dir.join("programs"));
    std::thread::scope(|scope| {
        scope.spawn(|| run(&cache, || (0..N_PROGRAMS).map(numbered).collect::<Vec<_>>()));
        // The lock of a program that is being made.
        while std::fs::read_dir(dir.join("programs/keys")).map_or(0, Iterator::count) == 0 {
            std::thread::yield_now();
        }
        std::process::abort();
    });
}

#[test]
fn a_process_that_dies_while_it_compiles_keeps_nobody_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let output = command("die", dir.path()).output().unwrap();
    const SIGABRT: i32 = 6;
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let all = || (0..N_PROGRAMS).map(numbered).collect::<Vec<_>>();
    let (results, stats) = run(&in_folder(&dir.path().join("programs")), all);
    assert_eq!(results, (0..N_PROGRAMS).map(expected).collect::<Vec<_>>());
    let disk = stats.disk.unwrap();
    assert_eq!((disk.waits, disk.healed, disk.failures), (0, 0, 0));
    assert_eq!(stats.loads + stats.compiles, N_PROGRAMS as u64);
}
