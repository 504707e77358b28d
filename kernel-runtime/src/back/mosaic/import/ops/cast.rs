//! Conversions between element types.

use super::super::array::{dtype_of, unsigned};
use super::super::body::{Importer, Outcome, Val};
use super::super::header::{short_name, type_text};
use super::super::read::ast::{Attr, Op, find};
use crate::ir::ops::{Binary, ConvertOp, Elementwise, Unary};
use crate::ir::{self, DType};

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    Some(match name {
        "arith.extf" | "arith.truncf" | "arith.fptosi" | "arith.extsi" | "arith.sitofp"
        | "tpu.extf" | "tpu.truncf" | "tpu.fptosi" | "tpu.sitofp" => importer.cast_signed(op),
        "arith.extui" | "arith.uitofp" | "tpu.uitofp" => importer.cast_from_unsigned(op),
        "arith.fptoui" | "tpu.fptoui" => importer.cast_to_unsigned(op),
        "arith.trunci" => importer.truncate(op),
        "arith.index_cast" | "arith.index_castui" => importer.rename_index(op),
        "arith.bitcast" | "tpu.bitcast" => importer.import_bitcast(op),
        "tpu.pack_elementwise" => importer.pack(op),
        "tpu.unpack_elementwise" => importer.unpack(op),
        "tpu.stochastic_convert" => importer.stochastic_round(op),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn cast_op(&mut self, op: &Op, value: ir::Value, to: DType) -> Outcome<ir::Value> {
        if self.builder.kernel().ty(value).dtype() == to {
            return Ok(value);
        }
        self.push(op, ir::Op::Elementwise(Elementwise::Cast(to)), &[value])
    }

    /// The op's operand, its attributes checked: rounding is to nearest even, or towards zero to
    /// integers, which is what casts do here.
    fn cast_operand(&mut self, op: &'m Op) -> Outcome<ir::Value> {
        self.only(op, &["fastmath", "nneg", "roundingmode", "rounding_mode", "overflowFlags"])?;
        let to = self.result_ty(op)?.dtype();
        let expected = if to.is_float() { "to_nearest_even" } else { "towards_zero" };
        for name in ["roundingmode", "rounding_mode"] {
            if let Some(Attr::Other(text)) = find(&op.attrs, name)
                && !text.ends_with(&format!("<{expected}>"))
            {
                return Err(self.unsupported(op, format!("rounding `{text}`")));
            }
        }
        let operand = self.operand(op, 0)?;
        self.value(operand)
    }

    fn cast_signed(&mut self, op: &'m Op) -> Outcome<()> {
        let x = self.cast_operand(op)?;
        let to = self.result_ty(op)?.dtype();
        let mut value = self.cast_op(op, x, to)?;
        // The only bit of a truth value is its sign.
        if self.operand_ty(op, 0)?.dtype() == DType::Bool {
            value = self.push(op, ir::Op::Elementwise(Elementwise::Unary(Unary::Neg)), &[value])?;
        }
        self.result(op, value)
    }

    fn cast_from_unsigned(&mut self, op: &'m Op) -> Outcome<()> {
        let x = self.cast_operand(op)?;
        let to = self.result_ty(op)?.dtype();
        let x = self.as_unsigned(op, x)?;
        let value = self.cast_op(op, x, to)?;
        self.result(op, value)
    }

    fn cast_to_unsigned(&mut self, op: &'m Op) -> Outcome<()> {
        let x = self.cast_operand(op)?;
        let to = self.result_ty(op)?.dtype();
        let value = self.cast_op(op, x, unsigned(to))?;
        let value = self.bitcast(op, value, to)?;
        self.result(op, value)
    }

    /// Keeps the low bits; of a truth value the lowest.
    fn truncate(&mut self, op: &'m Op) -> Outcome<()> {
        let mut x = self.cast_operand(op)?;
        let (from, to) = (self.operand_ty(op, 0)?, self.result_ty(op)?.dtype());
        if to == DType::Bool {
            let one = self.like(&from, 1.0)?;
            x = self.push(op, ir::Op::Elementwise(Elementwise::Binary(Binary::And)), &[x, one])?;
        }
        let value = self.cast_op(op, x, to)?;
        self.result(op, value)
    }

    /// `index` is `i32`, so nothing happens between the two; others are widened.
    fn rename_index(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["nneg"])?;
        let operand = self.operand(op, 0)?;
        let (from, to) = (self.operand_ty(op, 0)?, self.result_ty(op)?);
        let val = self.val(operand)?.clone();
        if from == to && matches!(val, Val::Ir { .. } | Val::Literal { .. }) {
            self.bind(op.results[0], val);
            return Ok(());
        }
        self.cast_signed(op)
    }

    /// The bits under another type; of another size along the rows, as memory holds them.
    fn import_bitcast(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let to = self.result_ty(op)?;
        let operand = self.operand(op, 0)?;
        let x = self.value(operand)?;
        let value = self.repack(op, x, to.dtype())?;
        self.result(op, value)
    }

    /// The bits of a tile as elements of another type. Where the sizes differ, rows that follow
    /// each other are the parts of one wider row, the first the lowest bits.
    pub(in super::super) fn repack(
        &mut self,
        op: &Op,
        value: ir::Value,
        to: DType,
    ) -> Outcome<ir::Value> {
        if self.builder.kernel().ty(value).dtype().size_bytes() == to.size_bytes() {
            return self.bitcast(op, value, to);
        }
        self.push(op, ir::Op::Convert(ConvertOp::BitcastRows { dtype: to }), &[value])
    }

    /// The element type that an attribute names.
    fn type_attr(&self, op: &Op, name: &str) -> Outcome<DType> {
        match find(&op.attrs, name) {
            Some(Attr::Type(ty)) => dtype_of(ty)
                .ok_or_else(|| self.unsupported(op, format!("elements of `{}`", type_text(ty)))),
            _ => Err(self.wrong(format!("`{}` has no type `{name}`", short_name(op))).into()),
        }
    }

    /// Several narrow elements in each word of 32 bits.
    fn pack(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["target_type"])?;
        let dtype = self.type_attr(op, "target_type")?;
        let parts = self.operand_values(op)?;
        let value = self.push(op, ir::Op::Convert(ConvertOp::Pack { dtype }), &parts)?;
        self.word_result(op, value)
    }

    /// One of the narrow elements in each word.
    fn unpack(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["source_type", "index"])?;
        let dtype = self.type_attr(op, "source_type")?;
        let index = self.int_attr(op, "index")?;
        let Ok(index) = usize::try_from(index) else {
            return Err(self.wrong(format!("part {index} does not exist")).into());
        };
        let operand = self.operand(op, 0)?;
        let words = self.value(operand)?;
        let words = self.as_unsigned(op, words)?;
        let unpack = ir::Op::Convert(ConvertOp::Unpack { dtype, index });
        let value = self.push(op, unpack, &[words])?;
        self.result(op, value)
    }

    fn stochastic_round(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let dtype = self.result_ty(op)?.dtype();
        let [x, random] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let [x, random] = [self.value(x)?, self.value(random)?];
        let random = self.as_unsigned(op, random)?;
        let round = ir::Op::Convert(ConvertOp::StochasticRound { dtype });
        let value = self.push(op, round, &[x, random])?;
        self.result(op, value)
    }

    /// Binds words of 32 bits, which have no sign here, to the result.
    pub(super) fn word_result(&mut self, op: &Op, value: ir::Value) -> Outcome<()> {
        let value = self.bitcast(op, value, DType::I32)?;
        self.result(op, value)
    }
}
