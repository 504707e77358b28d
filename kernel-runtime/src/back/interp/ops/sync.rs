//! Semaphores.

use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::tile::{Held, Scalar};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::SyncOp;
use smallvec::SmallVec;

impl Executor<'_> {
    /// Signals a semaphore, waits for it, or reads it.
    pub(in super::super) fn sync(&mut self, inst: &Inst<'_>, op: &SyncOp) -> Result<(), Stop> {
        let Some(&array) = inst.refs.first() else { return Ok(()) };
        let first = op.n_before_index() - 1;
        let n_index = op.semaphore().n_dynamic();
        let index: SmallVec<[usize; 4]> = (first..first + n_index).collect();
        let mut semaphore = self.semaphore(inst, array, op.semaphore(), &index)?;
        let ids: SmallVec<[usize; 3]> = (first + n_index..inst.uses.len()).collect();
        semaphore.agent = self.peer(inst, op.peer(), &ids)?;
        match op {
            SyncOp::Signal { .. } => {
                let amount = self.amount(inst, "signal")?;
                self.signal(semaphore, amount, inst.loc)
            }
            SyncOp::Wait { .. } => {
                let amount = self.amount(inst, "wait")?;
                self.wait(semaphore, amount, inst.loc)
            }
            SyncOp::Read { .. } => {
                let count = self.read_semaphore(semaphore)?;
                self.set(inst, Held::Scalar(Scalar::int(count)));
                Ok(())
            }
        }
    }

    /// The number that is signalled or waited for.
    fn amount(&mut self, inst: &Inst<'_>, what: &str) -> Result<i64, Stop> {
        let scalar = self.scalar(inst, 0)?;
        let amount = self.index(scalar, &format!("the number of this {what}"), inst.loc)?;
        if amount >= 0 {
            return Ok(amount);
        }
        let diagnostic = Diagnostic::error(
            Code::INTERP_NEGATIVE_SIGNAL,
            format!("this {what} is by {amount}: a semaphore counts upwards from zero"),
        )
        .at_opt(self.run.kernel().span(inst.loc), "here");
        Err(self.report(inst.loc, diagnostic))
    }
}
