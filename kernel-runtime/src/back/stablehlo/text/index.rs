//! Gathers, scatters and sorts: ops whose elements other elements choose.

use super::control::{result_names, results};
use super::{List, Tensor, Writer, names, sizes, types};
use crate::ir::{DType, Shape};
use std::fmt;

/// How the axes of a gather or a scatter hang together. Indices have their coordinates along the
/// last axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatherDims {
    /// Axes of the result (of a scatter's updates) along which slices lie.
    pub(crate) offset: Shape,
    /// Axes of the operand that a coordinate chooses one element of.
    pub(crate) collapsed: Shape,
    /// Axes of the operand that go along with axes of the indices.
    pub(crate) batching: Shape,
    /// Those axes of the indices.
    pub(crate) indices_batching: Shape,
    /// By coordinate: the axis of the operand that it is along.
    pub(crate) start_map: Shape,
}

/// How a scatter combines what is there with what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scatter {
    /// What comes takes the place; which of several is not said.
    Set,
    /// Their sum.
    Add,
}

/// A sort whose comparing region is being written.
#[derive(Debug)]
pub(crate) struct OpenSort {
    id: u32,
    operands: Vec<Tensor>,
    /// Per operand the two elements to compare.
    pub(crate) args: Vec<Tensor>,
}

impl Writer {
    /// Slices of `slice_sizes` from where `indices` say; clamped so that they fit.
    pub(crate) fn gather(
        &mut self,
        x: &Tensor,
        indices: &Tensor,
        dims: &GatherDims,
        slice_sizes: &[usize],
        shape: &[usize],
    ) -> Tensor {
        let result = self.fresh(x.dtype, shape);
        let numbers = DimList(vec![
            ("offset_dims", &dims.offset),
            ("collapsed_slice_dims", &dims.collapsed),
            ("operand_batching_dims", &dims.batching),
            ("start_indices_batching_dims", &dims.indices_batching),
            ("start_index_map", &dims.start_map),
        ]);
        self.line(format_args!(
            "{result} = \"stablehlo.gather\"({x}, {indices}) <{{dimension_numbers = #stablehlo.gather<{numbers}, index_vector_dim = {}>, slice_sizes = array<i64: {}>}}> : ({}, {}) -> {}",
            indices.shape.len() - 1,
            sizes(slice_sizes),
            x.ty(),
            indices.ty(),
            result.ty()
        ));
        result
    }

    /// `x` with slices of `updates` where `indices` say; those that would not fit are left out.
    pub(crate) fn scatter(
        &mut self,
        x: &Tensor,
        indices: &Tensor,
        updates: &Tensor,
        dims: &GatherDims,
        how: Scatter,
    ) -> Tensor {
        let result = self.fresh(x.dtype, &x.shape);
        let numbers = DimList(vec![
            ("update_window_dims", &dims.offset),
            ("inserted_window_dims", &dims.collapsed),
            ("input_batching_dims", &dims.batching),
            ("scatter_indices_batching_dims", &dims.indices_batching),
            ("scatter_dims_to_operand_dims", &dims.start_map),
        ]);
        self.bare_line(format_args!(
            "{result} = \"stablehlo.scatter\"({x}, {indices}, {updates}) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}, index_vector_dim = {}>}}> ({{",
            indices.shape.len() - 1,
        ));
        let args = self.begin_block(&[x.dtype, x.dtype]);
        let given = match how {
            Scatter::Set => args[1].clone(),
            Scatter::Add => self.binary("add", &args[0], &args[1]),
        };
        self.give(std::slice::from_ref(&given));
        self.indent -= 1;
        self.line(format_args!(
            "}}) : ({}, {}, {}) -> {}",
            x.ty(),
            indices.ty(),
            updates.ty(),
            result.ty()
        ));
        result
    }

    /// Opens a stable sort of operands of one shape along an axis, ordered by whether the ops
    /// written before [`Writer::end_sort`] say that an element comes before another.
    pub(crate) fn begin_sort(&mut self, operands: &[Tensor], axis: usize) -> OpenSort {
        let id = self.next;
        self.next += 1;
        let result = result_names(id, operands.len());
        self.bare_line(format_args!(
            "{result}\"stablehlo.sort\"({}) <{{dimension = {axis} : i64, is_stable = true}}> ({{",
            names(operands)
        ));
        let dtypes: Vec<DType> = operands.iter().flat_map(|x| [x.dtype, x.dtype]).collect();
        let args = self.begin_block(&dtypes);
        OpenSort { id, operands: operands.to_vec(), args }
    }

    /// Ends a sort; gives the sorted operands.
    pub(crate) fn end_sort(&mut self, open: OpenSort, before: &Tensor) -> Vec<Tensor> {
        self.give(std::slice::from_ref(before));
        self.indent -= 1;
        let types = types(&open.operands);
        self.line(format_args!("}}) : ({types}) -> ({types})"));
        results(open.id, &open.operands)
    }

    /// Opens a region of a block with scalar arguments.
    fn begin_block(&mut self, dtypes: &[DType]) -> Vec<Tensor> {
        let args: Vec<Tensor> = dtypes.iter().map(|&dtype| self.fresh(dtype, &[])).collect();
        let typed = List(args.iter().map(|arg| format!("{arg}: {}", arg.ty())));
        self.bare_line(format_args!("^bb0({typed}):"));
        self.indent += 1;
        args
    }
}

/// Prints named lists of axes, without those that are empty.
struct DimList<'a>(Vec<(&'static str, &'a Shape)>);

impl fmt::Display for DimList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.0.iter().filter(|(_, dims)| !dims.is_empty());
        List(named.map(|(name, dims)| format!("{name} = [{}]", sizes(dims)))).fmt(f)
    }
}
