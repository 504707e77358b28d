//! Element-wise ops.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer, Lowering};
use crate::diag::Diagnostic;
use crate::ir::ops::{Binary, Compare, Elementwise, Unary};
use crate::ir::{self, DType, OpData};
use smallvec::smallvec;

pub(super) fn lower<'s>(
    lowerer: &mut Lowerer<'_, 's>,
    elementwise: Elementwise,
    op: &OpData,
) -> Lowering<'s> {
    let result = match elementwise {
        Elementwise::Constant(literal) => {
            lowerer.bind_literal(op.results[0], literal);
            return Ok(smallvec![]);
        }
        Elementwise::Unary(unary) => lowerer.unary(unary, op.operands[0])?,
        Elementwise::Binary(binary) => lowerer.binary(binary, op.operands[0], op.operands[1])?,
        Elementwise::Compare(compare) => {
            lowerer.compare(compare, op.operands[0], op.operands[1])?
        }
        Elementwise::Select => lowerer.lower_select(op)?,
        Elementwise::Cast(to) => {
            let (from, form) = (lowerer.dtype(op.operands[0]), lowerer.form(op.operands[0]));
            let value = lowerer.value(op.operands[0])?;
            lowerer.cast(value, from, to, &form)
        }
        Elementwise::Bitcast(to) => lowerer.bitcast(op.operands[0], to)?,
    };
    Ok(smallvec![result])
}

impl<'s> Lowerer<'_, 's> {
    fn unary(&mut self, op: Unary, x: ir::Value) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(x), self.form(x));
        if dtype == DType::Bool {
            let value = self.value(x)?;
            return Ok(self.not(value, &form));
        }
        if self.is_native(dtype, &form, matches!(op, Unary::Neg | Unary::Abs)) {
            let value = self.value(x)?;
            return Ok(self.unary_float(op, value, &form, Elem::BF16));
        }
        let wide = self.wide_value(x)?;
        let result = if dtype.is_float() {
            self.unary_float(op, wide, &form, Elem::F32)
        } else {
            self.unary_int(op, wide, dtype, &form)
        };
        Ok(self.narrow(result, dtype, &form))
    }

    /// Whether an op that is exact in bf16 can be done without widening.
    fn is_native(&self, dtype: DType, form: &Form, exact: bool) -> bool {
        dtype == DType::BF16 && form.is_tile() && exact && self.chip.bf16_vpu
    }

    fn unary_int(&mut self, op: Unary, x: Value<'s>, dtype: DType, form: &Form) -> Value<'s> {
        let zero = self.int_constant(form, Elem::I32, 0);
        match op {
            Unary::Neg => self.apply("arith.subi", &[zero, x], form, Elem::I32),
            Unary::Abs if !dtype.is_signed_int() => x,
            Unary::Abs => {
                let negated = self.apply("arith.subi", &[zero, x], form, Elem::I32);
                self.apply("arith.maxsi", &[x, negated], form, Elem::I32)
            }
            Unary::Sign => {
                let one = self.int_constant(form, Elem::I32, 1);
                let not_zero = self.cmpi(1, form, x, zero);
                let positive = self.select(not_zero, one, zero, form, Elem::I32);
                if !dtype.is_signed_int() {
                    return positive;
                }
                let minus = self.int_constant(form, Elem::I32, -1);
                let negative = self.cmpi(2, form, x, zero);
                self.select(negative, minus, positive, form, Elem::I32)
            }
            Unary::Not => {
                let ones = self.int_constant(form, Elem::I32, -1);
                self.apply("arith.xori", &[x, ones], form, Elem::I32)
            }
            // The table gives these to floats alone; the type rule has refused them.
            Unary::Exp
            | Unary::Exp2
            | Unary::ExpM1
            | Unary::Log
            | Unary::Log1P
            | Unary::Sqrt
            | Unary::Rsqrt
            | Unary::Reciprocal
            | Unary::ReciprocalApprox
            | Unary::Tan
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Sin
            | Unary::Cos
            | Unary::Erf
            | Unary::Floor
            | Unary::Ceil
            | Unary::RoundEven => x,
        }
    }

    fn unary_float(&mut self, op: Unary, x: Value<'s>, form: &Form, elem: Elem) -> Value<'s> {
        if self.is_sparse()
            && let Some(result) = self.unary_sparse(op, x, form)
        {
            return result;
        }
        let name = match op {
            Unary::Neg => "arith.negf",
            Unary::Abs => "math.absf",
            Unary::Sign => return self.sign(x, form),
            Unary::Exp => "math.exp",
            Unary::Exp2 => "math.exp2",
            Unary::ExpM1 => return self.exp_m1(x, form),
            Unary::Log => "math.log",
            Unary::Log1P => "math.log1p",
            Unary::Sqrt => "math.sqrt",
            Unary::Rsqrt => "math.rsqrt",
            Unary::Reciprocal => return self.reciprocal(x, form, false),
            Unary::ReciprocalApprox => return self.reciprocal(x, form, true),
            Unary::Tan => "math.tan",
            Unary::Tanh => "math.tanh",
            Unary::Logistic => return self.logistic(x, form),
            Unary::Sin => "math.sin",
            Unary::Cos => "math.cos",
            Unary::Erf => "math.erf",
            Unary::Floor => "math.floor",
            Unary::Ceil => "math.ceil",
            Unary::RoundEven => "math.roundeven",
            // Not given to floats by the table.
            Unary::Not => return x,
        };
        self.apply(name, &[x], form, elem)
    }

    /// What SparseCores do otherwise: they have no base-two exponential, no reciprocal and, before
    /// tpu7x, no rounding to even; and of scalars none of the functions.
    fn unary_sparse(&mut self, op: Unary, x: Value<'s>, form: &Form) -> Option<Value<'s>> {
        match op {
            Unary::Neg | Unary::Abs | Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Not => None,
            Unary::Reciprocal | Unary::ReciprocalApprox => {
                let one = self.float_constant(form, Elem::F32, 1.0);
                Some(self.apply("arith.divf", &[one, x], form, Elem::F32))
            }
            Unary::RoundEven => Some(self.round_even(x, form)),
            Unary::Exp
            | Unary::Exp2
            | Unary::ExpM1
            | Unary::Log
            | Unary::Log1P
            | Unary::Sqrt
            | Unary::Rsqrt
            | Unary::Tan
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Sin
            | Unary::Cos
            | Unary::Erf
                if !form.is_tile() =>
            {
                Some(self.through_register(x, Elem::F32, |lowerer, register, form| {
                    lowerer.unary_float(op, register, form, Elem::F32)
                }))
            }
            Unary::Exp2 => {
                let ln2 = self.float_constant(form, Elem::F32, std::f32::consts::LN_2);
                let scaled = self.apply("arith.mulf", &[x, ln2], form, Elem::F32);
                Some(self.apply("math.exp", &[scaled], form, Elem::F32))
            }
            Unary::Exp
            | Unary::ExpM1
            | Unary::Log
            | Unary::Log1P
            | Unary::Sqrt
            | Unary::Rsqrt
            | Unary::Tan
            | Unary::Tanh
            | Unary::Logistic
            | Unary::Sin
            | Unary::Cos
            | Unary::Erf => None,
        }
    }

    /// Adding and taking off 1.5 * 2^23 drops the fraction, rounded to even; from 2^22 on there is
    /// none that could be a half. The sign stays, that of zero too.
    fn round_even(&mut self, x: Value<'s>, form: &Form) -> Value<'s> {
        let magic = self.float_constant(form, Elem::F32, 12_582_912.0);
        let limit = self.float_constant(form, Elem::F32, 4_194_304.0);
        let sign = self.int_constant(form, Elem::I32, i64::from(i32::MIN));
        let rest = self.int_constant(form, Elem::I32, i64::from(i32::MAX));
        let moved = self.apply("arith.addf", &[x, magic], form, Elem::F32);
        let rounded = self.apply("arith.subf", &[moved, magic], form, Elem::F32);
        let bits = self.apply("arith.bitcast", &[rounded], form, Elem::I32);
        let bits = self.apply("arith.andi", &[bits, rest], form, Elem::I32);
        let own = self.apply("arith.bitcast", &[x], form, Elem::I32);
        let own = self.apply("arith.andi", &[own, sign], form, Elem::I32);
        let bits = self.apply("arith.ori", &[bits, own], form, Elem::I32);
        let rounded = self.apply("arith.bitcast", &[bits], form, Elem::F32);
        let abs = self.apply("math.absf", &[x], form, Elem::F32);
        let is_small = self.cmpf(4, form, abs, limit);
        self.select(is_small, rounded, x, form, Elem::F32)
    }

    fn sign(&mut self, x: Value<'s>, form: &Form) -> Value<'s> {
        let zero = self.float_constant(form, Elem::F32, 0.0);
        let one = self.float_constant(form, Elem::F32, 1.0);
        let minus = self.float_constant(form, Elem::F32, -1.0);
        let negative = self.cmpf(4, form, x, zero);
        let positive = self.cmpf(2, form, x, zero);
        // Zeros and NaN are neither, and stay as they are.
        let result = self.select(negative, minus, x, form, Elem::F32);
        self.select(positive, one, result, form, Elem::F32)
    }

    fn reciprocal(&mut self, x: Value<'s>, form: &Form, approx: bool) -> Value<'s> {
        if !form.is_tile() {
            let one = self.float_constant(form, Elem::F32, 1.0);
            return self.apply("arith.divf", &[one, x], form, Elem::F32);
        }
        let (approx, yes) = (self.session.bool_attr(approx), self.session.bool_attr(true));
        let ty = self.ty(form, Elem::F32);
        self.op("tpu.reciprocal", &[x], ty, &[("approx", approx), ("full_range", yes)])
    }

    fn logistic(&mut self, x: Value<'s>, form: &Form) -> Value<'s> {
        let one = self.float_constant(form, Elem::F32, 1.0);
        let negated = self.apply("arith.negf", &[x], form, Elem::F32);
        let exp = self.apply("math.exp", &[negated], form, Elem::F32);
        let sum = self.apply("arith.addf", &[one, exp], form, Elem::F32);
        self.apply("arith.divf", &[one, sum], form, Elem::F32)
    }

    /// libtpu has no `expm1`. With `u = e^x`, `(u - 1) * x / ln u` cancels the error of `u`
    /// (Kahan); where `u` rounds to 1 the result is `x`, where it is tiny or infinite, `u - 1`.
    fn exp_m1(&mut self, x: Value<'s>, form: &Form) -> Value<'s> {
        let one = self.float_constant(form, Elem::F32, 1.0);
        let near = self.float_constant(form, Elem::F32, 0.5);
        let u = self.apply("math.exp", &[x], form, Elem::F32);
        let um1 = self.apply("arith.subf", &[u, one], form, Elem::F32);
        let ln = self.apply("math.log", &[u], form, Elem::F32);
        let ratio = self.apply("arith.divf", &[x, ln], form, Elem::F32);
        let corrected = self.apply("arith.mulf", &[um1, ratio], form, Elem::F32);
        let abs = self.apply("math.absf", &[x], form, Elem::F32);
        let is_near = self.cmpf(4, form, abs, near);
        let result = self.select(is_near, corrected, um1, form, Elem::F32);
        let is_one = self.cmpf(1, form, u, one);
        self.select(is_one, x, result, form, Elem::F32)
    }

    fn binary(
        &mut self,
        op: Binary,
        lhs: ir::Value,
        rhs: ir::Value,
    ) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(lhs), self.form(lhs));
        let exact =
            matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Max | Binary::Min);
        let native = self.is_native(dtype, &form, exact);
        if native || dtype == DType::Bool {
            let (x, y) = (self.value(lhs)?, self.value(rhs)?);
            return if native {
                self.binary_float(op, x, y, &form, Elem::BF16)
            } else {
                Ok(self.binary_bool(op, x, y, &form))
            };
        }
        let (x, y) = (self.wide_value(lhs)?, self.wide_value(rhs)?);
        let result = if dtype.is_float() {
            self.binary_float(op, x, y, &form, Elem::F32)?
        } else {
            self.binary_int(op, x, (y, rhs), dtype, &form)
        };
        Ok(self.narrow(result, dtype, &form))
    }

    fn binary_bool(&mut self, op: Binary, x: Value<'s>, y: Value<'s>, form: &Form) -> Value<'s> {
        let name = match op {
            Binary::And => "arith.andi",
            Binary::Or => "arith.ori",
            Binary::Xor => "arith.xori",
            // Not given to `bool` by the table.
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::Div
            | Binary::Rem
            | Binary::Max
            | Binary::Min
            | Binary::Pow
            | Binary::Atan2
            | Binary::Shl
            | Binary::Shr => return x,
        };
        self.apply(name, &[x, y], form, Elem::I1)
    }

    fn binary_float(
        &mut self,
        op: Binary,
        x: Value<'s>,
        y: Value<'s>,
        form: &Form,
        elem: Elem,
    ) -> Result<Value<'s>, Diagnostic> {
        let name = match op {
            Binary::Add => "arith.addf",
            Binary::Sub => "arith.subf",
            Binary::Mul => "arith.mulf",
            Binary::Div => "arith.divf",
            Binary::Rem => "arith.remf",
            Binary::Max => "arith.maximumf",
            Binary::Min => "arith.minimumf",
            Binary::Pow if form.is_tile() => "math.powf",
            Binary::Atan2 if form.is_tile() => "math.atan2",
            Binary::Pow | Binary::Atan2 => {
                return Err(self
                    .unsupported(format!("`{}` of scalars does not exist", op.name()))
                    .help("make a tile of the base with `splat` first"));
            }
            // Not given to floats by the table.
            Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => return Ok(x),
        };
        Ok(self.apply(name, &[x, y], form, elem))
    }

    fn binary_int(
        &mut self,
        op: Binary,
        x: Value<'s>,
        (y, rhs): (Value<'s>, ir::Value),
        dtype: DType,
        form: &Form,
    ) -> Value<'s> {
        let signed = dtype.is_signed_int();
        let name = match op {
            Binary::Add => "arith.addi",
            Binary::Sub => "arith.subi",
            Binary::Mul => "arith.muli",
            Binary::Div | Binary::Rem => return self.divide(op, x, (y, rhs), signed, form),
            Binary::Max | Binary::Min if dtype.size_bytes() < 4 => {
                return self.narrow_extreme(op, x, y, form);
            }
            Binary::Max if signed => "arith.maxsi",
            Binary::Max => "arith.maxui",
            Binary::Min if signed => "arith.minsi",
            Binary::Min => "arith.minui",
            Binary::And => "arith.andi",
            Binary::Or => "arith.ori",
            Binary::Xor => "arith.xori",
            Binary::Shl | Binary::Shr => return self.shift(op, x, (y, rhs), signed, form),
            // Not given to integers by the table.
            Binary::Pow | Binary::Atan2 => return x,
        };
        self.apply(name, &[x, y], form, Elem::I32)
    }

    /// The larger or smaller of values of 8 or 16 bits. MLIR would turn a narrowed maximum into a
    /// maximum of narrow values, which libtpu then refuses, so it is one of the difference.
    fn narrow_extreme(&mut self, op: Binary, x: Value<'s>, y: Value<'s>, form: &Form) -> Value<'s> {
        let zero = self.int_constant(form, Elem::I32, 0);
        let difference = self.apply("arith.subi", &[x, y], form, Elem::I32);
        let positive = self.apply("arith.maxsi", &[difference, zero], form, Elem::I32);
        if op == Binary::Max {
            self.apply("arith.addi", &[y, positive], form, Elem::I32)
        } else {
            self.apply("arith.subi", &[x, positive], form, Elem::I32)
        }
    }

    /// MLIR leaves division by zero and the one overflow undefined: both are kept from it, unless
    /// the divisor is a constant that cannot be either.
    fn divide(
        &mut self,
        op: Binary,
        x: Value<'s>,
        (y, rhs): (Value<'s>, ir::Value),
        signed: bool,
        form: &Form,
    ) -> Value<'s> {
        let name = match (op, signed) {
            (Binary::Div, true) => "arith.divsi",
            (Binary::Div, false) => "arith.divui",
            (_, true) => "arith.remsi",
            (_, false) => "arith.remui",
        };
        let known = self.literal(rhs).and_then(|literal| literal.as_int());
        if known.is_some_and(|divisor| divisor != 0 && divisor != -1) {
            return self.apply(name, &[x, y], form, Elem::I32);
        }
        let zero = self.int_constant(form, Elem::I32, 0);
        let one = self.int_constant(form, Elem::I32, 1);
        let minus = self.int_constant(form, Elem::I32, -1);
        let by_zero = self.cmpi(0, form, y, zero);
        let mut unsafe_ = by_zero;
        if signed {
            let least = self.int_constant(form, Elem::I32, i64::from(i32::MIN));
            let is_least = self.cmpi(0, form, x, least);
            let by_minus = self.cmpi(0, form, y, minus);
            let overflow = self.apply("arith.andi", &[is_least, by_minus], form, Elem::I1);
            unsafe_ = self.apply("arith.ori", &[by_zero, overflow], form, Elem::I1);
        }
        let divisor = self.select(unsafe_, one, y, form, Elem::I32);
        let result = self.apply(name, &[x, divisor], form, Elem::I32);
        let at_zero = if op == Binary::Div { minus } else { x };
        self.select(by_zero, at_zero, result, form, Elem::I32)
    }

    /// Shifts by the width or more are undefined in MLIR; the IR gives 0, or the sign.
    fn shift(
        &mut self,
        op: Binary,
        x: Value<'s>,
        (y, rhs): (Value<'s>, ir::Value),
        signed: bool,
        form: &Form,
    ) -> Value<'s> {
        let name = match (op, signed) {
            (Binary::Shl, _) => "arith.shli",
            (_, true) => "arith.shrsi",
            (_, false) => "arith.shrui",
        };
        let known = self.literal(rhs).and_then(|literal| literal.as_int());
        if known.is_some_and(|amount| (0..32).contains(&amount)) {
            return self.apply(name, &[x, y], form, Elem::I32);
        }
        let last = self.int_constant(form, Elem::I32, 31);
        let amount = self.apply("arith.minui", &[y, last], form, Elem::I32);
        let shifted = self.apply(name, &[x, amount], form, Elem::I32);
        if op == Binary::Shr && signed {
            return shifted;
        }
        let zero = self.int_constant(form, Elem::I32, 0);
        let in_range = self.cmpi(7, form, y, last);
        self.select(in_range, shifted, zero, form, Elem::I32)
    }

    fn compare(
        &mut self,
        op: Compare,
        lhs: ir::Value,
        rhs: ir::Value,
    ) -> Result<Value<'s>, Diagnostic> {
        let (dtype, form) = (self.dtype(lhs), self.form(lhs));
        if dtype == DType::Bool {
            let (x, y) = (self.value(lhs)?, self.value(rhs)?);
            return Ok(self.compare_bool(op, x, y, &form));
        }
        let (x, y) = (self.wide_value(lhs)?, self.wide_value(rhs)?);
        if dtype.is_float() {
            let ordered = match op {
                // `x != y` is true with NaN, for which libtpu has no predicate.
                Compare::Eq | Compare::Ne => 1,
                Compare::Gt => 2,
                Compare::Ge => 3,
                Compare::Lt => 4,
                Compare::Le => 5,
            };
            let result = self.cmpf(ordered, &form, x, y);
            return Ok(if op == Compare::Ne { self.not(result, &form) } else { result });
        }
        let unsigned = if dtype.is_signed_int() { 0 } else { 4 };
        let predicate = match op {
            Compare::Eq => 0,
            Compare::Ne => 1,
            Compare::Lt => 2 + unsigned,
            Compare::Le => 3 + unsigned,
            Compare::Gt => 4 + unsigned,
            Compare::Ge => 5 + unsigned,
        };
        Ok(self.cmpi(predicate, &form, x, y))
    }

    /// libtpu does not compare masks: with false below true, these are what comparisons mean.
    fn compare_bool(&mut self, op: Compare, x: Value<'s>, y: Value<'s>, form: &Form) -> Value<'s> {
        let (name, x, y, negate) = match op {
            Compare::Eq => ("arith.xori", x, y, true),
            Compare::Ne => ("arith.xori", x, y, false),
            Compare::Lt => ("arith.andi", self.not(x, form), y, false),
            Compare::Ge => ("arith.andi", self.not(x, form), y, true),
            Compare::Gt => ("arith.andi", x, self.not(y, form), false),
            Compare::Le => ("arith.andi", x, self.not(y, form), true),
        };
        let result = self.apply(name, &[x, y], form, Elem::I1);
        if negate { self.not(result, form) } else { result }
    }

    fn lower_select(&mut self, op: &OpData) -> Result<Value<'s>, Diagnostic> {
        let [cond, then, other] = [op.operands[0], op.operands[1], op.operands[2]];
        let (dtype, form) = (self.dtype(then), self.form(then));
        let per_element = self.form(cond).is_tile();
        let (cond, then, other) = (self.value(cond)?, self.value(then)?, self.value(other)?);
        if dtype == DType::Bool && form.is_tile() {
            // libtpu does not select masks, but combines them.
            let cond = if per_element {
                cond
            } else {
                self.apply("vector.broadcast", &[cond], &form, Elem::I1)
            };
            let negated = self.not(cond, &form);
            let then = self.apply("arith.andi", &[cond, then], &form, Elem::I1);
            let other = self.apply("arith.andi", &[negated, other], &form, Elem::I1);
            return Ok(self.apply("arith.ori", &[then, other], &form, Elem::I1));
        }
        let elem = Self::storage(&form, dtype);
        Ok(self.select(cond, then, other, &form, elem))
    }

    fn bitcast(&mut self, x: ir::Value, to: DType) -> Result<Value<'s>, Diagnostic> {
        let (from, form) = (self.dtype(x), self.form(x));
        let value = self.value(x)?;
        if !form.is_tile() && from.size_bytes() != 4 && from.is_float() != to.is_float() {
            return Err(self
                .unsupported(format!("a scalar {from} has no bits of its own"))
                .help("cast to f32 or i32 first"));
        }
        let (from_elem, to_elem) = (Self::storage(&form, from), Self::storage(&form, to));
        if from_elem != to_elem {
            return Ok(self.apply("arith.bitcast", &[value], &form, to_elem));
        }
        // Scalars are kept as values of their type, so the sign must be made anew.
        Ok(if form.is_tile() { value } else { self.narrow(value, to, &form) })
    }
}
