//! The meaning of `matmul`, in plain loops.

use super::Layout;
use systole::ir::ops::Precision;
use systole::ir::{Array, DType};

/// `c = op(a) op(b)` with sums in `f64` (exact integers for integer types), rounded to `out`.
///
/// `f32` operands are split into bf16 parts as `precision` says, so that a kernel is judged
/// against the product it promises and not against a better one.
pub fn matmul(a: &Array, b: &Array, layout: Layout, precision: Precision, out: DType) -> Array {
    let (a_shape, b_shape) = (a.shape(), b.shape());
    let (m, k) =
        if layout.transpose_lhs { (a_shape[1], a_shape[0]) } else { (a_shape[0], a_shape[1]) };
    let n = if layout.transpose_rhs { b_shape[0] } else { b_shape[1] };
    let lhs = rows(&a.to_f64(), m, k, layout.transpose_lhs);
    let rhs = rows(&b.to_f64(), n, k, !layout.transpose_rhs);
    let passes = passes(a.dtype(), precision);
    let (lhs_parts, rhs_parts) = (split(&lhs), split(&rhs));
    let mut c = vec![0.0; m * n];
    for (lhs_part, rhs_part) in passes {
        let (lhs, rhs) = match (lhs_part, rhs_part) {
            (Some(x), Some(y)) => (&lhs_parts[x], &rhs_parts[y]),
            _ => (&lhs, &rhs),
        };
        for row in 0..m {
            let lhs_row = &lhs[row * k..][..k];
            for col in 0..n {
                let rhs_row = &rhs[col * k..][..k];
                c[row * n + col] += lhs_row.iter().zip(rhs_row).map(|(x, y)| x * y).sum::<f64>();
            }
        }
    }
    crate::array(out, &[m, n], &c)
}

/// Rows of `k` contiguous elements; `transposed` means they are stored as columns.
fn rows(values: &[f64], n_rows: usize, k: usize, transposed: bool) -> Vec<f64> {
    if !transposed {
        return values.to_vec();
    }
    (0..n_rows).flat_map(|row| (0..k).map(move |at| values[at * n_rows + row])).collect()
}

/// Which bf16 parts are multiplied; `None` means the operands as they are.
fn passes(dtype: DType, precision: Precision) -> Vec<(Option<usize>, Option<usize>)> {
    let pairs: &[(usize, usize)] = match precision {
        _ if dtype != DType::F32 => return vec![(None, None)],
        Precision::Medium => &[(0, 0)],
        Precision::High => &[(0, 0), (0, 1), (1, 0)],
        Precision::Highest => &[(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)],
    };
    pairs.iter().map(|&(x, y)| (Some(x), Some(y))).collect()
}

/// The three bf16 parts of each value: by repeated rounding of what is left.
fn split(values: &[f64]) -> [Vec<f64>; 3] {
    let mut rest: Vec<f64> = values.to_vec();
    std::array::from_fn(|_| {
        let part: Vec<f64> =
            rest.iter().map(|&x| f64::from(DType::BF16.round_f32(x as f32))).collect();
        for (left, part) in rest.iter_mut().zip(&part) {
            *left -= part;
        }
        part
    })
}
