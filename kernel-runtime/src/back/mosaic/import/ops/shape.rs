//! Ops that rearrange elements.

use super::super::body::{Importer, MAX_PIECES, Outcome, Val};
use super::super::read::ast::{Attr, Op, find};
use crate::ir::ops::{
    Binary, Elementwise, ReduceKind, ReduceOp, RollStride, ScanKind, ShapeOp, SparseOp,
};
use crate::ir::{self, Shape};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "vector.broadcast" => importer.broadcast(op),
        "vector.shape_cast" | "tpu.reshape" => importer.import_reshape(op),
        "tpu.transpose" => importer.transpose(op, "permutation"),
        "vector.transpose" => importer.transpose(op, "permutation"),
        "tpu.concatenate" => importer.concatenate(op),
        "tpu.repeat" => importer.repeat(op),
        "vector.extract_strided_slice" => importer.extract_slice(op),
        "vector.extract" => importer.extract(op),
        "tpu.iota" | "vector.step" => importer.import_iota(op),
        "tpu.dynamic_rotate" => importer.rotate(op),
        "tpu.dynamic_gather" => importer.take(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    pub(in super::super) fn reshape(
        &mut self,
        op: &Op,
        value: ir::Value,
        shape: &[usize],
    ) -> Outcome<ir::Value> {
        if self.builder.kernel().ty(value).shape() == shape {
            return Ok(value);
        }
        self.push(op, ir::Op::Shape(ShapeOp::Reshape(Shape::from_slice(shape))), &[value])
    }

    /// A scalar everywhere, or a tile repeated along axes of size 1 and new outer ones.
    fn broadcast(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let to = self.result_ty(op)?;
        let operand = self.operand(op, 0)?;
        let shape = Shape::from_slice(to.shape());
        if let Some(literal) = self.literal(operand) {
            if literal.dtype() != to.dtype() {
                return Err(self.wrong("a broadcast changes the element type").into());
            }
            self.bind(op.results[0], Val::Literal { literal, shape: Some(shape) });
            return Ok(());
        }
        let value = self.value(operand)?;
        let from = self.builder.kernel().ty(value).clone();
        if from.is_scalar() {
            let value = self.push(op, ir::Op::Shape(ShapeOp::Splat(shape)), &[value])?;
            return self.result(op, value);
        }
        let mut same_rank = Shape::from_elem(1, shape.len().saturating_sub(from.shape().len()));
        same_rank.extend_from_slice(from.shape());
        let value = self.reshape(op, value, &same_rank)?;
        let value = if same_rank == shape {
            value
        } else {
            self.push(op, ir::Op::Shape(ShapeOp::Broadcast(shape)), &[value])?
        };
        self.result(op, value)
    }

    fn import_reshape(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let operand = self.operand(op, 0)?;
        let to = self.result_ty(op)?;
        if let Val::Literal { literal, shape: Some(_) } = *self.val(operand)? {
            let from = self.operand_ty(op, 0)?;
            if from.n_elems() != to.n_elems() || literal.dtype() != to.dtype() {
                return Err(self.wrong(format!("a reshape of {from} to {to}")).into());
            }
            let shape = Some(Shape::from_slice(to.shape()));
            self.bind(op.results[0], Val::Literal { literal, shape });
            return Ok(());
        }
        let value = self.value(operand)?;
        let value = self.reshape(op, value, to.shape())?;
        self.result(op, value)
    }

    fn transpose(&mut self, op: &'m Op, attr: &str) -> Outcome<()> {
        self.only(op, &[attr])?;
        let perm = self.sizes(op, attr)?;
        let operand = self.operand(op, 0)?;
        let value = self.value(operand)?;
        let value = self.push(op, ir::Op::Shape(ShapeOp::Transpose(perm)), &[value])?;
        self.result(op, value)
    }

    fn axis(&self, op: &Op, attr: &str) -> Outcome<usize> {
        let axis = self.int_attr(op, attr)?;
        usize::try_from(axis).map_err(|_| self.wrong(format!("axis {axis} does not exist")).into())
    }

    fn concatenate(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dimension"])?;
        let axis = self.axis(op, "dimension")?;
        let values = self.operand_values(op)?;
        let value = self.push(op, ir::Op::Shape(ShapeOp::Concat { axis }), &values)?;
        self.result(op, value)
    }

    fn repeat(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dimension", "times"])?;
        let axis = self.axis(op, "dimension")?;
        let times = self.int_attr(op, "times")?;
        // The result's size bounds it, so that a wrong number takes no memory.
        let size = self.result_ty(op)?.shape().get(axis).copied().unwrap_or(0);
        let times = usize::try_from(times).unwrap_or(0);
        if times == 0 || times > size || times > MAX_PIECES {
            return Err(self.unsupported(op, format!("a tile repeated {times} times")));
        }
        let operand = self.operand(op, 0)?;
        let value = self.value(operand)?;
        let value = self.push(op, ir::Op::Shape(ShapeOp::Concat { axis }), &vec![value; times])?;
        self.result(op, value)
    }

    fn slice(
        &mut self,
        op: &Op,
        value: ir::Value,
        (starts, sizes, strides): (Shape, Shape, Shape),
    ) -> Outcome<ir::Value> {
        self.push(op, ir::Op::Shape(ShapeOp::Slice { starts, sizes, strides }), &[value])
    }

    /// A part of a tile; attributes may leave out the inner axes, which are then whole.
    fn extract_slice(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["offsets", "sizes", "strides"])?;
        let operand = self.operand(op, 0)?;
        let value = self.value(operand)?;
        let from = Shape::from_slice(self.builder.kernel().ty(value).shape());
        let (mut starts, mut sizes, mut strides) =
            (self.sizes(op, "offsets")?, self.sizes(op, "sizes")?, self.sizes(op, "strides")?);
        for axis in sizes.len()..from.len() {
            starts.push(0);
            sizes.push(from[axis]);
            strides.push(1);
        }
        let value = self.slice(op, value, (starts, sizes, strides))?;
        self.result(op, value)
    }

    /// The part at an index of the outer axes.
    fn extract(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["static_position"])?;
        let position = self.ints(op, "static_position")?;
        let operand = self.operand(op, 0)?;
        if op.operands.len() != 1 {
            return Err(self.unsupported(op, "an index that is known at run time alone"));
        }
        let to = self.result_ty(op)?;
        let value = self.value(operand)?;
        if to.is_scalar()
            && let Some(summed) = self.summed(value, &position)
        {
            let sum = ReduceOp { kind: ReduceKind::Sum, axis: 0 };
            let value = self.push(op, ir::Op::Reduce(sum), &[summed])?;
            let value = self.push(op, ir::Op::Shape(ShapeOp::Extract), &[value])?;
            return self.result(op, value);
        }
        let mut sizes = Shape::from_slice(self.builder.kernel().ty(value).shape());
        if position.len() > sizes.len() {
            return Err(self.wrong("an index has more entries than the tile has axes").into());
        }
        let mut starts = Shape::from_elem(0, sizes.len());
        let strides = Shape::from_elem(1, sizes.len());
        for (axis, &start) in position.iter().enumerate() {
            let Ok(start) = usize::try_from(start) else {
                return Err(self.unsupported(op, "an index that is known at run time alone"));
            };
            starts[axis] = start;
            sizes[axis] = 1;
        }
        let value = self.slice(op, value, (starts, sizes, strides))?;
        let value = if to.is_scalar() {
            self.push(op, ir::Op::Shape(ShapeOp::Extract), &[value])?
        } else {
            self.reshape(op, value, to.shape())?
        };
        self.result(op, value)
    }

    /// Of what tile an element is the sum, if it is the last one of a scan: SparseCores sum so.
    fn summed(&self, value: ir::Value, position: &[i64]) -> Option<ir::Value> {
        let kernel = self.builder.kernel();
        let scan = kernel.defining_op(value)?;
        let sum = SparseOp::Scan { kind: ScanKind::Sum, masked: false };
        let last = i64::try_from(kernel.ty(value).shape().first()?.checked_sub(1)?).ok()?;
        (scan.op == ir::Op::Sparse(sum) && position == [last]).then(|| scan.operands[0])
    }

    /// The index along an axis, or along several counted as one in row-major order.
    fn import_iota(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dimension", "dimensions"])?;
        let axes = match find(&op.attrs, "dimension") {
            Some(Attr::Int(axis, _)) => vec![*axis],
            // `vector.step` has one axis.
            _ if op.attrs.is_empty() => vec![0],
            _ => self.ints(op, "dimensions")?,
        };
        let to = self.result_ty(op)?;
        let (dtype, shape) = (to.dtype(), Shape::from_slice(to.shape()));
        let mut stride = 1usize;
        let mut sum = None;
        for &axis in axes.iter().rev() {
            let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis < shape.len()) else {
                return Err(self.wrong(format!("axis {axis} does not exist")).into());
            };
            let iota = ShapeOp::Iota { dtype, shape: shape.clone(), axis };
            let mut value = self.push(op, ir::Op::Shape(iota), &[])?;
            if stride != 1 {
                let factor = self.like(&to, stride as f64)?;
                let mul = ir::Op::Elementwise(Elementwise::Binary(Binary::Mul));
                value = self.push(op, mul, &[value, factor])?;
            }
            stride = stride.saturating_mul(shape[axis]);
            let add = ir::Op::Elementwise(Elementwise::Binary(Binary::Add));
            sum = Some(match sum {
                None => value,
                Some(sum) => self.push(op, add, &[sum, value])?,
            });
        }
        match sum {
            Some(value) => self.result(op, value),
            None => Err(self.wrong("an iota counts along no axis").into()),
        }
    }

    fn rotate(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dimension", "stride", "stride_dimension"])?;
        let axis = self.axis(op, "dimension")?;
        let stride = match (find(&op.attrs, "stride"), find(&op.attrs, "stride_dimension")) {
            (None, None) => None,
            (Some(_), Some(_)) => {
                let by = self.int_attr(op, "stride")?;
                let Ok(by) = usize::try_from(by) else {
                    return Err(self.unsupported(op, format!("a stride of {by}")));
                };
                Some(RollStride { by, axis: self.axis(op, "stride_dimension")? })
            }
            _ => {
                let message = "a rotation has one of `stride` and `stride_dimension` alone";
                return Err(self.wrong(message).into());
            }
        };
        let [value, shift] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let [value, shift] = [self.value(value)?, self.value(shift)?];
        let roll = ir::Op::Shape(ShapeOp::Roll { axis, stride });
        let value = self.push(op, roll, &[value, shift])?;
        self.result(op, value)
    }

    /// Elements taken along one axis, as indices of the same shape say.
    fn take(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["dimension", "dimensions"])?;
        // Before version 5 there was one axis, as a number.
        let axes = match find(&op.attrs, "dimension") {
            Some(_) => Shape::from_slice(&[self.axis(op, "dimension")?]),
            None => self.sizes(op, "dimensions")?,
        };
        let [axis] = axes[..] else {
            return Err(self.unsupported(op, "indices along several axes"));
        };
        let [source, indices] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let [source, indices] = [self.value(source)?, self.value(indices)?];
        let take = ir::Op::Shape(ShapeOp::TakeAlongAxis { axis });
        let value = self.push(op, take, &[source, indices])?;
        self.result(op, value)
    }
}
