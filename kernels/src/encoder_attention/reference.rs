//! The meaning of `encoder_attention`, in plain loops.

use systole::ir::Array;

/// `softmax(q_h k_h^T / sqrt(d) + bias) v_h` of each of `heads` heads, in `f64` throughout.
pub fn encoder_attention(heads: usize, [q, k, v, bias]: [&Array; 4]) -> Array {
    let &[b, s, width] = q.shape() else { return Array::zeros(q.dtype(), &[0]) };
    let d = width / heads;
    let scale = 1.0 / (d as f64).sqrt();
    let [q_values, k_values, v_values, bias] = [q, k, v, bias].map(Array::to_f64);
    let mut out = vec![0.0; b * s * width];
    for (batch, head, row) in
        (0..b * heads * s).map(|at| (at / (heads * s), at / s % heads, at % s))
    {
        let at = |token: usize| (batch * s + token) * width + head * d;
        let q_row = &q_values[at(row)..][..d];
        let logits: Vec<f64> = (0..s)
            .map(|key| {
                let k_row = &k_values[at(key)..][..d];
                let dot: f64 = q_row.iter().zip(k_row).map(|(x, y)| x * y).sum();
                dot * scale + bias[batch * s + key]
            })
            .collect();
        let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits.iter().map(|logit| (logit - max).exp()).sum();
        for (key, logit) in logits.iter().enumerate() {
            let weight = (logit - max).exp() / sum;
            let v_row = &v_values[at(key)..][..d];
            out[at(row)..][..d].iter_mut().zip(v_row).for_each(|(o, v)| *o += weight * v);
        }
    }
    crate::array(q.dtype(), q.shape(), &out)
}
