//! The meaning of `softmax`, in plain loops.

use systole::ir::Array;

/// `y[i, j] = e^(x[i, j] - max_j x[i, j]) / sum_j ..`, in `f64`, rounded to the input's type.
pub fn softmax(x: &Array) -> Array {
    let (n, values) = (x.shape()[1], x.to_f64());
    let mut y = Vec::with_capacity(values.len());
    for row in values.chunks(n) {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        y.extend(row.iter().map(|x| (x - max).exp() / sum));
    }
    crate::array(x.dtype(), x.shape(), &y)
}
