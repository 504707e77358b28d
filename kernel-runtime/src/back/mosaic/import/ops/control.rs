//! Branches, loops and scopes.

use super::super::body::{Importer, Outcome, Refusal, Val};
use super::super::header::short_name;
use super::super::read::ast::{Block, Op, ValueId};
use crate::ir::ops::ControlOp;
use crate::ir::{self, BlockId, DType};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "scf.if" => importer.branch(op),
        "scf.for" => importer.count_loop(op),
        "scf.while" => importer.while_loop(op),
        "tpu.region" | "tpu.trace" => importer.scope(op),
        "tpu.device_id" => importer.device_id(op),
        "tpu.iteration_bound" => importer.iteration_bound(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn device_id(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let value = self.push(op, ir::Op::Control(ControlOp::DeviceId), &[])?;
        self.result(op, value)
    }

    fn values(&mut self, values: &[ValueId]) -> Outcome<Vec<ir::Value>> {
        values.iter().map(|&value| self.value(value)).collect()
    }

    /// Imports a region into a block with arguments of these types; its arguments are bound by
    /// `bind` to those. Gives what its terminator takes.
    fn region(
        &mut self,
        op: &'m Op,
        block: &'m Block,
        terminator: &str,
        args: &[ir::Type],
    ) -> Outcome<(BlockId, Vec<ir::Value>)> {
        if block.args.len() != args.len() {
            let message = format!("a region of `{}` takes other arguments", short_name(op));
            return Err(self.wrong(message).into());
        }
        for (&arg, ty) in block.args.iter().zip(args) {
            let stated = self.ty(op, self.module.ty(arg))?;
            if stated != *ty {
                let message = format!("a region of `{}` takes {stated}, not {ty}", short_name(op));
                return Err(self.wrong(message).into());
            }
        }
        let (id, values) = self.builder.open_block(args);
        for (&arg, &value) in block.args.iter().zip(&values) {
            self.bind(arg, Val::Ir { value, multiple: 1 });
        }
        let yields = self.region_ops(op, block, terminator);
        self.enter(op);
        let closing: &[ir::Value] = match &yields {
            Ok(yields) => yields,
            Err(_) => &[],
        };
        self.builder.close_block(closing, self.loc);
        Ok((id, yields?))
    }

    /// Imports the ops of a region into the block at hand; gives what its terminator takes.
    fn region_ops(
        &mut self,
        op: &'m Op,
        block: &'m Block,
        terminator: &str,
    ) -> Outcome<Vec<ir::Value>> {
        match self.ops(&block.ops) {
            Some(end) if short_name(end) == terminator => self.values(&end.operands),
            // A region that is left out does nothing.
            None if block.ops.is_empty() && block.args.is_empty() => Ok(Vec::new()),
            _ => {
                let message =
                    format!("a region of `{}` does not end in `{terminator}`", short_name(op));
                Err(self.wrong(message).into())
            }
        }
    }

    fn types(&self, values: &[ir::Value]) -> Vec<ir::Type> {
        values.iter().map(|&value| self.builder.kernel().ty(value).clone()).collect()
    }

    fn branch(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let cond = self.operand(op, 0)?;
        let cond = self.value(cond);
        let [then, other] = match &op.regions[..] {
            [then, other] => [then, other],
            _ => return Err(self.wrong("a branch has two regions").into()),
        };
        // Both arms are looked at, whatever is wrong with one: for every error in them.
        let then = self.region(op, then, "scf.yield", &[]);
        let other = self.region(op, other, "scf.yield", &[]);
        let regions = [then?.0, other?.0];
        let values = self.push_all(op, ir::Op::Control(ControlOp::If), &[cond?], &regions)?;
        self.results(op, &values)
    }

    fn count_loop(&mut self, op: &'m Op) -> Outcome<()> {
        let mut known = vec!["unsignedCmp"];
        if self.is_sparse() {
            // A promise that turns are independent, and how many to write one after the other.
            known.extend(["sc.parallel_access", "sc.loop_unroll_factor"]);
        }
        self.only(op, &known)?;
        if self.flag(op, "unsignedCmp")? {
            return Err(self.unsupported(op, "unsigned bounds"));
        }
        let operands = self.values(&op.operands)?;
        let [body] = &op.regions[..] else {
            return Err(self.wrong("a loop has one region").into());
        };
        let mut args = vec![ir::Type::Scalar(DType::I32)];
        args.extend(self.types(operands.get(3..).unwrap_or_default()));
        let (region, _) = self.region(op, body, "scf.yield", &args)?;
        let values = self.push_all(op, ir::Op::Control(ControlOp::For), &operands, &[region])?;
        self.results(op, &values)
    }

    /// A loop whose first region gives the condition and what the second one takes.
    ///
    /// If that is what the first one was given, the IR has the same loop. Otherwise the condition
    /// and those values are carried, computed once before the loop and at the end of each turn.
    fn while_loop(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let inits = self.values(&op.operands)?;
        let [before, after] = &op.regions[..] else {
            return Err(self.wrong("a loop has two regions").into());
        };
        let Some(condition) = before.ops.last().filter(|end| short_name(end) == "scf.condition")
        else {
            return Err(self.wrong("the first region of a loop ends in `scf.condition`").into());
        };
        let is_plain = condition.operands.get(1..) == Some(&before.args[..]);
        let args = self.types(&inits);
        if is_plain {
            let (cond, yields) =
                self.region_with(op, before, &args, |yields| yields[..1].to_vec())?;
            debug_assert!(!yields.is_empty());
            let (body, _) = self.region(op, after, "scf.yield", &args)?;
            let what = ir::Op::Control(ControlOp::While);
            let values = self.push_all(op, what, &inits, &[cond, body])?;
            return self.results(op, &values);
        }
        let carried = self.before(op, before, &inits)?;
        let carried_types = self.types(&carried);
        let (cond, args) = self.builder.open_block(&carried_types);
        self.builder.close_block(&args[..1], self.loc);
        let (body, args) = self.builder.open_block(&carried_types);
        let turn = self.turn(op, (before, after), &args[1..]);
        self.enter(op);
        let closing: &[ir::Value] = match &turn {
            Ok(next) => next,
            Err(_) => &[],
        };
        self.builder.close_block(closing, self.loc);
        turn?;
        let what = ir::Op::Control(ControlOp::While);
        let values = self.push_all(op, what, &carried, &[cond, body])?;
        self.results(op, values.get(1..).unwrap_or_default())
    }

    /// The second region of a loop on these values, and then the first one.
    fn turn(
        &mut self,
        op: &'m Op,
        (before, after): (&'m Block, &'m Block),
        values: &[ir::Value],
    ) -> Outcome<Vec<ir::Value>> {
        self.bind_args(op, after, values)?;
        let next = self.region_ops(op, after, "scf.yield")?;
        self.before(op, before, &next)
    }

    /// The first region of a loop on these values: the condition, then what it passes on.
    fn before(
        &mut self,
        op: &'m Op,
        before: &'m Block,
        values: &[ir::Value],
    ) -> Outcome<Vec<ir::Value>> {
        self.bind_args(op, before, values)?;
        let passed = self.region_ops(op, before, "scf.condition")?;
        self.enter(op);
        if passed.is_empty() {
            return Err(self.wrong("a loop has no condition").into());
        }
        Ok(passed)
    }

    fn bind_args(&mut self, op: &Op, block: &Block, values: &[ir::Value]) -> Outcome<()> {
        let fits = block.args.len() == values.len();
        for (&arg, &value) in block.args.iter().zip(values) {
            let stated = self.ty(op, self.module.ty(arg))?;
            if stated != *self.builder.kernel().ty(value) {
                return Err(self.wrong("a region takes a value of another type").into());
            }
            self.bind(arg, Val::Ir { value, multiple: 1 });
        }
        if fits { Ok(()) } else { Err(self.wrong("a region takes other arguments").into()) }
    }

    /// The first region of a plain loop: of what its terminator takes, `choose` chooses the yields.
    fn region_with(
        &mut self,
        op: &'m Op,
        block: &'m Block,
        args: &[ir::Type],
        choose: impl Fn(&[ir::Value]) -> Vec<ir::Value>,
    ) -> Outcome<(BlockId, Vec<ir::Value>)> {
        let (id, values) = self.builder.open_block(args);
        let passed = match self.bind_args(op, block, &values) {
            Ok(()) => self.region_ops(op, block, "scf.condition"),
            Err(refusal) => Err(refusal),
        };
        self.enter(op);
        let passed = match passed {
            Ok(passed) if passed.is_empty() => {
                Err(Refusal::from(self.wrong("a loop has no condition")))
            }
            other => other,
        };
        let yields = passed.as_ref().map(|passed| choose(passed)).unwrap_or_default();
        self.builder.close_block(&yields, self.loc);
        Ok((id, passed?))
    }

    /// A scope of allocations, or of a name in traces: its ops stand in the block around it.
    fn scope(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["message", "level"])?;
        let [block] = &op.regions[..] else {
            return Err(self.wrong("a scope has one region").into());
        };
        let values = self.region_ops(op, block, "tpu.yield")?;
        self.enter(op);
        self.results(op, &values)
    }

    /// The extent of a grid axis.
    fn iteration_bound(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dim"])?;
        let axis = self.int_attr(op, "dim")?;
        let grid = &self.builder.kernel().grid;
        let extent = usize::try_from(axis).ok().and_then(|axis| grid.get(axis));
        match extent.map(|axis| axis.extent) {
            Some(ir::Extent::Static(extent)) => {
                let literal = ir::ops::Literal::int(DType::I32, extent as i64);
                let value = self.constant(literal, None)?;
                self.result(op, value)
            }
            Some(ir::Extent::Dynamic { .. }) => {
                let extent = ControlOp::GridExtent { axis: axis as usize };
                let value = self.push(op, ir::Op::Control(extent), &[])?;
                self.result(op, value)
            }
            None => Err(self.wrong(format!("there is no grid axis {axis}")).into()),
        }
    }
}
