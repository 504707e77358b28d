//! Reductions and products.

use super::{Tensor, Writer, sizes};
use crate::back::stablehlo::Arithmetic;
use crate::ir::{DType, Shape};

/// Which axes of two operands a product pairs up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DotDims {
    /// Axes of the left operand that the result keeps once, with their partners.
    pub(crate) lhs_batch: Shape,
    /// Their partners in the right operand.
    pub(crate) rhs_batch: Shape,
    /// Axes of the left operand that are summed over.
    pub(crate) lhs_contract: Shape,
    /// Their partners in the right operand.
    pub(crate) rhs_contract: Shape,
}

impl DotDims {
    /// The axes of an operand of this rank that are neither batch nor contracted.
    fn free(rank: usize, batch: &[usize], contract: &[usize]) -> Shape {
        (0..rank).filter(|axis| !batch.contains(axis) && !contract.contains(axis)).collect()
    }

    /// The free axes of the left operand.
    pub(crate) fn lhs_free(&self, rank: usize) -> Shape {
        DotDims::free(rank, &self.lhs_batch, &self.lhs_contract)
    }

    /// The free axes of the right operand.
    pub(crate) fn rhs_free(&self, rank: usize) -> Shape {
        DotDims::free(rank, &self.rhs_batch, &self.rhs_contract)
    }

    /// The shape of the product.
    pub(crate) fn result_shape(&self, lhs: &[usize], rhs: &[usize]) -> Shape {
        let batch = self.lhs_batch.iter().map(|&axis| lhs[axis]);
        let left = self.lhs_free(lhs.len()).into_iter().map(|axis| lhs[axis]);
        let right = self.rhs_free(rhs.len()).into_iter().map(|axis| rhs[axis]);
        batch.chain(left).chain(right).collect()
    }
}

/// A reduction whose combining region is being written.
#[derive(Debug)]
pub(crate) struct OpenReduce {
    result: Tensor,
    /// The two elements to combine.
    pub(crate) args: [Tensor; 2],
}

impl Writer {
    /// Combines along an axis, which the result does not have, by the op of this name, whose
    /// neutral scalar is `init`.
    pub(crate) fn reduce(
        &mut self,
        x: &Tensor,
        init: &Tensor,
        combine: &str,
        axis: usize,
    ) -> Tensor {
        if self.arithmetic() == Arithmetic::InOrder && x.dtype.is_float() && combine == "add" {
            return self.sum_in_order(x, init, axis);
        }
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let result = self.fresh(x.dtype, &shape);
        self.line(format_args!(
            "{result} = stablehlo.reduce({x} init: {init}) applies stablehlo.{combine} across dimensions = [{axis}] : ({}, {}) -> {}",
            x.ty(),
            init.ty(),
            result.ty()
        ));
        result
    }

    /// As [`Writer::reduce`], combining by the ops written before [`Writer::end_reduce`].
    pub(crate) fn begin_reduce(&mut self, x: &Tensor, init: &Tensor, axis: usize) -> OpenReduce {
        let mut shape = x.shape.clone();
        shape.remove(axis);
        let result = self.fresh(x.dtype, &shape);
        let args = [self.fresh(x.dtype, &[]), self.fresh(x.dtype, &[])];
        self.bare_line(format_args!(
            "{result} = stablehlo.reduce({x} init: {init}) across dimensions = [{axis}] : ({}, {}) -> {}",
            x.ty(),
            init.ty(),
            result.ty()
        ));
        self.indent += 1;
        let [lhs, rhs] = &args;
        self.bare_line(format_args!("reducer({lhs}: {}, {rhs}: {}) {{", lhs.ty(), rhs.ty()));
        self.indent += 1;
        OpenReduce { result, args }
    }

    /// Ends a reduction with the two elements combined.
    pub(crate) fn end_reduce(&mut self, open: OpenReduce, combined: &Tensor) -> Tensor {
        self.give(std::slice::from_ref(combined));
        self.indent -= 1;
        self.line(format_args!("}}"));
        self.indent -= 1;
        open.result
    }

    /// Products summed over the contracted axes; the result has the batch axes, then the other
    /// axes of `lhs`, then those of `rhs`.
    pub(crate) fn dot_general(
        &mut self,
        lhs: &Tensor,
        rhs: &Tensor,
        dims: &DotDims,
        result: DType,
    ) -> Tensor {
        // A device with a bf16 matrix unit would round `f32` operands by default.
        let precision = if lhs.dtype == DType::F32 { Some("HIGHEST") } else { None };
        self.dot_with(lhs, rhs, dims, result, precision)
    }

    /// As [`Writer::dot_general`], leaving the passes to the device at this precision.
    pub(crate) fn dot_with(
        &mut self,
        lhs: &Tensor,
        rhs: &Tensor,
        dims: &DotDims,
        result: DType,
        precision: Option<&str>,
    ) -> Tensor {
        if self.arithmetic() == Arithmetic::InOrder && result.is_float() {
            return self.dot_in_order(lhs, rhs, dims, result);
        }
        let precision = precision.map_or_else(String::new, |p| format!(", precision = [{p}, {p}]"));
        let batching = match dims.lhs_batch.is_empty() {
            true => String::new(),
            false => format!(
                "batching_dims = [{}] x [{}], ",
                sizes(&dims.lhs_batch),
                sizes(&dims.rhs_batch)
            ),
        };
        let result = self.fresh(result, &dims.result_shape(&lhs.shape, &rhs.shape));
        self.line(format_args!(
            "{result} = stablehlo.dot_general {lhs}, {rhs}, {batching}contracting_dims = [{}] x [{}]{precision} : ({}, {}) -> {}",
            sizes(&dims.lhs_contract),
            sizes(&dims.rhs_contract),
            lhs.ty(),
            rhs.ty(),
            result.ty()
        ));
        result
    }
}
