//! Programs being traced: while a thread is in [`trace`], its ops are recorded and none is run.

use super::scalar_literal;
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::ops::Literal;
use crate::run::device::Device;
use crate::run::graph::{At, Graph, Ty, ValueId};
use crate::run::op::{Constant, Op, Types};
use crate::run::tensor::node::{Node, State};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which trace a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId(u64);

impl TraceId {
    /// Of no trace: for tensors that have a type alone.
    pub(crate) const NONE: TraceId = TraceId(u64::MAX);
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

/// A program being traced.
struct Trace {
    id: TraceId,
    device: Device,
    graph: Graph,
    /// By argument: the tensor that it stands for, if it was not an argument from the start but is
    /// used by the traced code from outside.
    captures: Vec<(ValueId, Arc<Node>)>,
    capture_ids: HashMap<usize, ValueId>,
    /// The first thing that went wrong, told if the traced code panics over its consequences.
    first_error: Option<Arc<Diagnostics>>,
}

thread_local! {
    /// The innermost last.
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
}

/// What tracing gave.
pub(crate) struct Traced {
    /// The program; its arguments are those it was traced with, then the captures.
    pub(crate) graph: Graph,
    /// Tensors from outside that the code uses.
    pub(crate) captures: Vec<Arc<Node>>,
}

/// Whether this thread is tracing.
pub(crate) fn is_active() -> bool {
    TRACES.with_borrow(|traces| !traces.is_empty())
}

/// Runs `f` on tensors that stand for arguments of these types, recording what it does. `f` gives
/// the results, and whatever else the caller wants back.
///
/// # Errors
/// The first thing that went wrong in a result, or that made `f` panic.
pub(crate) fn trace<R>(
    device: &Device,
    types: impl IntoIterator<Item = Ty>,
    at: At,
    f: impl FnOnce(Vec<Arc<Node>>) -> (Vec<Arc<Node>>, R),
) -> Result<(Traced, R), Diagnostics> {
    let id = TraceId(NEXT_ID.fetch_add(1, Ordering::Relaxed));
    let mut graph = Graph::default();
    let mut args = Vec::new();
    for ty in types {
        let value = graph.arg(ty.clone());
        args.push(Node::new(ty, at, device.clone(), State::Traced(id, value)));
    }
    let trace = Trace {
        id,
        device: device.clone(),
        graph,
        captures: Vec::new(),
        capture_ids: HashMap::new(),
        first_error: None,
    };
    TRACES.with_borrow_mut(|traces| traces.push(trace));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let (results, extra) = f(args);
        let ids = results.iter().map(|node| value_of(node, at)).collect::<Result<Vec<_>, _>>();
        (ids, extra)
    }));
    let trace = TRACES.with_borrow_mut(Vec::pop);
    let (ids, extra) = match outcome {
        Ok(outcome) => outcome,
        Err(panic) => match trace.and_then(|trace| trace.first_error) {
            // Code that indexes the shape of a tensor that could not be made panics; the mistake
            // is what is to be told.
            Some(error) => return Err((*error).clone()),
            None => resume_unwind(panic),
        },
    };
    let Some(mut trace) = trace else { return Err(escaped(at).into()) };
    trace.graph.set_outputs(ids?);
    let captures = trace.captures.into_iter().map(|(_, node)| node).collect();
    Ok((Traced { graph: trace.graph, captures }, extra))
}

/// Records an op into the innermost trace.
pub(super) fn record(
    op: Arc<dyn Op>,
    inputs: &[&Arc<Node>],
    types: &Types,
    at: At,
) -> Result<SmallVec<[Arc<Node>; 1]>, Diagnostics> {
    let ids = inputs.iter().map(|node| value_of(node, at));
    let ids = ids.collect::<Result<SmallVec<[ValueId; 4]>, _>>()?;
    with_innermost(at, |trace| {
        let first = trace.graph.call(op, &ids, types.iter().cloned(), at);
        let node = |(idx, ty): (usize, &Ty)| {
            let id = ValueId(first.0 + idx as u32);
            Node::new(ty.clone(), at, trace.device.clone(), State::Traced(trace.id, id))
        };
        types.iter().enumerate().map(node).collect()
    })
}

/// A constant in the innermost trace.
pub(super) fn constant(literal: Literal, at: At) -> Result<Arc<Node>, Diagnostics> {
    let types: Types = smallvec::smallvec![Ty::new(literal.dtype(), &[])];
    let op = Arc::new(Constant { literal });
    let made = record(op, &[], &types, at)?;
    made.into_iter().next().ok_or_else(|| escaped(at).into())
}

/// Notes that something went wrong in the innermost trace.
pub(super) fn note_error(error: &Arc<Diagnostics>) {
    TRACES.with_borrow_mut(|traces| {
        if let Some(trace) = traces.last_mut() {
            trace.first_error.get_or_insert_with(|| error.clone());
        }
    });
}

/// The device of the innermost trace.
pub(super) fn device() -> Option<Device> {
    TRACES.with_borrow(|traces| traces.last().map(|trace| trace.device.clone()))
}

fn with_innermost<R>(at: At, f: impl FnOnce(&mut Trace) -> R) -> Result<R, Diagnostics> {
    TRACES.with_borrow_mut(|traces| traces.last_mut().map(f)).ok_or_else(|| escaped(at).into())
}

/// The value that stands for a tensor in the innermost trace.
fn value_of(node: &Arc<Node>, at: At) -> Result<ValueId, Diagnostics> {
    let state = node.state().clone();
    match state {
        State::Failed(failure) => return Err((*failure).clone()),
        State::Donated(donated_at) => return Err(super::donated(node, donated_at, at)),
        State::Traced(id, value) => {
            let place = TRACES.with_borrow(|traces| {
                let place = traces.iter().position(|trace| trace.id == id);
                place.map(|place| place + 1 == traces.len())
            });
            match place {
                Some(true) => return Ok(value),
                // A value of an outer trace: captured like a tensor from outside.
                Some(false) => {}
                None => return Err(escaped(at).into()),
            }
        }
        State::Host(array) if array.n_elems() == 1 && array.shape().is_empty() => {
            let value = array.to_f64().first().copied().unwrap_or(0.0);
            let made = constant(scalar_literal(array.dtype(), value), at)?;
            return value_of(&made, at);
        }
        State::Host(_)
        | State::Deferred(..)
        | State::Device(_)
        | State::Sharded(_)
        | State::Padded(_) => {}
    }
    with_innermost(at, |trace| {
        let address = Arc::as_ptr(node).addr();
        if let Some(id) = trace.capture_ids.get(&address) {
            return *id;
        }
        let id = trace.graph.arg(node.ty.clone());
        trace.captures.push((id, node.clone()));
        trace.capture_ids.insert(address, id);
        id
    })
}

/// A value that outlived its trace.
pub(super) fn escaped(at: At) -> Diagnostic {
    Diagnostic::error(
        Code::TENSOR_TRACED,
        "this tensor is a value of a program that is being traced, and has no elements",
    )
    .at(Span::from_location(at), "its elements are asked for here")
    .help("return it from the function given to `jit`, and read the result of the call")
}
