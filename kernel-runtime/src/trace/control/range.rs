//! `for` over a range.

use super::{Snapshot, Var, write_back};
use crate::diag::Code;
use crate::ir::ops::{Binary, ControlOp};
use crate::ir::{BlockId, DType, Op, Type, Value};
use crate::trace::carried::Carried;
use crate::trace::context::{At, Handle, RegionKind, Tracer, gcd, with};
use crate::trace::convert::{IntoScalar, Operand};
use crate::trace::handle::Scalar;
use crate::trace::replay::{ConstructId, Part, RegionLog, Stage};
use std::panic::Location;

/// A `for` over a range: the body is traced once.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceFor {
    bounds: Option<Bounds>,
    at: At,
    state: State,
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    lo: Value,
    hi: Value,
    step: Value,
}

#[derive(Debug)]
enum State {
    Start,
    /// The body is being traced in place, because it runs once.
    Once,
    Body(Body),
    /// A pass runs through the body, in this turn.
    Again(ConstructId, usize),
    Done,
}

#[derive(Debug)]
struct Body {
    id: ConstructId,
    index: Handle,
    before: Snapshot,
    block: BlockId,
    /// The block argument of each carried value; poison for a value that could not be carried.
    args: Vec<Handle>,
    types: Vec<Type>,
}

/// Starts `for i in lo..hi`, or `(lo..hi).step_by(step)`.
#[doc(hidden)]
#[track_caller]
pub fn begin_for(
    lo: impl IntoScalar<i32>,
    hi: impl IntoScalar<i32>,
    step: impl IntoScalar<i32>,
) -> DeviceFor {
    start([lo.operand(), hi.operand(), step.operand()], false, Location::caller())
}

/// Starts `for i in lo..=hi`, or `(lo..=hi).step_by(step)`.
#[doc(hidden)]
#[track_caller]
pub fn begin_for_inclusive(
    lo: impl IntoScalar<i32>,
    hi: impl IntoScalar<i32>,
    step: impl IntoScalar<i32>,
) -> DeviceFor {
    start([lo.operand(), hi.operand(), step.operand()], true, Location::caller())
}

fn start([lo, hi, step]: [Operand; 3], inclusive: bool, at: At) -> DeviceFor {
    let bounds = with(|t| {
        let lo = t.value(lo, DType::I32, at)?;
        let mut hi = t.value(hi, DType::I32, at)?;
        let step = t.value(step, DType::I32, at)?;
        if inclusive {
            let end = t.handle(hi);
            let operands = [Operand::Handle(end), Operand::Int(1)];
            let past = t.binary(Binary::Add, operands, DType::I32, at);
            hi = t.operand(past, at)?;
        }
        if let Some(step) = t.known(step).and_then(|literal| literal.as_int())
            && step <= 0
        {
            t.error(Code::TRACE_NUMBER, format!("the step of a `for` is positive, not {step}"), at);
            return None;
        }
        Some(Bounds { lo, hi, step })
    });
    DeviceFor { bounds: bounds.flatten(), at, state: State::Start }
}

impl DeviceFor {
    /// A loop that counts from 0 to before `n`.
    pub(in crate::trace) fn counted(n: Scalar<i32>, at: At) -> DeviceFor {
        start([Operand::Int(0), Operand::Handle(n.handle), Operand::Int(1)], false, at)
    }

    pub fn var<'a, V: Carried>(&self, name: &'static str, variable: &'a mut V) -> Var<'a> {
        Var::new(name, variable)
    }

    /// The index, once; then `None`.
    pub fn next<const N: usize>(&mut self, mut vars: [Var<'_>; N]) -> Option<Scalar<i32>> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start => self.enter(&mut vars),
            State::Body(body) => {
                self.leave(body, &mut vars);
                None
            }
            State::Again(id, turn) => self.turn_again(id, turn, &mut vars),
            State::Once | State::Done => None,
        }
    }

    fn enter(&mut self, vars: &mut [Var<'_>]) -> Option<Scalar<i32>> {
        let at = self.at;
        let trips = with(|t| self.bounds.and_then(|bounds| n_trips(t, bounds))).flatten();
        if let (Some(bounds), Some(trips @ (0 | 1))) = (self.bounds, trips) {
            self.state = State::Once;
            let index = with(|t| t.handle(bounds.lo));
            return index.filter(|_| trips == 1).map(Scalar::new);
        }
        let id = match with(|t| t.begin(RegionKind::ForBody, at)) {
            Some(Stage::First(id)) => id,
            Some(Stage::Again(id)) => return self.enter_again(id, trips.is_some(), vars),
            Some(Stage::Lost) | None => return None,
        };
        let before = Snapshot::of(vars);
        let opened = with(|t| {
            let values = before.values();
            let mut types = Vec::with_capacity(values.len() + 1);
            types.push(Type::Scalar(DType::I32));
            // A poisoned or escaped value still needs a place; it enters as poison.
            let entering: Vec<Option<Type>> = values
                .iter()
                .map(|&(_, handle)| {
                    let value = t.operand(handle, at)?;
                    Some(t.builder.kernel().ty(value).clone())
                })
                .collect();
            types.extend(entering.iter().flatten().cloned());
            let (block, block_args) = t.open(RegionKind::ForBody, &types, at);
            let index = t.handle(block_args[0]);
            self.promise(t, index);
            let mut rest = block_args[1..].iter();
            let args: Vec<Handle> = entering
                .iter()
                .map(|ty| match ty.as_ref().and_then(|_| rest.next()) {
                    Some(&arg) => t.handle(arg),
                    None => Handle::POISON,
                })
                .collect();
            types.remove(0);
            Body { id, index, before: before.clone(), block, args, types }
        });
        let body = opened?;
        write_back(vars, &body.args);
        let index = body.index;
        self.state = State::Body(body);
        Some(Scalar::new(index))
    }

    /// Promises what divides the index: what divides the bounds.
    fn promise(&self, t: &mut Tracer, index: Handle) {
        if let Some(bounds) = self.bounds {
            let divisor = gcd(t.divisor(bounds.lo), t.divisor(bounds.step));
            t.promise_divisor(index.value(), divisor);
        }
    }

    /// Enters the body in a pass, unless it leaves out loops; one that surely turns is not left out.
    fn enter_again(
        &mut self,
        id: ConstructId,
        turns: bool,
        vars: &mut [Var<'_>],
    ) -> Option<Scalar<i32>> {
        if with(|t| t.leaves_out(Part::Loop)) == Some(true) && !turns {
            write_back(vars, &with(|t| t.end_again(id)).unwrap_or_default());
            return None;
        }
        self.begin_turn(id, 1, vars)
    }

    fn begin_turn(
        &mut self,
        id: ConstructId,
        turn: usize,
        vars: &mut [Var<'_>],
    ) -> Option<Scalar<i32>> {
        let entered = with(|t| t.enter_again(id, 0)).unwrap_or_default();
        let (&index, args) = entered.split_first()?;
        with(|t| self.promise(t, index));
        write_back(vars, args);
        self.state = State::Again(id, turn);
        Some(Scalar::new(index))
    }

    /// Ends a turn of a pass, and begins another if it makes two.
    fn turn_again(
        &mut self,
        id: ConstructId,
        turn: usize,
        vars: &mut [Var<'_>],
    ) -> Option<Scalar<i32>> {
        let leave = Snapshot::of(vars).handles();
        let goes_on = with(|t| {
            t.leave_again(id, 0, &leave);
            t.next_turn(turn, self.at)
        });
        if goes_on == Some(true) {
            return self.begin_turn(id, 2, vars);
        }
        write_back(vars, &with(|t| t.end_again(id)).unwrap_or_default());
        None
    }

    fn leave(&self, body: Body, vars: &mut [Var<'_>]) {
        let at = self.at;
        let after = Snapshot::of(vars);
        let same = body.before.check_same_form(&after, "a device loop", at);
        let results = with(|t| {
            let before = body.before.values();
            let after = after.values();
            if !same || after.len() != before.len() {
                t.close(&[], at);
                return before.iter().map(|_| Handle::POISON).collect();
            }
            let carried: Vec<usize> =
                (0..before.len()).filter(|&idx| !body.args[idx].is_poison()).collect();
            let mut yields = Vec::new();
            let mut results = vec![Handle::POISON; before.len()];
            let mut failed = vec![false; before.len()];
            for (&idx, ty) in carried.iter().zip(&body.types) {
                let (name, handle) = after[idx];
                let out = t.carried_out(name, handle, ty, body.block, "the loop", at);
                failed[idx] = out.is_none();
                // The argument itself keeps the op well typed after an error.
                yields.extend(out.or_else(|| t.operand_from(body.args[idx], body.block, at)));
            }
            t.close(&yields, at);
            self.push_loop(t, &body, &before, &carried, &mut results);
            for (result, failed) in results.iter_mut().zip(failed) {
                *result = if failed { Handle::POISON } else { *result };
            }
            let enter = std::iter::once(body.index).chain(body.args.iter().copied()).collect();
            let leave = after.iter().map(|&(_, handle)| handle).collect();
            t.done(body.id, [RegionLog { block: body.block, enter, leave }], results.clone());
            results
        });
        write_back(vars, &results.unwrap_or_default());
    }

    /// Drops the arguments that the body leaves as they are, and makes the op.
    fn push_loop(
        &self,
        t: &mut Tracer,
        body: &Body,
        before: &[(&'static str, Handle)],
        carried: &[usize],
        results: &mut [Handle],
    ) {
        let at = self.at;
        let mut kept = Vec::new();
        let mut inits = Vec::new();
        for (position, &idx) in carried.iter().enumerate().rev() {
            let Some(init) = t.operand(before[idx].1, at) else { return };
            let arg = t.builder.kernel().block(body.block).args[position + 1];
            if t.builder.kernel().yields(body.block).get(position) == Some(&arg) {
                t.drop_arg(body.block, position + 1, Some(1), init);
                results[idx] = before[idx].1;
            } else {
                kept.push(idx);
                inits.push(init);
            }
        }
        kept.reverse();
        inits.reverse();
        let Some(bounds) = self.bounds else { return };
        let mut operands = vec![bounds.lo, bounds.hi, bounds.step];
        operands.extend(inits);
        if kept.is_empty() && t.is_empty(body.block) {
            return;
        }
        let made = t.push_all(Op::Control(ControlOp::For), &operands, &[body.block], at);
        for (&idx, value) in kept.iter().zip(made.into_iter().flatten()) {
            results[idx] = t.handle(value);
        }
    }
}

/// How often the body runs, if that is known.
fn n_trips(t: &Tracer, bounds: Bounds) -> Option<i64> {
    let known = |value| t.known(value)?.as_int();
    let (lo, hi, step) = (known(bounds.lo)?, known(bounds.hi)?, known(bounds.step)?);
    Some(((hi - lo) + step - 1).div_euclid(step.max(1)).max(0))
}
