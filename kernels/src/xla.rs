//! Pieces of plain StableHLO text: what `bench --against xla` compiles is written with them.
//!
//! Only the math stands in these modules, as a framework would emit it; fusing it is XLA's part.

use std::fmt::Write;
use systole::back::stablehlo::TensorType;
use systole::ir::DType;

/// A StableHLO function `main` under construction.
#[derive(Debug, Default)]
pub(crate) struct Main {
    args: Vec<String>,
    body: String,
    n_values: usize,
}

/// A value of the function: its name and its type.
#[derive(Clone, Debug)]
pub(crate) struct Val {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
}

impl Val {
    fn ty(&self) -> String {
        TensorType { dtype: self.dtype, shape: &self.shape }.to_string()
    }
}

fn list(values: &[usize]) -> String {
    values.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

impl Main {
    /// An argument.
    pub(crate) fn arg(&mut self, dtype: DType, shape: &[usize]) -> Val {
        let name = format!("%arg{}", self.args.len());
        let val = Val { name, dtype, shape: shape.to_vec() };
        self.args.push(format!("{}: {}", val.name, val.ty()));
        val
    }

    fn push(&mut self, dtype: DType, shape: &[usize], text: impl FnOnce(&str) -> String) -> Val {
        let val = Val { name: format!("%{}", self.n_values), dtype, shape: shape.to_vec() };
        self.n_values += 1;
        let ty = val.ty();
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "    {} = {}", val.name, text(&ty));
        val
    }

    /// A constant everywhere.
    pub(crate) fn full(&mut self, dtype: DType, shape: &[usize], value: f64) -> Val {
        let literal = if value == f64::NEG_INFINITY {
            if dtype == DType::F32 { "0xFF800000".to_owned() } else { "0xFF80".to_owned() }
        } else if dtype.is_float() {
            format!("{value:.17e}")
        } else {
            format!("{value}")
        };
        self.push(dtype, shape, |ty| format!("stablehlo.constant dense<{literal}> : {ty}"))
    }

    /// An element-wise op of one operand.
    pub(crate) fn unary(&mut self, op: &str, x: &Val) -> Val {
        self.push(x.dtype, &x.shape, |ty| format!("stablehlo.{op} {} : {ty}", x.name))
    }

    /// An element-wise op of two operands.
    pub(crate) fn binary(&mut self, op: &str, x: &Val, y: &Val) -> Val {
        self.push(x.dtype, &x.shape, |ty| format!("stablehlo.{op} {}, {} : {ty}", x.name, y.name))
    }

    /// An element-wise op with a constant on the right.
    pub(crate) fn with_const(&mut self, op: &str, x: &Val, value: f64) -> Val {
        let constant = self.full(x.dtype, &x.shape, value);
        self.binary(op, x, &constant)
    }

    /// `x >= y` (or another direction) on integers.
    pub(crate) fn compare(&mut self, direction: &str, x: &Val, y: &Val) -> Val {
        self.push(DType::Bool, &x.shape, |ty| {
            let from = x.ty();
            format!(
                "stablehlo.compare {direction}, {}, {}, SIGNED : ({from}, {from}) -> {ty}",
                x.name, y.name
            )
        })
    }

    /// Chooses by a mask.
    pub(crate) fn select(&mut self, mask: &Val, x: &Val, y: &Val) -> Val {
        self.push(x.dtype, &x.shape, |ty| {
            format!("stablehlo.select {}, {}, {} : {}, {ty}", mask.name, x.name, y.name, mask.ty())
        })
    }

    /// Converts the element type.
    pub(crate) fn convert(&mut self, x: &Val, dtype: DType) -> Val {
        if x.dtype == dtype {
            return x.clone();
        }
        self.push(dtype, &x.shape, |ty| {
            format!("stablehlo.convert {} : ({}) -> {ty}", x.name, x.ty())
        })
    }

    /// Repeats axes: operand axis `i` becomes axis `dims[i]` of the result.
    pub(crate) fn broadcast(&mut self, x: &Val, dims: &[usize], shape: &[usize]) -> Val {
        self.push(x.dtype, shape, |ty| {
            format!(
                "stablehlo.broadcast_in_dim {}, dims = [{}] : ({}) -> {ty}",
                x.name,
                list(dims),
                x.ty()
            )
        })
    }

    /// The same elements under another shape.
    pub(crate) fn reshape(&mut self, x: &Val, shape: &[usize]) -> Val {
        self.push(x.dtype, shape, |ty| {
            format!("stablehlo.reshape {} : ({}) -> {ty}", x.name, x.ty())
        })
    }

    /// The axes of `x` in another order.
    pub(crate) fn transpose(&mut self, x: &Val, order: &[usize]) -> Val {
        let shape: Vec<usize> = order.iter().map(|&axis| x.shape[axis]).collect();
        self.push(x.dtype, &shape, |ty| {
            format!(
                "stablehlo.transpose {}, dims = [{}] : ({}) -> {ty}",
                x.name,
                list(order),
                x.ty()
            )
        })
    }

    /// Rows of a matrix by their numbers.
    pub(crate) fn rows(&mut self, x: &Val, ids: &Val) -> Val {
        let (n, width) = (ids.shape[0], x.shape[1]);
        self.push(x.dtype, &[n, width], |ty| {
            format!(
                "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<\
                 offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], \
                 index_vector_dim = 1>, slice_sizes = array<i64: 1, {width}>, \
                 indices_are_sorted = false}}> : ({}, {}) -> {ty}",
                x.name,
                ids.name,
                x.ty(),
                ids.ty()
            )
        })
    }

    /// The index along an axis.
    pub(crate) fn iota(&mut self, shape: &[usize], axis: usize) -> Val {
        self.push(DType::I32, shape, |ty| format!("stablehlo.iota dim = {axis} : {ty}"))
    }

    /// The softmax along the last axis, as a framework emits it.
    pub(crate) fn softmax_last(&mut self, x: &Val) -> Val {
        let outer: Vec<usize> = (0..x.shape.len() - 1).collect();
        let max = self.reduce_last("maximum", x);
        let max = self.broadcast(&max, &outer, &x.shape);
        let centered = self.binary("subtract", x, &max);
        let exp = self.unary("exponential", &centered);
        let sum = self.reduce_last("add", &exp);
        let sum = self.broadcast(&sum, &outer, &x.shape);
        self.binary("divide", &exp, &sum)
    }

    /// Reduces the last axis, which goes away.
    pub(crate) fn reduce_last(&mut self, op: &str, x: &Val) -> Val {
        let start = if op == "add" { 0.0 } else { f64::NEG_INFINITY };
        let start = self.full(x.dtype, &[], start);
        let (axis, rest) = (x.shape.len() - 1, &x.shape[..x.shape.len() - 1]);
        self.push(x.dtype, rest, |ty| {
            format!(
                "stablehlo.reduce({} init: {}) applies stablehlo.{op} across dimensions = [{axis}] \
                 : ({}, {}) -> {ty}",
                x.name,
                start.name,
                x.ty(),
                start.ty()
            )
        })
    }

    /// `dot_general` over one contracted axis each, with leading batch axes.
    pub(crate) fn dot(
        &mut self,
        (lhs, lhs_axis): (&Val, usize),
        (rhs, rhs_axis): (&Val, usize),
        n_batch: usize,
        out: DType,
        precision: &str,
    ) -> Val {
        let batch: Vec<usize> = (0..n_batch).collect();
        let mut shape = lhs.shape[..n_batch].to_vec();
        for (val, axis) in [(lhs, lhs_axis), (rhs, rhs_axis)] {
            let free = (n_batch..val.shape.len()).filter(|&i| i != axis);
            shape.extend(free.map(|i| val.shape[i]));
        }
        let batching = match n_batch {
            0 => String::new(),
            _ => format!("batching_dims = [{0}] x [{0}], ", list(&batch)),
        };
        self.push(out, &shape, |ty| {
            format!(
                "stablehlo.dot_general {}, {}, {batching}contracting_dims = [{lhs_axis}] x \
                 [{rhs_axis}], precision = [{precision}, {precision}] : ({}, {}) -> {ty}",
                lhs.name,
                rhs.name,
                lhs.ty(),
                rhs.ty()
            )
        })
    }

    /// The finished module.
    pub(crate) fn finish(self, results: &[Val]) -> String {
        let types: Vec<String> = results.iter().map(Val::ty).collect();
        let names: Vec<&str> = results.iter().map(|val| val.name.as_str()).collect();
        format!(
            "module @reference {{\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  \
             }}\n}}\n",
            self.args.join(", "),
            types.join(", "),
            self.body,
            names.join(", "),
            types.join(", ")
        )
    }
}
