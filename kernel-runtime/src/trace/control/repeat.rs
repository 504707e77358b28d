//! `while`.
//!
//! The condition of a device loop must be evaluated inside the op's first region, so the region is
//! opened before it. The kind of the loop is therefore a type parameter, which the condition's
//! type decides.

use super::{Snapshot, Var, write_back};
use crate::ir::ops::ControlOp;
use crate::ir::{BlockId, Op, Type, Value};
use crate::trace::carried::Carried;
use crate::trace::context::{At, Handle, RegionKind, Tracer, with};
use crate::trace::handle::Scalar;
use crate::trace::replay::{ConstructId, Part, RegionLog, Stage};
use std::marker::PhantomData;
use std::panic::Location;

/// What a `while` repeats on: a host `bool`, or a `Scalar<bool>` of the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `while` condition",
    note = "a condition is a `bool` or a `Scalar<bool>`"
)]
pub trait LoopCondition: Sized {
    /// Whether the loop is one of the kernel.
    #[doc(hidden)]
    const DEVICE: bool;
    /// The condition of a host loop.
    #[doc(hidden)]
    fn host(&self) -> bool;
    /// The condition of a device loop.
    #[doc(hidden)]
    fn device(&self) -> Handle;
}

impl LoopCondition for bool {
    const DEVICE: bool = false;

    fn host(&self) -> bool {
        *self
    }

    fn device(&self) -> Handle {
        Handle::POISON
    }
}

impl LoopCondition for Scalar<bool> {
    const DEVICE: bool = true;

    fn host(&self) -> bool {
        true
    }

    fn device(&self) -> Handle {
        self.handle
    }
}

/// A variable that a loop of this kind can mention: any for a host loop.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be carried through a device `while`",
    label = "used in a device loop, which may change it",
    note = "if it holds tiles, derive `Carried` for it: `#[derive(Carried)]`"
)]
pub trait CarriedIn<C> {
    /// The variable, if the loop carries it.
    #[doc(hidden)]
    fn carried(&mut self) -> Option<&mut dyn Carried>;
}

impl<V: ?Sized> CarriedIn<bool> for V {
    fn carried(&mut self) -> Option<&mut dyn Carried> {
        None
    }
}

impl<V: Carried> CarriedIn<Scalar<bool>> for V {
    fn carried(&mut self) -> Option<&mut dyn Carried> {
        Some(self)
    }
}

/// A variable for [`While`].
#[doc(hidden)]
pub fn while_var<'a, C: LoopCondition, V: CarriedIn<C>>(
    _loop: &While<C>,
    name: &'static str,
    variable: &'a mut V,
) -> Var<'a> {
    Var { name, carried: variable.carried() }
}

/// A `while`, of the host or the device.
#[doc(hidden)]
#[derive(Debug)]
pub struct While<C> {
    at: At,
    state: State,
    kind: PhantomData<fn() -> C>,
}

#[derive(Debug)]
enum State {
    Start,
    Condition(Regions),
    Body(Regions, Carrying),
    /// A pass evaluates the condition, in this turn.
    ConditionAgain(ConstructId, usize),
    /// A pass runs through the body.
    BodyAgain(ConstructId, usize),
    Done,
}

#[derive(Debug)]
struct Regions {
    id: ConstructId,
    before: Snapshot,
    condition: BlockId,
    args: Vec<Handle>,
}

#[derive(Debug)]
struct Carrying {
    body: BlockId,
    args: Vec<Handle>,
    types: Vec<Type>,
    condition: Handle,
}

impl<C: LoopCondition> While<C> {
    #[track_caller]
    #[expect(clippy::new_without_default, reason = "a default would have no caller to point at")]
    pub fn new() -> While<C> {
        While { at: Location::caller(), state: State::Start, kind: PhantomData }
    }

    /// Before the condition: whether it is to be evaluated.
    pub fn enter<const N: usize>(&mut self, mut vars: [Var<'_>; N]) -> bool {
        if !C::DEVICE {
            return true;
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Start => self.start(&mut vars),
            State::Body(regions, carrying) => {
                self.leave(regions, carrying, &mut vars);
                false
            }
            State::BodyAgain(id, turn) => {
                let leave = Snapshot::of(&mut vars).handles();
                let goes_on = with(|t| {
                    t.leave_again(id, 1, &leave);
                    t.next_turn(turn, self.at)
                });
                if goes_on == Some(true) {
                    return self.begin_turn(id, 2, &mut vars);
                }
                write_back(&mut vars, &with(|t| t.end_again(id)).unwrap_or_default());
                false
            }
            State::Condition(_) | State::ConditionAgain(..) | State::Done => false,
        }
    }

    fn start(&mut self, vars: &mut [Var<'_>]) -> bool {
        let at = self.at;
        match with(|t| t.begin(RegionKind::WhileCondition, at)) {
            Some(Stage::First(id)) => {
                let before = Snapshot::of(vars);
                let opened = with(|t| {
                    let (condition, args) = open(t, RegionKind::WhileCondition, &before, at);
                    Regions { id, before, condition, args }
                });
                if let Some(regions) = opened {
                    write_back(vars, &regions.args);
                    self.state = State::Condition(regions);
                }
                true
            }
            Some(Stage::Again(id)) => {
                if with(|t| t.leaves_out(Part::Loop)) == Some(true) {
                    write_back(vars, &with(|t| t.end_again(id)).unwrap_or_default());
                    return false;
                }
                self.begin_turn(id, 1, vars)
            }
            Some(Stage::Lost) => false,
            None => true,
        }
    }

    fn begin_turn(&mut self, id: ConstructId, turn: usize, vars: &mut [Var<'_>]) -> bool {
        write_back(vars, &with(|t| t.enter_again(id, 0)).unwrap_or_default());
        self.state = State::ConditionAgain(id, turn);
        true
    }

    fn test_again(
        &mut self,
        (id, turn): (ConstructId, usize),
        condition: Handle,
        vars: &mut [Var<'_>],
    ) -> bool {
        let entered = with(|t| {
            t.leave_again(id, 0, &[condition]);
            t.enter_again(id, 1)
        });
        write_back(vars, &entered.unwrap_or_default());
        self.state = State::BodyAgain(id, turn);
        true
    }

    /// After the condition: whether the body is to be run.
    pub fn test<const N: usize>(&mut self, condition: C, mut vars: [Var<'_>; N]) -> bool {
        if !C::DEVICE {
            return condition.host();
        }
        let regions = match std::mem::replace(&mut self.state, State::Done) {
            State::Condition(regions) => regions,
            State::ConditionAgain(id, turn) => {
                return self.test_again((id, turn), condition.device(), &mut vars);
            }
            State::Start | State::Body(..) | State::BodyAgain(..) | State::Done => return false,
        };
        let at = self.at;
        let after = Snapshot::of(&mut vars);
        regions.before.check_same_form(&after, "the condition of a device `while`", at);
        let handle = condition.device();
        let opened = with(|t| {
            let changed = after.values().iter().map(|(_, h)| *h).ne(regions.args.iter().copied());
            if changed {
                t.error_with_help(
                    crate::diag::Code::TRACE_HOST_CHANGE,
                    "the condition of a device `while` changes a variable",
                    "change it in the body; the condition only looks",
                    at,
                );
            }
            let value = t.operand(handle, at);
            t.close(&value.into_iter().collect::<Vec<_>>(), at);
            let (body, args) = open(t, RegionKind::WhileBody, &regions.before, at);
            let entered = regions.before.values();
            let types = entered.iter().filter_map(|&(_, handle)| t.ty(handle).cloned()).collect();
            Carrying { body, args, types, condition: handle }
        });
        if let Some(carrying) = opened {
            write_back(&mut vars, &carrying.args);
            self.state = State::Body(regions, carrying);
        }
        true
    }

    fn leave(&self, regions: Regions, carrying: Carrying, vars: &mut [Var<'_>]) {
        let at = self.at;
        let after = Snapshot::of(vars);
        let same = regions.before.check_same_form(&after, "a device loop", at);
        let results = with(|t| {
            let (before, after) = (regions.before.values(), after.values());
            let mut results = vec![Handle::POISON; before.len()];
            if !same || before.len() != after.len() {
                t.close(&[], at);
                return results;
            }
            let carried: Vec<usize> =
                (0..before.len()).filter(|&idx| !carrying.args[idx].is_poison()).collect();
            let mut yields = Vec::new();
            for (&idx, ty) in carried.iter().zip(&carrying.types) {
                let (name, handle) = after[idx];
                let out = t.carried_out(name, handle, ty, carrying.body, "the loop", at);
                yields
                    .extend(out.or_else(|| t.operand_from(carrying.args[idx], carrying.body, at)));
            }
            t.close(&yields, at);
            if !carrying.condition.is_poison() {
                push_while(t, &regions, &carrying, &carried, &mut results, at);
            }
            let condition = RegionLog {
                block: regions.condition,
                enter: regions.args,
                leave: vec![carrying.condition],
            };
            let leave = after.iter().map(|&(_, handle)| handle).collect();
            let body = RegionLog { block: carrying.body, enter: carrying.args, leave };
            t.done(regions.id, [condition, body], results.clone());
            results
        });
        write_back(vars, &results.unwrap_or_default());
    }
}

/// Opens a region with an argument per carried value.
fn open(t: &mut Tracer, kind: RegionKind, before: &Snapshot, at: At) -> (BlockId, Vec<Handle>) {
    let entering: Vec<Option<Type>> = before
        .values()
        .iter()
        .map(|&(_, handle)| {
            let value = t.operand(handle, at)?;
            Some(t.builder.kernel().ty(value).clone())
        })
        .collect();
    let types: Vec<Type> = entering.iter().flatten().cloned().collect();
    let (block, args) = t.open(kind, &types, at);
    let mut rest = args.iter();
    let args = entering
        .iter()
        .map(|ty| match ty.as_ref().and_then(|_| rest.next()) {
            Some(&arg) => t.handle(arg),
            None => Handle::POISON,
        })
        .collect();
    (block, args)
}

/// Drops the arguments that the body leaves as they are, and makes the op.
fn push_while(
    t: &mut Tracer,
    regions: &Regions,
    carrying: &Carrying,
    carried: &[usize],
    results: &mut [Handle],
    at: At,
) {
    let before = regions.before.values();
    let mut kept = Vec::new();
    let mut inits: Vec<Value> = Vec::new();
    for (position, &idx) in carried.iter().enumerate().rev() {
        let Some(init) = t.operand(before[idx].1, at) else { return };
        let arg = t.builder.kernel().block(carrying.body).args[position];
        if t.builder.kernel().yields(carrying.body).get(position) == Some(&arg) {
            t.drop_arg(carrying.body, position, Some(0), init);
            t.drop_arg(regions.condition, position, None, init);
            results[idx] = before[idx].1;
        } else {
            kept.push(idx);
            inits.push(init);
        }
    }
    kept.reverse();
    inits.reverse();
    let blocks = [regions.condition, carrying.body];
    let made = t.push_all(Op::Control(ControlOp::While), &inits, &blocks, at);
    for (&idx, value) in kept.iter().zip(made.into_iter().flatten()) {
        results[idx] = t.handle(value);
    }
}
