//! What a back end does not support is declared here, and must be refused with its code.

use crate::backend::Backend;
use crate::sketch::Sketch;
use libtest_mimic::Trial;
use std::sync::Arc;
use systole::ir::DType;
use systole::ir::Op;
use systole::ir::kernel::Value;
use systole::ir::ops::{Compare, RandomOp, ShapeOp};
use systole::valid::Valid;

type Row = (&'static str, fn(&mut Sketch, Value));

/// What StableHLO cannot say. The list may become shorter, and longer only on purpose.
const STABLEHLO: &[Row] = &[("print", print), ("assert", assert), ("prng", prng)];

/// The trials of a back end's rows.
pub(crate) fn trials(backend: &Arc<Backend>) -> Vec<Trial> {
    let Some(code) = backend.refusal() else { return Vec::new() };
    let trial = |&(name, emit): &Row| {
        let backend = backend.clone();
        Trial::test(format!("{}::refuses_{name}", backend.name), move || {
            let errors = match backend.run(&kernel(emit), &[]) {
                Ok(_) => return Err("it ran".into()),
                Err(errors) => errors,
            };
            match errors.0.first().map(|error| error.code) {
                Some(found) if found == code => Ok(()),
                _ => Err(errors.to_string().into()),
            }
        })
    };
    STABLEHLO.iter().map(trial).collect()
}

fn kernel(emit: fn(&mut Sketch, Value)) -> Valid {
    let mut s = Sketch::new("refused");
    let y = s.output(DType::I32, &[8, 128]);
    let zero = s.int(0);
    put(&mut s, y, zero);
    emit(&mut s, y);
    s.valid()
}

fn put(s: &mut Sketch, y: Value, value: Value) {
    let tile = s.shape(ShapeOp::Splat([8, 128].into_iter().collect()), &[value]);
    s.store(y, tile);
}

fn print(s: &mut Sketch, _: Value) {
    let one = s.int(1);
    s.print(&[one]);
}

fn prng(s: &mut Sketch, y: Value) {
    let seed = s.int(7);
    s.push(Op::Random(RandomOp::Seed), &[seed], &[]);
    let bits = s.op(Op::Random(RandomOp::Bits([8, 128].into_iter().collect())), &[]);
    let bits = s.cast(bits, DType::I32);
    s.store(y, bits);
}

fn assert(s: &mut Sketch, _: Value) {
    let one = s.int(1);
    let holds = s.compare(Compare::Eq, one, one);
    s.assert(holds);
}
