//! The named specs of `rms_norm`.

use super::reference;
use crate::xla::Main;
use systole::ir::DType;
use systole::run::{Sampler, Spec, Tolerance};

/// Added to the mean square: what Llama uses.
const EPS: f32 = 1e-5;

/// Every spec.
pub fn specs() -> Vec<Spec> {
    vec![
        spec(DType::BF16, 4096, 2048).tag(Spec::LARGE),
        spec(DType::F32, 256, 512),
        spec(DType::BF16, 100, 384).tag(Spec::EXTRA),
        spec(DType::F32, 77, 200).tag(Spec::EXTRA),
    ]
}

fn spec(dtype: DType, m: usize, n: usize) -> Spec {
    let (n_elems, size) = ((m * n) as u64, dtype.size_bytes() as u64);
    Spec::new(format!("{dtype}_{m}x{n}"), dtype)
        .work(4 * n_elems, (2 * n_elems + n as u64) * size)
        .build(move |target| super::build(target, dtype, &[m, n], EPS))
        .inputs(move |seed| {
            let mut sampler = Sampler::new(seed);
            vec![sampler.normal(dtype, &[m, n]), sampler.normal(dtype, &[n])]
        })
        .reference(|inputs| vec![reference::rms_norm(&inputs[0], &inputs[1], f64::from(EPS))])
        .xla(move || xla(dtype, m, n))
        .tolerance(match dtype {
            DType::F32 => Tolerance::ulp(32),
            _ => Tolerance::ulp(1),
        })
}

fn xla(dtype: DType, m: usize, n: usize) -> String {
    let mut main = Main::default();
    let (x, weight) = (main.arg(dtype, &[m, n]), main.arg(dtype, &[n]));
    let x = main.convert(&x, DType::F32);
    let square = main.binary("multiply", &x, &x);
    let sum = main.reduce_last("add", &square);
    let mean = main.with_const("multiply", &sum, 1.0 / n as f64);
    let mean = main.with_const("add", &mean, f64::from(EPS));
    let scale = main.unary("rsqrt", &mean);
    let scale = main.broadcast(&scale, &[0], &[m, n]);
    let weight = main.convert(&weight, DType::F32);
    let weight = main.broadcast(&weight, &[1], &[m, n]);
    let y = main.binary("multiply", &x, &scale);
    let y = main.binary("multiply", &y, &weight);
    let y = main.convert(&y, dtype);
    main.finish(&[y])
}
