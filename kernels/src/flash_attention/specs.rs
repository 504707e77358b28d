//! The named specs of `flash_attention`.

use super::{Attention, Blocks, Heads, reference};
use crate::xla::{Main, Val};
use std::sync::Arc;
use systole::ir::DType;
use systole::run::{Sampler, Spec, Tolerance};

/// What `check` takes without a name.
const TYPICAL: [&str; 9] = [
    "bf16_b1_h8_s2048_d128_causal",
    "bf16_b1_h8_s2048_d128_causal_tiled",
    "bf16_b1_h8_s2048_d64_causal",
    "bf16_b1_h8_kv2_s1024_d128_causal",
    "bf16_b1_h1_s512_d128_causal",
    "bf16_b1_h2_s256_d256_causal",
    "f32_b1_h2_s256_d64_causal",
    "f32_b1_h2_s256_d64_causal_lse",
    "f32_b2_h12_s128_d32",
];

/// Every spec.
pub fn specs() -> Vec<Spec> {
    let long = Heads { b: 1, h: 8, kv_h: 8, sq: 2048, sk: 2048, d: 128 };
    let short = Heads { b: 1, h: 2, kv_h: 2, sq: 256, sk: 256, d: 64 };
    let causal = || Attention::new().causal();
    let (f32, bf16) = (DType::F32, DType::BF16);
    let mut specs: Vec<Spec> = vec![
        Case::new(bf16, long, causal(), "_causal"),
        Case::new(bf16, Heads { h: 2, kv_h: 2, ..long }, Attention::new(), ""),
        Case::new(bf16, long, causal(), "_causal_tiled").side(1024),
        Case::new(bf16, Heads { kv_h: 2, sq: 1024, sk: 1024, ..long }, causal(), "_causal"),
        Case::new(bf16, Heads { d: 64, ..long }, causal(), "_causal"),
        Case::new(bf16, long, Attention::new().sliding_window(512), "_w512"),
    ]
    .into_iter()
    .map(|case| case.spec().tag(Spec::LARGE))
    .collect();
    let cases = [
        // What the interpreter is timed with.
        Case::new(
            bf16,
            Heads { h: 1, kv_h: 1, sq: 512, sk: 512, d: 128, ..short },
            causal(),
            "_causal",
        ),
        Case::new(f32, short, causal(), "_causal"),
        Case::new(f32, short, Attention::new(), ""),
        Case::new(bf16, Heads { h: 4, kv_h: 2, ..short }, causal(), "_causal"),
        Case::new(f32, Heads { d: 32, ..short }, Attention::new(), ""),
        Case::new(bf16, Heads { d: 256, ..short }, causal(), "_causal"),
        Case::new(f32, Heads { sq: 200, sk: 333, ..short }, Attention::new(), ""),
        Case::new(bf16, Heads { sq: 77, sk: 77, d: 32, ..short }, causal(), "_causal"),
        Case::new(f32, Heads { sq: 600, sk: 600, ..short }, causal(), "_causal_tiled").side(256),
        Case::new(f32, Heads { sq: 700, sk: 450, ..short }, window(), "_w100_tiled").side(256),
        Case::new(f32, short, causal(), "_causal_lse").lse(),
        Case::new(bf16, Heads { sq: 300, sk: 300, ..short }, causal(), "_causal_lse").lse(),
        // Sentences of 128 tokens through all-MiniLM-L6-v2.
        Case::new(
            f32,
            Heads { b: 2, h: 12, kv_h: 12, sq: 128, sk: 128, d: 32 },
            Attention::new(),
            "",
        ),
        Case::alibi(short),
        Case::prefix(Heads { sq: 300, sk: 300, ..short }),
    ];
    specs.extend(cases.into_iter().map(Case::spec));
    specs.into_iter().map(|spec| spec.extra_unless(&TYPICAL)).collect()
}

fn window() -> Attention {
    Attention::new().sliding_window(100)
}

type Keep = Arc<dyn Fn([usize; 4]) -> bool + Send + Sync>;
type Score = Arc<dyn Fn(f64, [usize; 4]) -> f64 + Send + Sync>;

/// What a spec's name says, and the host twins of its closures.
#[derive(Clone)]
struct Case {
    dtype: DType,
    heads: Heads,
    config: Attention,
    suffix: &'static str,
    side: Option<usize>,
    lse: bool,
    keep: Keep,
    score: Score,
}

impl Case {
    fn new(dtype: DType, heads: Heads, config: Attention, suffix: &'static str) -> Case {
        let (keep, score): (Keep, Score) = (Arc::new(|_| true), Arc::new(|s, _| s));
        Case { dtype, heads, config, suffix, side: None, lse: false, keep, score }
    }

    /// Super tiles of this side, whatever the chip.
    fn side(self, side: usize) -> Case {
        Case { side: Some(side), ..self }
    }

    fn lse(self) -> Case {
        Case { lse: true, ..self }
    }

    /// ALiBi (Press et al., 2022): a logit falls with the distance, at a slope of the head's own.
    fn alibi(heads: Heads) -> Case {
        let config = Attention::new().causal().score(|s, at| {
            let slope = (at.head.cast::<f32>() + 1.0) * 0.125;
            s - (at.q - at.k).cast::<f32>() * slope
        });
        let score: Score =
            Arc::new(|s, [_, head, q, k]| s - (q as f64 - k as f64) * (head as f64 + 1.0) * 0.125);
        Case { score, ..Case::new(DType::F32, heads, config, "_causal_alibi") }
    }

    /// A prefix of 100 keys that all see, causal after it.
    fn prefix(heads: Heads) -> Case {
        let config = Attention::new().mask(|at| at.k.lt(100) | at.q.ge(at.k));
        let keep: Keep = Arc::new(|[_, _, q, k]| k < 100 || q >= k);
        Case { keep, ..Case::new(DType::BF16, heads, config, "_prefix100") }
    }

    /// `bf16_b1_h8_s2048_d128_causal`; `kv` where heads share keys, `q` and `k` where lengths
    /// differ.
    fn name(&self) -> String {
        let Heads { b, h, kv_h, sq, sk, d } = self.heads;
        let kv = if kv_h == h { String::new() } else { format!("_kv{kv_h}") };
        let s = if sq == sk { format!("s{sq}") } else { format!("q{sq}_k{sk}") };
        format!("{}_b{b}_h{h}{kv}_{s}_d{d}{}", self.dtype, self.suffix)
    }

    fn spec(self) -> Spec {
        let (dtype, Heads { b, h, kv_h, sq, sk, d }) = (self.dtype, self.heads);
        let pairs = (b * h) as u64 * self.config.band.n_pairs(sq, sk);
        let n_elems = 2 * b * h * sq * d + 2 * b * kv_h * sk * d;
        let lse_bytes = if self.lse { 4 * b * h * sq } else { 0 };
        let (build, reference, xla) = (self.clone(), self.clone(), self.clone());
        let has_closures = self.config.mask.is_some() || self.config.score.is_some();
        // Plain softmax gives NaN for a row that sees nothing.
        let is_plain = !has_closures && !self.lse && !self.config.band.has_blind_rows(sq, sk);
        let spec = Spec::new(self.name(), dtype)
            .work(4 * d as u64 * pairs, (n_elems * dtype.size_bytes() + lse_bytes) as u64)
            .build(move |target| {
                let mut config = build.config.clone();
                config.blocks = build
                    .side
                    .map(|side| Blocks::with_side(target, &build.config, build.heads, side));
                config.kernel(target, dtype, build.heads, build.lse)
            })
            .inputs(move |seed| {
                let mut sampler = Sampler::new(seed);
                let q = sampler.normal(dtype, &[b, h, sq, d]);
                let k = sampler.normal(dtype, &[b, kv_h, sk, d]);
                vec![q, k, sampler.normal(dtype, &[b, kv_h, sk, d])]
            })
            .reference(move |inputs| {
                let qkv = [&inputs[0], &inputs[1], &inputs[2]];
                let (keep, score) = (&reference.keep, &reference.score);
                let (o, lse) = reference::flash_attention(
                    &reference.config,
                    qkv,
                    |at| keep(at),
                    |s, at| score(s, at),
                );
                if reference.lse { vec![o, lse] } else { vec![o] }
            })
            .tolerance(tolerance(dtype));
        // XLA's baseline is plain attention with a band; closures have no twin there.
        if is_plain { spec.xla(move || xla.xla()) } else { spec }
    }

    fn xla(&self) -> String {
        let (dtype, Heads { b, h, kv_h, sq, sk, d }) = (self.dtype, self.heads);
        let mut main = Main::default();
        let q = main.arg(dtype, &[b, h, sq, d]);
        let kv: [Val; 2] = std::array::from_fn(|_| main.arg(dtype, &[b, kv_h, sk, d]));
        let [k, v] = kv.map(|x| {
            if kv_h == h {
                return x;
            }
            let group = [b, kv_h, h / kv_h, sk, d];
            let repeated = main.broadcast(&x, &[0, 1, 3, 4], &group);
            main.reshape(&repeated, &[b, h, sk, d])
        });
        let precision = if dtype == DType::F32 { "HIGHEST" } else { "DEFAULT" };
        let scores = [b, h, sq, sk];
        let s = main.dot((&q, 3), (&k, 3), 2, DType::F32, precision);
        let mut s = main.with_const("multiply", &s, f64::from(self.config.scale_for(d)));
        let (lowest, highest) = self.config.band.limits();
        for (limit, direction) in [(lowest, "GE"), (highest, "LE")] {
            let Some(limit) = limit else { continue };
            let (rows, cols) = (main.iota(&[sq, sk], 0), main.iota(&[sq, sk], 1));
            let ahead = main.binary("subtract", &cols, &rows);
            let limit = main.full(DType::I32, &[sq, sk], limit as f64);
            let seen = main.compare(direction, &ahead, &limit);
            let seen = main.broadcast(&seen, &[2, 3], &scores);
            let masked = main.full(DType::F32, &scores, f64::NEG_INFINITY);
            s = main.select(&seen, &s, &masked);
        }
        let p = main.softmax_last(&s);
        let p = main.convert(&p, dtype);
        let o = main.dot((&p, 3), (&v, 2), 2, DType::F32, precision);
        let o = main.convert(&o, dtype);
        main.finish(&[o])
    }
}

/// An output is an average of values of size up to about 4; each weight carries the rounding of
/// its element type (bf16: half of 2^-8; f32: of the exponent's argument).
fn tolerance(dtype: DType) -> Tolerance {
    const REASON: &str =
        "an average of values up to 4 whose weights are rounded to the element type";
    match dtype {
        DType::F32 => Tolerance::ulp(64).floor(2e-5, REASON),
        _ => Tolerance::ulp(2).floor(4.0 / 512.0, REASON),
    }
}
