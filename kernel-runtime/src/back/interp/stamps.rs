//! Races between copies of grid steps that may run at the same time: each notes what it touches of
//! the outputs that all steps share.

use super::exec::{Executor, Run, Stop};
use super::flight::{End, Flight};
use super::memory::{Copy, dense_strides};
use super::report::{memory_name, step_text};
use crate::diag::{Code, Diagnostic};
use crate::ir::LocId;

/// Steps of different segments that touch one element of a shared output.
#[derive(Debug, Default)]
struct Stamps {
    /// Per element: the event that wrote it last, plus 1.
    writers: Vec<u32>,
    /// Per element: an event that read it, plus 1.
    readers: Vec<u32>,
}

/// What the copies of an executor have touched.
#[derive(Debug)]
pub(super) struct Touched {
    pub(super) segment: u64,
    /// Per parameter: who touched it, if it is an output that several segments share.
    stamps: Vec<Option<Stamps>>,
    /// Segment, step and line of what is stamped.
    events: Vec<(u64, u64, LocId)>,
}

impl Touched {
    /// Nothing is touched yet.
    pub(super) fn new(run: &Run<'_>) -> Touched {
        let several = run.n_segments() > 1 && run.shares_outputs();
        let stamps = run.kernel().params.iter().map(|param| {
            (several && param.kind.is_output() && param.window.is_none()).then(Stamps::default)
        });
        Touched { segment: 0, stamps: stamps.collect(), events: Vec::new() }
    }
}

impl Executor<'_> {
    /// Notes what a copy touches of outputs that all segments share, and compares with the others.
    pub(super) fn stamp(&mut self, flight: &Flight) -> Result<(), Stop> {
        let (from, to) = (flight.from.rect.memory, flight.to.rect.memory);
        let is_shared =
            |memory: usize| self.touched.stamps.get(memory).is_some_and(Option::is_some);
        if !is_shared(from) && !is_shared(to) {
            return Ok(());
        }
        let events = &mut self.touched.events;
        events.push((self.touched.segment, self.step_number, flight.loc));
        let event = events.len() as u32;
        for (end, writes) in [(&flight.from, false), (&flight.to, true)] {
            if end.owner != self.owner(end.rect.memory) {
                continue;
            }
            let n_elems = self.memories[end.rect.memory].n_elems();
            if let Some(other) = self.touched.stamp(end, &flight.sizes, n_elems, event, writes) {
                return Err(self.report_race(end, other, writes, flight.loc));
            }
        }
        Ok(())
    }

    fn report_race(&mut self, end: &End, other: u32, writes: bool, loc: LocId) -> Stop {
        let kernel = self.run.kernel();
        let (_, step, other_loc) = self.touched.events[other as usize - 1];
        let name = memory_name(kernel, end.rect.memory);
        let verb = if writes { "writes" } else { "reads" };
        let diagnostic = Diagnostic::error(
            Code::INTERP_RACE,
            format!(
                "{} {verb} elements of {} that {} copies as well, and steps along a `parallel` axis may run at the same time",
                step_text(kernel, &self.step),
                end.rect.text(name),
                step_text(kernel, &self.run.step(step))
            ),
        )
        .at_opt(kernel.span(loc), "here")
        .at_opt(kernel.span(other_loc), "and here in the other step")
        .help("let each step of a `parallel` axis copy its own part, or declare the axis `arbitrary`");
        self.report(loc, diagnostic)
    }
}

impl Touched {
    /// Stamps what an end touches; gives an event of another segment that must not share it.
    fn stamp(
        &mut self,
        end: &End,
        sizes: &[usize],
        n_elems: usize,
        event: u32,
        writes: bool,
    ) -> Option<u32> {
        let stamps = self.stamps.get_mut(end.rect.memory)?.as_mut()?;
        if stamps.writers.is_empty() {
            stamps.writers = vec![0; n_elems];
            stamps.readers = vec![0; n_elems];
        }
        let (events, segment) = (&self.events, self.segment);
        let is_other = |&stamp: &u32| stamp != 0 && events[stamp as usize - 1].0 != segment;
        let mut other = None;
        let mut visit = |at: usize, n: usize, step: usize| {
            for place in (0..n).map(|idx| at + idx * step) {
                let (writer, reader) = (&mut stamps.writers[place], &mut stamps.readers[place]);
                other = other.or_else(|| Some(*writer).filter(is_other));
                if writes {
                    other = other.or_else(|| Some(*reader).filter(is_other));
                    *writer = event;
                } else {
                    *reader = event;
                }
            }
        };
        let is_indirect = end.rows.is_some();
        let n_parts = if is_indirect { sizes.first().copied().unwrap_or(0) } else { 1 };
        for idx in 0..n_parts {
            let (sizes, steps, base) = match is_indirect {
                true => (&sizes[1..], &end.steps[1..], end.place(idx)),
                false => (sizes, &end.steps[..], end.base),
            };
            let dense = dense_strides(sizes);
            Copy::new(sizes, (base, steps), (0, &dense))
                .rows(|at, _, n, step, _| visit(at, n, step));
        }
        other
    }
}
