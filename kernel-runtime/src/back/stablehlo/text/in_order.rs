//! Arithmetic that does not depend on shapes: sums of floats as loops over their elements.
//!
//! A compiler adds the elements of a float sum in an order that depends on the shapes. Here it
//! cannot: each step of a loop adds one element to each sum, so that zeros at the end of an axis
//! change no bit of them (but for the sign of a sum of minus zeros).

use super::{Direction, DotDims, Tensor, Writer};
use crate::back::stablehlo::Arithmetic;
use crate::ir::DType;
use crate::ir::ops::Literal;

impl Writer {
    /// Says how far rounding may depend on shapes from here on.
    pub(crate) fn set_arithmetic(&mut self, arithmetic: Arithmetic) {
        self.arithmetic = arithmetic;
    }

    /// How far rounding may depend on shapes.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    /// The sum along an axis, which the result does not have.
    pub(super) fn sum_in_order(&mut self, x: &Tensor, init: &Tensor, axis: usize) -> Tensor {
        let mut part = x.shape.clone();
        part[axis] = 1;
        let mut shape = part.clone();
        shape.remove(axis);
        let start = self.broadcast(init, &[], &shape);
        self.add_up(x.shape[axis], start, |out, idx| {
            let element = out.element_of(x, idx, axis, &part);
            out.reshape(&element, &shape)
        })
    }

    /// As [`Writer::dot_general`], for floats.
    pub(super) fn dot_in_order(
        &mut self,
        lhs: &Tensor,
        rhs: &Tensor,
        dims: &DotDims,
        result: DType,
    ) -> Tensor {
        let n_of = |x: &Tensor, axes: &[usize]| -> usize {
            axes.iter().map(|&axis| x.shape[axis]).product()
        };
        let (left, right) = (dims.lhs_free(lhs.shape.len()), dims.rhs_free(rhs.shape.len()));
        let n_batch: usize = n_of(lhs, &dims.lhs_batch);
        let (m, n, k) = (n_of(lhs, &left), n_of(rhs, &right), n_of(lhs, &dims.lhs_contract));
        let mut flat = |x: &Tensor, lists: [&[usize]; 3], n_free: usize| {
            let wide = self.convert(x, result);
            let turned = self.transpose(&wide, &lists.concat());
            self.reshape(&turned, &[k, n_batch, n_free])
        };
        let lhs_flat = flat(lhs, [&dims.lhs_contract, &dims.lhs_batch, &left], m);
        let rhs_flat = flat(rhs, [&dims.rhs_contract, &dims.rhs_batch, &right], n);
        let shape = [n_batch, m, n];
        let start = self.constant(Literal::from_f64(result, 0.0), &shape);
        let sum = self.add_up(k, start, |out, idx| {
            let a = out.element_of(&lhs_flat, idx, 0, &[1, n_batch, m]);
            let b = out.element_of(&rhs_flat, idx, 0, &[1, n_batch, n]);
            let (a, b) = (out.reshape(&a, &[n_batch, m]), out.reshape(&b, &[n_batch, n]));
            let (a, b) = (out.broadcast(&a, &[0, 1], &shape), out.broadcast(&b, &[0, 2], &shape));
            out.binary("multiply", &a, &b)
        });
        self.reshape(&sum, &dims.result_shape(&lhs.shape, &rhs.shape))
    }

    /// `start` and `n` terms, one after the other.
    fn add_up(
        &mut self,
        n: usize,
        start: Tensor,
        term: impl FnOnce(&mut Writer, &Tensor) -> Tensor,
    ) -> Tensor {
        let (zero, one, n) = (self.index(0), self.index(1), self.index(n as i64));
        let open = self.begin_while(&[zero, start]);
        let (idx, sum) = (open.args[0].clone(), open.args[1].clone());
        let goes_on = self.compare(Direction::Lt, &idx, &n);
        self.while_body(&goes_on);
        let term = term(self, &idx);
        let sum = self.binary("add", &sum, &term);
        let idx = self.binary("add", &idx, &one);
        let mut results = self.end_while(&open, &[idx, sum]);
        results.remove(1)
    }

    /// The part at one index of an axis, of this shape.
    fn element_of(&mut self, x: &Tensor, idx: &Tensor, axis: usize, part: &[usize]) -> Tensor {
        let zero = self.index(0);
        let place = |at: usize| if at == axis { idx.clone() } else { zero.clone() };
        let starts: Vec<Tensor> = (0..x.shape.len()).map(place).collect();
        self.dynamic_slice(x, &starts, part)
    }
}
