//! The core's random number generator.

use super::super::body::{Importer, Outcome};
use super::super::read::ast::Op;
use crate::ir::ops::RandomOp;
use crate::ir::{self, Shape};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "tpu.prng_set_seed_32" => importer.prng_seed(op),
        "tpu.prng_random_bits" => importer.prng_bits(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn prng_seed(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let seeds = self.operand_values(op)?;
        self.push_all(op, ir::Op::Random(RandomOp::Seed), &seeds, &[])?;
        self.results(op, &[])
    }

    fn prng_bits(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let shape = Shape::from_slice(self.result_ty(op)?.shape());
        let bits = self.push(op, ir::Op::Random(RandomOp::Bits(shape)), &[])?;
        self.word_result(op, bits)
    }
}
