//! Branches and loops.

use super::super::exec::{Executor, Stop};
use super::super::plan::{Code as Block, Inst};
use super::super::tile::Held;
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::ControlOp;
use crate::ir::{Type, Value};
use smallvec::SmallVec;

type Carried = SmallVec<[Held; 4]>;

impl Executor<'_> {
    /// Runs a branch or loop.
    pub(in super::super) fn control(&mut self, inst: &Inst<'_>, op: ControlOp) -> Result<(), Stop> {
        match op {
            ControlOp::If => self.branch(inst),
            ControlOp::For => self.count(inst),
            ControlOp::While => self.repeat(inst),
            ControlOp::Scope => self.scope(inst),
            ControlOp::Yield => Ok(()),
            ControlOp::DeviceId => {
                let device = self.layout.agent(self.me).device as i64;
                self.set(inst, Held::Scalar(super::super::tile::Scalar::int(device)));
                Ok(())
            }
            ControlOp::GridExtent { axis } => {
                let extent = self.run.extents.get(axis).copied().unwrap_or(1);
                self.set(inst, Held::Scalar(super::super::tile::Scalar::int(extent)));
                Ok(())
            }
        }
    }

    fn branch(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let cond = self.scalar(inst, 0)?;
        self.defined(cond, "the condition of this `if`", inst.loc)?;
        let Some(region) = inst.regions.get(usize::from(cond.as_int() == 0)) else {
            return Ok(());
        };
        self.run_code(region)?;
        let yields = self.yields(region);
        self.place_values(&inst.results, yields);
        Ok(())
    }

    fn count(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let mut bounds = [0; 3];
        for (idx, name) in ["lower bound", "upper bound", "step"].into_iter().enumerate() {
            let bound = self.scalar(inst, idx)?;
            bounds[idx] = self.index(bound, &format!("the {name} of this `for`"), inst.loc)?;
        }
        let [lo, hi, step] = bounds;
        if step <= 0 {
            let diagnostic = Diagnostic::error(
                Code::INTERP_LOOP_STEP,
                format!("this `for` from {lo} to {hi} has step {step}, which is not positive"),
            )
            .at_opt(self.run.kernel().span(inst.loc), "this loop");
            return Err(self.report(inst.loc, diagnostic));
        }
        let Some(body) = inst.regions.first() else { return Ok(()) };
        let mut carried = self.operands(inst, 3);
        let Some((&index, args)) = body.args.split_first() else { return Ok(()) };
        let mut at = lo;
        self.loops.push((inst.loc, 0));
        while at < hi {
            self.burn(body.fuel)?;
            self.held[index.0 as usize] = Held::Scalar(super::super::tile::Scalar::int(at));
            self.place_values(args, carried);
            self.run_code(body)?;
            carried = self.yields(body);
            at += step;
        }
        self.loops.pop();
        self.place_values(&inst.results, carried);
        Ok(())
    }

    fn repeat(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let [cond, body] = inst.regions.as_slice() else { return Ok(()) };
        let mut carried = self.operands(inst, 0);
        self.loops.push((inst.loc, 0));
        loop {
            self.burn(cond.fuel + body.fuel)?;
            self.place_values(&cond.args, carried.clone());
            self.run_code(cond)?;
            let goes_on = match self.yields(cond).into_iter().next() {
                Some(Held::Scalar(scalar)) => {
                    self.defined(scalar, "the condition of this `while`", inst.loc)?;
                    scalar.as_int() != 0
                }
                _ => false,
            };
            if !goes_on {
                break;
            }
            self.place_values(&body.args, carried);
            self.run_code(body)?;
            carried = self.yields(body);
        }
        self.loops.pop();
        self.place_values(&inst.results, carried);
        Ok(())
    }

    fn scope(&mut self, inst: &Inst<'_>) -> Result<(), Stop> {
        let Some(body) = inst.regions.first() else { return Ok(()) };
        let is_semaphore = |value: Value| matches!(self.run.plan.ty(value), Type::Semaphore { .. });
        let (mut memories, mut arrays) = (Vec::new(), Vec::new());
        for (&arg, &place) in body.args.iter().zip(&inst.refs) {
            if is_semaphore(arg) { arrays.push(place) } else { memories.push(place) }
        }
        for &memory in &memories {
            self.reset_memory(memory);
            if !self.is_alone() && self.layout.is_tracked(memory) {
                self.note_access(&self.whole(memory), true, inst.loc)?;
            }
        }
        self.run_code(body)?;
        let yields = self.yields(body);
        self.land_scope(&memories, &arrays)?;
        self.place_values(&inst.results, yields);
        Ok(())
    }

    fn operands(&mut self, inst: &Inst<'_>, skip: usize) -> Carried {
        inst.uses.iter().skip(skip).map(|&used| self.take(used)).collect()
    }

    fn yields(&mut self, block: &Block<'_>) -> Carried {
        block.yields.iter().map(|&used| self.take(used)).collect()
    }

    fn place_values(&mut self, to: &[Value], values: Carried) {
        for (value, held) in to.iter().zip(values) {
            self.held[value.0 as usize] = held;
        }
    }
}
