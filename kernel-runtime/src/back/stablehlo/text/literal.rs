//! Constants as MLIR reads them.

use crate::ir::ops::Literal;
use crate::ir::{DType, f8e4m3fn, f8e5m2};
use std::fmt;

/// Prints a literal as MLIR reads it, exactly.
pub(super) struct LiteralText(pub(super) Literal);

impl fmt::Display for LiteralText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.0.as_int() {
            return match self.0.dtype() {
                DType::Bool => f.write_str(if value != 0 { "true" } else { "false" }),
                _ => write!(f, "{value}"),
            };
        }
        let value = self.0.as_f32().unwrap_or(f32::NAN);
        if value.is_finite() {
            // The shortest decimal that reads back as this `f32`; MLIR wants a point in it.
            let text = format!("{value:e}");
            return match text.split_once('e') {
                Some((digits, exponent)) if digits.contains('.') => {
                    write!(f, "{digits}e{exponent}")
                }
                Some((digits, exponent)) => write!(f, "{digits}.0e{exponent}"),
                None => f.write_str(&text),
            };
        }
        match self.0.dtype() {
            DType::BF16 => write!(f, "0x{:04X}", half::bf16::from_f32(value).to_bits()),
            DType::F16 => write!(f, "0x{:04X}", half::f16::from_f32(value).to_bits()),
            DType::F8E4M3FN => write!(f, "0x{:02X}", f8e4m3fn::from_f32(value).to_bits()),
            DType::F8E5M2 => write!(f, "0x{:02X}", f8e5m2::from_f32(value).to_bits()),
            _ => write!(f, "0x{:08X}", value.to_bits()),
        }
    }
}
