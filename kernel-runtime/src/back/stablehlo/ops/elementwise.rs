//! Element-wise ops.

use super::{erf, round};
use crate::back::stablehlo::Arithmetic;
use crate::back::stablehlo::lower::{Lowering, Val};
use crate::back::stablehlo::text::{Direction, Tensor, Writer};
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
    let operands = cx.aligned(&op.operands, &vals);
    if let Elementwise::Binary(binary @ (Binary::Div | Binary::Rem)) = elementwise
        && vals[1].as_int().is_some_and(|divisor| divisor != 0)
    {
        return Ok(lower_binary(&mut cx.out, binary, &operands[0], &operands[1]).into());
    }
    Ok(emit(&mut cx.out, elementwise, &operands).into())
}

/// Writes an element-wise op on operands that fit it.
pub(crate) fn emit(out: &mut Writer, elementwise: Elementwise, operands: &[Tensor]) -> Tensor {
    match (elementwise, operands) {
        (Elementwise::Constant(literal), _) => out.constant(literal, &[]),
        (Elementwise::Unary(unary), [x, ..]) => lower_unary(out, unary, x),
        (Elementwise::Binary(binary @ (Binary::Div | Binary::Rem)), [x, y, ..])
            if x.dtype.is_int() =>
        {
            divide(out, binary, x, y)
        }
        (Elementwise::Binary(binary), [x, y, ..]) => lower_binary(out, binary, x, y),
        (Elementwise::Compare(compare), [x, y, ..]) => out.compare(direction(compare), x, y),
        (Elementwise::Select, [condition, x, y, ..]) => out.select(condition, x, y),
        (Elementwise::Cast(dtype), [x, ..]) => lower_cast(out, x, dtype),
        (Elementwise::Bitcast(dtype), [x, ..]) => out.bitcast(x, dtype),
        // The type rule has counted the operands.
        (_, _) => out.constant(Literal::int(DType::Bool, 0), &[]),
    }
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
        Elementwise::Unary(unary) => Literal::int(dtype, unary.eval_int(x)),
        Elementwise::Binary(binary) => Literal::int(dtype, binary.eval_int(x, scalar(1)?.1)),
        Elementwise::Compare(compare) => {
            Literal::int(DType::Bool, i64::from(compare.eval(x, scalar(1)?.1)))
        }
        Elementwise::Cast(to) if !to.is_float() => Literal::int(to, to.cast_int(x)),
        Elementwise::Constant(_)
        | Elementwise::Select
        | Elementwise::Cast(_)
        | Elementwise::Bitcast(_) => return None,
    };
    Some(Val::Uniform(literal, Shape::new()))
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
        Unary::Exp2 | Unary::Reciprocal | Unary::ReciprocalApprox | Unary::Tan | Unary::Erf => {
            Form::Composed
        }
    }
}

fn lower_unary(out: &mut Writer, unary: Unary, x: &Tensor) -> Tensor {
    let unsigned = x.dtype.is_int() && !x.dtype.is_signed_int();
    match (unary, unsigned) {
        (Unary::Abs, true) => return x.clone(),
        (Unary::Sign, true) => {
            let one = out.constant(Literal::int(x.dtype, 1), &x.shape);
            return out.binary("minimum", x, &one);
        }
        _ => {}
    }
    match unary_form(unary) {
        Form::Exact(name) => out.unary(name, x),
        // XLA:CPU computes it in another way for a single element.
        Form::Rounded("tanh") if out.arithmetic() == Arithmetic::InOrder => {
            let wide = round::widen(out, x);
            let result = tanh(out, &wide);
            round::narrow(out, &result, x.dtype)
        }
        Form::Rounded(name) => {
            let wide = round::widen(out, x);
            let result = out.unary(name, &wide);
            round::narrow(out, &result, x.dtype)
        }
        Form::Composed => {
            let wide = round::widen(out, x);
            let result = compose_unary(out, unary, &wide);
            round::narrow(out, &result, x.dtype)
        }
    }
}

/// `tanh` by `e^-2|x| - 1`, which keeps small results exact.
fn tanh(out: &mut Writer, x: &Tensor) -> Tensor {
    let [two, minus_two] = [2.0, -2.0].map(|value| Literal::float(DType::F32, value));
    let (two, minus_two) = (out.constant(two, &x.shape), out.constant(minus_two, &x.shape));
    let size = out.unary("abs", x);
    let exponent = out.binary("multiply", &size, &minus_two);
    let decay = out.unary("exponential_minus_one", &exponent);
    let below = out.binary("add", &decay, &two);
    let quotient = out.binary("divide", &decay, &below);
    let tanh = out.unary("negate", &quotient);
    let sign = out.unary("sign", x);
    out.binary("multiply", &tanh, &sign)
}

fn compose_unary(out: &mut Writer, unary: Unary, x: &Tensor) -> Tensor {
    match unary {
        Unary::Exp2 => {
            let ln_2 = Literal::float(DType::F32, std::f32::consts::LN_2);
            let ln_2 = out.constant(ln_2, &x.shape);
            let scaled = out.binary("multiply", x, &ln_2);
            out.unary("exponential", &scaled)
        }
        Unary::Tan => {
            let (sine, cosine) = (out.unary("sine", x), out.unary("cosine", x));
            out.binary("divide", &sine, &cosine)
        }
        Unary::Reciprocal | Unary::ReciprocalApprox => {
            let one = out.constant(Literal::float(DType::F32, 1.0), &x.shape);
            out.binary("divide", &one, x)
        }
        Unary::Erf => erf::lower(out, x),
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

fn lower_binary(out: &mut Writer, binary: Binary, x: &Tensor, y: &Tensor) -> Tensor {
    let signed = x.dtype.is_signed_int();
    match binary {
        Binary::Max if x.dtype.is_float() => return extreme(out, Direction::Gt, x, y),
        Binary::Min if x.dtype.is_float() => return extreme(out, Direction::Lt, x, y),
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
        Binary::Atan2 => Form::Rounded("atan2"),
    };
    match form {
        Form::Rounded(name) if x.dtype.is_float() => {
            let (wide_x, wide_y) = (round::widen(out, x), round::widen(out, y));
            let result = out.binary(name, &wide_x, &wide_y);
            round::narrow(out, &result, x.dtype)
        }
        Form::Exact(name) | Form::Rounded(name) => out.binary(name, x, y),
        Form::Composed => x.clone(),
    }
}

/// A quotient or remainder of integers by what may be zero. XLA's own mean the same, but some
/// builds simplify `x / x` to 1, and others divide while they compile, which kills the process.
/// See `tests/stablehlo/xla.rs`.
fn divide(out: &mut Writer, binary: Binary, x: &Tensor, y: &Tensor) -> Tensor {
    let mut number = |value| out.constant(Literal::int(y.dtype, value), &y.shape);
    let [zero, one, minus_one] = [0, 1, -1].map(&mut number);
    let by_zero = out.compare(Direction::Eq, y, &zero);
    let divisor = out.select(&by_zero, &one, y);
    let result = lower_binary(out, binary, x, &divisor);
    let at_zero = if binary == Binary::Div { &minus_one } else { x };
    out.select(&by_zero, at_zero, &result)
}

/// The larger (`Gt`) or smaller (`Lt`) of two floats; NaN if either is. StableHLO's `maximum` and
/// `minimum` mean the same, but XLA:CPU loses NaN in them, by the default of
/// `xla_cpu_enable_fast_min_max` and, in reductions, whatever its options.
pub(crate) fn extreme(out: &mut Writer, direction: Direction, x: &Tensor, y: &Tensor) -> Tensor {
    let better = out.compare(direction, x, y);
    let is_nan = out.compare(Direction::Ne, x, x);
    let take_x = out.binary("or", &better, &is_nan);
    out.select(&take_x, x, y)
}

/// Converts by the rules of [`crate::ir`].
fn lower_cast(out: &mut Writer, x: &Tensor, to: DType) -> Tensor {
    if x.dtype == to {
        return x.clone();
    }
    if to == DType::Bool {
        let zero = out.constant(Literal::from_f64(x.dtype, 0.0), &x.shape);
        return out.compare(Direction::Ne, x, &zero);
    }
    match (x.dtype.is_float(), to.is_float()) {
        (true, true) => {
            let wide = round::widen(out, x);
            round::narrow(out, &wide, to)
        }
        (true, false) => {
            let wide = round::widen(out, x);
            float_to_int(out, &wide, to)
        }
        (false, true) => {
            let wide = out.convert(x, DType::F32);
            round::narrow(out, &wide, to)
        }
        (false, false) => out.convert(x, to),
    }
}

/// Truncates and saturates; NaN gives 0. StableHLO leaves both open, so they are written out.
fn float_to_int(out: &mut Writer, x: &Tensor, to: DType) -> Tensor {
    let (lo, hi) = to.int_range().unwrap_or((0, 0));
    // The largest float that is not above `hi`.
    let top = match hi as f32 {
        top if top as i64 > hi => top.next_down(),
        top => top,
    };
    let zero = out.constant(Literal::float(DType::F32, 0.0), &x.shape);
    let is_nan = out.compare(Direction::Ne, x, x);
    let number = out.select(&is_nan, &zero, x);
    let least = out.constant(Literal::float(DType::F32, lo as f32), &[]);
    let most = out.constant(Literal::float(DType::F32, top), &[]);
    let limited = out.clamp(&least, &number, &most);
    let result = out.convert(&limited, to);
    if top as i64 == hi {
        return result;
    }
    let top = out.constant(Literal::float(DType::F32, top), &x.shape);
    let above = out.compare(Direction::Gt, x, &top);
    let hi = out.constant(Literal::int(to, hi), &x.shape);
    out.select(&above, &hi, &result)
}
