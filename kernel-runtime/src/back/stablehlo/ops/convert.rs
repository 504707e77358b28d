//! Conversions across rows and words, and rounding by chance.

use super::round;
use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor, Writer};
use crate::diag::Diagnostic;
use crate::ir::kernel::OpData;
use crate::ir::ops::{ConvertOp, Literal};
use crate::ir::{DType, Shape};

/// Lowers a conversion.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    convert: ConvertOp,
    op: &OpData,
) -> Result<Tensor, Diagnostic> {
    let vals: Vec<Val> = op.operands.iter().map(|&v| cx.val(v)).collect::<Result<_, _>>()?;
    let operands = cx.aligned(&op.operands, &vals);
    let out = &mut cx.out;
    Ok(match convert {
        ConvertOp::BitcastRows { dtype } => bitcast_rows(out, &operands[0], dtype),
        ConvertOp::Pack { dtype } => pack(out, &operands, dtype),
        ConvertOp::Unpack { dtype, index } => unpack(out, &operands[0], dtype, index),
        ConvertOp::StochasticRound { dtype } => {
            let rounded = stochastic_round(out, &operands[0], &operands[1]);
            round::narrow(out, &rounded, dtype)
        }
    })
}

/// XLA puts the parts of an element, lowest first, along an axis of their own at the end, from where
/// they go behind the rows.
fn bitcast_rows(out: &mut Writer, x: &Tensor, to: DType) -> Tensor {
    let (from_bytes, to_bytes) = (x.dtype.size_bytes(), to.size_bytes());
    let rank = x.shape.len();
    let (rows, columns) = (x.shape[rank - 2], x.shape[rank - 1]);
    let leading = Shape::from_slice(&x.shape[..rank - 2]);
    let shape = |rest: &[usize]| -> Shape { leading.iter().chain(rest).copied().collect() };
    let swap: Vec<usize> = (0..rank - 1).chain([rank, rank - 1]).collect();
    if from_bytes == to_bytes {
        return out.bitcast(x, to);
    }
    if from_bytes > to_bytes {
        let n = from_bytes / to_bytes;
        let parts = out.bitcast_to(x, to, &shape(&[rows, columns, n]));
        let parts = out.transpose(&parts, &swap);
        return out.reshape(&parts, &shape(&[rows * n, columns]));
    }
    let n = to_bytes / from_bytes;
    let parts = out.reshape(x, &shape(&[rows / n, n, columns]));
    let parts = out.transpose(&parts, &swap);
    out.bitcast_to(&parts, to, &shape(&[rows / n, columns]))
}

fn number(out: &mut Writer, value: i64, shape: &[usize]) -> Tensor {
    out.constant(Literal::int(DType::U32, value), shape)
}

fn unsigned(dtype: DType) -> DType {
    if dtype.size_bytes() == 1 { DType::U8 } else { DType::U16 }
}

fn pack(out: &mut Writer, parts: &[Tensor], dtype: DType) -> Tensor {
    let n_bits = 8 * dtype.size_bytes() as i64;
    let mut word: Option<Tensor> = None;
    for (idx, part) in parts.iter().enumerate() {
        let part = if dtype.is_float() {
            let rounded = round::narrow(out, part, dtype);
            out.bitcast(&rounded, DType::U16)
        } else {
            out.convert(part, unsigned(dtype))
        };
        let part = out.convert(&part, DType::U32);
        let by = number(out, n_bits * idx as i64, &part.shape);
        let shifted = out.binary("shift_left", &part, &by);
        word = Some(match word {
            None => shifted,
            Some(word) => out.binary("or", &word, &shifted),
        });
    }
    // There are always parts.
    word.unwrap_or_else(|| number(out, 0, &[]))
}

fn unpack(out: &mut Writer, x: &Tensor, dtype: DType, index: usize) -> Tensor {
    let by = number(out, 8 * (dtype.size_bytes() * index) as i64, &x.shape);
    let shifted = out.binary("shift_right_logical", x, &by);
    let part = out.convert(&shifted, unsigned(dtype));
    let part = out.bitcast(&part, dtype);
    out.convert(&part, ConvertOp::wide(dtype))
}

/// The `f32` whose lower half is 0 after the random bits were added; infinities and NaN as they are.
fn stochastic_round(out: &mut Writer, x: &Tensor, random: &Tensor) -> Tensor {
    let bits = out.bitcast(x, DType::U32);
    let low = number(out, 0xFFFF, &x.shape);
    let high = number(out, 0xFFFF_0000, &x.shape);
    let chance = out.binary("and", random, &low);
    let sum = out.binary("add", &bits, &chance);
    let raised = out.binary("and", &sum, &high);
    let raised = out.bitcast(&raised, DType::F32);
    let magnitude = out.unary("abs", x);
    let infinity = out.constant(Literal::float(DType::F32, f32::INFINITY), &x.shape);
    let finite = out.compare(Direction::Lt, &magnitude, &infinity);
    out.select(&finite, &raised, x)
}
