//! The meaning of `scale_add`, in plain loops.

use systole::ir::Array;

/// `factor * x + y`, in `f32`, rounded once to the element type.
pub fn scale_add(factor: f32, x: &Array, y: &Array) -> Array {
    let mut out = Vec::with_capacity(x.n_elems());
    for (x, y) in x.to_f32().into_iter().zip(y.to_f32()) {
        out.push(f64::from(factor * x + y));
    }
    crate::array(x.dtype(), x.shape(), &out)
}
