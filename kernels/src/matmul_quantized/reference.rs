//! The meaning of `matmul_quantized`, in plain loops.

use systole::ir::{Array, DType};

/// `c[i, j] = sum_l a[i, l] * w[l, j] * scales[l / group, j]` in `f64`, rounded to `bf16`.
pub fn matmul_quantized(a: &Array, w: &Array, scales: &Array) -> Array {
    let ([m, k], n) = ([a.shape()[0], a.shape()[1]], w.shape()[1]);
    let group = k / scales.shape()[0];
    let (a, w, scales) = (a.to_f64(), w.to_f64(), scales.to_f64());
    let weight = |l: usize, j: usize| w[l * n + j] * scales[l / group * n + j];
    let columns: Vec<f64> =
        (0..n).flat_map(|j| (0..k).map(move |l| (l, j))).map(|(l, j)| weight(l, j)).collect();
    let mut c = Vec::with_capacity(m * n);
    for row in a.chunks(k) {
        c.extend(
            columns.chunks(k).map(|column| row.iter().zip(column).map(|(x, y)| x * y).sum::<f64>()),
        );
    }
    crate::array(DType::BF16, &[m, n], &c)
}
