//! `show`: a kernel in one of its forms.

use super::args::{ShowArgs, Stage};
use super::compile::{mosaic_call, mosaic_text, require_mlir};
use super::output::Output;
use super::select::{any_target, select_one, tpu};
use super::{Failure, Verdict};
use crate::back::stablehlo;
use crate::diag::Diagnostics;
use crate::run::KernelEntry;
use crate::target::{GENERIC, Target, V5E};
use crate::valid::{self, Valid};
use serde::Serialize;

#[derive(Serialize)]
struct Shown<'a> {
    kernel: &'a str,
    spec: &'a str,
    target: &'a str,
    stage: &'a str,
    text: &'a str,
}

pub(crate) fn run(
    registry: &[KernelEntry],
    args: &ShowArgs,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let selected = select_one(registry, &args.name, args.spec.as_deref())?;
    let target = target(args)?;
    if matches!(args.stage, Stage::Mosaic | Stage::Call) {
        require_mlir(&format!("show --stage {}", args.stage.name()))?;
    }
    let kernel = selected.spec.kernel(target).map_err(Failure::Failed)?;
    let text = match args.stage {
        // What is wrong with a kernel is often seen best in its IR, so that need not be valid.
        Stage::Ir => kernel.to_string(),
        stage => {
            let valid = valid::check(kernel, target).map_err(Failure::Failed)?;
            lower(&valid, stage).map_err(Failure::Failed)?
        }
    };
    if output.json() {
        output.value(&Shown {
            kernel: selected.entry.name,
            spec: selected.spec.name(),
            target: target.name,
            stage: args.stage.name(),
            text: &text,
        });
    } else {
        output.text(&text);
    }
    Ok(Verdict::Good)
}

fn target(args: &ShowArgs) -> Result<&'static Target, Failure> {
    match (&args.target, args.stage) {
        (Some(name), Stage::Mosaic | Stage::Call) => tpu(name),
        (Some(name), Stage::Ir | Stage::Stablehlo) => any_target(name),
        (None, Stage::Mosaic | Stage::Call) => Ok(&V5E),
        (None, Stage::Ir | Stage::Stablehlo) => Ok(&GENERIC),
    }
}

fn lower(valid: &Valid, stage: Stage) -> Result<String, Diagnostics> {
    match stage {
        Stage::Ir => Ok(valid.kernel().to_string()),
        Stage::Mosaic => mosaic_text(valid),
        Stage::Call => mosaic_call(valid),
        Stage::Stablehlo => stablehlo::lower(valid, &stablehlo::Options::default()),
    }
}
