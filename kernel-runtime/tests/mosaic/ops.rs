//! libtpu compiles each of the less common ops for every chip that has it.

use super::aot;
use super::sketch::Sketch;
use systole::ir::ops::{Compare, ConvertOp, DebugOp, RandomOp, RollStride, ShapeOp};
use systole::ir::{DType, Kernel, Op, ParamKind, Shape, Value};
use systole::target::Target;

use DType::{BF16, Bool, F32, I8, I16, I32, U8, U16, U32};

/// A kernel and the first generation that has its op.
type Case = (Kernel, u32);

/// `o = make(inputs)`.
fn kernel(
    name: String,
    inputs: &[(DType, &[usize])],
    output: (DType, &[usize]),
    make: impl FnOnce(&mut Sketch, &[Value]) -> Value,
) -> Kernel {
    let mut k = Sketch::new(&name);
    let refs: Vec<Value> = inputs
        .iter()
        .enumerate()
        .map(|(idx, (dtype, shape))| k.whole(ParamKind::In, &format!("x{idx}"), *dtype, shape))
        .collect();
    let o = k.whole(ParamKind::Out, "o", output.0, output.1);
    let values: Vec<Value> = refs.into_iter().map(|reference| k.load(reference)).collect();
    let result = make(&mut k, &values);
    k.store(o, result);
    k.finish()
}

fn takes() -> Vec<Case> {
    let shapes: [(&[usize], &[usize], usize); 6] = [
        (&[16, 128], &[16, 128], 1),
        (&[16, 512], &[16, 256], 1),
        (&[8, 64], &[8, 64], 1),
        (&[2, 16, 256], &[2, 16, 256], 2),
        (&[8, 256], &[8, 256], 0),
        (&[32, 128], &[16, 128], 0),
    ];
    let mut cases = Vec::new();
    for (from, to, axis) in shapes {
        for dtype in [F32, BF16, I8, U32, Bool] {
            let name = format!("take_{}_{}_{axis}_{dtype}", from.len(), from[axis]);
            let take = Op::Shape(ShapeOp::TakeAlongAxis { axis });
            let inputs = [(dtype, from), (I32, to)];
            let made = kernel(name, &inputs, (dtype, to), |k, x| k.op(take, x));
            cases.push((made, if axis + 1 == from.len() { 4 } else { 5 }));
        }
    }
    cases
}

fn rolls() -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in [F32, BF16, I8, Bool] {
        for (shape, by) in [([16, 256], 1), ([32, 128], 130)] {
            let stride = Some(RollStride { by, axis: 0 });
            let roll = Op::Shape(ShapeOp::Roll { axis: 1, stride });
            let name = format!("roll_strided_{by}_{dtype}");
            let made = kernel(name, &[(dtype, &shape)], (dtype, &shape), |k, x| {
                let shift = k.int(-3);
                k.op(roll, &[x[0], shift])
            });
            cases.push((made, 5));
        }
    }
    cases
}

fn extracts() -> Vec<Case> {
    let extract = |dtype: DType| {
        let name = format!("extract_{dtype}");
        let made = kernel(name, &[(dtype, &[16, 128])], (dtype, &[16, 128]), |k, x| {
            let part = ShapeOp::Slice {
                starts: Shape::from_slice(&[3, 5]),
                sizes: Shape::from_slice(&[1, 1]),
                strides: Shape::from_slice(&[1, 1]),
            };
            let part = k.op(Op::Shape(part), &[x[0]]);
            let scalar = k.op(Op::Shape(ShapeOp::Extract), &[part]);
            let splat = k.splat_value(scalar, &[16, 128]);
            let zero = k.splat_value(scalar, &[16, 128]);
            let cond = match dtype {
                Bool => scalar,
                _ => k.compare(Compare::Eq, scalar, scalar),
            };
            k.select(cond, splat, zero)
        });
        (made, 4)
    };
    [F32, BF16, I32, I8, Bool].map(extract).into()
}

fn converts() -> Vec<Case> {
    let mut cases = Vec::new();
    for (from, to) in [
        (F32, BF16),
        (BF16, F32),
        (I32, I8),
        (I8, I32),
        (BF16, U8),
        (U16, I8),
        (F32, U32),
        (BF16, I16),
    ] {
        let rows = 32 * from.size_bytes() / to.size_bytes();
        let name = format!("bitcast_rows_{from}_{to}");
        let op = Op::Convert(ConvertOp::BitcastRows { dtype: to });
        let made = kernel(name, &[(from, &[32, 128])], (to, &[rows, 128]), |k, x| k.op(op, x));
        cases.push((made, 4));
    }
    let shape: &[usize] = &[16, 128];
    for dtype in [BF16, I16, U16, I8, U8] {
        let (wide, n) = (ConvertOp::wide(dtype), ConvertOp::n_parts(dtype));
        let op = Op::Convert(ConvertOp::Pack { dtype });
        let inputs = vec![(wide, shape); n];
        let made = kernel(format!("pack_{dtype}"), &inputs, (U32, shape), |k, x| k.op(op, x));
        cases.push((made, 4));
        for index in 0..n {
            let op = Op::Convert(ConvertOp::Unpack { dtype, index });
            let name = format!("unpack_{dtype}_{index}");
            let made = kernel(name, &[(U32, shape)], (wide, shape), |k, x| k.op(op, x));
            cases.push((made, 4));
        }
    }
    let op = Op::Convert(ConvertOp::StochasticRound { dtype: BF16 });
    let inputs = [(F32, shape), (U32, shape)];
    let name = "stochastic_round".to_owned();
    cases.push((kernel(name, &inputs, (BF16, shape), |k, x| k.op(op, x)), 4));
    cases
}

fn randoms() -> Vec<Case> {
    let shapes: [&[usize]; 5] = [&[8, 128], &[64, 256], &[16, 200], &[2, 8, 128], &[1024]];
    let mut cases = Vec::new();
    for (n_seeds, shape) in (1..=2).cycle().zip(shapes) {
        let bits = Op::Random(RandomOp::Bits(Shape::from_slice(shape)));
        let name = format!("random_{}_{n_seeds}", shape.len());
        let made = kernel(name, &[], (U32, shape), |k, _| {
            let seeds: Vec<Value> = (0..n_seeds).map(|seed| k.int(seed + 7)).collect();
            k.ops_none(Op::Random(RandomOp::Seed), &seeds);
            k.op(bits, &[])
        });
        cases.push((made, 4));
    }
    cases
}

fn marks() -> Vec<Case> {
    let mut cases = Vec::new();
    let shapes: [&[usize]; 3] = [&[16, 128], &[1024], &[2, 8, 128]];
    for (dtype, shape) in [F32, BF16, I32, Bool].into_iter().zip(shapes.into_iter().cycle()) {
        let name = format!("marks_{dtype}");
        let made = kernel(name, &[(dtype, shape)], (dtype, shape), |k, x| {
            k.ops_none(Op::Debug(DebugOp::ScopeStart { name: "outer".to_owned() }), &[]);
            k.ops_none(Op::Debug(DebugOp::ScopeStart { name: "inner".to_owned() }), &[]);
            k.ops_none(Op::Debug(DebugOp::Print { message: "x".to_owned() }), &[x[0]]);
            k.ops_none(Op::Debug(DebugOp::ScopeEnd), &[]);
            let nanos = k.int(100);
            k.ops_none(Op::Debug(DebugOp::Delay), &[nanos]);
            k.ops_none(Op::Debug(DebugOp::ScopeEnd), &[]);
            x[0]
        });
        cases.push((made, 4));
    }
    cases
}

fn cases() -> Vec<Case> {
    [takes(), rolls(), extracts(), converts(), randoms(), marks()].into_iter().flatten().collect()
}

/// A kernel per op and type.
pub(crate) fn kernels() -> Vec<Kernel> {
    cases().into_iter().map(|(kernel, _)| kernel).collect()
}

#[test]
fn every_chip_compiles_the_ops_that_it_has() {
    let cases = cases();
    for &target in Target::TPUS {
        let generation = target.chip.map_or(0, |chip| chip.generation);
        let kernels: Vec<Kernel> = cases
            .iter()
            .filter(|(_, first)| *first <= generation)
            .map(|(kernel, _)| kernel.clone())
            .collect();
        aot::check(&kernels, target, kernels.len());
    }
}
