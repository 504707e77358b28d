//! A tiny registry: kernels built op by op.

use smallvec::smallvec;
use systole::diag::{Code, Diagnostic, Diagnostics};
use systole::ir::ops::{Access, AccessDim, Binary, Elementwise, Literal, MemoryOp, ShapeOp};
use systole::ir::{
    Array, BlockDim, Buffering, Builder, DType, Extent, GridAxis, Kernel, LocId, MemorySpace, Op,
    Param, ParamAxis, ParamKind, Semantics, Type, Value, Window,
};
use systole::run::{KernelEntry, Sampler, Spec, Tolerance};

/// The registry of these tests.
pub(super) static KERNELS: &[KernelEntry] = &[
    KernelEntry { name: "scale", doc: "out = 2 * x", specs: scale_specs },
    KernelEntry { name: "wrong", doc: "says 2 * x, computes 3 * x", specs: wrong_specs },
    KernelEntry { name: "half", doc: "out = 2 * x in f16, which no TPU has", specs: half_specs },
    KernelEntry { name: "broken", doc: "fails while it is traced", specs: broken_specs },
];

const LOC: LocId = LocId::UNKNOWN;
const BLOCK: [usize; 2] = [8, 128];

fn scale_specs() -> Vec<Spec> {
    let extra = spec(DType::BF16, 32, 2.0).tag(Spec::EXTRA);
    vec![spec(DType::F32, 16, 2.0), spec(DType::F32, 64, 2.0), extra]
}

fn wrong_specs() -> Vec<Spec> {
    vec![spec(DType::F32, 16, 3.0)]
}

fn half_specs() -> Vec<Spec> {
    vec![spec(DType::F16, 16, 2.0)]
}

fn broken_specs() -> Vec<Spec> {
    let mistake = || Diagnostics::from(Diagnostic::error(Code::IR_SHAPE, "this kernel is broken"));
    vec![spec(DType::F32, 16, 2.0).build(move |_| Err(mistake()))]
}

fn spec(dtype: DType, m: usize, factor: f64) -> Spec {
    let shape = [m, BLOCK[1]];
    let n_elems = (m * BLOCK[1]) as u64;
    Spec::new(format!("{dtype}_{m}x{}", BLOCK[1]), dtype)
        .work(n_elems, 2 * n_elems * dtype.size_bytes() as u64)
        .build(move |_| scale(dtype, m, factor).map_err(Diagnostics::from))
        .inputs(move |seed| vec![Sampler::new(seed).normal(dtype, &shape)])
        .reference(move |inputs| {
            let doubled: Vec<f64> = inputs[0].to_f64().iter().map(|x| x * 2.0).collect();
            vec![Array::from_f64(dtype, &shape, &doubled).unwrap()]
        })
        .xla(move || scale_stablehlo(dtype, m))
        .tolerance(Tolerance::exact())
}

/// `out = factor * x`, blocks of [8, 128] along a parallel axis.
fn scale(dtype: DType, m: usize, factor: f64) -> Result<Kernel, Diagnostic> {
    let mut b = Builder::new("scale");
    b.grid_axis(GridAxis {
        name: "i".into(),
        extent: Extent::Static(m / BLOCK[0]),
        semantics: Semantics::Parallel,
    });
    let mut param = |name: &str, kind| {
        let (index_map, args) = b.open_block(&[Type::Scalar(DType::I32)]);
        let zero = b.constant(Literal::int(DType::I32, 0), LOC);
        b.close_block(&[args[0], zero], LOC);
        let axes = [("m", m), ("n", BLOCK[1])];
        b.param(Param {
            name: name.into(),
            kind,
            dtype,
            axes: axes.map(|(name, size)| ParamAxis { name: name.into(), size }).to_vec(),
            space: MemorySpace::Vmem,
            window: Some(window(index_map)),
            pinned: None,
            loc: LOC,
        })
    };
    let (x, out) = (param("x", ParamKind::In), param("out", ParamKind::Out));
    let access = || Access { dims: BLOCK.iter().map(|&size| AccessDim::full(size)).collect() };
    let load = Op::Memory(MemoryOp::Load { access: access(), masked: false });
    let loaded = one(b.push(load, &[x], LOC)?);
    let factor = b.constant(Literal::from_f64(dtype, factor), LOC);
    let factor = one(b.push(Op::Shape(ShapeOp::Splat(smallvec![8, 128])), &[factor], LOC)?);
    let mul = Op::Elementwise(Elementwise::Binary(Binary::Mul));
    let product = one(b.push(mul, &[loaded, factor], LOC)?);
    b.push(Op::Memory(MemoryOp::Store { access: access(), masked: false }), &[out, product], LOC)?;
    Ok(b.finish())
}

fn window(index_map: systole::ir::BlockId) -> Window {
    Window {
        block: BLOCK.map(BlockDim::Blocked).to_vec(),
        index_map,
        buffering: Buffering::Double,
        streams: None,
    }
}

fn one(results: smallvec::SmallVec<[Value; 2]>) -> Value {
    results[0]
}

fn scale_stablehlo(dtype: DType, m: usize) -> String {
    let ty = format!("tensor<{m}x{}x{dtype}>", BLOCK[1]);
    format!(
        "module @scale {{\n  func.func public @main(%x: {ty}) -> {ty} {{\n    \
         %two = stablehlo.constant dense<2.0> : {ty}\n    \
         %out = stablehlo.multiply %x, %two : {ty}\n    return %out : {ty}\n  }}\n}}\n"
    )
}
