//! The core's random number generator.

use super::super::exec::{Executor, Stop};
use super::super::generator::Generator;
use super::super::plan::Inst;
use super::super::tile::{Data, slice_mut};
use crate::diag::{Code, Diagnostic};
use crate::ir::ops::RandomOp;

impl Executor<'_> {
    /// Seeds the generator, or takes numbers from it.
    pub(in super::super) fn random(&mut self, inst: &Inst<'_>, op: &RandomOp) -> Result<(), Stop> {
        match op {
            RandomOp::Seed => {
                let mut seeds = [0; 2];
                for (idx, seed) in seeds.iter_mut().enumerate().take(inst.uses.len()) {
                    let scalar = self.scalar(inst, idx)?;
                    self.defined(scalar, "a seed", inst.loc)?;
                    *seed = scalar.as_int() as i32;
                }
                self.generator = Some(Generator::new(seeds));
                Ok(())
            }
            RandomOp::Bits(shape) => {
                let mut words = self.pool.i32s(shape.iter().product());
                let Some(generator) = &mut self.generator else {
                    let diagnostic = Diagnostic::error(
                        Code::INTERP_UNSEEDED,
                        "random bits are taken before the generator is seeded",
                    )
                    .at_opt(self.run.kernel().span(inst.loc), "taken here")
                    .help("call `prng_seed` before, in the first step of each `parallel` axis");
                    return Err(self.report(inst.loc, diagnostic));
                };
                generator.fill(slice_mut(&mut words));
                self.set_tile(inst, Data::I32(words), None);
                Ok(())
            }
        }
    }
}
