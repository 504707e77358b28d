//! Element-wise ops on scalars: read from SMEM, and known while lowering.

use crate::batch::{Batch, Refs, array};
use crate::elementwise::special;
use crate::sketch::Sketch;
use systole::ir::kernel::Value;
use systole::ir::ops::{Binary, Compare, ShapeOp, Unary};
use systole::ir::{DType, ops};
use systole::run::Tolerance;

const SHAPE: [usize; 2] = [8, 128];

pub(crate) fn batches() -> Vec<Batch> {
    vec![
        scalars("scalar", |s, refs, idx, _| refs.scalar(s, idx)),
        scalars("known_scalar", |s, _, _, value| s.int(value as i64)),
    ]
}

/// Every op on `i32` scalars that `scalar` makes from a number of the table and its value.
fn scalars(
    name: &'static str,
    scalar: impl Fn(&mut Sketch, &Refs, usize, f64) -> Value + Copy + Send + Sync + 'static,
) -> Batch {
    let mut batch = Batch::new("scalar", name);
    let values = special(DType::I32);
    for &value in &values {
        batch.scalar(value as i64);
    }
    // Results are gathered lane by lane into one tile.
    let mut add = |op: &str, eval: &dyn Fn(i64, i64) -> i64, emit: Emit| {
        let (values, n) = (values.clone(), values.len());
        let mut expected = vec![0.0; 1024];
        for (place, to) in expected.iter_mut().enumerate().take(n) {
            let (x, y) = (values[place], values[(place + 1) % n]);
            *to = DType::I32.wrap_int(eval(x as i64, y as i64)) as f64;
        }
        expected[1023] = 0.0;
        let expected = array(DType::I32, &SHAPE, &expected);
        batch.case(format!("{name}_{op}::i32"), expected, Tolerance::exact(), move |s, refs| {
            let lane = |s: &mut Sketch, axis| {
                let shape = SHAPE.into_iter().collect();
                s.shape(ShapeOp::Iota { dtype: DType::I32, shape, axis }, &[])
            };
            let (row, column) = (lane(s, 0), lane(s, 1));
            let width = s.like(row, 128.0);
            let row = s.binary(Binary::Mul, row, width);
            let place_of = s.binary(Binary::Add, row, column);
            let mut result = s.like(row, 0.0);
            for place in 0..n {
                let other = (place + 1) % n;
                let x = scalar(s, refs, place, values[place]);
                let y = scalar(s, refs, other, values[other]);
                let value = emit(s, x, y);
                let value = s.cast(value, DType::I32);
                let value = s.shape(ShapeOp::Splat(SHAPE.into_iter().collect()), &[value]);
                let here = s.like(row, place as f64);
                let here = s.compare(Compare::Eq, place_of, here);
                result = s.select(here, value, result);
            }
            result
        });
    };
    type Emit = Box<dyn Fn(&mut Sketch, Value, Value) -> Value + Send + Sync>;
    for &op in Unary::ALL.iter().filter(|op| op.accepts(DType::I32)) {
        add(op.name(), &|x, _| op.eval_int(x), Box::new(move |s, x, _| s.unary(op, x)));
    }
    for &op in Binary::ALL.iter().filter(|op| op.accepts(DType::I32)) {
        add(op.name(), &|x, y| op.eval_int(x, y), Box::new(move |s, x, y| s.binary(op, x, y)));
    }
    for &op in Compare::ALL {
        let eval = move |x: i64, y: i64| i64::from(op.eval(x, y));
        add(op.name(), &eval, Box::new(move |s, x, y| s.compare(op, x, y)));
    }
    for &to in DType::COMPUTED.iter().filter(|to| to.is_int()) {
        let name = format!("cast_{to}");
        add(&name, &|x, _| to.cast_int(x), Box::new(move |s, x, _| s.cast(x, to)));
    }
    let select = move |s: &mut Sketch, x, y| {
        let less = s.compare(ops::Compare::Lt, x, y);
        s.select(less, x, y)
    };
    add("select", &|x, y| if x < y { x } else { y }, Box::new(select));
    batch
}
