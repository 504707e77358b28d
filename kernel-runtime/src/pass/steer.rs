//! Whether a kernel's inputs in scalar memory decide what it executes.

use crate::ir::ops::{ControlOp, Op};
use crate::ir::{Kernel, MemorySpace, OpData, ParamKind, Type, Value};

/// Whether a branch or a loop depends on what is in an input's block in scalar memory, which a
/// compiler that only looks at a kernel does not know. Prefetched tables are another matter: see
/// [`is_pinnable`](super::is_pinnable).
pub fn is_steered(kernel: &Kernel) -> bool {
    let mut known = Unknown { kernel, values: vec![false; kernel.n_values()], grows: false };
    for (idx, param) in kernel.params.iter().enumerate() {
        let is_input = matches!(param.kind, ParamKind::In | ParamKind::InOut);
        if is_input && param.space == MemorySpace::Smem {
            known.add(kernel.param_ref(idx));
        }
    }
    while std::mem::take(&mut known.grows) {
        let mut steers = false;
        kernel.walk(kernel.body, &mut |_, op| steers |= known.visit(op));
        if steers {
            return true;
        }
    }
    false
}

/// What depends on scalars that are not known: values, and references to memory that holds them.
struct Unknown<'k> {
    kernel: &'k Kernel,
    values: Vec<bool>,
    /// Whether a value has been added.
    grows: bool,
}

impl Unknown<'_> {
    fn add(&mut self, value: Value) {
        let entry = &mut self.values[value.0 as usize];
        self.grows |= !*entry;
        *entry = true;
    }

    fn has(&self, value: Value) -> bool {
        self.values[value.0 as usize]
    }

    /// Adds each value of which the one before it is there.
    fn follow(&mut self, from: &[Value], to: &[Value]) {
        for (&from, &to) in from.iter().zip(to) {
            if self.has(from) {
                self.add(to);
            }
        }
    }

    /// Adds what an op makes of what is there; gives whether that decides what runs.
    fn visit(&mut self, op: &OpData) -> bool {
        let kernel = self.kernel;
        let Op::Control(control) = &op.op else {
            self.visit_plain(op);
            return false;
        };
        let regions: Vec<_> = op.regions.iter().map(|&region| kernel.yields(region)).collect();
        let args = |region: usize| &kernel.block(op.regions[region]).args;
        match control {
            ControlOp::If => {
                regions.iter().for_each(|yields| self.follow(yields, &op.results));
                self.has(op.operands[0])
            }
            ControlOp::For => {
                let (bounds, carried) = op.operands.split_at(3);
                for from in [carried, regions[0]] {
                    self.follow(from, &args(0)[1..]);
                    self.follow(from, &op.results);
                }
                bounds.iter().any(|&bound| self.has(bound))
            }
            ControlOp::While => {
                for from in [&op.operands[..], regions[1]] {
                    self.follow(from, args(0));
                    self.follow(from, args(1));
                    self.follow(from, &op.results);
                }
                regions[0].iter().any(|&condition| self.has(condition))
            }
            ControlOp::Scope => {
                self.follow(regions[0], &op.results);
                false
            }
            ControlOp::Yield | ControlOp::GridExtent { .. } | ControlOp::DeviceId => false,
        }
    }

    /// What is stored passes to the memory, and what is loaded comes from it.
    fn visit_plain(&mut self, op: &OpData) {
        if !op.operands.iter().any(|&operand| self.has(operand)) {
            return;
        }
        op.results.iter().for_each(|&result| self.add(result));
        // Elements of tiles steer nothing by themselves, but a store of scalars may come back.
        let written = op.written().filter(|&reference| {
            matches!(self.kernel.ty(reference), Type::Ref { space: MemorySpace::Smem, .. })
        });
        written.into_iter().for_each(|reference| self.add(reference));
    }
}
