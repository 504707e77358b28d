//! `check` and `bench`: they compile with libtpu.

use super::{Kind, assert_fields, command, kernels};
use serde_json::Value;

const SPEC: &str = "scale_add/bf16_1024x1024";

fn rows(args: &[&str]) -> Vec<Value> {
    let ran = kernels(args);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    ran.json().as_array().expect("an array").clone()
}

#[test]
fn check_compiles_for_every_chip() {
    let rows = rows(&["check", SPEC, "--json"]);
    let targets: Vec<&str> = rows.iter().filter_map(|row| row["target"].as_str()).collect();
    assert_eq!(targets, ["v4", "v5e", "v5p", "v6e", "tpu7x"]);
    for row in &rows {
        assert_fields(
            row,
            &[
                ("kernel", Kind::Text),
                ("spec", Kind::Text),
                ("target", Kind::Text),
                ("status", Kind::OneOf(&["ok"])),
                ("cycles?", Kind::Count),
                ("cycles_note?", Kind::Text),
                ("time_us?", Kind::Number),
                ("bound?", Kind::OneOf(&["mxu", "vpu", "hbm", "latency"])),
                ("mxu_utilization?", Kind::Number),
                ("vmem_bytes", Kind::Count),
                ("hbm_bytes?", Kind::Count),
                ("code_bytes", Kind::Count),
                ("compile_ms", Kind::Count),
                ("diagnostics", Kind::Array),
            ],
        );
    }
    // libtpu has no cycle model for v4, and the row says so; elsewhere there is an estimate.
    assert!(rows[0]["cycles"].is_null() && rows[0]["cycles_note"].is_string());
    assert!(rows[1..].iter().all(|row| row["cycles"].is_u64() && row["time_us"].is_number()));
}

#[test]
fn check_table_has_both_terms_of_the_time() {
    let ran = kernels(&["check", SPEC, "--target", "v5e,v4"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in ["cycles us", "HBM us", "libtpu's static model", "v4: libtpu has no cycle model"] {
        assert!(ran.out.contains(part), "{}", ran.out);
    }
}

#[test]
fn check_verbose_tells_what_lines_cost() {
    let ran = kernels(&["check", SPEC, "--target", "v5e", "--verbose"]);
    assert!(ran.code == 0 && ran.out.contains("scale_add/kernel.rs:"), "{}", ran.out);
}

#[test]
fn bench_compares_with_xla() {
    let rows = rows(&["bench", SPEC, "--against", "xla", "--target", "v5e", "--json"]);
    assert_eq!(rows.len(), 1);
    assert_fields(
        &rows[0],
        &[
            ("kernel", Kind::Text),
            ("spec", Kind::Text),
            ("target", Kind::Text),
            ("cycles", Kind::Count),
            ("xla_cycles", Kind::Count),
            ("ratio", Kind::Number),
            ("time_us", Kind::Number),
            ("xla_time_us", Kind::Number),
            ("hbm_bytes", Kind::Count),
            ("xla_hbm_bytes", Kind::Count),
            ("note", Kind::Text),
            ("diagnostics", Kind::Array),
        ],
    );
    let number = |name: &str| rows[0][name].as_f64().unwrap();
    assert!((number("ratio") - number("cycles") / number("xla_cycles")).abs() < 1e-9);
    // Both sides read two arrays of 2 MiB and write one.
    assert!(number("hbm_bytes") >= 6.0 * 1048576.0 && number("xla_hbm_bytes") >= 6.0 * 1048576.0);
}

#[test]
fn a_set_up_that_compiles_nothing_is_one_diagnostic() {
    let cpu = systole::pjrt::Plugin::cpu().unwrap().path().to_owned();
    for (variable, value, cure) in [
        ("TPU_LIBRARY_PATH", "/no/such/libtpu.so", "./x setup"),
        ("TPU_LIBRARY_PATH", cpu.to_str().unwrap(), "./x setup"),
        ("SYSTOLE_AOT_WORKER_BIN", "/no/such/worker", "or unset it"),
        ("SYSTOLE_AOT_WORKER_BIN", "/bin/true", "or unset it"),
        ("TMPDIR", "/dev/null", "set TMPDIR to a folder"),
    ] {
        for args in [&["check", "scale_add"][..], &["bench", "scale_add"]] {
            let dir = tempfile::tempdir().unwrap();
            let args = [&["--json"], args].concat();
            let libtpu = systole::pjrt::Plugin::tpu_path().unwrap();
            let mut command = command(&args);
            command.env("TPU_LIBRARY_PATH", libtpu).env("SYSTOLE_CACHE_DIR", dir.path());
            let output = command.env(variable, value).output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{err}");
            assert_eq!(err.matches("error[").count(), 1, "{err}");
            assert!(err.contains(&format!("{variable}={value}: ")) && err.contains(cure), "{err}");
            let out: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(out["diagnostics"][0]["code"], "aot::unavailable", "{out}");
        }
    }
}

#[test]
fn what_the_cache_has_does_not_hide_a_broken_set_up() {
    let dir = tempfile::tempdir().unwrap();
    let libtpu = systole::pjrt::Plugin::tpu_path().unwrap();
    let run = |names: &[&str], worker: Option<&str>| {
        let mut command = command(&[&["check", "--target", "v5e"], names].concat());
        command.env("TPU_LIBRARY_PATH", &libtpu).env("SYSTOLE_CACHE_DIR", dir.path());
        let output = command.envs(worker.map(|path| ("SYSTOLE_AOT_WORKER_BIN", path))).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run(&[SPEC], None), (Some(0), String::new()));
    // Nothing needs to be compiled for this one.
    assert_eq!(run(&[SPEC], Some("/bin/true")), (Some(0), String::new()));
    let (code, err) = run(&["scale_add"], Some("/bin/true"));
    assert_eq!((code, err.matches("error[").count()), (Some(1), 1), "{err}");
}
