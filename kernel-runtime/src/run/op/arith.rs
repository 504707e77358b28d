//! Element-wise ops that the kernel language does not have, made of those that it has, each in one
//! program.

use super::elementwise::{broadcast, broadcast_shapes, unbroadcast};
use super::{Gradients, Op, OpError, Types, Value, Vjp, expect_float, expect_same_dtype};
use crate::back::stablehlo::ops::{elementwise, round};
use crate::back::stablehlo::text::Direction;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::DType;
use crate::ir::ops::{Binary, Elementwise, Literal, Unary};
use crate::run::bounded::{Bounded, Bounds};
use crate::run::dispatch::apply;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{FloatKind, NumKind, Operand, Tensor};
use smallvec::{SmallVec, smallvec};
use std::panic::Location;

/// Operands brought to one shape.
fn broadcast_all(cx: &mut Emit, name: &str, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
    let types: SmallVec<[Ty; 3]> =
        inputs.iter().map(|x| Ty { dtype: x.dtype, shape: x.shape.clone() }).collect();
    let types: SmallVec<[&Ty; 3]> = types.iter().collect();
    let shape = broadcast_shapes(name, &types).map_err(Diagnostic::from)?;
    Ok(inputs.iter().map(|x| broadcast(cx, x, &shape)).collect())
}

fn infer_arithmetic(name: &str, inputs: &[&Ty]) -> Result<Types, OpError> {
    expect_same_dtype(name, inputs)?;
    if inputs[0].dtype == DType::Bool {
        return Err(OpError::dtype(format!("`{name}` is not defined on `bool`")));
    }
    Ok(smallvec![Ty { dtype: inputs[0].dtype, shape: broadcast_shapes(name, inputs)? }])
}

/// Elements limited to a range.
#[derive(Clone, Copy, Debug, Hash)]
struct Clip;

impl Op for Clip {
    fn name(&self) -> &'static str {
        "clip"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        infer_arithmetic(self.name(), inputs)
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let all = broadcast_all(cx, self.name(), inputs)?;
        let mut limited = all[0].clone();
        for (bound, op) in all[1..].iter().zip([Binary::Max, Binary::Min]) {
            let operands = [limited, bound.clone()];
            limited = elementwise::emit(&mut cx.out, Elementwise::Binary(op), &operands);
        }
        Ok(vec![limited])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([bounds.broadcast(self.name())?]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, lo, hi) = (&vjp.inputs[0], &vjp.inputs[1], &vjp.inputs[2]);
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None; 3]);
        };
        let zero = g.zeros_like();
        let above = x.max(lo).gt(hi).to_dyn();
        let below = x.lt(lo).to_dyn();
        let to_hi = above.select(g, &zero);
        let rest = above.select(&zero, g);
        let (to_lo, to_x) = (below.select(&rest, &zero), below.select(&zero, &rest));
        Ok(smallvec![
            Some(unbroadcast(to_x, x)),
            Some(unbroadcast(to_lo, lo)),
            Some(unbroadcast(to_hi, hi)),
        ])
    }
}

/// A quotient rounded down, or what it leaves.
#[derive(Clone, Copy, Debug, Hash)]
enum FloorDivision {
    Quotient,
    Remainder,
}

impl Op for FloorDivision {
    fn name(&self) -> &'static str {
        match self {
            FloorDivision::Quotient => "floor_div",
            FloorDivision::Remainder => "floor_mod",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        infer_arithmetic(self.name(), inputs)
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let all = broadcast_all(cx, self.name(), inputs)?;
        let dtype = all[0].dtype;
        if !dtype.is_float() {
            return Ok(vec![self.of_integers(cx, &all[0], &all[1])]);
        }
        let x = round::widen(&mut cx.out, &all[0]);
        let y = round::widen(&mut cx.out, &all[1]);
        let result = self.of_floats(cx, &x, &y);
        Ok(vec![round::narrow(&mut cx.out, &result, dtype)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([bounds.broadcast(self.name())?]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let (x, y) = (&vjp.inputs[0], &vjp.inputs[1]);
        let Some(g) = vjp.cotangent().filter(|_| x.dtype().is_float()) else {
            return Ok(smallvec![None, None]);
        };
        Ok(match self {
            // Flat wherever it has a slope at all.
            FloorDivision::Quotient => smallvec![Some(x.zeros_like()), Some(y.zeros_like())],
            FloorDivision::Remainder => {
                let to_y = (g * x.floor_div(y)).neg();
                smallvec![Some(unbroadcast(g.clone(), x)), Some(unbroadcast(to_y, y))]
            }
        })
    }
}

impl FloorDivision {
    /// The remainder with the sign of the dividend, and whether the divisor has the other sign.
    fn remainder(cx: &mut Emit, x: &Value, y: &Value) -> (Value, Value) {
        let zero = cx.out.constant(Literal::from_f64(x.dtype, 0.0), &x.shape);
        let rest = cx.out.binary("remainder", x, y);
        let some = cx.out.compare(Direction::Ne, &rest, &zero);
        let (below, divisor_below) =
            (cx.out.compare(Direction::Lt, &rest, &zero), cx.out.compare(Direction::Lt, y, &zero));
        let differ = cx.out.binary("xor", &below, &divisor_below);
        let differ = cx.out.binary("and", &differ, &some);
        (rest, differ)
    }

    fn of_integers(self, cx: &mut Emit, x: &Value, y: &Value) -> Value {
        let zero = cx.out.constant(Literal::int(x.dtype, 0), &x.shape);
        let (rest, differ) = FloorDivision::remainder(cx, x, y);
        let divides = cx.out.compare(Direction::Ne, y, &zero);
        let differ = cx.out.binary("and", &differ, &divides);
        match self {
            FloorDivision::Quotient => {
                let one = cx.out.constant(Literal::int(x.dtype, 1), &x.shape);
                let quotient = cx.out.binary("divide", x, y);
                let less = cx.out.binary("subtract", &quotient, &one);
                cx.out.select(&differ, &less, &quotient)
            }
            FloorDivision::Remainder => {
                let more = cx.out.binary("add", &rest, y);
                cx.out.select(&differ, &more, &rest)
            }
        }
    }

    /// By the remainder, which is exact, so that `1.0 / 0.1` is 9 and not 10.
    fn of_floats(self, cx: &mut Emit, x: &Value, y: &Value) -> Value {
        let (rest, differ) = FloorDivision::remainder(cx, x, y);
        if let FloorDivision::Remainder = self {
            let more = cx.out.binary("add", &rest, y);
            return cx.out.select(&differ, &more, &rest);
        }
        let [zero, half, one] = [0.0, 0.5, 1.0]
            .map(|value| cx.out.constant(Literal::float(DType::F32, value), &x.shape));
        let whole = cx.out.binary("subtract", x, &rest);
        let quotient = cx.out.binary("divide", &whole, y);
        let less = cx.out.binary("subtract", &quotient, &one);
        let quotient = cx.out.select(&differ, &less, &quotient);
        // It is an integer but for the rounding of the division.
        let down = cx.out.unary("floor", &quotient);
        let above = cx.out.binary("subtract", &quotient, &down);
        let above = cx.out.compare(Direction::Gt, &above, &half);
        let up = cx.out.binary("add", &down, &one);
        let nearest = cx.out.select(&above, &up, &down);
        let plain = cx.out.binary("divide", x, y);
        let by_zero = cx.out.compare(Direction::Eq, y, &zero);
        cx.out.select(&by_zero, &plain, &nearest)
    }
}

/// What kind of float an element is.
#[derive(Clone, Copy, Debug, Hash)]
enum FloatTest {
    Nan,
    Finite,
    Infinite,
}

impl Op for FloatTest {
    fn name(&self) -> &'static str {
        match self {
            FloatTest::Nan => "is_nan",
            FloatTest::Finite => "is_finite",
            FloatTest::Infinite => "is_infinite",
        }
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        expect_float(self.name(), inputs[0])?;
        Ok(smallvec![Ty { dtype: DType::Bool, shape: inputs[0].shape.clone() }])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let x = &inputs[0];
        Ok(vec![match self {
            FloatTest::Nan => cx.out.compare(Direction::Ne, x, x),
            FloatTest::Finite => cx.out.is_finite(x),
            FloatTest::Infinite => {
                let most = cx.out.constant(Literal::float(x.dtype, f32::INFINITY), &x.shape);
                let size = elementwise::emit(
                    &mut cx.out,
                    Elementwise::Unary(Unary::Abs),
                    std::slice::from_ref(x),
                );
                cx.out.compare(Direction::Eq, &size, &most)
            }
        }])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([bounds.broadcast(self.name())?]))
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![None])
    }
}

impl<T: NumKind> Tensor<T> {
    /// The elements limited to `lo..=hi`, which broadcast: `min(max(x, lo), hi)`, so that `hi` wins
    /// where `lo` is above it. NaN if any of the three is.
    #[track_caller]
    #[doc(alias = "clamp")]
    pub fn clip(&self, lo: impl Operand<T>, hi: impl Operand<T>) -> Tensor<T> {
        let (lo, hi) = (lo.beside(self), hi.beside(self));
        apply(Clip, &[self.node(), lo.node(), hi.node()], Location::caller())
    }

    /// The quotient rounded towards minus infinity, NumPy's `//`; `/` on integers rounds towards
    /// zero. An integer by zero is -1 (the largest of an unsigned type), as in `/`.
    #[track_caller]
    #[doc(alias = "floor_divide")]
    pub fn floor_div(&self, other: impl Operand<T>) -> Tensor<T> {
        let other = other.beside(self);
        apply(FloorDivision::Quotient, &[self.node(), other.node()], Location::caller())
    }

    /// What [`Tensor::floor_div`] leaves, NumPy's `%`: it has the sign of the divisor, where `%`
    /// here has that of the dividend, as in Rust. An integer by zero leaves itself.
    #[track_caller]
    #[doc(alias = "remainder")]
    pub fn floor_mod(&self, other: impl Operand<T>) -> Tensor<T> {
        let other = other.beside(self);
        apply(FloorDivision::Remainder, &[self.node(), other.node()], Location::caller())
    }
}

impl<T: FloatKind> Tensor<T> {
    /// Whether each element is NaN.
    #[track_caller]
    pub fn is_nan(&self) -> Tensor<bool> {
        apply(FloatTest::Nan, &[self.node()], Location::caller())
    }

    /// Whether each element is neither infinite nor NaN.
    #[track_caller]
    pub fn is_finite(&self) -> Tensor<bool> {
        apply(FloatTest::Finite, &[self.node()], Location::caller())
    }

    /// Whether each element is infinite, of either sign.
    #[track_caller]
    pub fn is_infinite(&self) -> Tensor<bool> {
        apply(FloatTest::Infinite, &[self.node()], Location::caller())
    }
}
