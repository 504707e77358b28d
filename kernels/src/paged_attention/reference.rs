//! The meaning of `paged_attention`, in plain loops.

use super::{PagedAttention, Sizes};
use systole::ir::Array;

/// Output `[b, h, d]`, in `f64` throughout.
pub fn paged_attention(
    config: &PagedAttention,
    sizes: Sizes,
    [lengths, pages, q, kv]: [&Array; 4],
) -> Array {
    let Sizes { b, h, kv_h, d, page, entries, .. } = sizes;
    let (lengths, pages) = (lengths.to_f64(), pages.to_f64());
    let (q_values, kv_values) = (q.to_f64(), kv.to_f64());
    let scale = f64::from(config.scale_for(d));
    let mut out = vec![0.0; b * h * d];
    for (row, head) in (0..b * h).map(|at| (at / h, at % h)) {
        let length = lengths[row] as usize;
        let first = config.window.map_or(0, |window| length.saturating_sub(window));
        let row_of = |token: usize, which: usize| {
            let id = pages[row * entries + token / page] as usize;
            let at = ((id * 2 + which) * kv_h + head / (h / kv_h)) * page + token % page;
            &kv_values[at * d..][..d]
        };
        let q_row = &q_values[(row * h + head) * d..][..d];
        let logits: Vec<f64> = (first..length)
            .map(|token| {
                let dot: f64 = q_row.iter().zip(row_of(token, 0)).map(|(x, y)| x * y).sum();
                match config.soft_cap.map(f64::from) {
                    Some(cap) => cap * (dot * scale / cap).tanh(),
                    None => dot * scale,
                }
            })
            .collect();
        let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits.iter().map(|s| (s - max).exp()).sum();
        for (token, s) in (first..length).zip(logits) {
            let p = (s - max).exp() / sum;
            let o_row = &mut out[(row * h + head) * d..][..d];
            o_row.iter_mut().zip(row_of(token, 1)).for_each(|(o, v)| *o += p * v);
        }
    }
    crate::array(q.dtype(), q.shape(), &out)
}
