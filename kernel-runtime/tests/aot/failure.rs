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

/// Runs the probe with a shell script as worker.
fn run_with_worker(script: &str) -> String {
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
    assert!(silent.contains("ended with code 0 and printed no reason"), "{silent}");
    let hanging = run_with_worker("exec sleep 60");
    assert!(hanging.contains("PROBE TimedOut"), "{hanging}");
    let garbled = run_with_worker("echo '{\"error' > $SYSTOLE_AOT_WORKER/answer.json");
    assert!(garbled.contains("the worker's answer is unreadable"), "{garbled}");
    let missing = run_probe(&[("SYSTOLE_AOT_WORKER_BIN", "/no/such/worker")]);
    assert!(missing.contains("cannot start /no/such/worker"), "{missing}");
}

#[test]
fn says_how_to_get_libtpu() {
    let missing = run_probe(&[("TPU_LIBRARY_PATH", "/no/such/libtpu.so")]);
    assert!(missing.contains("PROBE Unavailable"), "{missing}");
    assert!(missing.contains("run `./x setup`"), "{missing}");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "no library").unwrap();
    let wrong = run_probe(&[("TPU_LIBRARY_PATH", file.path().to_str().unwrap())]);
    assert!(wrong.contains("PROBE Unavailable") && wrong.contains("cannot load"), "{wrong}");
}
