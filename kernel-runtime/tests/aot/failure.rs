//! What reports say when something is wrong.
use super::{DOT, KERNEL, call_kernel, fresh};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use systole::aot::{Report, Status, compile};
use systole::target::{GENERIC, V5E};

#[test]
fn names_the_line_that_libtpu_rejects() {
    let body = KERNEL.replace("stable_mosaic.arith.addf", "stable_mosaic.arith.no_such_op");
    let report = compile(&fresh(&V5E, &call_kernel(&body)));
    assert_eq!(report.status, Status::Rejected);
    let diagnostics = report.diagnostics();
    assert_eq!(diagnostics[0].code.as_str(), "aot::rejected");
    assert!(diagnostics[0].message.contains("no_such_op"), "{}", diagnostics[0]);
    assert_eq!(diagnostics[0].labels[0].span.to_string(), "kernel.rs:5:5");
}

#[test]
fn says_how_much_vmem_is_too_much() {
    let body = KERNEL
        .replace("128x256xf32, #tpu", "131072x256xf32, #tpu")
        .replace("128, 256>}]", "131072, 256>}]");
    let report = compile(&fresh(&V5E, &call_kernel(&body)));
    assert_eq!(report.status, Status::Rejected);
    assert!(!report.messages[0].text.is_empty());
}

#[test]
fn rejects_text_that_is_no_program() {
    for program in ["", "nonsense", "func.func @main() -> tensor<f32> {"] {
        let report = compile(&fresh(&V5E, program));
        assert_eq!(report.status, Status::Rejected, "{program}: {:?}", report.messages);
    }
}

#[test]
fn refuses_a_target_that_is_no_tpu() {
    let report = compile(&fresh(&GENERIC, DOT));
    assert_eq!(report.status, Status::Unavailable);
    assert_eq!(report.diagnostics()[0].code.as_str(), "aot::unavailable");
}

#[test]
fn says_which_flag_a_libtpu_lacks() {
    let mut request = fresh(&V5E, DOT);
    request.options.init_flags = vec!["--no_such_flag=true".into()];
    let report = compile(&request);
    assert_eq!(report.status, Status::Unavailable);
    assert!(report.messages[0].text.contains("'no_such_flag'"), "{:?}", report.messages);
}

#[test]
fn kills_a_compile_at_its_time_limit() {
    let mut request = fresh(&V5E, DOT);
    request.options.time_limit = Duration::from_millis(20);
    let report = compile(&request);
    assert_eq!(report.status, Status::TimedOut);
    let diagnostic = &report.diagnostics()[0];
    assert_eq!(diagnostic.code.as_str(), "aot::timed_out");
    assert!(diagnostic.message.contains("test on v5e"), "{diagnostic}");
}

/// Run by the tests below in a process of its own, with a worker or a libtpu that misbehaves.
#[test]
fn probe() {
    let mut request = fresh(&V5E, DOT);
    if std::env::var_os("PROBE_HURRIES").is_some() {
        request.options.time_limit = Duration::from_millis(300);
    }
    let report: Report = compile(&request);
    eprintln!("PROBE {:?}", report.status);
    for diagnostic in report.diagnostics() {
        eprintln!("{diagnostic}");
    }
}

fn run_probe(variables: &[(&str, &str)]) -> String {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "aot::failure::probe", "--nocapture"])
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the probe with a shell script as worker, which says first that it has started.
fn run_with_worker(script: &str) -> String {
    run_with_executable(&format!("touch $SYSTOLE_AOT_WORKER/started\n{script}"))
}

fn run_with_executable(script: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("worker");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    run_probe(&[("SYSTOLE_AOT_WORKER_BIN", path.to_str().unwrap()), ("PROBE_HURRIES", "1")])
}

#[test]
fn survives_workers_that_misbehave() {
    let aborted = run_with_worker("echo 'F1130 1 a.cc:7] Check failed: x < y' >&2; kill -ABRT $$");
    assert!(aborted.contains("PROBE Crashed"), "{aborted}");
    assert!(
        aborted.contains("error[aot::crashed]: test on v5e: libtpu aborted: Check failed: x < y")
    );
    let silent = run_with_worker("exit 0");
    assert!(silent.contains("it ended with code 0 and printed no reason"), "{silent}");
    let hanging = run_with_worker("exec sleep 60");
    assert!(hanging.contains("PROBE TimedOut"), "{hanging}");
    let garbled = run_with_worker("echo '{\"error' > $SYSTOLE_AOT_WORKER/answer.json");
    assert!(garbled.contains("the worker's answer is unreadable"), "{garbled}");
    // What libtpu logs goes with the folder of the job, and only what is fatal is logged.
    let logs = "[ $TPU_LOG_DIR = $SYSTOLE_AOT_WORKER ] && echo at level $TPU_MIN_LOG_LEVEL >&2";
    let logging = run_with_worker(&format!("{logs}; kill -ABRT $$"));
    assert!(logging.contains("libtpu aborted: at level 3"), "{logging}");
}

/// Asserts that there was no compile, and that the message has these parts.
fn assert_unavailable(printed: &str, parts: &[&str]) {
    assert!(printed.contains("PROBE Unavailable"), "{printed}");
    for part in parts {
        assert!(printed.contains(part), "no `{part}` in {printed}");
    }
}

#[test]
fn names_the_variable_of_an_executable_that_is_no_worker() {
    let cure = "set SYSTOLE_AOT_WORKER_BIN to an executable whose `main` begins with";
    let missing = run_probe(&[("SYSTOLE_AOT_WORKER_BIN", "/no/such/worker")]);
    let what = "SYSTOLE_AOT_WORKER_BIN=/no/such/worker: cannot be started: No such file";
    assert_unavailable(&missing, &[what, cure]);
    let other = run_with_executable("echo usage >&2; exit 2");
    assert_unavailable(&other, &["/worker: it is no worker: it ended with code 2: usage", cure]);
    let dying = run_with_executable("kill -ABRT $$");
    assert_unavailable(&dying, &["it is no worker: it died of signal 6", cure]);
}

#[test]
fn names_the_variable_of_a_library_that_is_not_libtpu() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "no library").unwrap();
    let cpu = systole::pjrt::Plugin::cpu().unwrap().path().to_owned();
    let cure = "set TPU_LIBRARY_PATH to libtpu, or unset it to use what `./x setup` installs";
    for (path, what) in [
        (std::path::Path::new("/no/such/libtpu.so"), "there is no such file"),
        (std::path::Path::new("/tmp"), "it is a folder"),
        (file.path(), "it is no shared library"),
        (&cpu, "it is a PJRT plugin, but not libtpu"),
    ] {
        let path = path.to_str().unwrap();
        let named = format!("TPU_LIBRARY_PATH={path}: {what}");
        assert_unavailable(&run_probe(&[("TPU_LIBRARY_PATH", path)]), &[&named, cure]);
    }
    // One whose name promises more than it keeps is asked itself.
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("libtpu.so");
    std::os::unix::fs::symlink(&cpu, &link).unwrap();
    let printed = run_probe(&[("TPU_LIBRARY_PATH", link.to_str().unwrap())]);
    assert_unavailable(&printed, &["libtpu.so: Topology not supported", cure]);
}

#[test]
fn tells_a_libtpu_that_is_not_installed_from_a_variable_that_is_wrong() {
    let empty = tempfile::tempdir().unwrap();
    let dir = empty.path().to_str().unwrap();
    let nowhere = [("SYSTOLE_CACHE_DIR", dir), ("HOME", dir), ("PATH", ""), ("VIRTUAL_ENV", "")];
    let printed = run_probe(&[&nowhere[..], &[("TPU_LIBRARY_PATH", "")]].concat());
    let what = "libtpu is not installed: run `./x setup`, or set TPU_LIBRARY_PATH to it";
    assert_unavailable(&printed, &[what, "TPU_LIBRARY_PATH is not set", dir]);
}

#[test]
fn names_the_variable_of_an_unusable_folder() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let missing = format!("{path}-missing");
    for (path, reason) in [(path, "not a directory"), (&missing, "entity not found")] {
        let printed = run_probe(&[("TMPDIR", path)]);
        let what = format!("TMPDIR={path}: no folder for a compile can be made there: {reason}");
        assert_unavailable(&printed, &[&what, "set TMPDIR to a folder that you may write to"]);
    }
    assert!(!std::path::Path::new(&missing).exists());
}
