//! The loop over the steps of a pipeline.

use super::math::Math;
use super::plan::{Axis, axes, rings};
use super::ring::{Copies, State, after, singled};
use super::spec::Specs;
use crate::trace::carried::Carried;
use crate::trace::context::At;
use crate::trace::control::DeviceFor;
use crate::trace::convert::Operand;
use crate::trace::handle::Scalar;

/// Runs the steps; gives what the last one gives.
pub(super) fn run<const N: usize, S: Specs<N>, C: Carried>(
    extents: &[Operand; N],
    specs: &S,
    start: C,
    body: &mut dyn FnMut([Scalar<i32>; N], S::Blocks, C) -> C,
    at: At,
) -> C {
    let each = specs.each();
    let Some(axes) = axes(extents, at) else { return start };
    let Some(rings) = rings(&axes, &each, at) else { return start };
    let math = Math { at };
    let copies: Vec<Copies<'_, N>> = rings
        .iter()
        .zip(&each)
        .map(|(ring, &spec)| Copies { ring, spec, axes: &axes, math: Math { at: ring.about.at } })
        .collect();
    let total = axes.iter().fold(math.int(1), |n, axis| math.mul(n, axis.extent));
    let runs = math.lt(math.int(0), total);
    let mut states: Vec<State> = copies.iter().map(|copies| copies.begin(runs)).collect();
    for copies in copies.iter().filter(|copies| copies.ring.stays()) {
        copies.when(runs, || {
            copies.wait_fetched(math.int(0));
        });
    }
    let mut step: [Scalar<i32>; N] = [math.int(0); N];
    let mut value = Some(start);
    let mut steps = DeviceFor::counted(total, at);
    while let Some(number) = steps.next([
        steps.var("the step of a pipeline", &mut step),
        steps.var("the buffers of a pipeline", &mut states),
        steps.var("the value of a pipeline", &mut value),
    ]) {
        let here = singled(&step, &axes, math);
        let borders = Borders { axes: &axes, step: here, math };
        for (copies, state) in copies.iter().zip(&mut states) {
            copies.enter(state, here, borders.first(copies.ring.depth));
        }
        let places: Vec<_> = copies
            .iter()
            .zip(&states)
            .map(|(copies, state)| (copies.ring.memory, copies.slot_of(state).handle))
            .collect();
        value = value.map(|value| body(here, specs.blocks(&places), value));
        let ends = match rings.iter().all(|ring| ring.simple) {
            true => math.bool(false),
            false => math.ge(math.add(number, 1_i32), total),
        };
        let stepped = after(&here, &axes, N, math);
        let next: [Scalar<i32>; N] = std::array::from_fn(|idx| stepped[idx]);
        for (copies, state) in copies.iter().zip(&mut states) {
            copies.leave(state, here, (borders.last(copies.ring.depth), ends, &next));
        }
        step = next;
    }
    for (copies, state) in copies.iter().zip(&states) {
        copies.end(state);
    }
    match value {
        Some(value) => value,
        None => unreachable!("a step takes the value and gives another"),
    }
}

/// Where a step stands among those that work on the same block.
struct Borders<'a, const N: usize> {
    axes: &'a [Axis; N],
    step: [Scalar<i32>; N],
    math: Math,
}

impl<const N: usize> Borders<'_, N> {
    fn all(&self, depth: usize, test: impl Fn(Scalar<i32>, Axis) -> Scalar<bool>) -> Scalar<bool> {
        let inner = (depth..N).filter(|&idx| !self.axes[idx].is_single());
        inner.fold(self.math.bool(true), |all, idx| {
            self.math.and(all, test(self.step[idx], self.axes[idx]))
        })
    }

    /// Whether it is the first for which the first `depth` axes are where they are.
    fn first(&self, depth: usize) -> Scalar<bool> {
        self.all(depth, |step, _| self.math.eq(step, 0_i32))
    }

    /// Whether it is the last.
    fn last(&self, depth: usize) -> Scalar<bool> {
        self.all(depth, |step, axis| self.math.eq(step, self.math.add(axis.extent, -1_i32)))
    }
}
