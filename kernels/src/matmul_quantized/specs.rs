//! The named specs of `matmul_quantized`.

use super::reference;
use crate::xla::Main;
use systole::ir::{Array, DType};
use systole::run::{Sampler, Spec, Tolerance};

/// Every spec.
pub fn specs() -> Vec<Spec> {
    use DType::{F8E4M3FN, F8E5M2, I4, I8};
    let large = [
        // A layer of a language model: a step of decoding, and a prompt.
        Case { weights: I8, sizes: [64, 4096, 4096], group: 0 },
        Case { weights: I4, sizes: [64, 4096, 4096], group: 128 },
        Case { weights: F8E4M3FN, sizes: [64, 4096, 4096], group: 0 },
        Case { weights: I8, sizes: [1024, 4096, 4096], group: 0 },
    ];
    let small = [
        Case { weights: I8, sizes: [32, 384, 256], group: 128 },
        Case { weights: I4, sizes: [48, 512, 384], group: 128 },
        Case { weights: F8E4M3FN, sizes: [16, 256, 128], group: 0 },
        Case { weights: F8E5M2, sizes: [16, 256, 128], group: 64 },
    ];
    let corners = [
        // Sizes that no block divides.
        Case { weights: I8, sizes: [50, 300, 200], group: 0 },
        // Contractions in several steps.
        Case { weights: I8, sizes: [8, 4224, 128], group: 0 },
        Case { weights: I8, sizes: [16, 8192, 128], group: 128 },
    ];
    let large = large.into_iter().map(|case| case.spec().tag(Spec::LARGE));
    let corners = corners.into_iter().map(|case| case.spec().tag(Spec::EXTRA));
    large.chain(small.into_iter().map(Case::spec)).chain(corners).collect()
}

/// What a spec's name says.
#[derive(Clone, Copy)]
struct Case {
    weights: DType,
    sizes: [usize; 3],
    group: usize,
}

impl Case {
    /// `i4_64x4096x4096_g128` (weights; m, k, n; rows per scale).
    fn name(self) -> String {
        let [m, k, n] = self.sizes;
        let group = if self.group == 0 { String::new() } else { format!("_g{}", self.group) };
        format!("{}_{m}x{k}x{n}{group}", self.weights)
    }

    fn n_groups(self) -> usize {
        self.sizes[1].checked_div(self.group).unwrap_or(1)
    }

    fn spec(self) -> Spec {
        let [m, k, n] = self.sizes;
        let bytes = 2 * m * k + k * n * self.weights.size_bits() / 8 + 4 * self.n_groups() * n;
        Spec::new(self.name(), self.weights)
            .work(2 * (m * k * n) as u64, (bytes + 2 * m * n) as u64)
            .build(move |target| super::build(target, self.weights, self.sizes, self.group))
            .inputs(move |seed| self.inputs(seed))
            .reference(|inputs| {
                vec![reference::matmul_quantized(&inputs[0], &inputs[1], &inputs[2])]
            })
            .xla(move || self.xla())
            .tolerance(self.tolerance())
    }

    /// Scaled weights are about as large as 1.
    fn inputs(self, seed: u64) -> Vec<Array> {
        let ([m, k, n], weights) = (self.sizes, self.weights);
        let mut sampler = Sampler::new(seed);
        let a = sampler.normal(DType::BF16, &[m, k]);
        let (w, size) = match weights.int_range() {
            Some((lo, hi)) => {
                let w = sampler.uniform(weights, &[k, n], lo as f64, hi as f64 + 1.0);
                (w, hi as f64 / 2.0)
            }
            None => (sampler.normal(weights, &[k, n]), 1.0),
        };
        let shape = [self.n_groups(), n];
        let scales = sampler.uniform(DType::F32, &shape, 0.5, 2.0).to_f64();
        let scales = scales.into_iter().map(|scale| match self.group {
            0 => scale / size,
            // Powers of two, as in formats with a shared exponent: XLA's side scales the weights,
            // which are then exact.
            _ => (scale / size).log2().floor().exp2(),
        });
        let scales = crate::array(DType::F32, &shape, &scales.collect::<Vec<_>>());
        vec![a, w, scales]
    }

    /// As for `matmul`: sums of `k` products, each about as large as 1, in `f32`.
    fn tolerance(self) -> Tolerance {
        const REASON: &str =
            "a sum near zero carries the rounding of its sqrt(k)-sized partial sums";
        Tolerance::ulp(1).floor(2.0 * self.sizes[1] as f64 * f64::from(f32::EPSILON), REASON)
    }

    /// Weights become `bf16` and are multiplied; those with several scales are scaled before.
    fn xla(self) -> String {
        let mut main = Main::default();
        let ([m, k, n], n_groups) = (self.sizes, self.n_groups());
        let a = main.arg(DType::BF16, &[m, k]);
        let w = main.arg(self.weights, &[k, n]);
        let scales = main.arg(DType::F32, &[n_groups, n]);
        let mut w = main.convert(&w, DType::BF16);
        if self.group > 0 {
            let scales = main.convert(&scales, DType::BF16);
            let grouped = [n_groups, self.group, n];
            let scales = main.broadcast(&scales, &[0, 2], &grouped);
            let parts = main.reshape(&w, &grouped);
            let parts = main.binary("multiply", &parts, &scales);
            w = main.reshape(&parts, &[k, n]);
        }
        let mut c = main.dot((&a, 1), (&w, 0), 0, DType::F32, "DEFAULT");
        if self.group == 0 {
            let scales = main.broadcast(&scales, &[0, 1], &[m, n]);
            c = main.binary("multiply", &c, &scales);
        }
        let c = main.convert(&c, DType::BF16);
        main.finish(&[c])
    }
}
