//! Paged attention and Pallas' kernels of the same shapes (`benches/paged_cycles.py`) by libtpu's
//! cycle model, compiled by one recipe in one run: operands in HBM, tables of one call as constants.

use std::collections::BTreeMap;
use systole::aot::{self, Options, Report, Request};
use systole::back::mosaic;
use systole::diag::Diagnostics;
use systole::target::{Target, V5E, V6E};
use systole::valid;
use systole_kernels::KERNELS;

#[allow(dead_code, reason = "tests use all of it")]
#[path = "../kernel-runtime/tests/import/python.rs"]
mod python;

fn options() -> Options {
    Options { lines: false, operands_in_hbm: true, ..Options::default() }
}

/// Our kernel of a spec: its estimate, or why there is none.
fn ours(spec: &str, target: &'static Target) -> Result<Report, String> {
    let told = |problems: Diagnostics| problems.to_string();
    let entry = KERNELS.iter().find(|entry| entry.name == "paged_attention");
    let specs = entry.map(|entry| (entry.specs)()).unwrap_or_default();
    let spec = specs.iter().find(|known| known.name() == spec);
    let spec = spec.ok_or_else(|| format!("there is no spec `{}`", spec_names(&specs)))?;
    let kernel = spec.kernel(target).map_err(told)?;
    let valid = valid::check(kernel.clone(), target).map_err(told)?;
    let program = mosaic::call(&valid, &mosaic::Options::default()).map_err(told)?;
    let report = aot::compile(&Request::new(spec.name(), target, program).with(options()));
    let inputs = spec.sample_inputs(1).map_err(told)?;
    Ok(aot::estimate_pinned(report, &kernel, &inputs, target, &options()))
}

fn spec_names(specs: &[systole::run::Spec]) -> String {
    specs.iter().map(systole::run::Spec::name).collect::<Vec<_>>().join(", ")
}

/// What is told of a report: the kernel's own cycles, and the products that it executes.
fn told(report: &Report) -> String {
    match report.kernels_cycles() {
        Some(cycles) => format!("{cycles:>9} cycles, {:>5} vmatmul", report.ops.vmatmul),
        None => {
            let first = report.messages.first().map(|message| message.text.as_str());
            let why = report.cycles_note.as_deref().or(first).unwrap_or("no estimate");
            format!("- ({})", why.lines().next().unwrap_or_default())
        }
    }
}

/// Pallas' modules: chip, case, kernel and config, in the file's name, and the text.
fn pallas() -> Result<Vec<(String, String)>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/paged_cycles.py");
    let mut command = python::with_jax()?.command();
    let output = command.arg(script).arg(folder.path()).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let files = std::fs::read_dir(folder.path()).map_err(|error| error.to_string())?;
    let mut modules = Vec::new();
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file.path()).map_err(|error| error.to_string())?;
        modules.push((name, text));
    }
    modules.sort();
    Ok(modules)
}

fn main() {
    aot::init();
    // `cargo test --benches` has no time for this.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let modules = pallas().unwrap_or_else(|why| {
        eprintln!("without Pallas beside it: {why}");
        Vec::new()
    });
    let specs = [
        "b8_h8_kv2_k4096_d128_p128",
        "b8_h8_kv8_k4096_d128_p128",
        "b8_h32_kv8_k2048_d128_p64",
        "b8_h8_kv2_k4096_d128_p16",
    ];
    for target in [&V5E, &V6E] {
        for case in specs {
            eprintln!("{target} bf16_{case}");
            let own = ours(&format!("bf16_{case}"), target);
            let cycles = own.as_ref().ok().and_then(Report::kernels_cycles);
            match &own {
                Ok(report) => eprintln!("  {:24} {}", "ours", told(report)),
                Err(why) => eprintln!("  {:24} - ({why})", "ours"),
            }
            let mut best: BTreeMap<&str, u64> = BTreeMap::new();
            let prefix = format!("{}.{case}.", target.name);
            for (name, text) in modules.iter().filter(|(name, _)| name.starts_with(&prefix)) {
                let name = name[prefix.len()..].trim_end_matches(".mlir");
                let request = Request::new(name, target, text.clone()).with(options());
                let report = aot::compile(&request);
                eprintln!("  {name:24} {}", told(&report));
                if let (Some(cycles), Some((kernel, _))) =
                    (report.kernels_cycles(), name.split_once('.'))
                {
                    let best = best.entry(kernel).or_insert(cycles);
                    *best = cycles.min(*best);
                }
            }
            for (kernel, theirs) in best {
                let ratio = cycles.map(|ours| ours as f64 / theirs as f64);
                let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
                eprintln!("  ours / best {kernel}: {ratio}");
            }
        }
    }
}
