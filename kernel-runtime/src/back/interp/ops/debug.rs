//! Messages and assertions.

use super::super::Print;
use super::super::exec::{Executor, Stop};
use super::super::plan::Inst;
use super::super::tile::{Held, Number, Tile};
use crate::diag::{Code, Diagnostic};
use crate::ir::DType;
use crate::ir::ops::DebugOp;
use std::fmt::Write as _;

/// How many elements of a tile are printed.
const MAX_PRINTED: usize = 1024;

impl Executor<'_> {
    /// Runs a print or an assertion. Scopes and delays are for profilers and chips.
    pub(in super::super) fn debug(&mut self, inst: &Inst<'_>, op: &DebugOp) -> Result<(), Stop> {
        match op {
            DebugOp::Print { message } => {
                let mut text = message.clone();
                for &used in &inst.uses {
                    let ty = self.run.plan.ty(used.value);
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    match self.take(used) {
                        Held::Scalar(scalar) => {
                            let value = self.defined(scalar, "a printed scalar", inst.loc)?;
                            push_number(&mut text, ty.dtype(), value);
                        }
                        Held::Tile(tile) => push_tile(&mut text, ty.dtype(), ty.shape(), &tile),
                        Held::Nothing => {}
                    }
                }
                self.found.prints.push(Print { step: self.step.to_vec(), text });
                Ok(())
            }
            DebugOp::ScopeStart { .. } | DebugOp::ScopeEnd => Ok(()),
            DebugOp::Delay => {
                let nanos = self.scalar(inst, 0)?;
                self.defined(nanos, "a delay", inst.loc)?;
                Ok(())
            }
            DebugOp::Assert { message } => {
                let cond = self.scalar(inst, 0)?;
                self.defined(cond, "this assertion", inst.loc)?;
                if cond.as_int() != 0 {
                    return Ok(());
                }
                let text = if message.is_empty() {
                    "an assertion failed".to_owned()
                } else {
                    format!("an assertion failed: {message}")
                };
                let diagnostic = Diagnostic::error(Code::INTERP_ASSERTION, text)
                    .at_opt(self.run.kernel().span(inst.loc), "asserted here");
                Err(self.report(inst.loc, diagnostic))
            }
        }
    }
}

fn push_number(text: &mut String, dtype: DType, value: Number) {
    // Writing to a string cannot fail.
    let _ = match value {
        Number::Float(value) => write!(text, "{value}"),
        Number::Int(value) if dtype == DType::Bool => write!(text, "{}", value != 0),
        Number::Int(value) => write!(text, "{value}"),
    };
}

/// Prints a tile as nested brackets, undefined elements as `?`.
fn push_tile(text: &mut String, dtype: DType, shape: &[usize], tile: &Tile) {
    let n: usize = shape.iter().product();
    for idx in 0..n.min(MAX_PRINTED) {
        if idx > 0 {
            text.push_str(", ");
        }
        let mut block = n;
        for &size in shape {
            if idx % block == 0 {
                text.push('[');
            }
            block /= size;
        }
        match tile.poison.as_ref().map_or(0, |poison| poison.get(idx)) {
            0 => push_number(text, dtype, tile.data.number(dtype, idx)),
            _ => text.push('?'),
        }
        let mut block = 1;
        for &size in shape.iter().rev() {
            block *= size;
            if (idx + 1) % block == 0 {
                text.push(']');
            }
        }
    }
    if n > MAX_PRINTED {
        let _ = write!(text, ", .. {} elements", n);
    }
}
