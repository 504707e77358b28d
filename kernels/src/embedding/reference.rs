//! The meaning of embedding lookups and updates, in plain loops.

use super::{Bags, Combiner, Optimizer};
use systole::diag::Diagnostics;
use systole::ir::{Array, DType};

/// Row `ids[i]` of the table as row `i`; zeros for an id that is no row.
pub fn gather(table: &Array, ids: &Array) -> Array {
    let (rows, width) = (table.shape()[0], table.shape()[1]);
    let values = table.to_f64();
    let mut out = Vec::with_capacity(ids.n_elems() * width);
    for id in ids.to_f64() {
        if (0.0..rows as f64).contains(&id) {
            out.extend(&values[id as usize * width..][..width]);
        } else {
            out.resize(out.len() + width, 0.0);
        }
    }
    crate::array(table.dtype(), &[ids.n_elems(), width], &out)
}

/// The rows of each bag, combined: sums in `f64`, gains rounded to `f32`, the result to the table's
/// type.
///
/// # Errors
/// As [`Bags::gains`].
pub fn bag(table: &Array, bags: &Bags, combiner: Combiner) -> Result<Array, Diagnostics> {
    let width = table.shape()[1];
    let (values, gains) = (table.to_f64(), bags.gains(combiner)?);
    let mut out = vec![0.0; bags.n_bags() * width];
    for (bag, out) in out.chunks_exact_mut(width).enumerate() {
        for at in bags.range(bag) {
            let row = &values[bags.ids()[at] as usize * width..][..width];
            for (out, value) in out.iter_mut().zip(row) {
                *out += f64::from(gains[at]) * value;
            }
        }
    }
    Ok(crate::array(table.dtype(), &[bags.n_bags(), width], &out))
}

/// The gradient of the whole table by the gradient `[n_bags, width]` of what [`bag`] gives, as
/// `f32`, summed in `f64`.
///
/// # Errors
/// As [`Bags::gains`].
pub fn table_gradient(
    bags: &Bags,
    combiner: Combiner,
    output_gradient: &Array,
) -> Result<Array, Diagnostics> {
    let width = output_gradient.shape()[1];
    let (values, gains) = (output_gradient.to_f64(), bags.gains(combiner)?);
    let mut sums = vec![0.0; bags.rows() * width];
    for bag in 0..bags.n_bags() {
        for at in bags.range(bag) {
            let row = &mut sums[bags.ids()[at] as usize * width..][..width];
            for (sum, value) in row.iter_mut().zip(&values[bag * width..]) {
                *sum += f64::from(gains[at]) * value;
            }
        }
    }
    Ok(crate::array(DType::F32, &[bags.rows(), width], &sums))
}

/// One step of an optimizer on the rows that `named` lists, each once: `table` and `gradient` are
/// `f32[rows, width]`, the accumulator has their shape for Adagrad and is `[rows, 1]` for row-wise
/// Adagrad. Gives the table and the accumulator after the step, computed in `f32`.
pub fn update(
    optimizer: Optimizer,
    (table, accumulator): (&Array, Option<&Array>),
    gradient: &Array,
    named: &[i32],
) -> (Array, Option<Array>) {
    let width = table.shape()[1];
    let (mut weights, gradients) = (table.to_f32(), gradient.to_f32());
    let mut sums = accumulator.map_or_else(Vec::new, Array::to_f32);
    for &row in named {
        let row = row as usize;
        let elems = row * width..(row + 1) * width;
        let g = &gradients[elems.clone()];
        let w = &mut weights[elems.clone()];
        match optimizer {
            Optimizer::Sgd { rate } => {
                for (w, g) in w.iter_mut().zip(g) {
                    *w -= rate * g;
                }
            }
            Optimizer::Adagrad { rate, eps } => {
                for ((w, a), g) in w.iter_mut().zip(&mut sums[elems]).zip(g) {
                    *a += g * g;
                    *w -= rate * g / (a.sqrt() + eps);
                }
            }
            Optimizer::RowAdagrad { rate, eps } => {
                let squares: f32 = g.iter().map(|g| g * g).sum();
                sums[row] += squares / width as f32;
                for (w, g) in w.iter_mut().zip(g) {
                    *w -= rate * g / (sums[row].sqrt() + eps);
                }
            }
        }
    }
    let array = |of: &Array, values: Vec<f32>| {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        crate::array(DType::F32, of.shape(), &values)
    };
    (array(table, weights), accumulator.map(|of| array(of, sums)))
}
