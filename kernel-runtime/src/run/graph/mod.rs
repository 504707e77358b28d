//! Programs of ops on tensors: what deferred and compiled code is recorded into.
//!
//! A [`Graph`] is a list of calls over numbered values. It knows nothing of devices or buffers: the
//! same graph is compiled for the CPU, compiled ahead of time for a TPU, keyed in the caches, and
//! differentiated. Its key ([`Graph::write_key`]) is written from the graph alone, before any
//! StableHLO is built, and leaves out source locations, so that the same program written on other
//! lines is the same program.

pub(crate) mod emit;
mod key;

pub(crate) use key::{Attrs, KeyWriter};

use super::op::Op;
use crate::diag::Span;
use crate::ir::{DType, Shape};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;

/// A place in the user's source.
pub(crate) type At = &'static Location<'static>;

/// Element type and shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ty {
    /// Element type.
    pub(crate) dtype: DType,
    /// Sizes, outermost first.
    pub(crate) shape: Shape,
}

impl Ty {
    pub(crate) fn new(dtype: DType, shape: &[usize]) -> Ty {
        Ty { dtype, shape: Shape::from_slice(shape) }
    }

    /// The number of elements.
    pub(crate) fn n_elems(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of a dense array of this type.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_elems().saturating_mul(self.dtype.size_bytes())
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape.as_slice())
    }
}

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ValueId(pub(crate) u32);

impl ValueId {
    /// Its place in lists with one entry per value.
    pub(crate) fn idx(self) -> usize {
        self.0 as usize
    }
}

/// One op applied to values.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// What is done.
    pub(crate) op: Arc<dyn Op>,
    /// With what.
    pub(crate) inputs: SmallVec<[ValueId; 4]>,
    /// The first result; the others follow it.
    pub(crate) first: ValueId,
    /// How many results there are.
    pub(crate) n_outputs: usize,
    /// The line that recorded it.
    pub(crate) at: At,
}

impl Call {
    /// The results.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = ValueId> + use<> {
        (self.first.0..self.first.0 + self.n_outputs as u32).map(ValueId)
    }

    /// The line that recorded it.
    pub(crate) fn span(&self) -> Span {
        Span::from_location(self.at)
    }
}

/// A program of ops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// By value: its type.
    types: SmallVec<[Ty; 4]>,
    /// The values that are given from outside, in order.
    args: SmallVec<[ValueId; 4]>,
    /// The ops, each after those it needs.
    calls: SmallVec<[Call; 1]>,
    /// What the program gives.
    outputs: SmallVec<[ValueId; 2]>,
}

impl Graph {
    /// Adds an argument.
    pub(crate) fn arg(&mut self, ty: Ty) -> ValueId {
        let id = self.value(ty);
        self.args.push(id);
        id
    }

    /// Adds a call whose results have these types; gives the first result.
    pub(crate) fn call(
        &mut self,
        op: Arc<dyn Op>,
        inputs: &[ValueId],
        types: impl IntoIterator<Item = Ty>,
        at: At,
    ) -> ValueId {
        let first = ValueId(self.types.len() as u32);
        self.types.extend(types);
        let n_outputs = self.types.len() - first.idx();
        let inputs = SmallVec::from_slice(inputs);
        self.calls.push(Call { op, inputs, first, n_outputs, at });
        first
    }

    fn value(&mut self, ty: Ty) -> ValueId {
        let id = ValueId(self.types.len() as u32);
        self.types.push(ty);
        id
    }

    /// Says what the program gives.
    pub(crate) fn set_outputs(&mut self, outputs: impl IntoIterator<Item = ValueId>) {
        self.outputs = outputs.into_iter().collect();
    }

    /// The type of a value.
    pub(crate) fn ty(&self, id: ValueId) -> &Ty {
        &self.types[id.idx()]
    }

    /// How many values there are.
    pub(crate) fn n_values(&self) -> usize {
        self.types.len()
    }

    /// The arguments.
    pub(crate) fn args(&self) -> &[ValueId] {
        &self.args
    }

    /// The ops, each after those it needs.
    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// What the program gives.
    pub(crate) fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// The types of what the program gives.
    pub(crate) fn output_types(&self) -> impl ExactSizeIterator<Item = &Ty> {
        self.outputs.iter().map(|id| self.ty(*id))
    }

    /// Whether an op of it must run although nobody reads its results.
    pub(crate) fn has_side_effects(&self) -> bool {
        self.calls.iter().any(|call| call.op.has_side_effects())
    }

    /// Whether the program means nothing to another process.
    pub(crate) fn is_bound_to_process(&self) -> bool {
        self.calls.iter().any(|call| call.op.is_bound_to_process())
    }

    /// By value: whether an output needs it.
    pub(crate) fn needed(&self) -> Vec<bool> {
        let mut needed = vec![false; self.n_values()];
        for output in &self.outputs {
            needed[output.idx()] = true;
        }
        for call in self.calls.iter().rev() {
            if call.op.has_side_effects() || call.outputs().any(|output| needed[output.idx()]) {
                for input in &call.inputs {
                    needed[input.idx()] = true;
                }
            }
        }
        needed
    }

    /// The program without what no output needs, and the positions of the arguments that it keeps.
    pub(crate) fn pruned(&self) -> (Graph, Vec<usize>) {
        let needed = self.needed();
        let mut graph = Graph::default();
        let mut ids: Vec<Option<ValueId>> = vec![None; self.n_values()];
        let mut kept = Vec::new();
        for (idx, arg) in self.args.iter().enumerate() {
            if needed[arg.idx()] {
                ids[arg.idx()] = Some(graph.arg(self.ty(*arg).clone()));
                kept.push(idx);
            }
        }
        for call in &self.calls {
            if !call.op.has_side_effects() && !call.outputs().any(|output| needed[output.idx()]) {
                continue;
            }
            let inputs: SmallVec<[ValueId; 4]> =
                call.inputs.iter().filter_map(|id| ids[id.idx()]).collect();
            let types = call.outputs().map(|id| self.ty(id).clone());
            let first = graph.call(call.op.clone(), &inputs, types, call.at);
            for (idx, output) in call.outputs().enumerate() {
                ids[output.idx()] = Some(ValueId(first.0 + idx as u32));
            }
        }
        graph.set_outputs(self.outputs.iter().filter_map(|id| ids[id.idx()]));
        (graph, kept)
    }

    /// Writes what makes two programs the same: types, ops with their attributes, and how they
    /// hang together.
    pub(crate) fn write_key(&self, key: &mut KeyWriter) {
        self.args.hash(key);
        for arg in &self.args {
            self.ty(*arg).hash(key);
        }
        key.write_usize(self.calls.len());
        for call in &self.calls {
            call.op.name().hash(key);
            call.op.write_attrs(key);
            call.inputs.hash(key);
            call.first.hash(key);
        }
        self.outputs.hash(key);
    }
}

impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut key = KeyWriter::default();
        self.write_key(&mut key);
        key.bytes().hash(state);
    }
}
