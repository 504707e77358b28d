//! Ops that know how much of a tensor is real; see [`crate::run::bounded`].

use super::elementwise::broadcast;
use super::shape::axis_of;
use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::text::Direction;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::DType;
use crate::ir::ops::Literal;
use crate::run::bounded::{Bounded, Bounds, Layout};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{Kind, Tensor};
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// One value in all padding. The inputs are the tensor, and the real size (a scalar of `i32`) of
/// each dim of its layout, in order.
#[derive(Clone, Debug, Hash)]
pub(crate) struct FillPadding {
    pub(crate) layout: Layout,
    pub(crate) value: Literal,
}

impl Op for FillPadding {
    fn name(&self) -> &'static str {
        "fill_padding"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let (x, sizes) = (&inputs[0], &inputs[1..]);
        let dims = self.layout.dims();
        let mut mask: Option<Value> = None;
        for (place, axis) in self.layout.axes.iter().enumerate() {
            let mut inner = axis.size();
            for (idx, factor) in axis.factors().iter().enumerate() {
                inner /= factor.size;
                let size = factor.dim.and_then(|dim| dims.iter().position(|&d| d == dim));
                let Some(size) = size.and_then(|position| sizes.get(position)) else { continue };
                let mut index = cx.out.iota(DType::I32, &x.shape, place);
                for (name, by, needed) in
                    [("divide", inner, inner > 1), ("remainder", factor.size, idx > 0)]
                {
                    if needed {
                        let by = cx.out.constant(Literal::int(DType::I32, by as i64), &x.shape);
                        index = cx.out.binary(name, &index, &by);
                    }
                }
                let size = broadcast(cx, size, &x.shape);
                let is_real = cx.out.compare(Direction::Lt, &index, &size);
                mask = Some(match mask {
                    Some(mask) => cx.out.binary("and", &mask, &is_real),
                    None => is_real,
                });
            }
        }
        let Some(mask) = mask else { return Ok(vec![x.clone()]) };
        let value = cx.out.constant(self.value, &x.shape);
        Ok(vec![cx.out.select(&mask, x, &value)])
    }
}

/// The number of elements along an axis.
#[derive(Clone, Debug, Hash)]
struct AxisSize {
    axis: i64,
}

impl Op for AxisSize {
    fn name(&self) -> &'static str {
        "axis_size"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        axis_of(self.name(), self.axis, inputs[0].shape.len())?;
        Ok(smallvec![Ty::new(DType::I32, &[])])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let shape = &inputs[0].shape;
        let axis = axis_of(self.name(), self.axis, shape.len()).map_err(Diagnostic::from)?;
        Ok(vec![cx.out.index(shape[axis] as i64)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        let layout = bounds.input(0);
        let axis = &layout.axes[axis_of(self.name(), self.axis, layout.axes.len())?];
        let mut bounded = Bounded::new([Layout::fixed(&[])]);
        if !axis.is_fixed() {
            bounded.op = Some(Arc::new(RealSize { n_fixed: axis.n_fixed() }));
            bounded.sizes = axis.dims().collect();
        }
        Ok(bounded)
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None; vjp.inputs.len()])
    }
}

/// The number of real elements along an axis: the product of its fixed part, and of the sizes that
/// follow the first input.
#[derive(Clone, Debug, Hash)]
struct RealSize {
    n_fixed: usize,
}

impl Op for RealSize {
    fn name(&self) -> &'static str {
        "real_size"
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![Ty::new(DType::I32, &[])])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        Ok(vec![real_count(cx, self.n_fixed, &inputs[1..])])
    }
}

/// A fixed number times real sizes, as a scalar of `i32`.
pub(super) fn real_count(cx: &mut Emit, n_fixed: usize, sizes: &[Value]) -> Value {
    let mut count = cx.out.index(n_fixed as i64);
    for size in sizes {
        count = cx.out.binary("multiply", &count, size);
    }
    count
}

impl<T: Kind> Tensor<T> {
    /// The number of elements along an axis, as a scalar: in a function with bounded dims the real
    /// number, which [`Tensor::shape`] does not know.
    #[track_caller]
    pub fn axis_size(&self, axis: i64) -> Tensor<i32> {
        apply(AxisSize { axis }, &[self.node()], Location::caller())
    }
}
