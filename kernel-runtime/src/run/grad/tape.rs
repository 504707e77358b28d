//! A program run with all its values kept, and then backwards.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::run::dispatch;
use crate::run::graph::{Call, Graph, ValueId};
use crate::run::op::{Forward, Vjp};
use crate::run::tensor::{DynTensor, Tensor};

/// The values of a program for given arguments.
///
/// A value is active if it is a float and depends on an argument whose gradient is asked for; the
/// rest is constant, and ops on it need no gradient.
pub(crate) struct Tape<'g> {
    graph: &'g Graph,
    /// By value.
    values: Vec<Option<DynTensor>>,
    /// By value.
    active: Vec<bool>,
    /// By call: what its gradient needs besides inputs and outputs.
    residuals: Vec<Vec<DynTensor>>,
}

impl<'g> Tape<'g> {
    /// Applies the ops that the outputs need to tensors. Gradients will be asked for the arguments
    /// that are `wanted`, if they are floats.
    pub(crate) fn record(
        graph: &'g Graph,
        args: &[DynTensor],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Tape<'g>, Diagnostics> {
        let mut tape = Tape {
            graph,
            values: vec![None; graph.n_values()],
            active: vec![false; graph.n_values()],
            residuals: Vec::with_capacity(graph.calls().len()),
        };
        for (idx, (id, arg)) in graph.args().iter().zip(args).enumerate() {
            tape.values[id.idx()] = Some(arg.clone());
            tape.active[id.idx()] = wanted(idx) && arg.dtype().is_float();
        }
        let needed = graph.needed();
        for call in graph.calls() {
            let residuals = match call.op.has_side_effects()
                || call.outputs().any(|output| needed[output.idx()])
            {
                true => tape.apply(call)?,
                false => Vec::new(),
            };
            tape.residuals.push(residuals);
        }
        Ok(tape)
    }

    /// Applies one op; gives what its gradient needs.
    fn apply(&mut self, call: &Call) -> Result<Vec<DynTensor>, Diagnostics> {
        let inputs = self.read_all(call.inputs.iter().copied())?;
        let is_active = call.inputs.iter().any(|id| self.active[id.idx()]);
        let forward = match is_active.then(|| call.op.forward(&inputs, call.at)).flatten() {
            Some(forward) => forward?,
            None => {
                let nodes: Vec<_> = inputs.iter().map(Tensor::node).collect();
                let results = dispatch::apply_all(call.op.clone(), &nodes, None, call.at);
                let outputs = results.into_iter().map(Tensor::from_node).collect();
                Forward { outputs, residuals: Vec::new() }
            }
        };
        for (id, output) in call.outputs().zip(forward.outputs) {
            self.active[id.idx()] = is_active && output.dtype().is_float();
            self.values[id.idx()] = Some(output.check()?);
        }
        Ok(forward.residuals)
    }

    fn read(&self, id: ValueId) -> Result<DynTensor, Diagnostics> {
        self.values
            .get(id.idx())
            .cloned()
            .flatten()
            .ok_or_else(|| Diagnostic::error(Code::TENSOR_PROGRAM, "a value is not there").into())
    }

    fn read_all(&self, ids: impl Iterator<Item = ValueId>) -> Result<Vec<DynTensor>, Diagnostics> {
        ids.map(|id| self.read(id)).collect()
    }

    /// What the program gives.
    pub(crate) fn outputs(&self) -> Result<Vec<DynTensor>, Diagnostics> {
        self.read_all(self.graph.outputs().iter().copied())
    }

    /// The gradient by each argument, given that by each output; none where nothing depends on the
    /// argument, and for arguments whose gradient is not asked for.
    pub(crate) fn pull_back(
        mut self,
        of_outputs: Vec<Option<DynTensor>>,
    ) -> Result<Vec<Option<DynTensor>>, Diagnostics> {
        let mut cotangents: Vec<Option<DynTensor>> = vec![None; self.graph.n_values()];
        for (id, cotangent) in self.graph.outputs().iter().zip(of_outputs) {
            if let Some(cotangent) = cotangent {
                self.add(&mut cotangents, *id, cotangent)?;
            }
        }
        for (call, residuals) in
            self.graph.calls().iter().zip(std::mem::take(&mut self.residuals)).rev()
        {
            let of_outputs: Vec<Option<DynTensor>> =
                call.outputs().map(|id| cotangents[id.idx()].take()).collect();
            if of_outputs.iter().all(Option::is_none) {
                continue;
            }
            let inputs = self.read_all(call.inputs.iter().copied())?;
            let outputs = self.read_all(call.outputs())?;
            let wanted: Vec<bool> = call.inputs.iter().map(|id| self.active[id.idx()]).collect();
            let vjp = Vjp {
                inputs: &inputs,
                wanted: &wanted,
                outputs: &outputs,
                residuals: &residuals,
                cotangents: &of_outputs,
            };
            let gradients =
                call.op.vjp(&vjp).map_err(|error| Diagnostic::from(error).at(call.span(), ""))?;
            for (id, gradient) in call.inputs.iter().zip(gradients) {
                if let Some(gradient) = gradient {
                    self.add(&mut cotangents, *id, gradient)?;
                }
            }
        }
        Ok(self.graph.args().iter().map(|id| cotangents[id.idx()].take()).collect())
    }

    fn add(
        &self,
        cotangents: &mut [Option<DynTensor>],
        id: ValueId,
        gradient: DynTensor,
    ) -> Result<(), Diagnostics> {
        if !self.active[id.idx()] {
            return Ok(());
        }
        let sum = &mut cotangents[id.idx()];
        *sum = Some(match sum.take() {
            Some(sum) => (sum + gradient).check()?,
            None => gradient.check()?,
        });
        Ok(())
    }
}
