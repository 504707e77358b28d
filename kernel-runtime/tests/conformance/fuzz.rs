//! Differential tests: whole kernels, the interpreter against each plugin of XLA CPU.
//!
//! Random ones: so many in every run of the tests, with `./x fuzz` for as long as it says. A find
//! is made small by leaving ops out from the end, and by folding. Its text is printed, and belongs
//! into `tests/tile/run`, whose files are run here for ever.

use crate::backend::Backend;
use crate::generate::{self, Numbers};
use libtest_mimic::{Failed, Trial};
use std::path::Path;
use std::sync::Arc;
use systole::ir::Kernel;
use systole::pass::fold;
use systole::run::{Tolerance, compare};
use systole::target::GENERIC;
use systole::valid;

/// How many random kernels there are in a run of the tests.
const N_KERNELS: u64 = 64;
const MAX_OPS: usize = 30;

/// The interpreter and the plugins.
type Backends = [Arc<Backend>];

/// A trial per plugin with its share of the random kernels, and one per plugin and file.
pub(crate) fn trials(backends: &Backends) -> Vec<Trial> {
    let mut trials = Vec::new();
    for idx in 1..backends.len() {
        let all = backends.to_vec();
        trials.push(Trial::test(format!("{}::fuzz", all[idx].name), move || fuzz(&all, idx)));
        for (name, text) in files() {
            let all = backends.to_vec();
            let trial = move || {
                let kernel = Kernel::parse(&text)?;
                let seed = text.lines().find_map(|line| line.strip_prefix("// seed: "));
                let seed = seed.map_or(Ok(0), str::parse)?;
                difference(&kernel, seed, &all, idx).map_or(Ok(()), |how| Err(how.into()))
            };
            trials.push(Trial::test(format!("{}::{name}", backends[idx].name), trial));
        }
    }
    trials
}

/// The name and text of each file.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tile/run");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn fuzz(backends: &Backends, idx: usize) -> Result<(), Failed> {
    let n_plugins = backends.len() as u64 - 1;
    let is_long = std::env::var_os("SYSTOLE_FUZZ_SECONDS").is_some();
    let mut n = 0;
    for seed in generate::seeds(N_KERNELS) {
        if seed % n_plugins + 1 != idx as u64 {
            continue;
        }
        n += 1;
        if is_long {
            // A plugin that dies takes the report with it.
            println!("{}: seed {seed}", backends[idx].name);
        }
        let kernel = generate::kernel(seed, MAX_OPS, Numbers::Exact);
        if let Some(how) = difference(&kernel, seed, backends, idx) {
            return Err(find(seed, how, backends, idx).into());
        }
    }
    println!("{}: {n} random kernels give what the interpreter gives", backends[idx].name);
    Ok(())
}

/// What the plugin does otherwise than the interpreter; also if either does not run the kernel.
fn difference(kernel: &Kernel, seed: u64, backends: &Backends, idx: usize) -> Option<String> {
    let inputs = generate::inputs(kernel, seed, Numbers::Exact);
    let valid = match valid::check(kernel.clone(), &GENERIC) {
        Ok(valid) => valid,
        Err(errors) => return Some(errors.to_string()),
    };
    let run = |backend: &Backend| backend.run(&valid, &inputs).map_err(|errors| errors.to_string());
    let (expected, got) = match (run(&backends[0]), run(&backends[idx])) {
        (Ok(expected), Ok(got)) => (expected, got),
        (Err(errors), _) | (_, Err(errors)) => return Some(errors),
    };
    let results = expected.iter().zip(&got).map(|(a, b)| compare(a, b, &Tolerance::exact()));
    let wrong = results.enumerate().find(|(_, result)| !result.ok);
    wrong.map(|(output, result)| format!("output {output}: {result:?}"))
}

/// The smallest kernel of this seed that still differs, as a file for `tests/tile/run`.
fn find(seed: u64, how: String, backends: &Backends, idx: usize) -> String {
    let differs = |kernel: &Kernel, idx| difference(kernel, seed, backends, idx);
    let shorter = (0..MAX_OPS).find_map(|n_ops| {
        let kernel = generate::kernel(seed, n_ops, Numbers::Exact);
        differs(&kernel, idx).map(|how| (kernel, how))
    });
    let whole = || (generate::kernel(seed, MAX_OPS, Numbers::Exact), how);
    let (mut kernel, mut how) = shorter.unwrap_or_else(whole);
    let folded = fold(&kernel);
    if let Some(still) = differs(&folded, idx) {
        (kernel, how) = (folded, still);
    }
    let others = (1..backends.len()).filter(|&other| other != idx);
    let others: Vec<String> = others
        .map(|other| {
            let differs = differs(&kernel, other).is_some();
            format!("{} {}", backends[other].name, if differs { "differs too" } else { "does not" })
        })
        .collect();
    format!("{how}\n{}\n// seed: {seed}\n{kernel:#}", others.join(", "))
}
