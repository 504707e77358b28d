//! The meaning of `rms_norm`, in plain loops.

use systole::ir::Array;

/// `y[i, j] = x[i, j] / sqrt(mean_j x[i, j]^2 + eps) * weight[j]`, in `f64`, rounded to the
/// input's type.
pub fn rms_norm(x: &Array, weight: &Array, eps: f64) -> Array {
    let (n, values, weight) = (x.shape()[1], x.to_f64(), weight.to_f64());
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(n) {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / n as f64;
        let scale = 1.0 / (mean + eps).sqrt();
        y.extend(row.iter().zip(&weight).map(|(x, w)| x * scale * w));
    }
    crate::array(x.dtype(), x.shape(), &y)
}
