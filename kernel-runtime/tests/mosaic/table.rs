//! Every op on every element type that its definition accepts is lowered, or is one of the rows
//! declared here as unsupported: nothing is skipped.

use super::sketch::{Sketch, at};
use systole::back::mosaic::{self, Options};
use systole::ir::ops::{
    Binary, Compare, Elementwise, Literal, ReduceKind, ReduceOp, ShapeOp, Unary,
};
use systole::ir::{DType, Kernel, Op, ParamKind, Shape, Value};
use systole::target::Target;
use systole::valid;

/// The element type that no TPU has.
const MISSING: DType = DType::F16;

const SHAPE: [usize; 2] = [32, 256];

/// What a kernel of the table is about, and whether it must be refused.
pub(crate) struct Row {
    pub(crate) kernel: Kernel,
    pub(crate) refused: bool,
}

/// The whole table: one kernel per op and form, with one result per element type.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let dtypes = |accepts: &dyn Fn(DType) -> bool| -> Vec<DType> {
        DType::COMPUTED.iter().copied().filter(|&dtype| accepts(dtype)).collect()
    };
    for &op in Unary::ALL {
        let accepted = dtypes(&|dtype| op.accepts(dtype));
        let op = Op::Elementwise(Elementwise::Unary(op));
        element_rows(&mut rows, &op, 1, &accepted, false);
    }
    for &op in Binary::ALL {
        let accepted = dtypes(&|dtype| op.accepts(dtype));
        // The compiler has neither of scalars.
        let no_scalars = matches!(op, Binary::Pow | Binary::Atan2);
        let op = Op::Elementwise(Elementwise::Binary(op));
        element_rows(&mut rows, &op, 2, &accepted, no_scalars);
    }
    for &op in Compare::ALL {
        let op = Op::Elementwise(Elementwise::Compare(op));
        element_rows(&mut rows, &op, 2, DType::COMPUTED, false);
    }
    for &from in DType::ALL {
        for &to in DType::ALL {
            let op = Op::Elementwise(Elementwise::Cast(to));
            tile_row(&mut rows, &format!("cast_{from}_{to}"), &op, 1, &[from], to == MISSING);
            if from.only_stores() || to.only_stores() {
                continue;
            }
            let name = format!("scalar_cast_{from}_{to}");
            rows.push(scalar_row(&name, &op, 1, &[from], to == MISSING));
            if from.size_bytes() == to.size_bytes() && from != DType::Bool && to != DType::Bool {
                let op = Op::Elementwise(Elementwise::Bitcast(to));
                let name = format!("bitcast_{from}_{to}");
                tile_row(&mut rows, &name, &op, 1, &[from], to == MISSING);
            }
        }
    }
    for &kind in ReduceKind::ALL {
        let numbers = dtypes(&|dtype| dtype != DType::Bool);
        for axis in 0..2 {
            let op = Op::Reduce(ReduceOp { kind, axis });
            tile_rows(&mut rows, &format!("{}_{axis}", kind.name()), &op, 1, &numbers);
        }
    }
    shape_rows(&mut rows);
    rows
}

fn shape_rows(rows: &mut Vec<Row>) {
    let half = Shape::from_slice(&[16, 128]);
    let slice = ShapeOp::Slice {
        starts: Shape::from_slice(&[16, 128]),
        sizes: half,
        strides: Shape::from_slice(&[1, 1]),
    };
    let ops = [
        ("reshape", ShapeOp::Reshape(Shape::from_slice(&[4, 8, 256])), 1),
        ("transpose", ShapeOp::Transpose([1, 0].into_iter().collect()), 1),
        ("concat", ShapeOp::Concat { axis: 0 }, 2),
        ("slice", slice, 1),
    ];
    for (name, op, n) in ops {
        tile_rows(rows, name, &Op::Shape(op), n, DType::COMPUTED);
    }
    for &dtype in DType::COMPUTED.iter().filter(|dtype| dtype.is_int()) {
        for axis in 0..2 {
            let op = Op::Shape(ShapeOp::Iota { dtype, shape: Shape::from_slice(&SHAPE), axis });
            tile_row(rows, &format!("iota_{dtype}_{axis}"), &op, 0, &[dtype], false);
        }
    }
    for &dtype in DType::COMPUTED {
        rows.push(broadcast_row(dtype));
        rows.push(select_row(dtype));
        rows.push(splat_row(dtype));
        rows.push(roll_row(dtype));
    }
}

fn element_rows(rows: &mut Vec<Row>, op: &Op, n: usize, dtypes: &[DType], no_scalars: bool) {
    tile_rows(rows, op.mnemonic(), op, n, dtypes);
    let (missing, known): (Vec<DType>, Vec<DType>) =
        dtypes.iter().partition(|&&dtype| dtype == MISSING);
    let name = format!("scalar_{}", op.mnemonic());
    rows.push(scalar_row(&name, op, n, &known, no_scalars));
    for dtype in missing {
        rows.push(scalar_row(&format!("{name}_{dtype}"), op, n, &[dtype], true));
    }
}

/// One kernel for the types there are, and one that must be refused for those there are not.
fn tile_rows(rows: &mut Vec<Row>, name: &str, op: &Op, n: usize, dtypes: &[DType]) {
    let (none, known): (Vec<DType>, Vec<DType>) =
        dtypes.iter().partition(|&&dtype| dtype == MISSING);
    if !known.is_empty() {
        tile_row(rows, name, op, n, &known, false);
    }
    for dtype in none {
        tile_row(rows, &format!("{name}_{dtype}"), op, n, &[dtype], true);
    }
}

fn tile_row(rows: &mut Vec<Row>, name: &str, op: &Op, n: usize, dtypes: &[DType], refused: bool) {
    let mut k = Sketch::new(name);
    let mut inputs: Vec<Vec<Value>> = Vec::new();
    for dtype in dtypes {
        let names = ["x", "y"].map(|letter| format!("{letter}_{dtype}"));
        let refs = names[..n].iter().map(|name| k.whole(ParamKind::In, name, *dtype, &SHAPE));
        inputs.push(refs.collect());
    }
    // What an op gives is known once it is there, so the types are asked of a draft.
    let results: Vec<_> = dtypes.iter().map(|&dtype| result_type(op, n, dtype)).collect();
    let outputs: Vec<Value> = results
        .iter()
        .zip(dtypes)
        .map(|((dtype, shape), from)| k.whole(ParamKind::Out, &format!("o_{from}"), *dtype, shape))
        .collect();
    for (refs, output) in inputs.into_iter().zip(outputs) {
        let operands: Vec<Value> = refs.into_iter().map(|reference| k.load(reference)).collect();
        let result = k.op(op.clone(), &operands);
        k.store(output, result);
    }
    let refused = refused || dtypes.contains(&MISSING);
    rows.push(Row { kernel: k.finish(), refused });
}

fn result_type(op: &Op, n: usize, dtype: DType) -> (DType, Vec<usize>) {
    let tile = systole::ir::Type::tile(dtype, &SHAPE);
    let results = op.infer(&vec![&tile; n], &[]).unwrap_or_else(|error| panic!("{error:?}"));
    (results[0].dtype(), results[0].shape().to_vec())
}

/// Scalars come from a table and go back to one; narrow types are made from wide ones.
fn scalar_row(name: &str, op: &Op, n: usize, dtypes: &[DType], refused: bool) -> Row {
    let refused = refused || dtypes.contains(&MISSING);
    let mut k = Sketch::new(name);
    let ints = k.smem(ParamKind::In, "ints", DType::I32, &[2]);
    let floats = k.smem(ParamKind::In, "floats", DType::F32, &[2]);
    let output = k.smem(ParamKind::Out, "o", DType::F32, &[dtypes.len()]);
    for (idx, &dtype) in dtypes.iter().enumerate() {
        let table = if dtype.is_float() { floats } else { ints };
        let operands: Vec<Value> = (0..n)
            .map(|place| {
                let wide = k.load_part(table, &[at(place)], &[]);
                if k.b.kernel().ty(wide).dtype() == dtype { wide } else { k.cast(wide, dtype) }
            })
            .collect();
        let mut result = k.op(op.clone(), &operands);
        if k.b.kernel().ty(result).dtype() != DType::F32 {
            result = k.cast(result, DType::F32);
        }
        k.store_part(output, result, &[at(idx)], &[]);
    }
    Row { kernel: k.finish(), refused }
}

fn broadcast_row(dtype: DType) -> Row {
    let mut k = Sketch::new(&format!("broadcast_{dtype}"));
    let x = k.whole(ParamKind::In, "x", dtype, &[32, 1]);
    let y = k.whole(ParamKind::In, "y", dtype, &[1, 256]);
    let o = k.whole(ParamKind::Out, "o", dtype, &SHAPE);
    let p = k.whole(ParamKind::Out, "p", dtype, &SHAPE);
    for (from, to) in [(x, o), (y, p)] {
        let value = k.load(from);
        let wide = k.broadcast(value, &SHAPE);
        k.store(to, wide);
    }
    Row { kernel: k.finish(), refused: dtype == MISSING }
}

fn select_row(dtype: DType) -> Row {
    let mut k = Sketch::new(&format!("select_{dtype}"));
    let c = k.whole(ParamKind::In, "c", DType::F32, &SHAPE);
    let s = k.smem(ParamKind::In, "s", DType::I32, &[1]);
    let x = k.whole(ParamKind::In, "x", dtype, &SHAPE);
    let y = k.whole(ParamKind::In, "y", dtype, &SHAPE);
    let o = k.whole(ParamKind::Out, "o", dtype, &SHAPE);
    let (c, x, y) = (k.load(c), k.load(x), k.load(y));
    let zero = k.splat(Literal::float(DType::F32, 0.0), &SHAPE);
    let mask = k.compare(Compare::Gt, c, zero);
    let chosen = k.select(mask, x, y);
    let s = k.load_part(s, &[at(0)], &[]);
    let three = k.int(3);
    let cond = k.compare(Compare::Lt, s, three);
    let chosen = k.select(cond, chosen, y);
    k.store(o, chosen);
    Row { kernel: k.finish(), refused: dtype == MISSING }
}

fn splat_row(dtype: DType) -> Row {
    let mut k = Sketch::new(&format!("splat_{dtype}"));
    let s = k.smem(ParamKind::In, "s", DType::I32, &[1]);
    let o = k.whole(ParamKind::Out, "o", dtype, &SHAPE);
    let p = k.whole(ParamKind::Out, "p", dtype, &SHAPE);
    let s = k.load_part(s, &[at(0)], &[]);
    let s = if dtype == DType::I32 { s } else { k.cast(s, dtype) };
    let value = k.splat_value(s, &SHAPE);
    k.store(o, value);
    let value = k.splat(Literal::from_f64(dtype, 1.0), &SHAPE);
    k.store(p, value);
    Row { kernel: k.finish(), refused: dtype == MISSING }
}

fn roll_row(dtype: DType) -> Row {
    let mut k = Sketch::new(&format!("roll_{dtype}"));
    let s = k.smem(ParamKind::In, "s", DType::I32, &[1]);
    let x = k.whole(ParamKind::In, "x", dtype, &SHAPE);
    let o = k.whole(ParamKind::Out, "o", dtype, &SHAPE);
    let s = k.load_part(s, &[at(0)], &[]);
    let mut x = k.load(x);
    for axis in 0..2 {
        x = k.op(Op::Shape(ShapeOp::Roll { axis, stride: None }), &[x, s]);
    }
    k.store(o, x);
    Row { kernel: k.finish(), refused: dtype == MISSING }
}

#[test]
fn every_op_on_every_type_lowers_or_is_declared_unsupported() {
    let rows = rows();
    assert!(rows.len() > 250, "{} rows", rows.len());
    for Row { kernel, refused } in rows {
        for &target in Target::TPUS {
            let Ok(valid) = valid::check(kernel.clone(), target) else {
                assert!(refused, "{} is not valid on {target}", kernel.name);
                continue;
            };
            match mosaic::call(&valid, &Options::default()) {
                Ok(_) => assert!(!refused, "{} on {target} should be refused", kernel.name),
                Err(errors) => {
                    assert!(refused, "{} on {target}: {errors}", kernel.name);
                    assert!(errors.iter().all(|e| e.code.as_str() == "mosaic::unsupported"));
                }
            }
        }
    }
}
