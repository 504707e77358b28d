//! Tensors as text, as NumPy prints arrays.

use super::{Kind, Status, Tensor};
use crate::ir::Array;
use std::fmt::{self, Write};

/// Arrays with more elements than this are printed in part.
const MAX_PRINTED: usize = 1000;
/// How many elements stand at each end of an axis of which not all are printed.
const EDGE: usize = 3;

impl<T: Kind> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status() {
            Status::Failed => f.write_str("Tensor(failed)"),
            status => write!(f, "Tensor({}, {status:?}, {:?})", self.node().ty, self.device()),
        }
    }
}

/// Waits for the elements, and prints them; an error where there are none.
impl<T: Kind> fmt::Display for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_array() {
            Ok(array) => f.write_str(&array_text(&array)),
            Err(error) => write!(f, "{error}"),
        }
    }
}

fn array_text(array: &Array) -> String {
    let shape = array.shape();
    let values = array.to_f64();
    let in_part = values.len() > MAX_PRINTED;
    let float = array.dtype().is_float();
    let is_bool = array.dtype() == crate::ir::DType::Bool;
    let text = |value: f64| match (is_bool, float) {
        (true, _) => (if value != 0.0 { "true" } else { "false" }).to_owned(),
        (_, true) => float_text(value),
        (_, false) => format!("{value}"),
    };
    let shown = shown_indices(shape, in_part);
    let cells: Vec<String> = shown.iter().map(|&idx| text(values[idx])).collect();
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    let mut cells = cells.into_iter();
    write_axis(&mut out, shape, in_part, 0, &mut cells, width);
    out
}

/// Up to eight digits, as few as tell the `f32` from its neighbours where that is fewer.
fn float_text(value: f64) -> String {
    if !value.is_finite() {
        return format!("{value}").to_lowercase();
    }
    let short = format!("{}", value as f32);
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e8).contains(&size) {
        return format!("{:e}", value as f32);
    }
    if short.contains('.') { short } else { short + "." }
}

/// The positions that are printed, in order.
fn shown_indices(shape: &[usize], in_part: bool) -> Vec<usize> {
    let mut found = vec![0];
    for &size in shape {
        let axis: Vec<usize> = match in_part && size > 2 * EDGE {
            true => (0..EDGE).chain(size - EDGE..size).collect(),
            false => (0..size).collect(),
        };
        found = found.iter().flat_map(|&base| axis.iter().map(move |&i| base * size + i)).collect();
    }
    found
}

fn write_axis(
    out: &mut String,
    shape: &[usize],
    in_part: bool,
    depth: usize,
    cells: &mut impl Iterator<Item = String>,
    width: usize,
) {
    let Some((&size, rest)) = shape.split_first() else {
        let cell = cells.next().unwrap_or_default();
        let _ = write!(out, "{cell:>width$}");
        return;
    };
    let cut = in_part && size > 2 * EDGE;
    let n_shown = if cut { 2 * EDGE } else { size };
    out.push('[');
    for place in 0..n_shown {
        if place > 0 {
            separate(out, rest.len(), depth);
        }
        if cut && place == EDGE {
            out.push_str("...");
            separate(out, rest.len(), depth);
        }
        write_axis(out, rest, in_part, depth + 1, cells, width);
    }
    out.push(']');
}

/// A space within a row; a line break between rows, with an empty line per further axis.
fn separate(out: &mut String, n_inner: usize, depth: usize) {
    match n_inner {
        0 => out.push(' '),
        n => {
            out.push_str(&"\n".repeat(n));
            out.push_str(&" ".repeat(depth + 1));
        }
    }
}
