//! `&&` and `||`.
//!
//! On the host they are lazy. On the device the right side is evaluated in any case, unless it
//! reads memory: then it becomes the arm of an `if`, since `i < n && x[i] > 0` must not read out
//! of bounds.

use crate::diag::Code;
use crate::ir::ops::{Binary, ControlOp, Literal};
use crate::ir::{BlockId, DType, Op};
use crate::trace::carried::{self, Carried, Leaf};
use crate::trace::context::{At, Handle, RegionKind, Tracer, make, with};
use crate::trace::convert::{IntoScalar, Operand};
use crate::trace::handle::Scalar;
use crate::trace::replay::{Part, RegionLog, Stage};
use std::panic::Location;

/// The left side of `&&` or `||`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of `&&` and `||`",
    note = "an operand is a `bool` or a `Scalar<bool>`; for a `Tile<bool>` write `&` and `|`"
)]
pub trait LogicLhs {
    /// How the right side is traced.
    type Logic;
    /// Starts the expression; `or` tells which of the two it is.
    #[doc(hidden)]
    fn begin(self, or: bool, at: &'static Location<'static>) -> Self::Logic;
}

/// What the right side of `&&` or `||` may be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an operand of `&&` and `||`",
    note = "an operand is a `bool` or a `Scalar<bool>`; for a `Tile<bool>` write `&` and `|`"
)]
pub trait LogicValue: IntoScalar<bool> {
    /// A constant of this kind.
    #[doc(hidden)]
    fn constant(value: bool, at: &'static Location<'static>) -> Self;
}

impl LogicValue for bool {
    fn constant(value: bool, _at: At) -> bool {
        value
    }
}

impl LogicValue for Scalar<bool> {
    fn constant(value: bool, at: At) -> Scalar<bool> {
        Scalar::new(make(|t| {
            let value = t.constant(Literal::int(DType::Bool, i64::from(value)), at);
            t.handle(value)
        }))
    }
}

/// Starts `lhs && ..`.
#[doc(hidden)]
#[track_caller]
pub fn begin_and<L: LogicLhs>(lhs: L) -> L::Logic {
    lhs.begin(false, Location::caller())
}

/// Starts `lhs || ..`.
#[doc(hidden)]
#[track_caller]
pub fn begin_or<L: LogicLhs>(lhs: L) -> L::Logic {
    lhs.begin(true, Location::caller())
}

impl LogicLhs for bool {
    type Logic = HostLogic;

    fn begin(self, or: bool, at: At) -> HostLogic {
        HostLogic { lhs: self, or, at }
    }
}

/// `&&` or `||` with a host `bool` on the left.
#[doc(hidden)]
#[derive(Debug)]
pub struct HostLogic {
    lhs: bool,
    or: bool,
    at: At,
}

impl HostLogic {
    pub fn var<V: ?Sized>(&self, _name: &'static str, _variable: &mut V) {}

    /// Whether the right side is to be evaluated.
    pub fn enter<const N: usize>(&mut self, _vars: [(); N]) -> bool {
        self.lhs != self.or
    }

    pub fn finish<R: LogicValue, const N: usize>(&mut self, rhs: Option<R>, _vars: [(); N]) -> R {
        rhs.unwrap_or_else(|| R::constant(self.lhs, self.at))
    }
}

impl LogicLhs for Scalar<bool> {
    type Logic = DeviceLogic;

    fn begin(self, or: bool, at: At) -> DeviceLogic {
        let known = with(|t| {
            let value = t.operand(self.handle, at)?;
            t.known(value)?.as_int().map(|bit| bit != 0)
        });
        DeviceLogic {
            lhs: self.handle,
            known: known.flatten(),
            or,
            at,
            stage: Stage::Lost,
            region: None,
            before: Vec::new(),
        }
    }
}

/// `&&` or `||` with a `Scalar<bool>` on the left.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceLogic {
    lhs: Handle,
    known: Option<bool>,
    or: bool,
    at: At,
    stage: Stage,
    region: Option<BlockId>,
    before: Vec<Vec<Leaf>>,
}

/// A variable that the right side mentions: it may look at it, but not change it.
#[doc(hidden)]
#[derive(Debug)]
pub struct Looked {
    name: &'static str,
    leaves: Vec<Leaf>,
}

impl DeviceLogic {
    pub fn var<V: Carried>(&self, name: &'static str, variable: &mut V) -> Looked {
        Looked { name, leaves: carried::read(variable) }
    }

    /// Whether the right side is to be evaluated.
    pub fn enter<const N: usize>(&mut self, vars: [Looked; N]) -> bool {
        if let Some(known) = self.known {
            return known != self.or;
        }
        self.before = vars.into_iter().map(|var| var.leaves).collect();
        let begun = with(|t| {
            self.stage = t.begin(RegionKind::Logic, self.at);
            match self.stage {
                Stage::First(_) => self.region = Some(t.open(RegionKind::Logic, &[], self.at).0),
                Stage::Again(_) if t.leaves_out(Part::FirstArm) => return false,
                Stage::Again(id) => {
                    t.enter_again(id, 0);
                }
                Stage::Lost => {}
            }
            true
        });
        begun.unwrap_or(true)
    }

    pub fn finish<R: LogicValue, const N: usize>(
        &mut self,
        rhs: Option<R>,
        vars: [Looked; N],
    ) -> Scalar<bool> {
        if let Stage::Again(_) = self.stage {
            return Scalar::new(make(|t| self.finish_again(t, rhs.map(|rhs| rhs.operand()))));
        }
        let Some(rhs) = rhs else {
            return Scalar::new(self.lhs);
        };
        let Some(region) = self.region else {
            return Scalar::new(make(|t| match t.value(rhs.operand(), DType::Bool, self.at) {
                Some(value) => t.handle(value),
                None => Handle::POISON,
            }));
        };
        for (before, after) in self.before.iter().zip(&vars) {
            if *before != after.leaves {
                let name = after.name;
                with(|t| {
                    t.error_with_help(
                        Code::TRACE_HOST_CHANGE,
                        format!("the right side of `&&` or `||` changes `{name}`"),
                        "write an `if` for what happens under a condition",
                        self.at,
                    );
                });
            }
        }
        Scalar::new(self.combine(rhs.operand(), region))
    }

    /// What the expression was the first time.
    fn finish_again(&self, t: &mut Tracer, rhs: Option<Operand>) -> Handle {
        let Stage::Again(id) = self.stage else { return Handle::POISON };
        match rhs {
            None => {}
            Some(rhs) if t.has_region(id) => {
                let rhs = t.value(rhs, DType::Bool, self.at).map(|value| t.handle(value));
                t.leave_again(id, 0, rhs.as_slice());
            }
            Some(rhs) => {
                self.inlined(t, rhs);
            }
        }
        t.end_again(id).first().copied().unwrap_or(Handle::POISON)
    }

    fn inlined(&self, t: &mut Tracer, rhs: Operand) -> Handle {
        let op = if self.or { Binary::Or } else { Binary::And };
        t.binary(op, [Operand::Handle(self.lhs), rhs], DType::Bool, self.at)
    }

    fn combine(&self, rhs: Operand, region: BlockId) -> Handle {
        let done = |t: &mut Tracer, regions: Option<RegionLog>, result: Handle| {
            if let Stage::First(id) = self.stage {
                t.done(id, regions, vec![result]);
            }
            result
        };
        make(|t| {
            if t.is_pure(region) {
                t.inline();
                let result = self.inlined(t, rhs);
                return done(t, None, result);
            }
            let rhs = t.value(rhs, DType::Bool, self.at);
            let leave = rhs.map(|rhs| t.handle(rhs)).into_iter().collect();
            t.close(&rhs.into_iter().collect::<Vec<_>>(), self.at);
            let (other, _) = t.open(RegionKind::Else, &[], self.at);
            let constant = t.constant(Literal::int(DType::Bool, i64::from(self.or)), self.at);
            t.close(&[constant], self.at);
            let (Some(_), Some(lhs)) = (rhs, t.operand(self.lhs, self.at)) else {
                return Handle::POISON;
            };
            let regions = if self.or { [other, region] } else { [region, other] };
            match t.push_all(Op::Control(ControlOp::If), &[lhs], &regions, self.at) {
                Some(results) => {
                    let result = t.handle(results[0]);
                    done(t, Some(RegionLog { block: region, enter: Vec::new(), leave }), result)
                }
                None => Handle::POISON,
            }
        })
    }
}
