//! Conversions between element types.

use crate::back::mlir::{Elem, Value};
use crate::back::mosaic::lower::{Form, Lowerer};
use crate::ir::DType;

impl<'s> Lowerer<'_, 's> {
    /// A value of its own type, widened to the 32 bits in which it is computed. Exact.
    pub(in crate::back::mosaic) fn widen(
        &mut self,
        value: Value<'s>,
        dtype: DType,
        form: &Form,
    ) -> Value<'s> {
        let (from, to) = (Self::storage(form, dtype), Self::compute(dtype));
        if from == to {
            return value;
        }
        let name = match dtype {
            _ if dtype.is_float() => "arith.extf",
            DType::U8 | DType::U16 => "arith.extui",
            _ => "arith.extsi",
        };
        self.apply(name, &[value], form, to)
    }

    /// A computed value, rounded or wrapped to its own type.
    pub(in crate::back::mosaic) fn narrow(
        &mut self,
        value: Value<'s>,
        dtype: DType,
        form: &Form,
    ) -> Value<'s> {
        let (from, to) = (Self::compute(dtype), Self::storage(form, dtype));
        if from != to {
            let name = if dtype.is_float() { "arith.truncf" } else { "arith.trunci" };
            return self.apply(name, &[value], form, to);
        }
        // A scalar keeps its 32 bits but takes a value of its type.
        match dtype {
            DType::F8E4M3FN | DType::F8E5M2 | DType::BF16 | DType::F16 => {
                let elem = Self::memory_elem(dtype);
                let rounded = self.apply("arith.truncf", &[value], form, elem);
                self.apply("arith.extf", &[rounded], form, Elem::F32)
            }
            DType::I4 | DType::I8 | DType::I16 | DType::U8 | DType::U16 => {
                let n_bits = self.int_constant(form, Elem::I32, 32 - dtype.size_bits() as i64);
                let shifted = self.apply("arith.shli", &[value, n_bits], form, Elem::I32);
                let back = if dtype.is_signed_int() { "arith.shrsi" } else { "arith.shrui" };
                self.apply(back, &[shifted, n_bits], form, Elem::I32)
            }
            DType::Bool | DType::I32 | DType::U32 | DType::F32 => value,
        }
    }

    /// Converts by the rules of the IR.
    pub(in crate::back::mosaic) fn cast(
        &mut self,
        value: Value<'s>,
        from: DType,
        to: DType,
        form: &Form,
    ) -> Value<'s> {
        if from == to {
            return value;
        }
        let wide = self.widen(value, from, form);
        if to == DType::Bool {
            return if from.is_float() {
                // Unordered comparison does not exist on a TPU: NaN is not equal to zero.
                let zero = self.float_constant(form, Elem::F32, 0.0);
                let is_zero = self.cmpf(1, form, wide, zero);
                self.not(is_zero, form)
            } else {
                let zero = self.int_constant(form, Elem::I32, 0);
                self.cmpi(1, form, wide, zero)
            };
        }
        let wide = match (from, to.is_float()) {
            (DType::Bool, to_float) => {
                let int = self.apply("arith.extui", &[wide], form, Elem::I32);
                if to_float { self.apply("arith.sitofp", &[int], form, Elem::F32) } else { int }
            }
            (_, true) if from.is_float() => wide,
            (DType::U32, true) => self.apply("arith.uitofp", &[wide], form, Elem::F32),
            (_, true) => self.apply("arith.sitofp", &[wide], form, Elem::F32),
            (_, false) if from.is_float() => self.float_to_int(wide, to, form),
            (_, false) => wide,
        };
        self.narrow(wide, to, form)
    }

    /// Truncates `f32` towards zero, saturating at the range of an integer type; NaN gives 0. The
    /// result has 32 bits.
    fn float_to_int(&mut self, value: Value<'s>, to: DType, form: &Form) -> Value<'s> {
        let (lo, hi) = to.int_range().unwrap_or_default();
        let zero = self.float_constant(form, Elem::F32, 0.0);
        let is_number = self.cmpf(1, form, value, value);
        let value = self.select(is_number, value, zero, form, Elem::F32);
        let lo_float = self.float_constant(form, Elem::F32, lo as f32);
        let value = self.apply("arith.maximumf", &[value, lo_float], form, Elem::F32);
        if hi < i64::from(u16::MAX) + 1 {
            let hi_float = self.float_constant(form, Elem::F32, hi as f32);
            let value = self.apply("arith.minimumf", &[value, hi_float], form, Elem::F32);
            return self.apply("arith.fptosi", &[value], form, Elem::I32);
        }
        // The top of a 32-bit range is no `f32`, so what lies above it is chosen, not clamped.
        let limit = self.float_constant(form, Elem::F32, (hi + 1) as f32);
        let over = self.cmpf(3, form, value, limit);
        let top = self.int_constant(form, Elem::I32, i64::from(hi as i32));
        let int = if to == DType::U32 {
            let half = self.float_constant(form, Elem::F32, (1u64 << 31) as f32);
            let upper = self.cmpf(3, form, value, half);
            let lowered = self.apply("arith.subf", &[value, half], form, Elem::F32);
            let low = self.select(upper, lowered, value, form, Elem::F32);
            let int = self.apply("arith.fptosi", &[low], form, Elem::I32);
            let sign = self.int_constant(form, Elem::I32, i64::from(i32::MIN));
            let flipped = self.apply("arith.xori", &[int, sign], form, Elem::I32);
            self.select(upper, flipped, int, form, Elem::I32)
        } else {
            self.apply("arith.fptosi", &[value], form, Elem::I32)
        };
        self.select(over, top, int, form, Elem::I32)
    }
}
