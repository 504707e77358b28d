//! A small evaluator of the scalar unit, for sizes of transfers that libtpu computes at run time.
//!
//! The dump of executed bundles has every instruction once per execution, with unique value names,
//! so a table of known values is all it takes. What is not understood is unknown, never guessed.
use super::bundles::{Instruction, id};
use std::collections::HashMap;

/// Known values of scalar registers and of spilled ones.
#[derive(Debug, Default)]
pub(crate) struct Scalars {
    values: HashMap<u32, u32>,
    spilled: HashMap<String, Option<u32>>,
}

impl Scalars {
    /// The value of an immediate or a register.
    pub(crate) fn value(&self, operand: &str) -> Option<u32> {
        let operand = operand.trim();
        match operand.strip_prefix('%') {
            Some(name) => self.values.get(&id(name)?).copied(),
            // Immediates are printed as unsigned, some as negative numbers.
            None => {
                operand.parse().ok().or_else(|| Some(operand.parse::<i32>().ok()?.cast_unsigned()))
            }
        }
    }

    /// Follows one executed instruction.
    pub(crate) fn execute(&mut self, instruction: &Instruction<'_>) {
        if !instruction.op.starts_with(['s', 'p', 'i']) {
            return;
        }
        if instruction.op == "sst" {
            self.spill(instruction);
            return;
        }
        if let (Some(result), Some(value)) = (instruction.result(), self.evaluate(instruction)) {
            self.values.insert(result, value);
        }
    }

    fn spill(&mut self, instruction: &Instruction<'_>) {
        let Some((slot, source)) = instruction.rest.split_once("]] ") else { return };
        if slot.contains("_spill") {
            let value = self.value(without_comment(source));
            self.spilled.insert(slot.trim().to_owned(), value);
        }
    }

    fn evaluate(&self, instruction: &Instruction<'_>) -> Option<u32> {
        let rest = instruction.rest.trim();
        if instruction.op == "sld" {
            let (slot, _) = rest.split_once("]]")?;
            return self.spilled.get(slot).copied().flatten();
        }
        if instruction.op == "scalar_select" {
            let pick = if self.value(instruction.argument("predicate")?)? != 0 {
                "on_true"
            } else {
                "on_false"
            };
            return self.value(instruction.argument(pick)?);
        }
        // An instruction under a predicate merges two values; they are told apart by the predicate.
        if rest.starts_with('(') {
            return self.predicated(rest);
        }
        let mut operands = without_comment(rest).split(',').map(|operand| self.value(operand));
        let a = operands.next()??;
        if matches!(instruction.op, "smov.u32" | "int_to_ptr") {
            return Some(a);
        }
        if instruction.op == "pneg" {
            return Some(u32::from(a == 0));
        }
        let b = operands.next()??;
        apply(instruction.op, a, b)
    }

    /// `(%p, %a), %b`: `a` if the predicate holds, else `b`; `(!%p, ..)` the other way round.
    fn predicated(&self, rest: &str) -> Option<u32> {
        let (pair, other) = rest.strip_prefix('(')?.split_once("),")?;
        let (predicate, a) = pair.split_once(',')?;
        let (negated, predicate) = match predicate.strip_prefix('!') {
            Some(predicate) => (true, predicate),
            None => (false, predicate),
        };
        let holds = (self.value(predicate)? != 0) != negated;
        self.value(if holds { a } else { without_comment(other) })
    }
}

fn apply(op: &str, a: u32, b: u32) -> Option<u32> {
    let signed = (a.cast_signed(), b.cast_signed());
    Some(match op {
        "sadd.s32" => a.wrapping_add(b),
        "ssub.s32" => a.wrapping_sub(b),
        "smul.u32" | "smul.s32" => a.wrapping_mul(b),
        "sand.u32" => a & b,
        "sor.u32" => a | b,
        "sxor.u32" => a ^ b,
        "sshll.u32" => a.checked_shl(b).unwrap_or(0),
        "sshrl.u32" => a.checked_shr(b).unwrap_or(0),
        "sshra.s32" => (signed.0 >> b.min(31)).cast_unsigned(),
        "smin.u32" => a.min(b),
        "smax.u32" => a.max(b),
        "por" => u32::from(a != 0 || b != 0),
        "pand" => u32::from(a != 0 && b != 0),
        "pnand" => u32::from(!(a != 0 && b != 0)),
        "scmp.eq.s32.totalorder" => u32::from(a == b),
        "scmp.ne.s32.totalorder" => u32::from(a != b),
        "scmp.lt.s32.totalorder" => u32::from(signed.0 < signed.1),
        "scmp.le.s32.totalorder" => u32::from(signed.0 <= signed.1),
        "scmp.gt.s32.totalorder" => u32::from(signed.0 > signed.1),
        "scmp.ge.s32.totalorder" => u32::from(signed.0 >= signed.1),
        _ => return None,
    })
}

fn without_comment(text: &str) -> &str {
    text.find("/*").map_or(text, |at| &text[..at])
}
