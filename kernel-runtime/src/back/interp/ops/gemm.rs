//! Matrix products of dense row-major matrices, on the widest vector unit there is.
//!
//! Each element of the result is summed over `k` in order, whatever the vector width, so results
//! are the same on every machine.

use pulp::{Arch, Simd, WithSimd};

/// An operand as it lies in memory: `transposed` means that its axes are the other way round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a, T> {
    /// The elements, row-major.
    pub(super) values: &'a [T],
    /// Whether rows and columns are exchanged.
    pub(super) transposed: bool,
}

/// The sizes of a product `[m, k] x [k, n]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Rows of the result.
    pub(super) m: usize,
    /// Contraction.
    pub(super) k: usize,
    /// Columns of the result.
    pub(super) n: usize,
}

/// Buffers for operands rearranged into panels.
#[derive(Debug, Default)]
pub(super) struct Panels {
    lhs: Vec<f32>,
    rhs: Vec<f32>,
}

/// Room for `n` elements, with undefined contents.
#[inline(always)]
fn room(buffer: &mut Vec<f32>, n: usize) -> &mut [f32] {
    if buffer.len() < n {
        buffer.resize(n, 0.0);
    }
    &mut buffer[..n]
}

/// Writes the product to `to`, or adds it to what is there.
pub(super) fn multiply_f32(
    sizes: Sizes,
    lhs: Matrix<'_, f32>,
    rhs: Matrix<'_, f32>,
    (to, adds): (&mut [f32], bool),
    panels: &mut Panels,
) {
    if sizes.m * sizes.k * sizes.n > 0 {
        Arch::new().dispatch(Multiply { sizes, lhs, rhs, to, adds, panels });
    }
}

struct Multiply<'a> {
    sizes: Sizes,
    lhs: Matrix<'a, f32>,
    rhs: Matrix<'a, f32>,
    to: &'a mut [f32],
    adds: bool,
    panels: &'a mut Panels,
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Accumulators fill half the registers or more: 32 of them with AVX-512, 16 before.
        if S::F32_LANES >= 16 {
            self.blocks::<S, 8>(simd);
        } else {
            self.blocks::<S, 4>(simd);
        }
    }
}

impl Multiply<'_> {
    /// Multiplies in slices of `k` whose panels stay in the cache.
    #[inline(always)]
    fn blocks<S: Simd, const ROWS: usize>(self, simd: S) {
        const K_SLICE: usize = 512;
        let Multiply { sizes, lhs, rhs, to, mut adds, panels } = self;
        let columns = 2 * S::F32_LANES;
        let mut k_start = 0;
        while k_start < sizes.k {
            let k = K_SLICE.min(sizes.k - k_start);
            let slice = Slice { k_start, k };
            let lhs_panels = room(&mut panels.lhs, sizes.m.div_ceil(ROWS) * ROWS * k);
            let rhs_panels = room(&mut panels.rhs, sizes.n.div_ceil(columns) * columns * k);
            pack_lhs::<ROWS>(sizes, slice, lhs, lhs_panels);
            pack_rhs(sizes, slice, rhs, columns, rhs_panels);
            for (q, rhs_panel) in rhs_panels.chunks_exact(columns * k).enumerate() {
                let (rhs_rows, _) = S::as_simd_f32s(rhs_panel).0.as_chunks::<2>();
                let width = columns.min(sizes.n - q * columns);
                for (p, lhs_panel) in lhs_panels.chunks_exact(ROWS * k).enumerate() {
                    let sums = panel::<S, ROWS>(simd, lhs_panel.as_chunks::<ROWS>().0, rhs_rows);
                    let height = ROWS.min(sizes.m - p * ROWS);
                    for (row, sums) in sums.iter().enumerate().take(height) {
                        let start = (p * ROWS + row) * sizes.n + q * columns;
                        let sums: &[f32] = bytemuck::cast_slice(sums);
                        let to = &mut to[start..start + width];
                        if adds {
                            to.iter_mut().zip(sums).for_each(|(to, &sum)| *to += sum);
                        } else {
                            to.copy_from_slice(&sums[..width]);
                        }
                    }
                }
            }
            k_start += k;
            adds = true;
        }
    }
}

/// The product of a panel of `ROWS` rows with one of two vectors of columns.
#[inline(always)]
fn panel<S: Simd, const ROWS: usize>(
    simd: S,
    lhs: &[[f32; ROWS]],
    rhs: &[[S::f32s; 2]],
) -> [[S::f32s; 2]; ROWS] {
    let mut sums = [[simd.splat_f32s(0.0); 2]; ROWS];
    for (lhs, rhs) in lhs.iter().zip(rhs) {
        for row in 0..ROWS {
            let x = simd.splat_f32s(lhs[row]);
            sums[row][0] = simd.mul_add_e_f32s(x, rhs[0], sums[row][0]);
            sums[row][1] = simd.mul_add_e_f32s(x, rhs[1], sums[row][1]);
        }
    }
    sums
}

#[derive(Clone, Copy)]
struct Slice {
    k_start: usize,
    k: usize,
}

/// Panels of `ROWS` rows, each with the elements of one `k` together. What fills up the last one is
/// not defined: it only gets into rows of the product that are not kept.
#[inline(always)]
fn pack_lhs<const ROWS: usize>(
    sizes: Sizes,
    slice: Slice,
    lhs: Matrix<'_, f32>,
    panels: &mut [f32],
) {
    let Slice { k_start, k } = slice;
    for (p, panel) in panels.chunks_exact_mut(ROWS * k).enumerate() {
        let first = p * ROWS;
        let height = ROWS.min(sizes.m - first);
        let (columns, _) = panel.as_chunks_mut::<ROWS>();
        if lhs.transposed {
            for (l, column) in columns.iter_mut().enumerate() {
                let start = (k_start + l) * sizes.m + first;
                column[..height].copy_from_slice(&lhs.values[start..start + height]);
            }
        } else {
            for row in 0..height {
                let start = (first + row) * sizes.k + k_start;
                for (column, &x) in columns.iter_mut().zip(&lhs.values[start..start + k]) {
                    column[row] = x;
                }
            }
        }
    }
}

/// Panels of `columns` columns, each with the elements of one `k` together, filled up like those of
/// [`pack_lhs`].
#[inline(always)]
fn pack_rhs(sizes: Sizes, slice: Slice, rhs: Matrix<'_, f32>, columns: usize, panels: &mut [f32]) {
    let Slice { k_start, k } = slice;
    for (q, panel) in panels.chunks_exact_mut(columns * k).enumerate() {
        let first = q * columns;
        let width = columns.min(sizes.n - first);
        if rhs.transposed {
            for column in 0..width {
                let start = (first + column) * sizes.k + k_start;
                let source = &rhs.values[start..start + k];
                for (row, &x) in panel.chunks_exact_mut(columns).zip(source) {
                    row[column] = x;
                }
            }
        } else {
            for (l, row) in panel.chunks_exact_mut(columns).enumerate() {
                let start = (k_start + l) * sizes.n + first;
                row[..width].copy_from_slice(&rhs.values[start..start + width]);
            }
        }
    }
}

/// The product of integer matrices, wrapping.
pub(super) fn multiply_i32(
    sizes: Sizes,
    lhs: Matrix<'_, i32>,
    rhs: Matrix<'_, i32>,
    to: &mut [i32],
) {
    Arch::new().dispatch(|| {
        let Sizes { m, k, n } = sizes;
        // Rows of the right operand are added up, so they must lie in one piece.
        let dense: Vec<i32>;
        let rhs = if rhs.transposed {
            dense = (0..k * n).map(|at| rhs.values[at % n * k + at / n]).collect();
            &dense
        } else {
            rhs.values
        };
        to.fill(0);
        if n == 0 {
            return;
        }
        for (i, to) in to.chunks_exact_mut(n).enumerate() {
            for (l, row) in rhs.chunks_exact(n).enumerate() {
                let x = if lhs.transposed { lhs.values[l * m + i] } else { lhs.values[i * k + l] };
                for (to, &y) in to.iter_mut().zip(row) {
                    *to = to.wrapping_add(x.wrapping_mul(y));
                }
            }
        }
    });
}
