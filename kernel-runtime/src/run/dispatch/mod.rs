//! From an op to its result: into the program being traced, into the deferred batch, or onto the
//! device, as the [mode](mode::Mode) says.

pub(crate) mod mode;
pub(crate) mod queue;
pub(crate) mod trace;

use super::device::{Device, device_error};
use super::graph::{At, Graph, Ty, ValueId};
use super::mesh;
use super::op::{Op, OpError, Types};
use super::tensor::node::{Node, State};
use super::tensor::{Any, Kind, Tensor, scalar_array};
use crate::diag::{Code, Diagnostic, Diagnostics, Span};
use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::pjrt::{self, Buffer};
use mode::Mode;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The results of an op.
pub(crate) type Results = SmallVec<[Arc<Node>; 1]>;
/// Positions of inputs whose memory may be reused.
type Donors = SmallVec<[usize; 2]>;

/// Applies an op of one result.
pub(crate) fn apply<T: Kind>(op: impl Op, inputs: &[&Arc<Node>], at: At) -> Tensor<T> {
    first(apply_all(Arc::new(op), inputs, None, at))
}

/// As [`apply`], reusing the memory of input `donor` for the result where that can be done: if
/// nobody else holds that tensor, and the result is as large.
pub(crate) fn apply_in_place<T: Kind>(
    op: impl Op,
    inputs: &[&Arc<Node>],
    donor: usize,
    at: At,
) -> Tensor<T> {
    first(apply_all(Arc::new(op), inputs, Some(donor), at))
}

fn first<T: Kind>(results: Results) -> Tensor<T> {
    match results.into_iter().next() {
        Some(node) => Tensor::from_node(node),
        None => {
            let at = std::panic::Location::caller();
            let error = Diagnostic::error(Code::TENSOR_PROGRAM, "the op gave no result");
            Tensor::failed(&Device::current(), error, at)
        }
    }
}

/// The result of an op whose arguments make no sense.
pub(crate) fn refuse<T: Kind>(device: &Device, error: OpError, at: At) -> Tensor<T> {
    let error = Diagnostics::from(Diagnostic::from(error).at(Span::from_location(at), ""));
    trace::note_error(&Arc::new(error.clone()));
    Tensor::failed(device, error, at)
}

/// Applies an op. What goes wrong goes into the results. The memory of the inputs at `donors` is
/// reused for results where that can be done: if nobody else holds the tensor, and there is a result
/// of its type. What is deferred looks for that when it runs.
pub(crate) fn apply_all(
    op: Arc<dyn Op>,
    inputs: &[&Arc<Node>],
    donors: impl IntoIterator<Item = usize>,
    at: At,
) -> Results {
    let donors: Donors = donors.into_iter().collect();
    let n_outputs = op.n_outputs();
    let device = inputs.first().map(|node| node.device.clone());
    let device = device.unwrap_or_else(current_device);
    match try_apply(&device, op, inputs, &donors, at) {
        Ok(results) => results,
        Err(error) => {
            let error = Arc::new(error);
            trace::note_error(&error);
            let failed = |_| {
                let ty = Ty::new(DType::F32, &[]);
                Node::new(ty, at, device.clone(), State::Failed(error.clone()))
            };
            (0..n_outputs).map(failed).collect()
        }
    }
}

/// Where ops without inputs run: the device of the program being traced, or of this thread.
pub(crate) fn current_device() -> Device {
    trace::device().unwrap_or_else(Device::current)
}

fn try_apply(
    device: &Device,
    op: Arc<dyn Op>,
    inputs: &[&Arc<Node>],
    donors: &[usize],
    at: At,
) -> Result<Results, Diagnostics> {
    for input in inputs {
        if let Some(failure) = input.failure() {
            return Err((*failure).clone());
        }
        if !input.device.same_as(device) {
            let message =
                format!("`{}` is given tensors on {device:?} and on {:?}", op.name(), input.device);
            let error = Diagnostic::error(Code::TENSOR_DEVICE, message);
            let error = error.at(Span::from_location(at), "");
            return Err(error.help(move_help(device, &input.device)).into());
        }
    }
    let types: SmallVec<[&Ty; 4]> = inputs.iter().map(|node| &node.ty).collect();
    let types = op
        .infer(&types)
        .map_err(|error| Diagnostic::from(error).at(Span::from_location(at), ""))?;
    if trace::is_active() {
        return trace::record(op, inputs, &types, at);
    }
    match mode::mode() {
        Mode::DeferAndFuse => queue::record(device, op, inputs, types, donors, at),
        Mode::Strict => run(device, op, inputs, types, donors, at),
        Mode::Debug => {
            check_elements(&*op, inputs, at)?;
            let results = run(device, op, inputs, types, donors, at)?;
            for node in &results {
                wait(node, at)?;
            }
            Ok(results)
        }
    }
}

/// What to do about tensors on two devices.
pub(crate) fn move_help(a: &Device, b: &Device) -> &'static str {
    match a.mesh().or(b.mesh()) {
        Some(_) => "put both on the mesh: `mesh.shard(&x, [..])` or `mesh.replicate(&x)`",
        None => "move one: `.to(&device)`",
    }
}

/// Lets an op look for indices out of range.
fn check_elements(op: &dyn Op, inputs: &[&Arc<Node>], at: At) -> Result<(), Diagnostics> {
    let types: SmallVec<[&Ty; 4]> = inputs.iter().map(|node| &node.ty).collect();
    let read = |idx: usize| Tensor::<Any>::from_node(inputs[idx].clone()).to_array();
    op.check_elements(&types, &read).map_err(|mut error| {
        for diagnostic in error.0.iter_mut().filter(|diagnostic| diagnostic.labels.is_empty()) {
            *diagnostic = diagnostic.clone().at(Span::from_location(at), "");
        }
        error
    })
}

/// Hands an op to the device.
fn run(
    device: &Device,
    op: Arc<dyn Op>,
    inputs: &[&Arc<Node>],
    types: Types,
    donors: &[usize],
    at: At,
) -> Result<Results, Diagnostics> {
    let ready = device.ready()?;
    let mut graph = Graph::default();
    let mut ids: SmallVec<[ValueId; 4]> = SmallVec::new();
    let mut args: SmallVec<[&Arc<Node>; 4]> = SmallVec::new();
    for (idx, &input) in inputs.iter().enumerate() {
        // A tensor that is given twice is one argument.
        if let Some(known) = inputs[..idx].iter().position(|other| Arc::ptr_eq(other, input)) {
            ids.push(ids[known]);
            continue;
        }
        ids.push(graph.arg(input.ty.clone()));
        args.push(input);
    }
    if let Some(devices) = device.mesh() {
        let first = graph.call(op, &ids, types.iter().cloned(), at);
        graph.set_outputs((0..types.len()).map(|idx| ValueId(first.0 + idx as u32)));
        let states = mesh::execute::run(device, devices, &graph, &args, at);
        let states = states.map_err(|error| at_line(error, at))?;
        let node = |(ty, state)| Node::new(ty, at, device.clone(), state);
        return Ok(types.into_iter().zip(states).map(node).collect());
    }
    let buffers = args.iter().map(|node| materialize(node, at));
    let buffers = buffers.collect::<Result<SmallVec<[Buffer; 4]>, _>>()?;
    let is_donor = |&idx: &usize| {
        let given = ids.iter().filter(|id| **id == ids[idx]).count();
        // One handle: the caller's, who gives it up.
        given == 1 && Arc::strong_count(inputs[idx]) == 1 && types.contains(&inputs[idx].ty)
    };
    let donors: Donors = donors.iter().copied().filter(is_donor).collect();
    let donated: Donors = donors
        .iter()
        .filter_map(|&idx| graph.args().iter().position(|id| *id == ids[idx]))
        .collect();
    let first = graph.call(op, &ids, types.iter().cloned(), at);
    graph.set_outputs((0..types.len()).map(|idx| ValueId(first.0 + idx as u32)));
    let executable = ready.program(&graph, &donated)?;
    let args: SmallVec<[&Buffer; 4]> = buffers.iter().collect();
    let outputs = executable.execute(&args).map_err(|error| at_line(device_error(error), at))?;
    for idx in donors {
        inputs[idx].set(State::Donated(at));
    }
    let node = |(ty, buffer)| Node::new(ty, at, device.clone(), State::Device(buffer));
    Ok(types.into_iter().zip(outputs).map(node).collect())
}

/// The buffer that has, or will have, the elements of a tensor; runs what is deferred.
pub(crate) fn materialize(node: &Arc<Node>, at: At) -> Result<Buffer, Diagnostics> {
    let batch = match &*node.state() {
        State::Device(buffer) => return Ok(buffer.clone()),
        State::Host(_) | State::Padded(_) => None,
        State::Deferred(batch, _) => Some(batch.clone()),
        other => return Err(unavailable(node, other, at)),
    };
    if let Some(batch) = batch {
        batch.flush();
    }
    state_as_buffer(node)
}

/// Runs the tensor, if it is deferred.
pub(crate) fn settle(node: &Arc<Node>) {
    let batch = match &*node.state() {
        State::Deferred(batch, _) => batch.clone(),
        _ => return,
    };
    batch.flush();
}

/// Why a tensor in this state has no elements.
pub(crate) fn unavailable(node: &Node, state: &State, at: At) -> Diagnostics {
    match state {
        State::Failed(failure) => (**failure).clone(),
        State::Donated(donated_at) => donated(node, donated_at, at),
        State::Traced(..) | State::Deferred(..) => trace::escaped(at).into(),
        State::Sharded(shards) if shards.buffers.is_empty() => trace::escaped(at).into(),
        State::Host(_) | State::Device(_) | State::Sharded(_) | State::Padded(_) => {
            let message = format!("{} is on {:?}, in no single buffer", node.ty, node.device);
            Diagnostic::error(Code::TENSOR_PROGRAM, message).into()
        }
    }
}

/// The buffer of a tensor that is not deferred; copies elements to the device, and cuts real ones
/// out of padding.
fn state_as_buffer(node: &Arc<Node>) -> Result<Buffer, Diagnostics> {
    cut_padding(node)?;
    let mut state = node.state();
    let buffer = match &*state {
        State::Device(buffer) => return Ok(buffer.clone()),
        State::Host(array) => node.device.ready()?.upload(array).map_err(device_error)?,
        other => return Err(unavailable(node, other, node.at)),
    };
    *state = State::Device(buffer.clone());
    Ok(buffer)
}

/// Gives a tensor that is a part of a larger array a buffer of its own. It goes by way of the
/// host, since a program that cuts it out would have to be compiled for each size.
fn cut_padding(node: &Arc<Node>) -> Result<(), Diagnostics> {
    let padded = match &*node.state() {
        State::Padded(padded) => padded.clone(),
        _ => return Ok(()),
    };
    let array = padded.cut(&node.ty).map_err(|error| execution_error(node, &error))?;
    let buffer = node.device.ready()?.upload(&Arc::new(array)).map_err(device_error)?;
    let mut state = node.state();
    if matches!(&*state, State::Padded(_)) {
        *state = State::Device(buffer);
    }
    Ok(())
}

/// Waits until a tensor has its elements; runs what is deferred.
pub(crate) fn wait(node: &Arc<Node>, at: At) -> Result<(), Diagnostics> {
    let done = match node.device.mesh() {
        Some(devices) => mesh::execute::shards(devices, node, at)?.wait(),
        None => materialize(node, at)?.ready().and_then(|event| event.wait()),
    };
    done.map_err(|error| execution_error(node, &error))
}

/// What a running program said, at the line of the tensor that it should have made.
pub(crate) fn execution_error(node: &Node, error: &pjrt::Error) -> Diagnostics {
    at_line(device_error(error.clone()), node.at)
}

fn at_line(mut error: Diagnostics, at: At) -> Diagnostics {
    let span = Span::from_location(at);
    for diagnostic in &mut error.0 {
        if diagnostic.labels.iter().all(|label| label.span != span) {
            *diagnostic = diagnostic.clone().at(span.clone(), "recorded here");
        }
    }
    error
}

/// A tensor whose memory an op has reused.
fn donated(node: &Node, donated_at: At, at: At) -> Diagnostics {
    let error =
        Diagnostic::error(Code::TENSOR_DONATED, format!("the tensor {} was donated", node.ty));
    let error = error.at(Span::from_location(at), "it is used here");
    let error = error.at(Span::from_location(donated_at), "an op reused its memory here");
    error.help("clone the tensor before it is given away").into()
}

/// How many scalars each thread keeps on devices.
const MAX_SCALARS: usize = 1024;

thread_local! {
    /// Scalars on devices, so that `x + 1.0` copies nothing: by element type, bits, and device.
    static SCALARS: RefCell<HashMap<(DType, u64, String), Arc<Node>>> = RefCell::default();
}

/// A scalar beside tensors on a device: an argument of the program that uses it, or a constant of
/// the program being traced.
pub(crate) fn scalar<T: Kind>(dtype: DType, value: f64, device: &Device, at: At) -> Tensor<T> {
    if trace::is_active() {
        return match trace::constant(scalar_literal(dtype, value), at) {
            Ok(node) => Tensor::from_node(node),
            Err(error) => Tensor::failed(device, error, at),
        };
    }
    let key = (dtype, value.to_bits(), device.name().to_owned());
    let known = SCALARS.with_borrow(|scalars| scalars.get(&key).cloned());
    if let Some(node) = known.filter(|node| node.device.same_as(device)) {
        return Tensor::from_node(node);
    }
    let tensor = Tensor::host(scalar_array(dtype, value), device.clone(), at);
    SCALARS.with_borrow_mut(|scalars| {
        if scalars.len() >= MAX_SCALARS {
            scalars.clear();
        }
        scalars.insert(key, tensor.node().clone());
    });
    tensor
}

fn scalar_literal(dtype: DType, value: f64) -> Literal {
    Literal::from_f64(dtype, value)
}
