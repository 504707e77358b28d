//! The meaning of `layer_norm`, in plain loops.

use systole::ir::Array;

/// `y[i, j] = (x[i, j] - mean) / sqrt(variance + eps) * weight[j] + bias[j]` with the mean and
/// the biased variance over `j`, in `f64`, rounded to the input's type.
pub fn layer_norm(x: &Array, weight: &Array, bias: &Array, eps: f64) -> Array {
    let (n, values) = (x.shape()[1], x.to_f64());
    let (weight, bias) = (weight.to_f64(), bias.to_f64());
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(n) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        let scale = 1.0 / (variance + eps).sqrt();
        let affine = weight.iter().zip(&bias);
        y.extend(row.iter().zip(affine).map(|(x, (w, b))| (x - mean) * scale * w + b));
    }
    crate::array(x.dtype(), x.shape(), &y)
}
