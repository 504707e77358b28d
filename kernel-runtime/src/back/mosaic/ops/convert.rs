//! Conversions across rows and words, and rounding by chance.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::ConvertOp;
use crate::ir::{self, DType, OpData};
use smallvec::smallvec;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    convert: ConvertOp,
    op: &OpData,
) -> Lowering<'s> {
    let result = match convert {
        ConvertOp::BitcastRows { .. } => lowerer.bitcast_rows(op)?,
        ConvertOp::Pack { dtype } => lowerer.pack(op, dtype)?,
        ConvertOp::Unpack { dtype, index } => lowerer.unpack(op.operands[0], dtype, index)?,
        ConvertOp::StochasticRound { .. } => {
            lowerer.stochastic_round(op.operands[0], op.operands[1])?
        }
    };
    Ok(smallvec![result])
}

impl<'s> Lowerer<'_, 's> {
    fn bitcast_rows(&mut self, op: &OpData) -> Result<Value<'s>, Diagnostic> {
        let ty = self.kernel.ty(op.operands[0]);
        let rows = ty.shape().iter().rev().nth(1).copied().unwrap_or(1);
        let register_bytes = 4 * self.chip.sublanes;
        if !(rows * ty.dtype().size_bytes()).is_multiple_of(register_bytes) {
            let n = register_bytes / ty.dtype().size_bytes();
            return Err(self
                .unsupported(format!(
                    "the bits of {rows} rows of {} cannot be read as another type: rows are a \
                     multiple of {n}",
                    ty.dtype()
                ))
                .help("take more rows, or use `pack` and `unpack`"));
        }
        let value = self.value(op.operands[0])?;
        let ty = self.value_ty(self.kernel.ty(op.results[0]));
        Ok(self.op("tpu.bitcast", &[value], ty, &[]))
    }

    fn pack(&mut self, op: &OpData, dtype: DType) -> Result<Value<'s>, Diagnostic> {
        let form = self.form(op.results[0]);
        let mut parts = Vec::with_capacity(op.operands.len());
        for &operand in &op.operands {
            parts.push(self.wide_value(operand)?);
        }
        let target = self.session.type_attr(self.session.elem(Self::memory_elem(dtype)));
        let ty = self.ty(&form, Elem::I32);
        Ok(self.op("tpu.pack_elementwise", &parts, ty, &[("target_type", target)]))
    }

    /// Two shifts, or one and a mask: the op for it does not take bf16 on every chip.
    fn unpack(
        &mut self,
        x: ir::Value,
        dtype: DType,
        index: usize,
    ) -> Result<Value<'s>, Diagnostic> {
        let form = self.form(x);
        let value = self.value(x)?;
        let n_bits = 8 * dtype.size_bytes() as i64;
        let above = 32 - n_bits * (index as i64 + 1);
        let mut bits = value;
        if above > 0 {
            let by = self.int_constant(&form, Elem::I32, above);
            bits = self.apply("arith.shli", &[bits, by], &form, Elem::I32);
        }
        if dtype.is_float() {
            let high =
                self.int_constant(&form, Elem::I32, i64::from(0xFFFF_0000_u32.cast_signed()));
            let bits = self.apply("arith.andi", &[bits, high], &form, Elem::I32);
            return Ok(self.apply("arith.bitcast", &[bits], &form, Elem::F32));
        }
        let name = if dtype.is_signed_int() { "arith.shrsi" } else { "arith.shrui" };
        let by = self.int_constant(&form, Elem::I32, 32 - n_bits);
        Ok(self.apply(name, &[bits, by], &form, Elem::I32))
    }

    fn stochastic_round(
        &mut self,
        x: ir::Value,
        random: ir::Value,
    ) -> Result<Value<'s>, Diagnostic> {
        let form = self.form(x);
        let (value, random) = (self.value(x)?, self.value(random)?);
        if self.chip.stochastic_round {
            let ty = self.ty(&form, Elem::BF16);
            return Ok(self.op("tpu.stochastic_convert", &[value, random], ty, &[]));
        }
        let rounded = self.round_by_bits(value, random, &form);
        Ok(self.apply("arith.truncf", &[rounded], &form, Elem::BF16))
    }

    /// The `f32` whose lower half is 0 after the random bits were added; infinities and NaN stay.
    fn round_by_bits(&mut self, value: Value<'s>, random: Value<'s>, form: &Form) -> Value<'s> {
        let bits = self.apply("arith.bitcast", &[value], form, Elem::I32);
        let low = self.int_constant(form, Elem::I32, 0xFFFF);
        let high = self.int_constant(form, Elem::I32, i64::from(0xFFFF_0000_u32.cast_signed()));
        let chance = self.apply("arith.andi", &[random, low], form, Elem::I32);
        let sum = self.apply("arith.addi", &[bits, chance], form, Elem::I32);
        let raised = self.apply("arith.andi", &[sum, high], form, Elem::I32);
        let raised = self.apply("arith.bitcast", &[raised], form, Elem::F32);
        let infinity = self.float_constant(form, Elem::F32, f32::INFINITY);
        let size = self.apply("math.absf", &[value], form, Elem::F32);
        let finite = self.cmpf(4, form, size, infinity);
        self.select(finite, raised, value, form, Elem::F32)
    }
}
