//! What a seeded bug is, and how one is tried.

use systole::back::interp::{self, Options};
use systole::diag::{Code, Diagnostic, Diagnostics};
use systole::prelude::*;
use systole::target::{GENERIC, Target, V5E};
use systole::valid;

/// Seeds that each case runs with: they draw the order of parallel steps and how far copies come.
const SEEDS: std::ops::Range<u64> = 0..6;

/// The cases of one file.
pub(crate) struct Family {
    /// What its cases have in common, in a word or two.
    pub(crate) name: &'static str,
    /// The file, as diagnostics name it.
    pub(crate) file: &'static str,
    /// Its text. The faulty line of a bug ends in `//~` and the bug's name, or stands below a line
    /// that says `//~v` and the name.
    pub(crate) source: &'static str,
    /// The bugs.
    pub(crate) cases: Vec<Case>,
}

impl Family {
    /// The number of the line that is marked as that of a bug.
    pub(crate) fn line(&self, bug: &str) -> Result<u32, String> {
        let marked = |(number, line): (u32, &str)| {
            let (_, mark) = line.split_once("//~")?;
            let (number, name) = match mark.strip_prefix('v') {
                Some(name) => (number + 1, name),
                None => (number, mark),
            };
            (name.trim() == bug).then_some(number)
        };
        let lines: Vec<u32> = (1..).zip(self.source.lines()).filter_map(marked).collect();
        match lines[..] {
            [line] => Ok(line),
            _ => Err(format!("{}: {} lines are marked as `{bug}`", self.file, lines.len())),
        }
    }
}

/// A kernel with a bug, and its correct twin.
pub(crate) struct Case {
    /// The bug's name.
    pub(crate) bug: &'static str,
    /// What has to be found.
    pub(crate) code: Code,
    /// Traces, validates and runs the kernel: with the bug if `true`, else the twin.
    pub(crate) run: fn(bool) -> Tried,
}

/// What came of a kernel, for each seed.
pub(crate) struct Tried(Vec<Result<Vec<Array>, Diagnostics>>);

impl Tried {
    /// What is told first with the first seed.
    pub(crate) fn told(&self) -> Option<&Diagnostic> {
        self.0.first().and_then(first)
    }

    /// Whether what is told first has this code and this line, whatever the seed.
    pub(crate) fn is_always(&self, code: Code, file: &str, line: u32) -> (bool, bool) {
        let has = |holds: &dyn Fn(&Diagnostic) -> bool| {
            self.0.iter().all(|result| first(result).is_some_and(holds))
        };
        let is_there = |told: &Diagnostic| {
            let span = told.labels.first().map(|label| &label.span);
            span.is_some_and(|span| span.line == line && *span.file == *file)
        };
        (has(&|told| told.code == code), has(&is_there))
    }

    /// The first complaint of any seed.
    pub(crate) fn complaint(&self) -> Option<&Diagnostics> {
        self.0.iter().find_map(|result| result.as_ref().err())
    }

    /// Whether nothing is told, and the results do not depend on the seed.
    pub(crate) fn passes(&self) -> bool {
        self.0.iter().all(|result| result.is_ok() && *result == self.0[0])
    }
}

fn first(result: &Result<Vec<Array>, Diagnostics>) -> Option<&Diagnostic> {
    result.as_ref().err().and_then(|problems| problems.0.first())
}

/// Tries a kernel for v5e, since what no chip takes is no correct kernel.
pub(crate) fn on_v5e(kernel: &impl KernelFn, inputs: &[Array]) -> Tried {
    on(&V5E, kernel, inputs)
}

/// Tries a kernel for no chip in particular: nothing but its meaning is checked.
pub(crate) fn on_any(kernel: &impl KernelFn, inputs: &[Array]) -> Tried {
    on(&GENERIC, kernel, inputs)
}

/// Tries a kernel for a target.
pub(crate) fn on(target: &'static Target, kernel: &impl KernelFn, inputs: &[Array]) -> Tried {
    with(target, kernel, inputs, &Options { fuel: 1 << 20, ..Options::default() })
}

/// Tries a kernel with options of its own.
pub(crate) fn with(
    target: &'static Target,
    kernel: &impl KernelFn,
    inputs: &[Array],
    options: &Options,
) -> Tried {
    let specs: Vec<ArgSpec> = inputs.iter().map(ArgSpec::from).collect();
    let valid = kernel.trace(&specs).and_then(|kernel| valid::check(kernel, target));
    let run = |seed| {
        let valid = valid.as_ref().map_err(Clone::clone)?;
        let outcome = interp::run(valid, inputs, &Options { seed, ..options.clone() })?;
        Ok(outcome.outputs)
    };
    Tried(SEEDS.map(run).collect())
}

/// Traces and validates a kernel whose arrays are too large to run.
pub(crate) fn checked(target: &'static Target, kernel: &impl KernelFn, args: &[ArgSpec]) -> Tried {
    let valid = kernel.trace(args).and_then(|kernel| valid::check(kernel, target));
    Tried(vec![valid.map(|_| Vec::new())])
}

/// An array whose elements are 1, 2, 3 and so on up to 100, and again.
pub(crate) fn counting<T: Element>(shape: &[usize]) -> Array {
    let n: usize = shape.iter().product();
    let values: Vec<f64> = (0..n).map(|at| (at % 100 + 1) as f64).collect();
    filled(T::DTYPE, shape, &values)
}

/// A table of integers.
pub(crate) fn table(values: &[i32]) -> Array {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    filled(DType::I32, &[values.len()], &values)
}

fn filled(dtype: DType, shape: &[usize], values: &[f64]) -> Array {
    // One value per element, by construction: there is nothing to refuse.
    Array::from_f64(dtype, shape, values).unwrap_or_else(|_| Array::zeros(dtype, shape))
}
