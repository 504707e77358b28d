//! The meaning of `flash_attention`, in plain loops.

use super::{Attention, Heads};
use systole::ir::{Array, DType};

/// Output `[b, h, sq, d]` and log-sum-exp `[b, h, 1, sq]` (`f32`), in `f64` throughout.
///
/// `keep(batch, head, q, k)` says what else is masked beside the band, `score(s, batch, head, q,
/// k)` changes a scaled logit. A row that sees no key gives zeros and a log-sum-exp of -inf.
pub fn flash_attention(
    config: &Attention,
    [q, k, v]: [&Array; 3],
    keep: impl Fn([usize; 4]) -> bool,
    score: impl Fn(f64, [usize; 4]) -> f64,
) -> (Array, Array) {
    let Heads { b, h, kv_h, sq, sk, d } = Heads::of_shapes(q.shape(), k.shape());
    let (q_values, k_values, v_values) = (q.to_f64(), k.to_f64(), v.to_f64());
    let scale = f64::from(config.scale_for(d));
    let mut out = vec![0.0; b * h * sq * d];
    let mut lse = vec![f64::NEG_INFINITY; b * h * sq];
    for (batch, head, row) in (0..b * h * sq).map(|at| (at / (h * sq), at / sq % h, at % sq)) {
        let at = (batch * h + head) * sq + row;
        let kv = (batch * kv_h + head / (h / kv_h)) * sk;
        let q_row = &q_values[at * d..][..d];
        let seen: Vec<(usize, f64)> = (0..sk)
            .filter(|&col| config.band.sees(row, col) && keep([batch, head, row, col]))
            .map(|col| {
                let k_row = &k_values[(kv + col) * d..][..d];
                let dot: f64 = q_row.iter().zip(k_row).map(|(x, y)| x * y).sum();
                (col, score(dot * scale, [batch, head, row, col]))
            })
            .collect();
        let max = seen.iter().map(|(_, s)| *s).fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY {
            continue;
        }
        let sum: f64 = seen.iter().map(|(_, s)| (s - max).exp()).sum();
        lse[at] = max + sum.ln();
        for (col, s) in seen {
            let p = (s - max).exp() / sum;
            let v_row = &v_values[(kv + col) * d..][..d];
            out[at * d..][..d].iter_mut().zip(v_row).for_each(|(o, v)| *o += p * v);
        }
    }
    (crate::array(q.dtype(), q.shape(), &out), crate::array(DType::F32, &[b, h, 1, sq], &lse))
}
