//! The named specs of `scale_add`.

use super::reference;
use crate::xla::Main;
use systole::ir::DType;
use systole::run::{Sampler, Spec, Tolerance};

const FACTOR: f32 = 1.5;

/// Every spec.
pub fn specs() -> Vec<Spec> {
    vec![
        spec(DType::BF16, 4096, 2048).tag(Spec::LARGE),
        spec(DType::F32, 4096, 2048).tag(Spec::LARGE),
        spec(DType::BF16, 1024, 1024).tag(Spec::EXTRA),
        spec(DType::F32, 1024, 1024).tag(Spec::EXTRA),
        // No size is a multiple of the block's: the edge blocks reach over the array's end.
        spec(DType::F32, 1000, 1000).tag(Spec::EXTRA),
        spec(DType::BF16, 600, 2300).tag(Spec::EXTRA),
    ]
}

fn spec(dtype: DType, m: usize, n: usize) -> Spec {
    let n_elems = (m * n) as u64;
    Spec::new(format!("{dtype}_{m}x{n}"), dtype)
        .work(2 * n_elems, 3 * n_elems * dtype.size_bytes() as u64)
        .build(move |_target| super::build(dtype, FACTOR, [m, n]))
        .inputs(move |seed| {
            let mut sampler = Sampler::new(seed);
            vec![sampler.normal(dtype, &[m, n]), sampler.normal(dtype, &[m, n])]
        })
        .reference(|inputs| vec![reference::scale_add(FACTOR, &inputs[0], &inputs[1])])
        .xla(move || xla(dtype, m, n))
        .tolerance(Tolerance::ulp(1).floor(
            5e-7,
            "a fused multiply-add skips the rounding of the product, half an ULP of up to 5.2: \
             many ULP of a sum in which product and addend cancel",
        ))
}

fn xla(dtype: DType, m: usize, n: usize) -> String {
    let mut main = Main::default();
    let (x, y) = (main.arg(dtype, &[m, n]), main.arg(dtype, &[m, n]));
    let (x, y) = (main.convert(&x, DType::F32), main.convert(&y, DType::F32));
    let factor = main.full(DType::F32, &[m, n], f64::from(FACTOR));
    let scaled = main.binary("multiply", &x, &factor);
    let sum = main.binary("add", &scaled, &y);
    let out = main.convert(&sum, dtype);
    main.finish(&[out])
}
