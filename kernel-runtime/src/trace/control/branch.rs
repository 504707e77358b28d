//! `if`.

use super::{Snapshot, Var, write_back};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::ops::ControlOp;
use crate::ir::{BlockId, Op};
use crate::trace::carried::{self, Carried, Leaf, Value};
use crate::trace::context::{At, Handle, RegionKind, Tracer, with};
use crate::trace::handle::Scalar;
use crate::trace::replay::{ConstructId, Part, RegionLog, Stage};
use std::panic::Location;

/// What an `if` branches on: a host `bool`, or a `Scalar<bool>` of the kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `if` condition",
    note = "a condition is a `bool` or a `Scalar<bool>`",
    note = "for a `Tile<bool>` use `select(mask, a, b)`"
)]
pub trait Condition {
    /// How the branch is traced.
    type If;
    /// Starts the branch.
    #[doc(hidden)]
    fn begin(self, at: &'static Location<'static>) -> Self::If;
}

/// Starts an `if`.
#[doc(hidden)]
#[track_caller]
pub fn begin_if<C: Condition>(condition: C) -> C::If {
    condition.begin(Location::caller())
}

/// Starts an `if` of the kernel at a place.
pub(in crate::trace) fn begin_at(condition: Scalar<bool>, at: At) -> DeviceIf {
    condition.begin(at)
}

/// The condition of an `if` that stays a Rust `if`.
#[doc(hidden)]
pub fn host_condition<C: HostCondition>(condition: C) -> bool {
    condition.into_bool()
}

/// A condition that is known while tracing.
#[diagnostic::on_unimplemented(
    message = "`return`, `break`, `continue` and `?` cannot run under a device condition",
    label = "this condition is a `{Self}`, not a host `bool`",
    note = "a kernel cannot leave its body half-way: compute both cases, or guard the rest with `if`"
)]
pub trait HostCondition {
    /// Its value.
    #[doc(hidden)]
    fn into_bool(self) -> bool;
}

impl HostCondition for bool {
    fn into_bool(self) -> bool {
        self
    }
}

impl Condition for bool {
    type If = HostIf;

    fn begin(self, _at: At) -> HostIf {
        HostIf { condition: self }
    }
}

/// An `if` on a host `bool`: one arm runs.
#[doc(hidden)]
#[derive(Debug)]
pub struct HostIf {
    condition: bool,
}

impl HostIf {
    pub fn var<V: ?Sized>(&self, _name: &'static str, _variable: &mut V) {}

    pub fn enter_then<const N: usize>(&mut self, _vars: [(); N]) -> bool {
        self.condition
    }

    pub fn leave_then<const N: usize>(&mut self, _vars: [(); N]) {}

    pub fn enter_else<const N: usize>(&mut self, _vars: [(); N]) -> bool {
        !self.condition
    }

    pub fn finish<V, const N: usize>(
        &mut self,
        then: Option<V>,
        otherwise: Option<V>,
        _vars: [(); N],
    ) -> V {
        match then.or(otherwise) {
            Some(value) => value,
            None => unreachable!("exactly one arm of a host `if` runs"),
        }
    }
}

impl Condition for Scalar<bool> {
    type If = DeviceIf;

    fn begin(self, at: At) -> DeviceIf {
        let known = with(|t| {
            let value = t.operand(self.handle, at)?;
            t.known(value)?.as_int().map(|bit| bit != 0)
        });
        DeviceIf {
            condition: self.handle,
            known: known.flatten(),
            at,
            stage: Stage::Lost,
            before: Snapshot::default(),
            then: None,
            otherwise: None,
        }
    }
}

/// An `if` on a `Scalar<bool>`: both arms are traced. A condition that folded to a constant
/// traces one arm, in place.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceIf {
    condition: Handle,
    known: Option<bool>,
    at: At,
    stage: Stage,
    before: Snapshot,
    then: Option<Arm>,
    otherwise: Option<Arm>,
}

#[derive(Debug)]
struct Arm {
    block: BlockId,
    after: Snapshot,
}

impl DeviceIf {
    pub fn var<'a, V: Carried>(&self, name: &'static str, variable: &'a mut V) -> Var<'a> {
        Var::new(name, variable)
    }

    pub fn enter_then<const N: usize>(&mut self, mut vars: [Var<'_>; N]) -> bool {
        if let Some(known) = self.known {
            return known;
        }
        self.before = Snapshot::of(&mut vars);
        let begun = with(|t| {
            self.stage = t.begin(RegionKind::Then, self.at);
            self.enter(t, RegionKind::Then)
        });
        begun.unwrap_or(true)
    }

    /// Enters an arm, unless a pass leaves it out.
    fn enter(&self, t: &mut Tracer, arm: RegionKind) -> bool {
        let (idx, part) = match arm {
            RegionKind::Then => (0, Part::FirstArm),
            _ => (1, Part::SecondArm),
        };
        match self.stage {
            Stage::First(_) => {
                t.open(arm, &[], self.at);
            }
            Stage::Again(_) if t.leaves_out(part) => return false,
            Stage::Again(id) => {
                t.enter_again(id, idx);
            }
            Stage::Lost => {}
        }
        true
    }

    pub fn leave_then<const N: usize>(&mut self, mut vars: [Var<'_>; N]) {
        if self.known.is_some() {
            return;
        }
        self.then = self.leave(0, &mut vars);
        write_back(&mut vars, &self.before.handles());
    }

    pub fn enter_else<const N: usize>(&mut self, _vars: [Var<'_>; N]) -> bool {
        if let Some(known) = self.known {
            return !known;
        }
        with(|t| self.enter(t, RegionKind::Else)).unwrap_or(true)
    }

    pub fn finish<V: Value, const N: usize>(
        &mut self,
        then: Option<V>,
        otherwise: Option<V>,
        mut vars: [Var<'_>; N],
    ) -> V {
        if self.known.is_none() && otherwise.is_some() {
            self.otherwise = self.leave(1, &mut vars);
        }
        if let (None, Stage::Again(id)) = (self.known, self.stage) {
            return self.finish_again(id, [then, otherwise], &mut vars);
        }
        match (then, otherwise) {
            (Some(mut then), Some(mut otherwise)) => {
                self.join(&mut then, &mut otherwise, &mut vars);
                then
            }
            (Some(value), None) | (None, Some(value)) => value,
            (None, None) => unreachable!("at least one arm of an `if` is traced"),
        }
    }

    /// Closes the open arm and remembers what the variables are at its end.
    fn leave(&self, idx: usize, vars: &mut [Var<'_>]) -> Option<Arm> {
        let after = Snapshot::of(vars);
        let arm = with(|t| match self.stage {
            Stage::First(_) => {
                let block = t.builder.current_block();
                t.close(&[], self.at);
                Some(Arm { block, after })
            }
            Stage::Again(id) => {
                t.leave_again(id, idx, &after.handles());
                None
            }
            Stage::Lost => None,
        });
        arm.flatten()
    }

    /// Gives the variables and the value what they became the first time.
    fn finish_again<V: Value>(
        &self,
        id: ConstructId,
        arms: [Option<V>; 2],
        vars: &mut [Var<'_>],
    ) -> V {
        let n_vars = self.before.handles().len();
        let mut value = None;
        for (idx, arm) in arms.into_iter().enumerate() {
            let Some(mut arm) = arm else { continue };
            let found = values(&carried::read(&mut arm));
            with(|t| t.check_leave(id, idx, n_vars, &found));
            value = value.or(Some(arm));
        }
        let results = with(|t| t.end_again(id)).unwrap_or_default();
        let (variables, rest) = results.split_at(n_vars.min(results.len()));
        write_back(vars, variables);
        match value {
            Some(mut value) => {
                carried::write(&mut value, rest);
                value
            }
            None => unreachable!("a pass leaves out one arm at most"),
        }
    }

    /// Makes the op, and replaces the values of the first arm by its results.
    fn join(&self, then: &mut dyn Carried, otherwise: &mut dyn Carried, vars: &mut [Var<'_>]) {
        let (Some(first), Some(second)) = (&self.then, &self.otherwise) else { return };
        let region = "an arm of a device `if`";
        let same = self.before.check_same_form(&first.after, region, self.at)
            && self.before.check_same_form(&second.after, region, self.at);
        let (then_leaves, else_leaves) = (carried::read(then), carried::read(otherwise));
        let same_value = self.check_same_value(&then_leaves, &else_leaves);
        if !same || !same_value {
            return;
        }
        let before = self.before.values();
        let pairs: Vec<_> = first.after.values().into_iter().zip(second.after.values()).collect();
        let value_pairs = then_leaves.iter().zip(&else_leaves).filter_map(|pair| match pair {
            (Leaf::Value(a), Leaf::Value(b)) => Some((*a, *b)),
            _ => None,
        });
        let value_pairs: Vec<(Handle, Handle)> = value_pairs.collect();
        let log = |arm: &Arm, value: &[Leaf]| {
            let leave = [arm.after.handles(), values(value)].concat();
            RegionLog { block: arm.block, enter: Vec::new(), leave }
        };
        let logs = [log(first, &then_leaves), log(second, &else_leaves)];
        let joined = with(|t| {
            let mut phis = Phis::new(first.block, second.block, self.at);
            let mut variables = Vec::new();
            for (&(_, before), &((name, a), (_, b))) in before.iter().zip(&pairs) {
                variables.push(if a == before && b == before {
                    Ok(before)
                } else {
                    Err(phis.add(t, name, a, b))
                });
            }
            let values: Vec<_> = value_pairs
                .iter()
                .map(|&(a, b)| phis.add(t, "the value of the `if`", a, b))
                .collect();
            let results = phis.finish(t, self.condition);
            let result = |idx: Option<usize>| {
                idx.and_then(|idx| results.get(idx).copied()).unwrap_or(Handle::POISON)
            };
            let variables: Vec<Handle> =
                variables.into_iter().map(|variable| variable.unwrap_or_else(&result)).collect();
            let values: Vec<Handle> = values.into_iter().map(result).collect();
            if let Stage::First(id) = self.stage {
                t.done(id, logs, [&variables[..], &values].concat());
            }
            (variables, values)
        });
        if let Some((variables, values)) = joined {
            write_back(vars, &variables);
            carried::write(then, &values);
        }
    }

    fn check_same_value(&self, then: &[Leaf], otherwise: &[Leaf]) -> bool {
        let same = |(a, b): (&Leaf, &Leaf)| match (a, b) {
            (Leaf::Value(_), Leaf::Value(_)) => true,
            _ => a == b,
        };
        if then.len() == otherwise.len() && then.iter().zip(otherwise).all(same) {
            return true;
        }
        with(|t| {
            t.error_with_help(
                Code::TRACE_HOST_CHANGE,
                "the arms of a device `if` give host values or containers that differ",
                "both arms are traced: give tiles and scalars alone, and containers of one size",
                self.at,
            );
        });
        false
    }
}

/// The tiles and scalars among leaves.
fn values(leaves: &[Leaf]) -> Vec<Handle> {
    let value = |leaf: &Leaf| match leaf {
        Leaf::Value(handle) => Some(*handle),
        Leaf::Host(..) | Leaf::Form(..) => None,
    };
    leaves.iter().filter_map(value).collect()
}

/// The results of an `if`: pairs of values, one from each arm.
struct Phis {
    then_block: BlockId,
    else_block: BlockId,
    then: Vec<crate::ir::Value>,
    otherwise: Vec<crate::ir::Value>,
    at: At,
}

impl Phis {
    fn new(then_block: BlockId, else_block: BlockId, at: At) -> Phis {
        Phis { then_block, else_block, then: Vec::new(), otherwise: Vec::new(), at }
    }

    /// Adds a pair; gives the number of its result, if the pair makes sense.
    fn add(&mut self, t: &mut Tracer, name: &str, a: Handle, b: Handle) -> Option<usize> {
        let a = t.operand_from(a, self.then_block, self.at);
        let b = t.operand_from(b, self.else_block, self.at);
        let (a, b) = (a?, b?);
        let (a_ty, b_ty) = (t.builder.kernel().ty(a).clone(), t.builder.kernel().ty(b).clone());
        if a_ty != b_ty {
            let (a_span, b_span) = (t.span_of(a), t.span_of(b));
            let name = if name.contains(' ') { name.to_owned() } else { format!("`{name}`") };
            t.report(
                Diagnostic::error(
                    Code::TRACE_CARRIED_TYPE,
                    format!(
                        "{name} is `{a_ty}` after one arm of the `if` and `{b_ty}` after the other"
                    ),
                )
                .at(Span::from_location(self.at), "")
                .at_opt(a_span, format!("made `{a_ty}` here"))
                .at_opt(b_span, format!("made `{b_ty}` here"))
                .help("both arms must give the same element type and shape"),
            );
            return None;
        }
        self.then.push(a);
        self.otherwise.push(b);
        Some(self.then.len() - 1)
    }

    fn finish(self, t: &mut Tracer, condition: Handle) -> Vec<Handle> {
        let Some(condition) = t.operand(condition, self.at) else { return Vec::new() };
        t.builder.extend_yield(self.then_block, &self.then);
        t.builder.extend_yield(self.else_block, &self.otherwise);
        let nothing = self.then.is_empty() && t.is_empty(self.then_block);
        if nothing && t.is_empty(self.else_block) {
            return Vec::new();
        }
        let regions = [self.then_block, self.else_block];
        let results = t.push_all(Op::Control(ControlOp::If), &[condition], &regions, self.at);
        results.into_iter().flatten().map(|value| t.handle(value)).collect()
    }
}
