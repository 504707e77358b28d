//! The named specs of `softmax`.

use super::reference;
use crate::xla::Main;
use systole::ir::DType;
use systole::run::{Sampler, Spec, Tolerance};

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
    let n_elems = (m * n) as u64;
    // The maximum, the difference, the exponential, the sum and the product.
    Spec::new(format!("{dtype}_{m}x{n}"), dtype)
        .work(5 * n_elems, 2 * n_elems * dtype.size_bytes() as u64)
        .build(move |target| super::build(target, dtype, &[m, n]))
        .inputs(move |seed| vec![Sampler::new(seed).normal(dtype, &[m, n])])
        .reference(|inputs| vec![reference::softmax(&inputs[0])])
        .xla(move || xla(dtype, m, n))
        .tolerance(match dtype {
            DType::F32 => Tolerance::ulp(64),
            _ => Tolerance::ulp(1),
        })
}

fn xla(dtype: DType, m: usize, n: usize) -> String {
    let mut main = Main::default();
    let x = main.arg(dtype, &[m, n]);
    let x = main.convert(&x, DType::F32);
    let y = main.softmax_last(&x);
    let y = main.convert(&y, dtype);
    main.finish(&[y])
}
