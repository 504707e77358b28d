//! Reductions.

use super::super::array::unsigned;
use super::super::body::{Importer, Outcome};
use super::super::read::ast::Op;
use crate::ir::ops::{Binary, Elementwise, Literal, ReduceKind, ReduceOp};
use crate::ir::{self, DType, Shape};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "vector.multi_reduction" => importer.multi_reduction(op),
        "tpu.reduce_index" => importer.reduce_index(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn multi_reduction(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["kind", "reduction_dims", "fastmath"])?;
        let (kind, binary, is_unsigned) = match self.keyword(op, "kind")? {
            "add" => (ReduceKind::Sum, Binary::Add, false),
            "maximumf" | "maxsi" => (ReduceKind::Max, Binary::Max, false),
            "minimumf" | "minsi" => (ReduceKind::Min, Binary::Min, false),
            "maxui" => (ReduceKind::Max, Binary::Max, true),
            "minui" => (ReduceKind::Min, Binary::Min, true),
            other => return Err(self.unsupported(op, format!("the combination `{other}`"))),
        };
        let axes = self.sizes(op, "reduction_dims")?;
        let to = self.result_ty(op)?;
        if to.is_scalar() {
            return Err(self.unsupported(op, "a result that is a scalar"));
        }
        let [source, acc] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let mut value = self.value(source)?;
        let dtype = to.dtype();
        if is_unsigned {
            value = self.bitcast(op, value, unsigned(dtype))?;
        }
        for &axis in &axes {
            value = self.push(op, ir::Op::Reduce(ReduceOp { kind, axis }), &[value])?;
        }
        let kept = self.builder.kernel().ty(value).shape();
        let rest: Shape =
            (0..kept.len()).filter(|axis| !axes.contains(axis)).map(|axis| kept[axis]).collect();
        value = self.reshape(op, value, &rest)?;
        if self.literal(acc).is_none_or(|literal| !is_neutral(kind, literal)) {
            let acc = self.value(acc)?;
            let acc = if is_unsigned { self.bitcast(op, acc, unsigned(dtype))? } else { acc };
            let combine = ir::Op::Elementwise(Elementwise::Binary(binary));
            value = self.push(op, combine, &[value, acc])?;
        }
        if is_unsigned {
            value = self.bitcast(op, value, dtype)?;
        }
        self.result(op, value)
    }

    fn reduce_index(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["axis", "kind"])?;
        let kind = match self.keyword(op, "kind")? {
            "arg_max" => ReduceKind::ArgMax,
            "arg_min" => ReduceKind::ArgMin,
            other => return Err(self.unsupported(op, format!("the kind `{other}`"))),
        };
        let axis = self.int_attr(op, "axis")?;
        let Ok(axis) = usize::try_from(axis) else {
            return Err(self.wrong(format!("axis {axis} does not exist")).into());
        };
        let source = self.operand(op, 0)?;
        let value = self.value(source)?;
        let value = self.push(op, ir::Op::Reduce(ReduceOp { kind, axis }), &[value])?;
        let to = self.result_ty(op)?;
        let mut value = self.reshape(op, value, to.shape())?;
        if to.dtype() != DType::I32 {
            let cast = ir::Op::Elementwise(Elementwise::Cast(to.dtype()));
            value = self.push(op, cast, &[value])?;
        }
        self.result(op, value)
    }
}

/// Whether combining with a constant changes nothing.
fn is_neutral(kind: ReduceKind, literal: Literal) -> bool {
    let range = literal.dtype().int_range();
    match (kind, literal.as_f32(), literal.as_int(), range) {
        (ReduceKind::Sum, Some(value), ..) => value == 0.0,
        (ReduceKind::Max, Some(value), ..) => value == f32::NEG_INFINITY,
        (ReduceKind::Min, Some(value), ..) => value == f32::INFINITY,
        (ReduceKind::Sum, None, Some(value), _) => value == 0,
        (ReduceKind::Max, None, Some(value), Some((lo, _))) => value == lo,
        (ReduceKind::Min, None, Some(value), Some((_, hi))) => value == hi,
        (ReduceKind::Max | ReduceKind::Min, None, ..)
        | (ReduceKind::Sum, None, None, _)
        | (ReduceKind::ArgMax | ReduceKind::ArgMin, ..) => false,
    }
}
