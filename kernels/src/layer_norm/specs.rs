//! The named specs of `layer_norm`.

use super::reference;
use crate::xla::Main;
use systole::ir::DType;
use systole::run::{Sampler, Spec, Tolerance};

/// Added to the variance: what BERT uses.
const EPS: f32 = 1e-12;

/// Every spec.
pub fn specs() -> Vec<Spec> {
    vec![
        spec(DType::BF16, 4096, 2048).tag(Spec::LARGE),
        spec(DType::F32, 256, 512),
        // One row per token of a 32 x 128 batch through all-MiniLM-L6-v2.
        spec(DType::F32, 4096, 384).tag("minilm"),
        spec(DType::BF16, 100, 384).tag(Spec::EXTRA),
        spec(DType::F32, 77, 200).tag(Spec::EXTRA),
    ]
}

fn spec(dtype: DType, m: usize, n: usize) -> Spec {
    let (n_elems, size) = ((m * n) as u64, dtype.size_bytes() as u64);
    Spec::new(format!("{dtype}_{m}x{n}"), dtype)
        .work(8 * n_elems, (2 * n_elems + 2 * n as u64) * size)
        .build(move |target| super::build(target, dtype, &[m, n], EPS))
        .inputs(move |seed| {
            let mut sampler = Sampler::new(seed);
            let x = sampler.normal(dtype, &[m, n]);
            vec![x, sampler.normal(dtype, &[n]), sampler.normal(dtype, &[n])]
        })
        .reference(|inputs| {
            let [x, weight, bias] = [&inputs[0], &inputs[1], &inputs[2]];
            vec![reference::layer_norm(x, weight, bias, f64::from(EPS))]
        })
        .xla(move || xla(dtype, m, n))
        .tolerance(tolerance(dtype))
}

/// The affine step adds terms of opposite sign, so a small result carries the rounding of large
/// terms: of size |normalised x weight| <= 16 for normal inputs of these lengths.
fn tolerance(dtype: DType) -> Tolerance {
    const REASON: &str = "the bias cancels products of up to 16, rounded to the arithmetic's type";
    match dtype {
        DType::F32 => Tolerance::ulp(64).floor(16.0 * 64.0 * f64::from(f32::EPSILON), REASON),
        _ => Tolerance::ulp(1).floor(16.0 * 64.0 * f64::from(f32::EPSILON), REASON),
    }
}

fn xla(dtype: DType, m: usize, n: usize) -> String {
    let mut main = Main::default();
    let x = main.arg(dtype, &[m, n]);
    let (weight, bias) = (main.arg(dtype, &[n]), main.arg(dtype, &[n]));
    let x = main.convert(&x, DType::F32);
    let sum = main.reduce_last("add", &x);
    let mean = main.with_const("multiply", &sum, 1.0 / n as f64);
    let mean = main.broadcast(&mean, &[0], &[m, n]);
    let centered = main.binary("subtract", &x, &mean);
    let square = main.binary("multiply", &centered, &centered);
    let sum = main.reduce_last("add", &square);
    let variance = main.with_const("multiply", &sum, 1.0 / n as f64);
    let variance = main.with_const("add", &variance, f64::from(EPS));
    let scale = main.unary("rsqrt", &variance);
    let scale = main.broadcast(&scale, &[0], &[m, n]);
    let y = main.binary("multiply", &centered, &scale);
    let weight = main.convert(&weight, DType::F32);
    let weight = main.broadcast(&weight, &[1], &[m, n]);
    let y = main.binary("multiply", &y, &weight);
    let bias = main.convert(&bias, DType::F32);
    let bias = main.broadcast(&bias, &[1], &[m, n]);
    let y = main.binary("add", &y, &bias);
    let y = main.convert(&y, dtype);
    main.finish(&[y])
}
