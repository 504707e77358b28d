//! Matrix products.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{DotOp, Precision};
use crate::ir::{self, DType, OpData};
use smallvec::smallvec;

pub(super) fn lower<'s>(lowerer: &mut Lowerer<'_, 's>, dot: DotOp, op: &OpData) -> Lowering<'s> {
    let [lhs, rhs] = [op.operands[0], op.operands[1]];
    let form = lowerer.form(op.results[0]);
    let result = if lowerer.dtype(lhs).is_float() {
        lowerer.dot_float(dot, lhs, rhs, &form)?
    } else {
        lowerer.dot_int(dot, lhs, rhs, &form)?
    };
    Ok(smallvec![result])
}

impl<'s> Lowerer<'_, 's> {
    fn dot_int(
        &mut self,
        dot: DotOp,
        lhs: ir::Value,
        rhs: ir::Value,
        form: &Form,
    ) -> Result<Value<'s>, Diagnostic> {
        let (lhs_dtype, rhs_dtype) = (self.dtype(lhs), self.dtype(rhs));
        if lhs_dtype != rhs_dtype || !matches!(lhs_dtype, DType::I4 | DType::I8) {
            // MLIR's integers have no sign, and the op takes all of them as signed.
            return Err(self
                .unsupported(format!("there is no `dot` of {lhs_dtype} with {rhs_dtype}"))
                .help("make the operands i8: subtract 128 from u8, and correct the sums"));
        }
        let (x, y) = (self.value(lhs)?, self.value(rhs)?);
        let zero = self.int_constant(form, Elem::I32, 0);
        Ok(self.matmul(dot, [x, y, zero], form, Elem::I32, None))
    }

    fn dot_float(
        &mut self,
        dot: DotOp,
        lhs: ir::Value,
        rhs: ir::Value,
        form: &Form,
    ) -> Result<Value<'s>, Diagnostic> {
        let zero = self.float_constant(form, Elem::F32, 0.0);
        let stores = [lhs, rhs].iter().any(|&x| self.dtype(x).only_stores());
        if stores && dot.precision == Precision::Medium {
            let (x, y) = (self.factor(lhs)?, self.factor(rhs)?);
            return Ok(self.matmul(dot, [x, y, zero], form, Elem::F32, None));
        }
        let one_pass = self.dtype(lhs) == DType::BF16 && self.dtype(rhs) == DType::BF16;
        if one_pass || dot.precision == Precision::Medium {
            let (x, y) = (self.bf16_value(lhs)?, self.bf16_value(rhs)?);
            return Ok(self.matmul(dot, [x, y, zero], form, Elem::F32, None));
        }
        let (x, y) = (self.wide_value(lhs)?, self.wide_value(rhs)?);
        if dot.precision == Precision::Highest {
            return Ok(self.matmul(dot, [x, y, zero], form, Elem::F32, Some("fp32")));
        }
        // The compiler has no three-pass product. The small terms are added first.
        let (lhs_form, rhs_form) = (self.form(lhs), self.form(rhs));
        let (x1, x2) = self.split(x, &lhs_form);
        let (y1, y2) = self.split(y, &rhs_form);
        let acc = self.matmul(dot, [x1, y2, zero], form, Elem::F32, None);
        let acc = self.matmul(dot, [x2, y1, acc], form, Elem::F32, None);
        Ok(self.matmul(dot, [x1, y1, acc], form, Elem::F32, None))
    }

    /// An operand as it is if it only stores, else rounded to bf16.
    fn factor(&mut self, value: ir::Value) -> Result<Value<'s>, Diagnostic> {
        if self.dtype(value).only_stores() { self.value(value) } else { self.bf16_value(value) }
    }

    /// An operand rounded to bf16.
    fn bf16_value(&mut self, value: ir::Value) -> Result<Value<'s>, Diagnostic> {
        if self.dtype(value) == DType::BF16 {
            return self.value(value);
        }
        let form = self.form(value);
        let wide = self.wide_value(value)?;
        Ok(self.narrow(wide, DType::BF16, &form))
    }

    /// `x` as the sum of two bf16 parts, up to 16 bits of it.
    fn split(&mut self, x: Value<'s>, form: &Form) -> (Value<'s>, Value<'s>) {
        let high = self.narrow(x, DType::BF16, form);
        let high_wide = self.widen(high, DType::BF16, form);
        let rest = self.apply("arith.subf", &[x, high_wide], form, Elem::F32);
        (high, self.narrow(rest, DType::BF16, form))
    }

    fn matmul(
        &mut self,
        dot: DotOp,
        operands: [Value<'s>; 3],
        form: &Form,
        elem: Elem,
        precision: Option<&str>,
    ) -> Value<'s> {
        let (lhs_k, lhs_m) = if dot.transpose_lhs { (0, 1) } else { (1, 0) };
        let (rhs_k, rhs_n) = if dot.transpose_rhs { (1, 0) } else { (0, 1) };
        // Contracted and free axes of both sides, then where each result axis comes from.
        let numbers = self.session.parsed_attr(&format!(
            "#tpu.dot_dimension_numbers<[{lhs_k}], [{rhs_k}], [{lhs_m}], [{rhs_n}], \
             [0, {lhs_m}, 1, {rhs_n}], [], []>"
        ));
        let no = self.session.bool_attr(false);
        let mut attrs =
            vec![("dimension_numbers", numbers), ("transpose_lhs", no), ("transpose_rhs", no)];
        if self.options.version >= 13 {
            attrs.push(("transpose_lhs_hint", no));
        }
        if let Some(precision) = precision {
            let text = format!("#tpu.contract_precision<{precision}>");
            attrs.push(("precision", self.session.parsed_attr(&text)));
        }
        let ty = self.ty(form, elem);
        self.op("tpu.matmul", &operands, ty, &attrs)
    }
}
