//! From a program at a bucket's size to one that is right for every real size up to it.

use super::{BoundDim, Bounded, Bounds, DimIdx, Layout};
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::run::graph::{At, Call, Graph, Ty, ValueId};
use crate::run::op::{FillPadding, OpError};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A program for every size up to a bound.
#[derive(Clone, Debug)]
pub(crate) struct BoundedGraph {
    /// After the arguments of the program it was made from come the real sizes, a scalar of `i32`
    /// per dim.
    pub(crate) graph: Graph,
    /// Where the padding of each output is.
    pub(crate) outputs: Vec<Layout>,
    /// By dim: the op that needs the most elements of it, how many, and its line; none if it may be
    /// empty.
    pub(crate) needs: Vec<Option<Need>>,
}

/// What an op needs of a dim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// The op.
    pub(crate) op: &'static str,
    /// The line that recorded it.
    pub(crate) at: At,
    /// The least size.
    pub(crate) least: usize,
}

/// Makes a program right for every real size. `args` says where the padding of its arguments is,
/// and `checks` has, by dim, the same program with that dim at its other size.
///
/// # Errors
/// An op that cannot tell what padding does to it, with its line.
pub(crate) fn bound(
    graph: &Graph,
    args: &[Layout],
    dims: &[BoundDim],
    checks: &[&Graph],
) -> Result<BoundedGraph, Diagnostics> {
    let mut pass = Pass::new(graph, args, dims, checks);
    for call in graph.calls() {
        let at_line = |error: OpError| Diagnostic::from(error).at(call.span(), "recorded here");
        let bounded = pass.ask(call).map_err(at_line)?;
        pass.check(call, &bounded).map_err(at_line)?;
        pass.apply(call, bounded);
    }
    let outputs = graph.outputs().iter();
    pass.result.outputs = outputs.map(|id| pass.layouts[id.idx()].clone()).collect();
    let ids: Vec<ValueId> = graph.outputs().iter().map(|id| pass.ids[id.idx()]).collect();
    pass.result.graph.set_outputs(ids);
    Ok(pass.result)
}

struct Pass<'a> {
    from: &'a Graph,
    dims: &'a [BoundDim],
    checks: &'a [&'a Graph],
    /// By value of `from`.
    layouts: Vec<Layout>,
    /// By value of `from`: the value that it became.
    ids: Vec<ValueId>,
    /// By dim.
    sizes: Vec<ValueId>,
    /// By value of the result, and what is in its padding.
    filled: HashMap<(ValueId, Literal), ValueId>,
    result: BoundedGraph,
}

impl<'a> Pass<'a> {
    fn new(
        from: &'a Graph,
        args: &[Layout],
        dims: &'a [BoundDim],
        checks: &'a [&'a Graph],
    ) -> Pass<'a> {
        let mut graph = Graph::default();
        let mut layouts = vec![Layout::default(); from.n_values()];
        let mut ids = vec![ValueId(0); from.n_values()];
        for (idx, arg) in from.args().iter().enumerate() {
            let ty = from.ty(*arg);
            ids[arg.idx()] = graph.arg(ty.clone());
            layouts[arg.idx()] = match args.get(idx) {
                Some(layout) => layout.clone(),
                // A tensor from outside.
                None => Layout::fixed(&ty.shape),
            };
        }
        let sizes = dims.iter().map(|_| graph.arg(Ty::new(DType::I32, &[]))).collect();
        let needs = vec![None; dims.len()];
        let result = BoundedGraph { graph, outputs: Vec::new(), needs };
        Pass { from, dims, checks, layouts, ids, sizes, filled: HashMap::new(), result }
    }

    fn bounds(&self, call: &Call) -> Bounds<'_> {
        let of = |graph: &'a Graph| call.outputs().map(move |id| graph.ty(id));
        Bounds {
            inputs: call.inputs.iter().map(|id| &self.layouts[id.idx()]).collect(),
            input_types: call.inputs.iter().map(|id| self.from.ty(*id)).collect(),
            outputs: of(self.from).collect(),
            checks: self.checks.iter().map(|&graph| of(graph).collect()).collect(),
            dims: self.dims,
        }
    }

    /// What padding does to a call; nothing if it has nothing to do with bounded dims.
    fn ask(&self, call: &Call) -> Result<Bounded, OpError> {
        let bounds = self.bounds(call);
        let is_fixed = bounds.inputs.iter().all(|layout| layout.is_fixed())
            && bounds.checks.iter().all(|types| *types == bounds.outputs);
        match is_fixed {
            true => Ok(Bounded::new(bounds.outputs.iter().map(|ty| Layout::fixed(&ty.shape)))),
            false => call.op.bounded(&bounds),
        }
    }

    /// Whether what an op says of its results agrees with how their shapes depend on the dims.
    fn check(&self, call: &Call, bounded: &Bounded) -> Result<(), OpError> {
        for (layout, id) in bounded.outputs.iter().zip(call.outputs()) {
            let buckets = |dim: DimIdx| self.dims[dim].bucket;
            let mut agrees = layout.shape_with(buckets) == self.from.ty(id).shape;
            for (idx, graph) in self.checks.iter().enumerate() {
                let sizes = |dim: DimIdx| match dim == idx {
                    true => self.dims[dim].check,
                    false => self.dims[dim].bucket,
                };
                agrees &= layout.shape_with(sizes) == graph.ty(id).shape;
            }
            if !agrees {
                let message = format!(
                    "`{}` gives {}, whose shape depends on a bounded dim in a way that cannot be followed",
                    call.op.name(),
                    self.from.ty(id)
                );
                return Err(OpError::bounded(message));
            }
        }
        Ok(())
    }

    fn apply(&mut self, call: &Call, bounded: Bounded) {
        let Bounded { outputs, fills, at_least, op, sizes } = bounded;
        let mut inputs: SmallVec<[ValueId; 4]> = SmallVec::new();
        for (idx, id) in call.inputs.iter().enumerate() {
            let input = self.ids[id.idx()];
            inputs.push(match fills.get(idx).copied().flatten() {
                Some(value) => self.filled(*id, input, value, call.at),
                None => input,
            });
        }
        inputs.extend(sizes.iter().map(|&dim| self.sizes[dim]));
        for (dim, least) in at_least {
            let known = &mut self.result.needs[dim];
            if known.is_none_or(|known| known.least < least) {
                *known = Some(Need { op: call.op.name(), at: call.at, least });
            }
        }
        let types: SmallVec<[Ty; 1]> = call.outputs().map(|id| self.from.ty(id).clone()).collect();
        let op = op.unwrap_or_else(|| call.op.clone());
        let first = self.result.graph.call(op, &inputs, types, call.at);
        for ((idx, id), layout) in call.outputs().enumerate().zip(outputs) {
            self.ids[id.idx()] = ValueId(first.0 + idx as u32);
            self.layouts[id.idx()] = layout;
        }
    }

    /// A value with this in its padding.
    fn filled(&mut self, from: ValueId, x: ValueId, value: Literal, at: At) -> ValueId {
        let layout = &self.layouts[from.idx()];
        if layout.is_fixed() {
            return x;
        }
        if let Some(&known) = self.filled.get(&(x, value)) {
            return known;
        }
        let mut inputs: SmallVec<[ValueId; 4]> = SmallVec::from_slice(&[x]);
        inputs.extend(layout.dims().iter().map(|&dim| self.sizes[dim]));
        let op = Arc::new(FillPadding { layout: layout.clone(), value });
        let filled = self.result.graph.call(op, &inputs, [self.from.ty(from).clone()], at);
        self.filled.insert((x, value), filled);
        filled
    }
}
