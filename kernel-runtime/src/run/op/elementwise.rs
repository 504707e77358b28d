//! Element-wise ops, on operands broadcast to one shape as in NumPy.
//!
//! They are those of the kernel language: [`crate::ir::ops::Elementwise`] has their meaning, and
//! the StableHLO back end writes them, for tensors as for tiles.

use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::back::stablehlo::ops::elementwise::emit;
use crate::diag::Diagnostics;
use crate::ir::ops::elementwise::elementwise_table;
use crate::ir::ops::{Binary, Compare, Elementwise, Literal, Unary};
use crate::ir::{DType, Element, Shape, Type};
use crate::run::bounded::{Bounded, Bounds};
use crate::run::dispatch::{apply, apply_in_place};
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::tensor::{DynTensor, FloatKind, Kind, NumKind, Operand, Tensor};
use smallvec::{SmallVec, smallvec};
use std::panic::Location;

/// One value everywhere in programs that are traced: a scalar.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Constant {
    pub(crate) literal: Literal,
}

impl Op for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn infer(&self, _inputs: &[&Ty]) -> Result<Types, OpError> {
        Ok(smallvec![Ty::new(self.literal.dtype(), &[])])
    }

    fn emit(&self, cx: &mut Emit, _inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        Ok(vec![cx.out.constant(self.literal, &[])])
    }

    fn vjp(&self, _vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        Ok(smallvec![])
    }
}

/// An element-wise op of the kernel language.
#[derive(Clone, Copy, Debug, Hash)]
struct Pointwise(Elementwise);

impl Op for Pointwise {
    fn name(&self) -> &'static str {
        self.0.mnemonic()
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        let shape = broadcast_shapes(self.name(), inputs)?;
        let types: SmallVec<[Type; 3]> =
            inputs.iter().map(|ty| Type::tile(ty.dtype, &shape)).collect();
        let types: SmallVec<[&Type; 3]> = types.iter().collect();
        let results = self.0.infer(&types).map_err(|error| {
            let error = match inputs {
                [x, y, ..] if x.dtype != y.dtype => OpError::dtype(format!(
                    "`{}` mixes {x} with {y}: element types never convert silently",
                    self.name()
                )),
                _ => OpError::dtype(error.message),
            };
            error.help("convert one: `.cast::<T>()`")
        })?;
        Ok(results.iter().map(|ty| Ty { dtype: ty.dtype(), shape: shape.clone() }).collect())
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        let types: SmallVec<[Ty; 3]> =
            inputs.iter().map(|x| Ty { dtype: x.dtype, shape: x.shape.clone() }).collect();
        let types: SmallVec<[&Ty; 3]> = types.iter().collect();
        let shape = broadcast_shapes(self.name(), &types).map_err(crate::diag::Diagnostic::from)?;
        let inputs: Vec<Value> = inputs.iter().map(|x| broadcast(cx, x, &shape)).collect();
        Ok(vec![emit(&mut cx.out, self.0, &inputs)])
    }

    fn bounded(&self, bounds: &Bounds<'_>) -> Result<Bounded, OpError> {
        Ok(Bounded::new([bounds.broadcast(self.name())?]))
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let Some(g) = vjp.cotangent() else {
            return Ok(smallvec![None; vjp.inputs.len()]);
        };
        let y = &vjp.outputs[0];
        let gradients: Gradients = match (self.0, vjp.inputs) {
            (Elementwise::Unary(op), [x]) => smallvec![unary_gradient(op, x, y, g)?],
            (Elementwise::Binary(op), [a, b]) => binary_gradients(op, [a, b], y, g)?,
            (Elementwise::Select, [condition, a, b]) => {
                let zero = g.zeros_like();
                let to_a = condition.select(g, &zero);
                let to_b = condition.select(&zero, g);
                smallvec![None, Some(unbroadcast(to_a, a)), Some(unbroadcast(to_b, b))]
            }
            (Elementwise::Cast(_), [x]) if x.dtype().is_float() && y.dtype().is_float() => {
                smallvec![Some(g.cast_to(x.dtype()))]
            }
            (
                Elementwise::Cast(_)
                | Elementwise::Compare(_)
                | Elementwise::Bitcast(_)
                | Elementwise::Constant(_)
                | Elementwise::Unary(_)
                | Elementwise::Binary(_)
                | Elementwise::Select,
                inputs,
            ) => smallvec![None; inputs.len()],
        };
        Ok(gradients)
    }
}

/// The shape that operands are brought to: axes are paired from the last one, and one of size 1 is
/// repeated.
pub(crate) fn broadcast_shapes(name: &str, inputs: &[&Ty]) -> Result<Shape, OpError> {
    let rank = inputs.iter().map(|ty| ty.shape.len()).max().unwrap_or(0);
    let mut shape: Shape = smallvec![1; rank];
    for ty in inputs {
        let offset = rank - ty.shape.len();
        for (axis, &size) in ty.shape.iter().enumerate() {
            let known = &mut shape[offset + axis];
            if *known == 1 {
                *known = size;
            } else if size != 1 && size != *known {
                let shapes: Vec<String> =
                    inputs.iter().map(|ty| format!("{:?}", ty.shape.as_slice())).collect();
                return Err(OpError::shape(format!(
                    "`{name}`: the shapes {} do not broadcast: axis {} (from the end) is {} and {size}",
                    shapes.join(" and "),
                    ty.shape.len() - axis,
                    *known
                ))
                .help("sizes must be equal, or 1 to be repeated along that axis"));
            }
        }
    }
    Ok(shape)
}

/// Repeats a value along the axes that its shape lacks or has with size 1.
pub(crate) fn broadcast(cx: &mut Emit, x: &Value, shape: &[usize]) -> Value {
    if x.shape.as_slice() == shape {
        return x.clone();
    }
    let offset = shape.len() - x.shape.len();
    let dims: Vec<usize> = (offset..shape.len()).collect();
    cx.out.broadcast(x, &dims, shape)
}

/// The gradient of an operand that was broadcast: summed over the axes that were repeated.
pub(crate) fn unbroadcast(gradient: DynTensor, operand: &DynTensor) -> DynTensor {
    let (from, to) = (gradient.shape().to_vec(), operand.shape().to_vec());
    if from == to {
        return gradient;
    }
    let offset = from.len().saturating_sub(to.len());
    let repeated: Vec<i64> = (0..from.len())
        .filter(|&axis| axis < offset || (to[axis - offset] == 1 && from[axis] != 1))
        .map(|axis| axis as i64)
        .collect();
    gradient.sum(&repeated).reshape(&to)
}

fn number(x: &DynTensor, value: f64) -> DynTensor {
    value.beside(x)
}

fn unary_gradient(
    op: Unary,
    x: &DynTensor,
    y: &DynTensor,
    g: &DynTensor,
) -> Result<Option<DynTensor>, OpError> {
    let one = || number(x, 1.0);
    let gradient = match op {
        Unary::Neg => g.neg(),
        Unary::Abs => g * x.sign(),
        Unary::Exp => g * y,
        Unary::Exp2 => g * y * std::f64::consts::LN_2,
        Unary::ExpM1 => g * (y + one()),
        Unary::Log => g / x,
        Unary::Log1P => g / (x + one()),
        Unary::Sqrt => g / (y * 2.0),
        Unary::Rsqrt => g * (y * y * y) * -0.5,
        Unary::Reciprocal | Unary::ReciprocalApprox => (g * (y * y)).neg(),
        Unary::Tan => g * (one() + y * y),
        Unary::Tanh => g * (one() - y * y),
        Unary::Logistic => g * (y * (one() - y)),
        Unary::Sin => g * x.cos(),
        Unary::Cos => (g * x.sin()).neg(),
        Unary::Erf => g * (x * x).neg().exp() * std::f64::consts::FRAC_2_SQRT_PI,
        // Flat wherever they have a slope at all.
        Unary::Sign | Unary::Floor | Unary::Ceil | Unary::RoundEven => g.zeros_like(),
        Unary::Not => return Ok(None),
    };
    Ok(Some(gradient))
}

fn binary_gradients(
    op: Binary,
    [a, b]: [&DynTensor; 2],
    y: &DynTensor,
    g: &DynTensor,
) -> Result<Gradients, OpError> {
    let (to_a, to_b) = match op {
        Binary::Add => (g.clone(), g.clone()),
        Binary::Sub => (g.clone(), g.neg()),
        Binary::Mul => (g * b, g * a),
        Binary::Div => (g / b, (g * y / b).neg()),
        Binary::Max => share(a.ge(b), a.eq(b), g),
        Binary::Min => share(a.le(b), a.eq(b), g),
        Binary::Pow => (g * b * a.pow(b - number(b, 1.0)), g * y * a.log()),
        Binary::Atan2 => {
            let square = a * a + b * b;
            (g * b / &square, (g * a / &square).neg())
        }
        Binary::Rem => (g.clone(), (g * (a / b).trunc()).neg()),
        Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
            return Ok(smallvec![None, None]);
        }
    };
    Ok(smallvec![Some(unbroadcast(to_a, a)), Some(unbroadcast(to_b, b))])
}

/// The gradients of the two operands of `max` or `min`: to the one chosen, half to each of equals.
pub(super) fn share(
    first: Tensor<bool>,
    equal: Tensor<bool>,
    g: &DynTensor,
) -> (DynTensor, DynTensor) {
    let (zero, half) = (g.zeros_like(), g * 0.5);
    let (first, equal) = (first.to_dyn(), equal.to_dyn());
    let to_first = equal.select(&half, first.select(g, &zero));
    let to_second = equal.select(&half, first.select(&zero, g));
    (to_first, to_second)
}

macro_rules! methods {
    (
        unary { $(
            $(#[$udoc:meta])* $uvar:ident $uname:ident
            { $(float: |$ufx:ident| $uf:expr,)? $(int: |$uix:ident| $ui:expr,)? $(bool: $ubool:literal,)? }
            $udom:expr, ulp $uulp:literal;
        )* }
        binary { $(
            $(#[$bdoc:meta])* $bvar:ident $bname:ident
            { $(float: |$bfx:ident, $bfy:ident| $bf:expr,)? $(int: |$bix:ident, $biy:ident| $bi:expr,)? $(bool: $bbool:literal,)? }
            $bdom:expr, ulp $bulp:literal;
        )* }
        compare { $(
            $(#[$cdoc:meta])* $cvar:ident $cname:ident |$cx:ident, $cy:ident| $c:expr;
        )* }
    ) => {
        /// Element-wise ops. Operands are broadcast to one shape; an element type that an op is
        /// not defined on is an error of the result.
        impl<T: Kind> Tensor<T> {
            $(
                $(#[$udoc])*
                #[track_caller]
                pub fn $uname(&self) -> Tensor<T> {
                    let op = Pointwise(Elementwise::Unary(Unary::$uvar));
                    apply(op, &[self.node()], Location::caller())
                }
            )*
            $(
                $(#[$bdoc])*
                #[track_caller]
                pub fn $bname(&self, other: impl Operand<T>) -> Tensor<T> {
                    let op = Pointwise(Elementwise::Binary(Binary::$bvar));
                    let other = other.beside(self);
                    apply(op, &[self.node(), other.node()], Location::caller())
                }
            )*
            $(
                $(#[$cdoc])*
                #[track_caller]
                pub fn $cname(&self, other: impl Operand<T>) -> Tensor<bool> {
                    let op = Pointwise(Elementwise::Compare(Compare::$cvar));
                    let other = other.beside(self);
                    apply(op, &[self.node(), other.node()], Location::caller())
                }
            )*
        }
    };
}
elementwise_table!(methods);

impl<T: Kind> Tensor<T> {
    /// Converts to another element type: floats round to nearest even, a float to an integer
    /// truncates and saturates.
    #[track_caller]
    pub fn cast<U: Element>(&self) -> Tensor<U> {
        if self.dtype() == U::DTYPE && self.node().failure().is_none() {
            return Tensor::from_node(self.node().clone());
        }
        apply(Pointwise(Elementwise::Cast(U::DTYPE)), &[self.node()], Location::caller())
    }

    /// As [`Tensor::cast`], to an element type known only while running.
    #[track_caller]
    pub fn cast_to(&self, dtype: DType) -> DynTensor {
        if self.dtype() == dtype {
            return self.to_dyn();
        }
        apply(Pointwise(Elementwise::Cast(dtype)), &[self.node()], Location::caller())
    }

    /// Reads the bits as another element type of the same size.
    #[track_caller]
    pub fn bitcast<U: Element>(&self) -> Tensor<U> {
        apply(Pointwise(Elementwise::Bitcast(U::DTYPE)), &[self.node()], Location::caller())
    }

    /// Rounds towards zero.
    #[track_caller]
    pub fn trunc(&self) -> Tensor<T> {
        let down = self.floor();
        let up = self.ceil();
        let zero = self.zeros_like();
        self.lt(&zero).select(&up, &down)
    }
}

impl<K: Kind> Tensor<K> {
    /// `a` where this condition (a tensor of `bool`) is true, else `b`.
    #[track_caller]
    pub fn select<T: Kind>(&self, a: &Tensor<T>, b: impl Operand<T>) -> Tensor<T> {
        let b = b.beside(a);
        let inputs = [self.node(), a.node(), b.node()];
        apply(Pointwise(Elementwise::Select), &inputs, Location::caller())
    }
}

impl<T: FloatKind> Tensor<T> {
    /// `max(x, 0)`.
    #[track_caller]
    pub fn relu(&self) -> Tensor<T> {
        let zero = self.zeros_like();
        self.max(&zero)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $op:ident $bound:ident;)*) => {$(
        impl<T: $bound, R: Operand<T>> std::ops::$trait<R> for &Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self, other: R) -> Tensor<T> {
                let other = other.beside(self);
                let op = Pointwise(Elementwise::Binary(Binary::$op));
                apply(op, &[self.node(), other.node()], Location::caller())
            }
        }

        impl<T: $bound, R: Operand<T>> std::ops::$trait<R> for Tensor<T> {
            type Output = Tensor<T>;

            #[track_caller]
            fn $method(self, other: R) -> Tensor<T> {
                std::ops::$trait::$method(&self, other)
            }
        }

        /// In place: the memory of the tensor is reused, unless a clone of it still needs it.
        impl<T: $bound, R: Operand<T>> std::ops::$assign<R> for Tensor<T> {
            #[track_caller]
            fn $assign_method(&mut self, other: R) {
                let other = other.beside(self);
                let op = Pointwise(Elementwise::Binary(Binary::$op));
                *self = apply_in_place(op, &[self.node(), other.node()], 0, Location::caller());
            }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign Add NumKind;
    Sub sub SubAssign sub_assign Sub NumKind;
    Mul mul MulAssign mul_assign Mul NumKind;
    Div div DivAssign div_assign Div NumKind;
    Rem rem RemAssign rem_assign Rem NumKind;
    BitAnd bitand BitAndAssign bitand_assign And Kind;
    BitOr bitor BitOrAssign bitor_assign Or Kind;
    BitXor bitxor BitXorAssign bitxor_assign Xor Kind;
}

macro_rules! number_on_the_left {
    ($($trait:ident $method:ident: $($ty:ty)*;)*) => {$($(
        impl std::ops::$trait<&Tensor<$ty>> for $ty {
            type Output = Tensor<$ty>;

            #[track_caller]
            fn $method(self, other: &Tensor<$ty>) -> Tensor<$ty> {
                std::ops::$trait::$method(self.beside(other), other)
            }
        }

        impl std::ops::$trait<Tensor<$ty>> for $ty {
            type Output = Tensor<$ty>;

            #[track_caller]
            fn $method(self, other: Tensor<$ty>) -> Tensor<$ty> {
                std::ops::$trait::$method(self.beside(&other), &other)
            }
        }
    )*)*};
}
number_on_the_left! {
    Add add: f32 i32;
    Sub sub: f32 i32;
    Mul mul: f32 i32;
    Div div: f32 i32;
}

impl<T: NumKind> std::ops::Neg for &Tensor<T> {
    type Output = Tensor<T>;

    #[track_caller]
    fn neg(self) -> Tensor<T> {
        Tensor::neg(self)
    }
}

impl<T: NumKind> std::ops::Neg for Tensor<T> {
    type Output = Tensor<T>;

    #[track_caller]
    fn neg(self) -> Tensor<T> {
        Tensor::neg(&self)
    }
}

impl std::ops::Not for &Tensor<bool> {
    type Output = Tensor<bool>;

    #[track_caller]
    fn not(self) -> Tensor<bool> {
        Tensor::not(self)
    }
}
