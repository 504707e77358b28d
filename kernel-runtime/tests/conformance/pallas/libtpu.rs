//! Every case lowered for every TPU, and compiled by libtpu.

use super::{Case, Probe, must_be};
use libtest_mimic::Trial;
use std::sync::Arc;
use systole::aot::{self, Options, Report, Request};
use systole::back::mosaic;
use systole::diag::Diagnostics;
use systole::target::{Target, V5E, V6E};

/// So many kernels make one program: a worker process costs more than a kernel's compile.
const CHUNK: usize = 64;

/// `mosaic::pallas::name` per case, and one trial per chip that libtpu compiles all of them for.
pub(super) fn trials(cases: &[Arc<Case>]) -> Vec<Trial> {
    let outputs: Vec<Arc<Case>> =
        cases.iter().filter(|case| (case.probe)().has_outputs()).cloned().collect();
    let lowered = outputs.iter().map(|case| {
        let case = case.clone();
        Trial::test(format!("mosaic::pallas::{}", case.name), move || {
            (case.probe)().lower().map_err(Into::into)
        })
    });
    // One chip whose vector unit has bf16, and one whose has not.
    let compiled = [&V5E, &V6E].map(|target| {
        let outputs = outputs.clone();
        Trial::test(format!("libtpu::pallas::{target}"), move || {
            compile_all(&outputs, target).map_err(Into::into)
        })
    });
    lowered.chain(compiled).collect()
}

impl Probe {
    /// Lowers it for every TPU: each gives a module, or refuses it as the case says.
    fn lower(&self) -> Result<(), String> {
        for &target in Target::TPUS {
            let result = self
                .valid(target)
                .and_then(|valid| mosaic::text(&valid, &mosaic::Options::default()));
            let refusal = self.refusals.iter().find(|&&(refuses, _)| refuses.name == target.name);
            match (result, refusal) {
                (Ok(text), None) if text.contains("func.func") => {}
                (Ok(text), None) => return Err(format!("{target}: no function in {text}")),
                (Ok(_), Some((_, code))) => {
                    return Err(format!("{target} takes it, but is said to refuse it by {code}"));
                }
                (Err(errors), Some((_, code))) => {
                    must_be(*code, &errors).map_err(|problem| format!("{target}: {problem}"))?;
                }
                (Err(errors), None) => return Err(format!("{target}: {errors}")),
            }
        }
        Ok(())
    }

    /// The module that libtpu compiles.
    fn call(&self, target: &'static Target) -> Result<String, Diagnostics> {
        let valid = self.valid(target)?;
        mosaic::call(&valid, &mosaic::Options::default())
    }
}

/// Compiles all cases that a target takes; where that fails, each alone, to name it.
fn compile_all(cases: &[Arc<Case>], target: &'static Target) -> Result<(), String> {
    let calls: Vec<(&str, String)> = cases
        .iter()
        .filter_map(|case| Some((case.name.as_str(), (case.probe)().call(target).ok()?)))
        .collect();
    for chunk in calls.chunks(CHUNK) {
        let texts: Vec<String> = chunk.iter().map(|(_, text)| text.clone()).collect();
        if compile("cases", target, crate::program::of(&texts)).is_ok() {
            continue;
        }
        let mut problems = Vec::new();
        for (name, text) in chunk {
            let report = compile(name, target, text.clone());
            if !report.is_ok() {
                problems.push(format!("{name}: {:?}", report.messages));
            }
        }
        problems.push(format!("{} of {} do not compile", problems.len(), chunk.len()));
        return Err(problems.join("\n"));
    }
    Ok(())
}

fn compile(name: &str, target: &'static Target, program: String) -> Report {
    let options = Options { cycles: false, lines: false, ..Options::default() };
    aot::compile(&Request::new(name, target, program).with(options))
}
