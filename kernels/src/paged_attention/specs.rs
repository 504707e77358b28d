//! The named specs of `paged_attention`.

use super::{Blocks, PagedAttention, Sizes, reference};
use systole::ir::{Array, DType};
use systole::run::{Sampler, Spec, Tolerance};

/// What `check` takes without a name.
const TYPICAL: [&str; 3] = [
    "bf16_b8_h8_kv2_k4096_d128_p128",
    "bf16_b8_h32_kv8_k2048_d128_p64",
    "f32_b5_h4_kv2_k320_d64_p16_ragged",
];

/// Every spec.
pub fn specs() -> Vec<Spec> {
    let (f32, bf16) = (DType::F32, DType::BF16);
    let full = Lengths::Full;
    let long = Sizes { b: 8, h: 8, kv_h: 2, d: 128, page: 128, pool: 256, entries: 32 };
    let large = [
        Case::new(bf16, long, full),
        Case::new(bf16, Sizes { kv_h: 8, ..long }, full),
        Case::new(bf16, Sizes { h: 32, kv_h: 8, page: 64, pool: 256, ..long }, full),
        Case::new(bf16, Sizes { page: 16, pool: 2048, entries: 256, ..long }, full),
        Case::new(bf16, long, Lengths::Ragged),
        Case::new(f32, Sizes { pool: 128, entries: 16, ..long }, full),
    ];
    let short = Sizes { b: 5, h: 4, kv_h: 2, d: 64, page: 16, pool: 80, entries: 20 };
    let ragged = Lengths::Ragged;
    let small = [
        Case::new(f32, short, ragged),
        Case::new(bf16, short, ragged),
        Case::new(bf16, Sizes { h: 16, d: 128, ..short }, full),
        Case::new(f32, Sizes { h: 2, d: 256, ..short }, ragged),
        Case::new(bf16, Sizes { h: 12, kv_h: 3, d: 128, page: 32, ..short }, ragged),
        Case::new(bf16, Sizes { b: 3, h: 7, kv_h: 1, d: 128, page: 128, ..short }, ragged),
        Case::new(f32, Sizes { h: 16, kv_h: 4, page: 8, ..short }, ragged).window(50),
        Case::new(bf16, Sizes { d: 128, ..short }, ragged).window(100),
        Case::new(f32, short, ragged).soft_cap(2.0),
        Case::new(f32, short, Lengths::Zero),
        // Three grid steps, the last of one sequence.
        Case::new(f32, Sizes { h: 8, ..short }, ragged).blocks(8, 2, 2),
        Case::new(bf16, Sizes { d: 128, ..short }, ragged).blocks(8, 4, 5),
    ];
    let large = large.into_iter().map(|case| case.spec().tag(Spec::LARGE));
    let all = large.chain(small.into_iter().map(Case::spec));
    all.map(|spec| spec.extra_unless(&TYPICAL)).collect()
}

/// How long the sequences are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lengths {
    /// As long as the table allows.
    Full,
    /// Empty, one token, whole pages, and others.
    Ragged,
    Zero,
}

/// What a spec's name says.
#[derive(Clone, Debug)]
struct Case {
    dtype: DType,
    sizes: Sizes,
    lengths: Lengths,
    config: PagedAttention,
    suffix: String,
}

impl Case {
    fn new(dtype: DType, sizes: Sizes, lengths: Lengths) -> Case {
        let suffix = match lengths {
            Lengths::Full => "",
            Lengths::Ragged => "_ragged",
            Lengths::Zero => "_empty",
        };
        Case { dtype, sizes, lengths, config: PagedAttention::new(), suffix: suffix.into() }
    }

    fn window(self, size: usize) -> Case {
        let suffix = format!("{}_w{size}", self.suffix);
        Case { config: self.config.window(size), suffix, ..self }
    }

    fn soft_cap(self, cap: f32) -> Case {
        let suffix = format!("{}_cap{cap}", self.suffix);
        Case { config: self.config.soft_cap(cap), suffix, ..self }
    }

    fn blocks(self, pages: usize, buffers: usize, sequences: usize) -> Case {
        let blocks = Blocks { pages, buffers, sequences, vmem_limit_bytes: 16 << 20 };
        let suffix = format!("{}_blocks{pages}x{buffers}x{sequences}", self.suffix);
        Case { config: PagedAttention { blocks: Some(blocks), ..self.config }, suffix, ..self }
    }

    /// `bf16_b8_h8_kv2_k4096_d128_p128_ragged`: `k` tokens at most, in pages of `p`.
    fn name(&self) -> String {
        let Sizes { b, h, kv_h, d, page, entries, .. } = self.sizes;
        let k = entries * page;
        format!("{}_b{b}_h{h}_kv{kv_h}_k{k}_d{d}_p{page}{}", self.dtype, self.suffix)
    }

    /// The length of a sequence.
    fn length(&self, row: usize) -> usize {
        let Sizes { page, entries, .. } = self.sizes;
        let longest = entries * page;
        match (self.lengths, row % 8) {
            (Lengths::Zero, _) | (Lengths::Ragged, 1) => 0,
            (Lengths::Full, _) | (Lengths::Ragged, 4) => longest,
            (Lengths::Ragged, 0) => (longest / 3) | 1,
            (Lengths::Ragged, 2) => 1,
            (Lengths::Ragged, 3) => 2 * page,
            (Lengths::Ragged, 5) => page + 1,
            (Lengths::Ragged, 6) => longest - 1,
            (Lengths::Ragged, _) => longest / 2,
        }
    }

    fn first_seen(&self, row: usize) -> usize {
        let length = self.length(row);
        self.config.window.map_or(0, |window| length.saturating_sub(window))
    }

    /// The page of an entry: no two sequences share one, and neighbours in the table are apart.
    fn page_of(&self, row: usize, entry: usize) -> usize {
        let Sizes { b, entries, pool, .. } = self.sizes;
        // `pool` is at least what is needed, so that these are different pages.
        let needed = (b * entries).min(pool);
        match self.lengths {
            Lengths::Full => (row * entries + entry) % pool,
            _ => (entry * b + row) % needed,
        }
    }

    fn inputs(&self, seed: u64) -> Vec<Array> {
        let Sizes { b, h, kv_h, d, page, pool, entries } = self.sizes;
        let mut sampler = Sampler::new(seed);
        let lengths: Vec<f64> = (0..b).map(|row| self.length(row) as f64).collect();
        // Entries that nothing is read of name no page.
        let mut table = vec![-1.0; b * entries];
        let mut is_seen = vec![false; pool * page];
        for row in 0..b {
            for token in self.first_seen(row)..self.length(row) {
                let id = self.page_of(row, token / page);
                table[row * entries + token / page] = id as f64;
                is_seen[id * page + token % page] = true;
            }
        }
        let q = sampler.normal(self.dtype, &[b, h, d]);
        let shape = [pool, 2, kv_h, page, d];
        let mut kv = sampler.normal(self.dtype, &shape);
        if is_seen.iter().any(|seen| !seen) {
            // What nobody sees may hold anything.
            let mut values = kv.to_f64();
            for (at, row) in values.chunks_mut(d).enumerate() {
                let (id, token) = (at / (2 * kv_h * page), at % page);
                if !is_seen[id * page + token] {
                    row.fill(f64::NAN);
                }
            }
            kv = crate::array(self.dtype, &shape, &values);
        }
        vec![
            crate::array(DType::I32, &[b], &lengths),
            crate::array(DType::I32, &[b, entries], &table),
            q,
            kv,
        ]
    }

    fn spec(self) -> Spec {
        let Sizes { b, h, kv_h, d, .. } = self.sizes;
        let n_seen: usize = (0..b).map(|row| self.length(row) - self.first_seen(row)).sum();
        let bytes = (2 * n_seen * kv_h * d + 2 * b * h * d) * self.dtype.size_bytes();
        let (build, inputs, reference) = (self.clone(), self.clone(), self.clone());
        Spec::new(self.name(), self.dtype)
            .work((4 * n_seen * h * d).max(1) as u64, bytes as u64)
            .build(move |target| build.config.kernel(target, build.dtype, build.sizes))
            .inputs(move |seed| inputs.inputs(seed))
            .reference(move |arrays| {
                let arrays = [&arrays[0], &arrays[1], &arrays[2], &arrays[3]];
                let Case { config, sizes, .. } = &reference;
                vec![reference::paged_attention(config, *sizes, arrays)]
            })
            .tolerance(tolerance(self.dtype))
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
