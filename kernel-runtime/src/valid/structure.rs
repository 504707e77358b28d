//! The arenas: every block stands in one place, values are visible where they are used, types are
//! what the ops' own rules give, regions end in `yield`, and the arguments fit the declarations.

use super::Context;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::{ControlOp, DebugOp, Op};
use crate::ir::{BlockId, Kernel, LocId, OpData, OpId, ParamKind, Type, Value};

/// Regions nest no deeper: back ends recurse into them.
const MAX_DEPTH: usize = 64;
/// No value is larger than the address space of a chip's memories.
const MAX_VALUE_ELEMS: usize = 1 << 31;

pub(super) fn check(context: &mut Context<'_>) {
    let kernel = context.kernel;
    let mut walk = Walk {
        visible: vec![false; kernel.n_values()],
        entered: vec![false; kernel.blocks.len()],
        context,
    };
    let prefetch: Vec<Type> = kernel
        .params
        .iter()
        .filter(|param| param.kind == ParamKind::Prefetch)
        .map(|param| param.ref_type())
        .collect();
    for param in &kernel.params {
        let Some(window) = &param.window else { continue };
        let what = format!("the index map of `{}`", param.name);
        walk.arguments(window.index_map, &what, &prefetch, param.loc);
        walk.block(window.index_map, Ends::InYield, 1, param.loc);
        walk.hide(window.index_map);
    }
    let refs = kernel.params.iter().map(|param| param.ref_type());
    let refs = refs.chain(kernel.scratch.iter().map(|scratch| scratch.ref_type()));
    let refs = refs.chain(kernel.semaphores.iter().map(|array| array.ref_type()));
    let refs: Vec<Type> = refs.collect();
    walk.arguments(kernel.body, "the body", &refs, LocId::UNKNOWN);
    walk.block(kernel.body, Ends::Without, 0, LocId::UNKNOWN);
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    InYield,
    Without,
}

struct Walk<'c, 'k> {
    context: &'c mut Context<'k>,
    /// By value, whether it may be used here.
    visible: Vec<bool>,
    /// By block, whether it stands somewhere already.
    entered: Vec<bool>,
}

impl<'k> Walk<'_, 'k> {
    fn kernel(&self) -> &'k Kernel {
        self.context.kernel
    }

    /// Checks that a block takes the grid indices and then these types.
    fn arguments(&mut self, block: BlockId, what: &str, refs: &[Type], loc: LocId) {
        let kernel = self.kernel();
        let Some(data) = kernel.blocks.get(block.0 as usize) else {
            return;
        };
        let index = Type::Scalar(crate::ir::DType::I32);
        let wanted: Vec<&Type> = kernel.grid.iter().map(|_| &index).chain(refs).collect();
        let actual: Vec<&Type> =
            data.args.iter().filter(|v| self.exists(**v)).map(|&v| kernel.ty(v)).collect();
        if wanted == actual {
            return;
        }
        let list = |types: &[&Type]| {
            let types: Vec<String> = types.iter().map(|ty| ty.to_string()).collect();
            types.join(", ")
        };
        self.context.report_at(
            loc,
            Diagnostic::error(
                Code::VALID_ARGUMENTS,
                format!("{what} takes ({}), not ({})", list(&wanted), list(&actual)),
            )
            .note("arguments are the grid indices, then one reference per parameter, scratch or array of semaphores"),
        );
    }

    fn exists(&self, value: Value) -> bool {
        (value.0 as usize) < self.visible.len()
    }

    fn broken(&mut self, loc: LocId, what: String) {
        self.context.error(Code::VALID_STRUCTURE, loc, what);
    }

    fn block(&mut self, id: BlockId, ends: Ends, depth: usize, loc: LocId) {
        let kernel = self.kernel();
        match self.entered.get_mut(id.0 as usize) {
            Some(entered) if !*entered => *entered = true,
            Some(_) => return self.broken(loc, "one block stands in two places".to_string()),
            None => return self.broken(loc, "a block that does not exist is used".to_string()),
        }
        if depth > MAX_DEPTH {
            return self.broken(loc, format!("regions nest deeper than {MAX_DEPTH} levels"));
        }
        let data = kernel.block(id);
        data.args.iter().for_each(|&arg| self.show(arg));
        let last = data.ops.len().saturating_sub(1);
        for (idx, &op) in data.ops.iter().enumerate() {
            if op.0 as usize >= kernel.n_ops() {
                self.broken(loc, "an op that does not exist is used".to_string());
                continue;
            }
            let is_yield = kernel.op(op).op == Op::Control(ControlOp::Yield);
            if is_yield && (idx != last || ends == Ends::Without) {
                let message = match ends {
                    Ends::InYield => "`yield` stands before the end of its region",
                    Ends::Without => "the body of a kernel does not `yield`",
                };
                self.context.error(Code::VALID_YIELD, kernel.op(op).loc, message);
            }
            self.op(op, depth);
        }
        self.scopes(id);
        let end = data.ops.last().and_then(|op| kernel.ops.get(op.0 as usize));
        let ends_in_yield = end.is_some_and(|op| op.op == Op::Control(ControlOp::Yield));
        if ends == Ends::InYield && !ends_in_yield {
            self.context.error(Code::VALID_YIELD, loc, "a region does not end in `yield`");
        }
    }

    /// Checks that each scope ends in the block that it begins in.
    fn scopes(&mut self, id: BlockId) {
        let kernel = self.kernel();
        let mut open: Vec<(&str, LocId)> = Vec::new();
        let ops = kernel.block(id).ops.iter().filter_map(|op| kernel.ops.get(op.0 as usize));
        for op in ops {
            match &op.op {
                Op::Debug(DebugOp::ScopeStart { name }) => open.push((name, op.loc)),
                Op::Debug(DebugOp::ScopeEnd) if open.pop().is_none() => {
                    let message = "a scope ends in a block in which none begins";
                    self.context.error(Code::VALID_SCOPE, op.loc, message);
                }
                _ => {}
            }
        }
        for (name, loc) in open {
            let message = format!("the scope {name:?} does not end in the block it begins in");
            self.context.error(Code::VALID_SCOPE, loc, message);
        }
    }

    fn show(&mut self, value: Value) {
        if let Some(visible) = self.visible.get_mut(value.0 as usize) {
            *visible = true;
        }
    }

    /// Hides what a block defines from what comes after it.
    fn hide(&mut self, id: BlockId) {
        let kernel = self.kernel();
        let Some(data) = kernel.blocks.get(id.0 as usize) else {
            return;
        };
        let results = data.ops.iter().filter_map(|op| kernel.ops.get(op.0 as usize));
        let results = results.flat_map(|op| op.results.iter());
        for value in data.args.iter().chain(results) {
            if let Some(visible) = self.visible.get_mut(value.0 as usize) {
                *visible = false;
            }
        }
    }

    fn op(&mut self, id: OpId, depth: usize) {
        let op = self.kernel().op(id);
        let is_visible = |v: &Value| self.visible.get(v.0 as usize).copied().unwrap_or(false);
        if let Some(hidden) = op.operands.iter().find(|v| !is_visible(v)) {
            let message = format!(
                "`{}` uses value {} before or outside the block that defines it",
                op.op.mnemonic(),
                hidden.0
            );
            self.context.error(Code::VALID_DOMINANCE, op.loc, message);
            return op.results.iter().for_each(|&result| self.show(result));
        }
        for &region in &op.regions {
            self.block(region, Ends::InYield, depth + 1, op.loc);
            self.hide(region);
        }
        if op.regions.iter().all(|block| (block.0 as usize) < self.entered.len()) {
            self.types(op);
        }
        op.results.iter().for_each(|&result| self.show(result));
    }

    /// Infers the types again and compares them with those that are stored.
    fn types(&mut self, op: &OpData) {
        let kernel = self.kernel();
        let inferred = match kernel.infer(&op.op, &op.operands, &op.regions) {
            Ok(types) => types,
            Err(why) => return self.context.report_at(op.loc, why.into_diagnostic(None)),
        };
        let stored: Vec<&Type> =
            op.results.iter().filter(|v| self.exists(**v)).map(|&v| kernel.ty(v)).collect();
        if !inferred.iter().eq(stored.iter().copied()) {
            let message = format!(
                "`{}` is stored with other result types than its rule gives",
                op.op.mnemonic()
            );
            return self.context.error(Code::VALID_STALE_TYPE, op.loc, message);
        }
        if let Op::Control(ControlOp::GridExtent { axis }) = op.op
            && axis >= kernel.grid.len()
        {
            let n_axes = kernel.grid.len();
            return self.broken(op.loc, format!("grid axis {axis} is not one of the {n_axes}"));
        }
        for ty in &inferred {
            let n_elems = ty.shape().iter().try_fold(1usize, |n, &size| n.checked_mul(size));
            if n_elems.is_none_or(|n| n > MAX_VALUE_ELEMS) {
                let message =
                    format!("`{}` makes a tile with more than 2^31 elements", op.op.mnemonic());
                self.context.error(Code::VALID_TILE_SIZE, op.loc, message);
            }
        }
    }
}
