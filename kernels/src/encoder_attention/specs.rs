//! The named specs of `encoder_attention`.

use super::reference;
use crate::xla::Main;
use systole::diag::Diagnostics;
use systole::ir::{Array, DType, Kernel};
use systole::prelude::*;
use systole::run::{Sampler, Spec, Tolerance};
use systole::target::{GENERIC, Target, V5E};

/// Every spec.
pub fn specs() -> Vec<Spec> {
    let (f32, bf16) = (DType::F32, DType::BF16);
    let case = |dtype, b, s, heads, d| Case { dtype, b, s, heads, d, ..Case::default() };
    let small = case(f32, 1, 128, 4, 32);
    vec![
        // A batch through all-MiniLM-L6-v2, and one through BERT's base.
        case(f32, 32, 128, 12, 32).spec().tag(Spec::LARGE).tag("minilm"),
        case(bf16, 8, 512, 12, 64).spec().tag(Spec::LARGE),
        case(f32, 2, 128, 4, 32).spec(),
        case(bf16, 2, 128, 12, 64).spec(),
        Case { precision: Precision::High, ..small }.spec().tag(Spec::EXTRA),
        Case { precision: Precision::Medium, ..small }.spec().tag(Spec::EXTRA),
        // No tile ends where the sequence does.
        case(f32, 2, 77, 4, 32).spec().tag(Spec::EXTRA),
        case(bf16, 1, 200, 2, 128).spec().tag(Spec::EXTRA),
        // A block of a TPU is 128 columns wide, or all of them.
        Case { plain: true, ..case(f32, 1, 128, 2, 128) }.spec().tag(Spec::EXTRA),
    ]
}

/// What a spec's name says.
#[derive(Clone, Copy)]
struct Case {
    dtype: DType,
    b: usize,
    s: usize,
    heads: usize,
    d: usize,
    precision: Precision,
    /// The form for other devices than TPUs.
    plain: bool,
}

impl Default for Case {
    fn default() -> Case {
        let precision = Precision::Highest;
        Case { dtype: DType::F32, b: 1, s: 128, heads: 4, d: 32, precision, plain: false }
    }
}

impl Case {
    /// `f32_b32_h12_s128_d32`, with the precision if it is not the highest, and `by_head`.
    fn name(self) -> String {
        let Case { dtype, b, s, heads, d, precision, plain } = self;
        let mut name = format!("{dtype}_b{b}_h{heads}_s{s}_d{d}");
        if precision != Precision::Highest {
            name = format!("{name}_{}", precision.name());
        }
        if plain { format!("{name}_by_head") } else { name }
    }

    /// Off the TPU too the form for TPUs is traced, so that it is tested everywhere.
    fn kernel(self, target: &'static Target) -> Result<Kernel, Diagnostics> {
        let Case { dtype, b, s, heads, d, precision, plain } = self;
        let target = match (plain, target.is_tpu()) {
            (true, _) => &GENERIC,
            (false, true) => target,
            (false, false) => &V5E,
        };
        super::build(target, dtype, [b, s, heads * d], heads, precision)
    }

    fn spec(self) -> Spec {
        let Case { dtype, b, s, heads, d, .. } = self;
        let width = heads * d;
        let n_elems = 4 * b * s * width;
        let bytes = n_elems * dtype.size_bytes() + 4 * b * s;
        Spec::new(self.name(), dtype)
            .work((4 * b * s * s * width) as u64, bytes as u64)
            .build(move |target| self.kernel(target))
            .inputs(move |seed| self.inputs(seed))
            .reference(move |inputs| {
                let inputs = [&inputs[0], &inputs[1], &inputs[2], &inputs[3]];
                vec![reference::encoder_attention(heads, inputs)]
            })
            .xla(move || self.xla())
            .tolerance(self.tolerance())
    }

    /// The last keys of every other sequence are padding.
    fn inputs(self, seed: u64) -> Vec<Array> {
        let Case { dtype, b, s, heads, d, .. } = self;
        let mut sampler = Sampler::new(seed);
        let mut inputs: Vec<Array> =
            (0..3).map(|_| sampler.normal(dtype, &[b, s, heads * d])).collect();
        let is_padding = |at: usize| (at / s).is_multiple_of(2) && at % s >= s - s / 4;
        let bias: Vec<f64> =
            (0..b * s).map(|at| if is_padding(at) { -1e30 } else { 0.0 }).collect();
        inputs.push(crate::array(DType::F32, &[b, 1, s], &bias));
        inputs
    }

    /// An output is an average of values of size up to about 4, whose weights carry the rounding of
    /// the products.
    fn tolerance(self) -> Tolerance {
        const REASON: &str =
            "an average of values up to 4 whose weights carry the products' rounding";
        match (self.dtype, self.precision) {
            (DType::F32, Precision::Highest) => Tolerance::ulp(64).floor(2e-5, REASON),
            (DType::F32, Precision::High) => Tolerance::ulp(64).floor(4e-4, REASON),
            (DType::F32, Precision::Medium) => Tolerance::ulp(64).floor(0.06, REASON),
            _ => Tolerance::ulp(2).floor(4.0 / 256.0, REASON),
        }
    }

    fn xla(self) -> String {
        let Case { dtype, b, s, heads, d, precision, .. } = self;
        let precision = match (dtype, precision) {
            (DType::F32, Precision::Highest) => "HIGHEST",
            (DType::F32, Precision::High) => "HIGH",
            _ => "DEFAULT",
        };
        let mut main = Main::default();
        let qkv: [_; 3] = std::array::from_fn(|_| main.arg(dtype, &[b, s, heads * d]));
        let bias = main.arg(DType::F32, &[b, 1, s]);
        let [q, k, v] = qkv.map(|x| {
            let split = main.reshape(&x, &[b, s, heads, d]);
            main.transpose(&split, &[0, 2, 1, 3])
        });
        let scores = [b, heads, s, s];
        let logits = main.dot((&q, 3), (&k, 3), 2, DType::F32, precision);
        let logits = main.with_const("multiply", &logits, 1.0 / (d as f64).sqrt());
        let bias = main.reshape(&bias, &[b, s]);
        let bias = main.broadcast(&bias, &[0, 3], &scores);
        let logits = main.binary("add", &logits, &bias);
        let weights = main.softmax_last(&logits);
        let weights = main.convert(&weights, dtype);
        let out = main.dot((&weights, 3), (&v, 2), 2, DType::F32, precision);
        let out = main.convert(&out, dtype);
        let out = main.transpose(&out, &[0, 2, 1, 3]);
        let out = main.reshape(&out, &[b, s, heads * d]);
        main.finish(&[out])
    }
}
