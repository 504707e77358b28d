//! What the order of sums can reach: copies that add floats round them in the order in which they
//! arrive, which differs from schedule to schedule, and so does all that is computed of them.

use crate::ir::ops::{ControlOp, DmaOp, MxuOp, SparseOp};
use crate::ir::{BlockId, Kernel, Op, OpData, Value};

/// By parameter, whether its elements may depend on the order in which copies add floats.
pub(super) fn rounded_params(kernel: &Kernel) -> Vec<bool> {
    let mut flow =
        Flow { kernel, reached: vec![false; kernel.n_values()], units: false, grew: true };
    // What is known grows from pass to pass: through memory of an earlier line, or of an earlier
    // turn or step.
    while std::mem::take(&mut flow.grew) {
        flow.block(kernel.body, false);
    }
    (0..kernel.params.len()).map(|param| flow.is_reached(kernel.param_ref(param))).collect()
}

struct Flow<'k> {
    kernel: &'k Kernel,
    /// By value: whether it, or of a reference the memory, is reached.
    reached: Vec<bool>,
    /// Whether the state of the matrix units is.
    units: bool,
    /// Whether this pass has reached something new.
    grew: bool,
}

impl Flow<'_> {
    fn is_reached(&self, value: Value) -> bool {
        self.reached.get(value.0 as usize).copied().unwrap_or(false)
    }

    fn reach(&mut self, value: Value) {
        if let Some(reached) = self.reached.get_mut(value.0 as usize) {
            self.grew |= !*reached;
            *reached = true;
        }
    }

    /// Reaches each of the values on the right that stands beside a reached one on the left.
    fn carry(&mut self, from: &[Value], to: &[Value]) {
        for (&from, &to) in from.iter().zip(to) {
            if self.is_reached(from) {
                self.reach(to);
            }
        }
    }

    /// Follows a block; `all` if whether it runs at all depends on such sums.
    fn block(&mut self, block: BlockId, all: bool) {
        let kernel = self.kernel;
        for &id in &kernel.block(block).ops {
            let op = kernel.op(id);
            let reads = op.operands.iter().any(|&value| self.is_reached(value));
            match &op.op {
                // What a region yields is carried by the op around it.
                Op::Control(ControlOp::Yield) => {}
                Op::Control(control) if !op.regions.is_empty() => self.regions(*control, op, all),
                Op::Mxu(mxu) => self.unit(mxu, op, all || reads),
                _ => self.results(op, all || reads || adds_floats(kernel, op)),
            }
        }
    }

    fn results(&mut self, op: &OpData, reached: bool) {
        if reached {
            op.results.iter().copied().chain(op.written()).for_each(|value| self.reach(value));
        }
    }

    fn unit(&mut self, mxu: &MxuOp, op: &OpData, reached: bool) {
        match mxu {
            MxuOp::PushRhs { .. } | MxuOp::AccLhs { .. } => {
                self.grew |= reached && !self.units;
                self.units |= reached;
            }
            MxuOp::Pop { .. } => self.results(op, reached || self.units),
        }
    }

    fn regions(&mut self, control: ControlOp, op: &OpData, all: bool) {
        let kernel = self.kernel;
        let args = |block: BlockId| &kernel.block(block).args[..];
        let yields = |block: BlockId| kernel.yields(block);
        // How often it runs, or which arm.
        let decides = |flow: &Self| match (control, &op.regions[..]) {
            (ControlOp::If, _) => op.operands.first().is_some_and(|&value| flow.is_reached(value)),
            (ControlOp::For, _) => op.operands.iter().take(3).any(|&value| flow.is_reached(value)),
            (ControlOp::While, &[cond, _]) => yields(cond).iter().any(|&v| flow.is_reached(v)),
            _ => false,
        };
        let all = all || decides(self);
        match (control, &op.regions[..]) {
            (ControlOp::For, &[body]) => {
                let inits = op.operands.get(3..).unwrap_or_default();
                let carried = args(body).get(1..).unwrap_or_default();
                self.carry(inits, carried);
                self.carry(yields(body), carried);
                self.carry(carried, &op.results);
            }
            (ControlOp::While, &[cond, body]) => {
                for carried in [args(cond), args(body)] {
                    self.carry(&op.operands, carried);
                    self.carry(yields(body), carried);
                }
                self.carry(args(cond), &op.results);
            }
            _ => {}
        }
        for &region in &op.regions {
            self.block(region, all);
            if matches!(control, ControlOp::If | ControlOp::Scope) {
                self.carry(yields(region), &op.results);
            }
        }
        self.results(op, all);
    }
}

/// Whether an op is a copy that adds floats.
fn adds_floats(kernel: &Kernel, op: &OpData) -> bool {
    let adds = match &op.op {
        Op::Dma(DmaOp::Start(start)) => start.add,
        Op::Sparse(SparseOp::Start(start)) => start.add,
        _ => false,
    };
    adds && op.written().is_some_and(|target| kernel.ty(target).dtype().is_float())
}
