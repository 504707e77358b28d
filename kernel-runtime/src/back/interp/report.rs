//! What the interpreter says: origins of undefined elements, and reports that are collected and
//! told once per line.

use super::plan::SCOPED;
use super::tile::PoisonId;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Kernel, LocId};

/// Why an element has no defined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nobody wrote it.
    NeverWritten,
    /// It lies beyond the end of the array.
    Padding,
    /// The mask of a load left it out.
    MaskedOff,
    /// The mask of another op left it out.
    LeftOut,
    /// An index of `take_along_axis` names no element.
    OutsideTile,
}

/// Where an undefined element comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Why it is undefined.
    pub(super) cause: Cause,
    /// The memory it was in.
    pub(super) memory: usize,
    /// The load that read it; `None` while it is in that memory.
    pub(super) load: Option<LocId>,
}

/// The origins that ids stand for.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<Origin>);

impl Origins {
    /// The id of an origin.
    pub(super) fn id(&mut self, origin: Origin) -> PoisonId {
        let idx = self.0.iter().position(|known| *known == origin).unwrap_or_else(|| {
            self.0.push(origin);
            self.0.len() - 1
        });
        // There is one origin per load and cause; a kernel with 65,535 of them shares the last.
        PoisonId::try_from(idx + 1).unwrap_or(PoisonId::MAX)
    }

    /// The origin of an id.
    pub(super) fn get(&self, id: PoisonId) -> Option<Origin> {
        self.0.get(usize::from(id).checked_sub(1)?).copied()
    }

    /// The id after a load at `loc` has read the element.
    pub(super) fn loaded(&mut self, id: PoisonId, loc: LocId) -> PoisonId {
        match self.get(id) {
            Some(origin) if origin.load.is_none() => self.id(Origin { load: Some(loc), ..origin }),
            _ => id,
        }
    }
}

/// A diagnostic with what it is told once for.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// What is told.
    pub(super) diagnostic: Diagnostic,
    /// The line it is about.
    pub(super) loc: LocId,
    /// The grid step, as its lexicographic number.
    pub(super) step: u64,
    /// In how many steps it was seen.
    pub(super) n_steps: u64,
}

/// Reports, one per code and line.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports(Vec<Report>);

/// How many problems one run tells.
const MAX_REPORTS: usize = 20;

impl Reports {
    /// Adds a report, or counts it if its code and line are known; the earliest step stays.
    pub(super) fn add(&mut self, report: Report) {
        let known = self.0.iter_mut().find(|known| {
            known.loc == report.loc && known.diagnostic.code == report.diagnostic.code
        });
        match known {
            Some(known) => {
                let n_steps = known.n_steps + report.n_steps;
                if report.step < known.step {
                    *known = report;
                }
                known.n_steps = n_steps;
            }
            None => self.0.push(report),
        }
    }

    /// Adds those of another collection.
    pub(super) fn extend(&mut self, others: Reports) {
        for report in others.0 {
            self.add(report);
        }
    }

    /// Says of each where it was found.
    pub(super) fn note(&mut self, note: &str) {
        for report in &mut self.0 {
            report.diagnostic.notes.push(note.to_owned());
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The diagnostics, in the order of grid steps.
    pub(super) fn into_diagnostics(mut self) -> Diagnostics {
        self.0.sort_by_key(|report| report.step);
        let n_more = self.0.len().saturating_sub(MAX_REPORTS);
        self.0.truncate(MAX_REPORTS);
        let mut all: Vec<Diagnostic> = self
            .0
            .into_iter()
            .map(|report| match report.n_steps {
                0 | 1 => report.diagnostic,
                2 => report.diagnostic.note("the same happens in 1 more grid step"),
                n => {
                    report.diagnostic.note(format!("the same happens in {} more grid steps", n - 1))
                }
            })
            .collect();
        if let (Some(last), 1..) = (all.last_mut(), n_more) {
            last.notes.push(format!("{n_more} more problems are not shown"));
        }
        Diagnostics(all)
    }
}

/// A grid step by its axes' names: `grid step (i=0, j=2)`.
pub(super) fn step_text(kernel: &Kernel, step: &[i64]) -> String {
    if step.is_empty() {
        return "the only grid step".to_owned();
    }
    let axes: Vec<String> =
        kernel.grid.iter().zip(step).map(|(axis, idx)| format!("{}={idx}", axis.name)).collect();
    format!("grid step ({})", axes.join(", "))
}

/// An index: `[3, 17]`.
pub(super) fn index_text(idx: &[usize]) -> String {
    crate::ir::ty::Sizes(idx).to_string()
}

/// The name of a memory in the user's source.
pub(super) fn memory_name(kernel: &Kernel, memory: usize) -> &str {
    let n_params = kernel.params.len();
    if memory < n_params {
        &kernel.params[memory].name
    } else {
        kernel.scratch.get(memory - n_params).map_or(SCOPED, |scratch| &scratch.name)
    }
}

/// Adds to a report of undefined elements where they come from.
pub(super) fn explain_origin(
    diagnostic: Diagnostic,
    kernel: &Kernel,
    origin: Origin,
) -> Diagnostic {
    let name = memory_name(kernel, origin.memory);
    let what = match origin.cause {
        Cause::NeverWritten => format!("`{name}` is read here before it was written"),
        Cause::Padding => format!("`{name}` is read here beyond the end of its array"),
        Cause::MaskedOff => format!("the mask of this load of `{name}` leaves elements out"),
        Cause::LeftOut => "the mask leaves elements out here".to_owned(),
        Cause::OutsideTile => "an index is outside of the tile here".to_owned(),
    };
    let diagnostic = diagnostic.at_opt(origin.load.and_then(|loc| kernel.span(loc)), what);
    match origin.cause {
        Cause::NeverWritten => diagnostic.help(format!(
            "write `{name}` before reading it; scratch and output blocks start undefined, and scratch does not outlive a step of a parallel axis"
        )),
        Cause::Padding => diagnostic.help(
            "blocks that reach over the end of an array read padding there: replace it with `select` and a mask of the valid places before it is combined with other elements",
        ),
        Cause::MaskedOff | Cause::LeftOut => {
            diagnostic.help("give the elements that the mask leaves out a value with `select`")
        }
        Cause::OutsideTile => {
            diagnostic.help("choose another value for these elements with `select`, or clamp the indices")
        }
    }
}

/// The code for undefined elements of this origin.
pub(super) fn origin_code(origin: Origin) -> Code {
    match origin.cause {
        Cause::NeverWritten | Cause::MaskedOff | Cause::LeftOut => Code::INTERP_UNINITIALIZED,
        Cause::Padding => Code::INTERP_PADDING,
        Cause::OutsideTile => Code::INTERP_OUT_OF_BOUNDS,
    }
}

/// What elements of this origin are called in a message.
pub(super) fn cause_text(origin: Origin, kernel: &Kernel) -> String {
    let name = memory_name(kernel, origin.memory);
    match origin.cause {
        Cause::NeverWritten => format!("uninitialized elements of `{name}`"),
        Cause::Padding => format!("padding beyond the end of `{name}`"),
        Cause::MaskedOff => format!("elements of `{name}` that a load's mask left out"),
        Cause::LeftOut => "elements that a mask left out".to_owned(),
        Cause::OutsideTile => {
            "elements that `take_along_axis` takes from outside of its tile".to_owned()
        }
    }
}
