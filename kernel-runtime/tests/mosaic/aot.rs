//! libtpu compiles what the back end makes. A missing libtpu fails the tests with the command that
//! gets it.
//!
//! Many kernels go into one program, since a worker process costs more than a kernel's compile.

use super::{cases, program, table};
use systole::aot::{self, Options, Report, Request};
use systole::back::mosaic;
use systole::ir::Kernel;
use systole::target::{Target, V5E, V6E};
use systole::valid;

fn compile(name: &str, target: &'static Target, program: String) -> Report {
    let options = Options { cycles: false, lines: false, ..Options::default() };
    aot::compile(&Request::new(name, target, program).with(options))
}

/// Compiles all kernels that are valid for a target; where that fails, each alone, to name it.
pub(super) fn check(kernels: &[Kernel], target: &'static Target, at_least: usize) {
    let calls: Vec<(String, String)> = kernels
        .iter()
        .filter_map(|kernel| {
            let valid = valid::check(kernel.clone(), target).ok()?;
            let text = mosaic::call(&valid, &mosaic::Options::default());
            Some((kernel.name.clone(), text.unwrap_or_else(|errors| panic!("{errors}"))))
        })
        .collect();
    assert!(calls.len() >= at_least, "{} kernels on {target}", calls.len());
    for chunk in calls.chunks(64) {
        let texts: Vec<String> = chunk.iter().map(|(_, text)| text.clone()).collect();
        if compile("kernels", target, program::of(&texts)).is_ok() {
            continue;
        }
        for (name, text) in chunk {
            let report = compile(name, target, text.clone());
            assert!(report.is_ok(), "{name} on {target}: {:?}", report.messages);
        }
        panic!("each kernel compiles on {target}, but not all of them in one program");
    }
}

#[test]
fn every_golden_compiles_on_every_target() {
    for &target in Target::TPUS {
        check(&cases::all(), target, 35);
    }
}

#[test]
fn every_op_on_every_type_compiles() {
    let rows: Vec<Kernel> =
        table::rows().into_iter().filter(|row| !row.refused).map(|row| row.kernel).collect();
    // One chip whose vector unit has bf16, and one whose has not.
    for target in [&V5E, &V6E] {
        check(&rows, target, 250);
    }
}
