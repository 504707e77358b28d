//! The hooks that the macro turns `if`, `for`, `while`, `&&` and `||` into.
//!
//! A traced construct becomes straight-line code: both arms of an `if` run one after the other,
//! the body of a loop runs once. There are no closures, so borrows, moves and `?` mean what they
//! mean in the source. Variables that a body mentions are handed over before and after, and those
//! that come out changed become results of the op.

mod branch;
mod logic;
mod range;
mod repeat;

pub(super) use branch::begin_at;
pub use branch::{Condition, DeviceIf, HostIf, begin_if, host_condition};
pub use logic::{DeviceLogic, HostLogic, LogicLhs, LogicValue, begin_and, begin_or};
pub use range::{DeviceFor, begin_for, begin_for_inclusive};
pub use repeat::{CarriedIn, LoopCondition, While, while_var};

use super::carried::{self, Carried, Leaf};
use super::context::{At, Handle, Tracer, with};
use crate::diag::{Code, Diagnostic, Span};
use crate::ir::{BlockId, Type, Value};

/// A variable that a device region mentions, with its name.
pub struct Var<'a> {
    name: &'static str,
    carried: Option<&'a mut dyn Carried>,
}

impl std::fmt::Debug for Var<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Var({})", self.name)
    }
}

impl<'a> Var<'a> {
    fn new(name: &'static str, carried: &'a mut dyn Carried) -> Var<'a> {
        Var { name, carried: Some(carried) }
    }
}

/// The leaves of several variables, with the variable each belongs to.
#[derive(Clone, Debug, Default)]
struct Snapshot {
    leaves: Vec<(&'static str, Leaf)>,
}

impl Snapshot {
    fn of(vars: &mut [Var<'_>]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for var in vars {
            if let Some(carried) = &mut var.carried {
                let leaves = carried::read(&mut **carried);
                snapshot.leaves.extend(leaves.into_iter().map(|leaf| (var.name, leaf)));
            }
        }
        snapshot
    }

    /// The tiles and scalars among the leaves.
    fn values(&self) -> Vec<(&'static str, Handle)> {
        let value = |&(name, leaf): &(&'static str, Leaf)| match leaf {
            Leaf::Value(handle) => Some((name, handle)),
            Leaf::Host(..) | Leaf::Form(..) => None,
        };
        self.leaves.iter().filter_map(value).collect()
    }

    /// The handles of [`Snapshot::values`].
    fn handles(&self) -> Vec<Handle> {
        self.values().into_iter().map(|(_, handle)| handle).collect()
    }

    /// Whether `after` has the same host values and forms; reports what changed.
    fn check_same_form(&self, after: &Snapshot, region: &str, at: At) -> bool {
        let changed = self.leaves.iter().zip(&after.leaves).find(|((_, a), (_, b))| match (a, b) {
            (Leaf::Value(_), Leaf::Value(_)) => false,
            _ => a != b,
        });
        let (name, what) = match changed {
            Some((&(name, Leaf::Host(what, _)), _)) => (name, format!("a host `{what}`")),
            Some((&(name, Leaf::Form(what, _)), _)) => (name, what.to_owned()),
            Some((&(name, Leaf::Value(_)), _)) => (name, "what it is made of".to_owned()),
            None if self.leaves.len() == after.leaves.len() => return true,
            None => ("a variable", "the number of its tiles".to_owned()),
        };
        with(|t| {
            t.report(
                Diagnostic::error(
                    Code::TRACE_HOST_CHANGE,
                    format!("`{name}`: {what} changes inside {region}, which is traced once"),
                )
                .at(Span::from_location(at), "")
                .help(
                    "make it a `Scalar`, or run the construct while tracing: `#[unroll] for`, \
                     `if comptime!(..)`",
                ),
            );
        });
        false
    }
}

/// Writes new handles to the values of several variables.
fn write_back(vars: &mut [Var<'_>], mut handles: &[Handle]) {
    for var in vars {
        if let Some(carried) = &mut var.carried {
            let leaves = carried::read(&mut **carried);
            let n = leaves.iter().filter(|leaf| matches!(leaf, Leaf::Value(_))).count();
            let (now, later) = handles.split_at(n.min(handles.len()));
            carried::write(&mut **carried, now);
            handles = later;
        }
    }
}

impl Tracer {
    /// What a region yields for a value that entered it as `ty`; reports another type.
    fn carried_out(
        &mut self,
        name: &str,
        handle: Handle,
        entered: &Type,
        block: BlockId,
        region: &str,
        at: At,
    ) -> Option<Value> {
        let value = self.operand_from(handle, block, at)?;
        let left = self.builder.kernel().ty(value).clone();
        if left == *entered {
            return Some(value);
        }
        let made_at = self.span_of(value);
        let mut diagnostic = Diagnostic::error(
            Code::TRACE_CARRIED_TYPE,
            format!("`{name}` enters {region} as `{entered}` but leaves it as `{left}`"),
        )
        .at(Span::from_location(at), "");
        if let Some(span) = made_at {
            diagnostic = diagnostic.at(span, format!("made `{left}` here"));
        }
        self.report(diagnostic.help("a variable keeps its element type and shape in a loop"));
        None
    }
}
