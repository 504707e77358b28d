//! Ops that move elements about.

use super::{List, Tensor, Writer, names, sizes, types};
use crate::ir::{DType, Shape};

impl Writer {
    /// Operand axis `i` becomes result axis `dims[i]`, repeated where it was 1 or missing.
    pub(crate) fn broadcast(&mut self, x: &Tensor, dims: &[usize], shape: &[usize]) -> Tensor {
        let result = self.fresh(x.dtype, shape);
        self.line(format_args!(
            "{result} = stablehlo.broadcast_in_dim {x}, dims = [{}] : ({}) -> {}",
            sizes(dims),
            x.ty(),
            result.ty()
        ));
        result
    }

    /// The same elements under another shape.
    pub(crate) fn reshape(&mut self, x: &Tensor, shape: &[usize]) -> Tensor {
        if x.shape.as_slice() == shape {
            return x.clone();
        }
        self.mapped("reshape", x, x.dtype, shape)
    }

    /// Result axis `i` is operand axis `perm[i]`.
    pub(crate) fn transpose(&mut self, x: &Tensor, perm: &[usize]) -> Tensor {
        let shape: Shape = perm.iter().map(|&axis| x.shape[axis]).collect();
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.transpose {x}, dims = [{}] : ({}) -> {}",
            sizes(perm),
            x.ty(),
            result.ty()
        ));
        result
    }

    /// The operands one after the other along an axis; there is at least one.
    pub(crate) fn concatenate(&mut self, parts: &[Tensor], axis: usize) -> Tensor {
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let result = self.fresh(parts[0].dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.concatenate {}, dim = {axis} : ({}) -> {}",
            names(parts),
            types(parts),
            result.ty()
        ));
        result
    }

    /// `n` elements from `starts`, each `strides` apart.
    pub(crate) fn slice(
        &mut self,
        x: &Tensor,
        starts: &[usize],
        n: &[usize],
        strides: &[usize],
    ) -> Tensor {
        let whole = (0..n.len()).all(|i| starts[i] == 0 && strides[i] == 1 && n[i] == x.shape[i]);
        if whole {
            return x.clone();
        }
        let ranges = List((0..n.len()).map(|axis| {
            let last = n[axis].checked_sub(1).map(|steps| steps * strides[axis]);
            let limit = starts[axis] + last.map_or(0, |last| last + 1);
            match strides[axis] {
                1 => format!("{}:{limit}", starts[axis]),
                stride => format!("{}:{limit}:{stride}", starts[axis]),
            }
        }));
        let result = self.fresh(x.dtype, n);
        self.line(format_args!(
            "{result} = stablehlo.slice {x} [{ranges}] : ({}) -> {}",
            x.ty(),
            result.ty()
        ));
        result
    }

    /// `n` elements from `starts`, one `i32` scalar per axis; clamped so that they fit.
    pub(crate) fn dynamic_slice(&mut self, x: &Tensor, starts: &[Tensor], n: &[usize]) -> Tensor {
        let result = self.fresh(x.dtype, n);
        self.line(format_args!(
            "{result} = stablehlo.dynamic_slice {x}, {}, sizes = [{}] : ({}, {}) -> {}",
            names(starts),
            sizes(n),
            x.ty(),
            types(starts),
            result.ty()
        ));
        result
    }

    /// `x` with `update` at `starts`; clamped so that it fits.
    pub(crate) fn dynamic_update_slice(
        &mut self,
        x: &Tensor,
        update: &Tensor,
        starts: &[Tensor],
    ) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        self.line(format_args!(
            "{result} = stablehlo.dynamic_update_slice {x}, {update}, {} : ({}, {}, {}) -> {}",
            names(starts),
            x.ty(),
            update.ty(),
            types(starts),
            result.ty()
        ));
        result
    }

    /// `x` with `fill` (a scalar) before, after and between its elements, per axis. Negative edges
    /// cut elements off.
    pub(crate) fn pad(
        &mut self,
        x: &Tensor,
        fill: &Tensor,
        low: &[i64],
        high: &[i64],
        interior: &[i64],
    ) -> Tensor {
        if [low, high, interior].into_iter().flatten().all(|&n| n == 0) {
            return x.clone();
        }
        let shape: Shape = (0..x.shape.len())
            .map(|axis| padded_size(x.shape[axis], low[axis], high[axis], interior[axis]).max(0))
            .map(|size| size as usize)
            .collect();
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.pad {x}, {fill}, low = [{}], high = [{}], interior = [{}] : ({}, {}) -> {}",
            List(low.iter()),
            List(high.iter()),
            List(interior.iter()),
            x.ty(),
            fill.ty(),
            result.ty()
        ));
        result
    }

    /// The elements in reverse order along axes.
    pub(crate) fn reverse(&mut self, x: &Tensor, axes: &[usize]) -> Tensor {
        let text = format_args!("reverse {x}, dims = [{}] : {}", sizes(axes), x.ty());
        self.op(x.dtype, &x.shape, text)
    }

    /// The index along an axis.
    pub(crate) fn iota(&mut self, dtype: DType, shape: &[usize], axis: usize) -> Tensor {
        let result = self.fresh(dtype, shape);
        self.line(format_args!("{result} = stablehlo.iota dim = {axis} : {}", result.ty()));
        result
    }
}

/// The size of an axis with elements before, after and between those it has; below zero if more are
/// cut off than there are.
pub(crate) fn padded_size(size: usize, low: i64, high: i64, interior: i64) -> i64 {
    let size = size as i64;
    low + high + size + interior * (size - 1).max(0)
}
