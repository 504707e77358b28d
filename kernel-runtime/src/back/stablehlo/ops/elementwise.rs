//! Element-wise ops.

use super::{erf, round};
use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor};
use crate::diag::Diagnostic;
use crate::ir::DType;
use crate::ir::kernel::OpData;
use crate::ir::ops::{Binary, Compare, Elementwise, Literal, Unary};
use crate::ir::ty::Shape;

/// Lowers an element-wise op.
pub(in crate::back::stablehlo) fn lower(
    cx: &mut Lowering<'_>,
    elementwise: Elementwise,
    op: &OpData,
) -> Result<Val, Diagnostic> {
    if let Elementwise::Constant(literal) = elementwise {
        return Ok(Val::Uniform(literal, Shape::new()));
    }
    let vals: Vec<Val> = op.operands.iter().map(|&v| cx.val(v)).collect::<Result<_, _>>()?;
    if let Some(known) = fold(elementwise, &vals) {
        return Ok(known);
    }
    let operands: Vec<Tensor> = vals.iter().map(|val| cx.materialise(val)).collect();
    let x = &operands[0];
    Ok(match elementwise {
        Elementwise::Constant(literal) => Val::Uniform(literal, Shape::new()),
        Elementwise::Unary(unary) => lower_unary(cx, unary, x).into(),
        Elementwise::Binary(binary) => lower_binary(cx, binary, x, &operands[1]).into(),
        Elementwise::Compare(compare) => cx.out.compare(direction(compare), x, &operands[1]).into(),
        Elementwise::Select => cx.out.select(x, &operands[1], &operands[2]).into(),
        Elementwise::Cast(dtype) => lower_cast(cx, x, dtype).into(),
        Elementwise::Bitcast(dtype) => cx.out.bitcast(x, dtype).into(),
    })
}

/// The value of an integer or `bool` op on known scalars, and of a `select` whose scalar condition
/// is known.
fn fold(elementwise: Elementwise, vals: &[Val]) -> Option<Val> {
    if elementwise == Elementwise::Select && vals[0].shape().is_empty() {
        return vals[0].as_int().map(|cond| vals[if cond != 0 { 1 } else { 2 }].clone());
    }
    let scalar = |idx: usize| match &vals[idx] {
        Val::Uniform(literal, shape) if shape.is_empty() => {
            literal.as_int().map(|value| (literal.dtype(), value))
        }
        Val::Uniform(..) | Val::Tensor(_) => None,
    };
    let (dtype, x) = scalar(0)?;
    let literal = match elementwise {
        Elementwise::Unary(unary) => wrapped(dtype, unary.eval_int(x)),
        Elementwise::Binary(binary) => wrapped(dtype, binary.eval_int(x, scalar(1)?.1)),
        Elementwise::Compare(compare) => {
            Literal::int(DType::Bool, i64::from(compare.eval(x, scalar(1)?.1)))
        }
        Elementwise::Cast(to) if !to.is_float() => Literal::int(to, x),
        Elementwise::Constant(_)
        | Elementwise::Select
        | Elementwise::Cast(_)
        | Elementwise::Bitcast(_) => return None,
    };
    Some(Val::Uniform(literal, Shape::new()))
}

/// The result of an integer op; one on `bool` is its lowest bit.
fn wrapped(dtype: DType, value: i64) -> Literal {
    Literal::int(dtype, if dtype == DType::Bool { value & 1 } else { value })
}

fn direction(compare: Compare) -> Direction {
    match compare {
        Compare::Eq => Direction::Eq,
        Compare::Ne => Direction::Ne,
        Compare::Lt => Direction::Lt,
        Compare::Le => Direction::Le,
        Compare::Gt => Direction::Gt,
        Compare::Ge => Direction::Ge,
    }
}

/// How an op is written.
enum Form {
    /// One op of this name on any element type: exact, so that narrow floats need no rounding.
    Exact(&'static str),
    /// One op of this name; narrow floats are computed in `f32` and rounded.
    Rounded(&'static str),
    /// Several ops on `f32`.
    Composed,
}

fn unary_form(unary: Unary) -> Form {
    match unary {
        Unary::Neg => Form::Exact("negate"),
        Unary::Abs => Form::Exact("abs"),
        Unary::Sign => Form::Exact("sign"),
        Unary::Floor => Form::Exact("floor"),
        Unary::Ceil => Form::Exact("ceil"),
        Unary::RoundEven => Form::Exact("round_nearest_even"),
        Unary::Not => Form::Exact("not"),
        Unary::Exp => Form::Rounded("exponential"),
        Unary::ExpM1 => Form::Rounded("exponential_minus_one"),
        Unary::Log => Form::Rounded("log"),
        Unary::Log1P => Form::Rounded("log_plus_one"),
        Unary::Sqrt => Form::Rounded("sqrt"),
        Unary::Rsqrt => Form::Rounded("rsqrt"),
        Unary::Tanh => Form::Rounded("tanh"),
        Unary::Logistic => Form::Rounded("logistic"),
        Unary::Sin => Form::Rounded("sine"),
        Unary::Cos => Form::Rounded("cosine"),
        Unary::Exp2 | Unary::Reciprocal | Unary::Erf => Form::Composed,
    }
}

fn lower_unary(cx: &mut Lowering<'_>, unary: Unary, x: &Tensor) -> Tensor {
    let unsigned = x.dtype.is_int() && !x.dtype.is_signed_int();
    match (unary, unsigned) {
        (Unary::Abs, true) => return x.clone(),
        (Unary::Sign, true) => {
            let one = cx.out.constant(Literal::int(x.dtype, 1), &x.shape);
            return cx.out.binary("minimum", x, &one);
        }
        _ => {}
    }
    match unary_form(unary) {
        Form::Exact(name) => cx.out.unary(name, x),
        Form::Rounded(name) => {
            let wide = round::widen(cx, x);
            let result = cx.out.unary(name, &wide);
            round::narrow(cx, &result, x.dtype)
        }
        Form::Composed => {
            let wide = round::widen(cx, x);
            let result = compose_unary(cx, unary, &wide);
            round::narrow(cx, &result, x.dtype)
        }
    }
}

fn compose_unary(cx: &mut Lowering<'_>, unary: Unary, x: &Tensor) -> Tensor {
    match unary {
        Unary::Exp2 => {
            let ln_2 = Literal::float(DType::F32, std::f32::consts::LN_2);
            let ln_2 = cx.out.constant(ln_2, &x.shape);
            let scaled = cx.out.binary("multiply", x, &ln_2);
            cx.out.unary("exponential", &scaled)
        }
        Unary::Reciprocal => {
            let one = cx.out.constant(Literal::float(DType::F32, 1.0), &x.shape);
            cx.out.binary("divide", &one, x)
        }
        Unary::Erf => erf::lower(cx, x),
        Unary::Neg
        | Unary::Abs
        | Unary::Sign
        | Unary::Exp
        | Unary::ExpM1
        | Unary::Log
        | Unary::Log1P
        | Unary::Sqrt
        | Unary::Rsqrt
        | Unary::Tanh
        | Unary::Logistic
        | Unary::Sin
        | Unary::Cos
        | Unary::Floor
        | Unary::Ceil
        | Unary::RoundEven
        | Unary::Not => x.clone(),
    }
}

fn lower_binary(cx: &mut Lowering<'_>, binary: Binary, x: &Tensor, y: &Tensor) -> Tensor {
    let signed = x.dtype.is_signed_int();
    match binary {
        Binary::Max if x.dtype.is_float() => return extreme(cx, Direction::Gt, x, y),
        Binary::Min if x.dtype.is_float() => return extreme(cx, Direction::Lt, x, y),
        _ => {}
    }
    let form = match binary {
        Binary::Max => Form::Exact("maximum"),
        Binary::Min => Form::Exact("minimum"),
        Binary::And => Form::Exact("and"),
        Binary::Or => Form::Exact("or"),
        Binary::Xor => Form::Exact("xor"),
        Binary::Shl => Form::Exact("shift_left"),
        Binary::Shr if signed => Form::Exact("shift_right_arithmetic"),
        Binary::Shr => Form::Exact("shift_right_logical"),
        Binary::Add => Form::Rounded("add"),
        Binary::Sub => Form::Rounded("subtract"),
        Binary::Mul => Form::Rounded("multiply"),
        Binary::Div => Form::Rounded("divide"),
        Binary::Rem => Form::Rounded("remainder"),
        Binary::Pow => Form::Rounded("power"),
    };
    match form {
        Form::Rounded(name) if x.dtype.is_float() => {
            let (wide_x, wide_y) = (round::widen(cx, x), round::widen(cx, y));
            let result = cx.out.binary(name, &wide_x, &wide_y);
            round::narrow(cx, &result, x.dtype)
        }
        Form::Exact(name) | Form::Rounded(name) => cx.out.binary(name, x, y),
        Form::Composed => x.clone(),
    }
}

/// The larger (`Gt`) or smaller (`Lt`) of two floats; NaN if either is. StableHLO's `maximum` and
/// `minimum` mean the same, but XLA:CPU loses NaN in them, by the default of
/// `xla_cpu_enable_fast_min_max` and, in reductions, whatever its options.
pub(super) fn extreme(
    cx: &mut Lowering<'_>,
    direction: Direction,
    x: &Tensor,
    y: &Tensor,
) -> Tensor {
    let better = cx.out.compare(direction, x, y);
    let is_nan = cx.out.compare(Direction::Ne, x, x);
    let take_x = cx.out.binary("or", &better, &is_nan);
    cx.out.select(&take_x, x, y)
}

/// Converts by the rules of [`crate::ir`].
fn lower_cast(cx: &mut Lowering<'_>, x: &Tensor, to: DType) -> Tensor {
    if x.dtype == to {
        return x.clone();
    }
    if to == DType::Bool {
        let zero = cx.out.constant(Literal::from_f64(x.dtype, 0.0), &x.shape);
        return cx.out.compare(Direction::Ne, x, &zero);
    }
    match (x.dtype.is_float(), to.is_float()) {
        (true, true) => {
            let wide = round::widen(cx, x);
            round::narrow(cx, &wide, to)
        }
        (true, false) => {
            let wide = round::widen(cx, x);
            float_to_int(cx, &wide, to)
        }
        (false, true) => {
            let wide = cx.out.convert(x, DType::F32);
            round::narrow(cx, &wide, to)
        }
        (false, false) => cx.out.convert(x, to),
    }
}

/// Truncates and saturates; NaN gives 0. StableHLO leaves both open, so they are written out.
fn float_to_int(cx: &mut Lowering<'_>, x: &Tensor, to: DType) -> Tensor {
    let (lo, hi) = to.int_range().unwrap_or((0, 0));
    // The largest float that is not above `hi`.
    let top = match hi as f32 {
        top if top as i64 > hi => top.next_down(),
        top => top,
    };
    let zero = cx.out.constant(Literal::float(DType::F32, 0.0), &x.shape);
    let is_nan = cx.out.compare(Direction::Ne, x, x);
    let number = cx.out.select(&is_nan, &zero, x);
    let least = cx.out.constant(Literal::float(DType::F32, lo as f32), &[]);
    let most = cx.out.constant(Literal::float(DType::F32, top), &[]);
    let limited = cx.out.clamp(&least, &number, &most);
    let result = cx.out.convert(&limited, to);
    if top as i64 == hi {
        return result;
    }
    let top = cx.out.constant(Literal::float(DType::F32, top), &x.shape);
    let above = cx.out.compare(Direction::Gt, x, &top);
    let hi = cx.out.constant(Literal::int(to, hi), &x.shape);
    cx.out.select(&above, &hi, &result)
}
