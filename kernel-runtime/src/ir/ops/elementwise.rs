//! Element-wise ops: on tiles of one shape, or on scalars.
//!
//! Each row of `elementwise_table` is one op: its doc, its mnemonic, which element types it
//! takes, its scalar semantics, the domain tests sample from, and by how many ULP a back end may
//! differ. Everything else (names, type rule, folding, interpreter loops, `Tile` methods,
//! conformance cases) expands from the table.

use super::{InferError, Results, expect_computed, expect_operands};
use crate::ir::dtype::DType;
use crate::ir::ty::{Sizes, Type};
use smallvec::smallvec;

/// Hands the table of element-wise ops to a macro: `elementwise_table!(callback)`.
///
/// A row is `Variant mnemonic { float: closure?, int: closure?, bool: true? } lo..hi, ulp n;`. A row with
/// `float` takes float types (computed in `f32`, rounded to the element type), one with `int`
/// takes integers (computed in `i64`, wrapped), one with `bool` takes `bool` by its `int` closure.
macro_rules! elementwise_table {
    ($callback:ident) => {
        $callback! {
            unary {
                /// Negation.
                Neg neg { float: |x| -x, int: |x| x.wrapping_neg(), } -100.0..100.0, ulp 0;
                /// Absolute value.
                Abs abs { float: |x| x.abs(), int: |x| x.wrapping_abs(), } -100.0..100.0, ulp 0;
                /// -1, 0 or 1 by the sign; NaN stays NaN.
                Sign sign {
                    float: |x| if x.is_nan() || x == 0.0 { x } else { x.signum() },
                    int: |x| x.signum(),
                } -3.0..3.0, ulp 0;
                /// e^x.
                Exp exp { float: |x| x.exp(), } -80.0..80.0, ulp 4;
                /// 2^x.
                Exp2 exp2 { float: |x| x.exp2(), } -100.0..100.0, ulp 64;
                /// e^x - 1, exact near zero.
                ExpM1 expm1 { float: |x| x.exp_m1(), } -10.0..10.0, ulp 8;
                /// Natural logarithm; NaN below zero, -inf at zero.
                Log log { float: |x| x.ln(), } 0.01..100.0, ulp 4;
                /// log(1 + x), exact near zero.
                Log1P log1p { float: |x| x.ln_1p(), } -0.9..100.0, ulp 8;
                /// Square root; NaN below zero.
                Sqrt sqrt { float: |x| x.sqrt(), } 0.0..100.0, ulp 1;
                /// 1 / sqrt(x).
                Rsqrt rsqrt { float: |x| 1.0 / x.sqrt(), } 0.01..100.0, ulp 4;
                /// 1 / x.
                Reciprocal reciprocal { float: |x| 1.0 / x, } 0.01..100.0, ulp 2;
                /// 1 / x, to some 12 bits on a TPU, where it is much faster than `reciprocal`.
                ReciprocalApprox reciprocal_approx { float: |x| 1.0 / x, } 0.01..100.0, ulp 2;
                /// Hyperbolic tangent.
                Tanh tanh { float: |x| x.tanh(), } -10.0..10.0, ulp 8;
                /// 1 / (1 + e^-x).
                Logistic logistic { float: |x| 1.0 / (1.0 + (-x).exp()), } -20.0..20.0, ulp 8;
                /// Sine.
                Sin sin { float: |x| x.sin(), } -10.0..10.0, ulp 8;
                /// Cosine.
                Cos cos { float: |x| x.cos(), } -10.0..10.0, ulp 8;
                /// Tangent.
                Tan tan { float: |x| x.tan(), } -1.3..1.3, ulp 16;
                /// Error function.
                Erf erf { float: |x| libm::erff(x), } -4.0..4.0, ulp 8;
                /// Rounds towards minus infinity.
                Floor floor { float: |x| x.floor(), } -100.0..100.0, ulp 0;
                /// Rounds towards plus infinity.
                Ceil ceil { float: |x| x.ceil(), } -100.0..100.0, ulp 0;
                /// Rounds to the nearest integer, ties to even.
                RoundEven round_even { float: |x| x.round_ties_even(), } -100.0..100.0, ulp 0;
                /// Bitwise complement; logical negation of `bool`.
                Not not { int: |x| !x, bool: true, } -100.0..100.0, ulp 0;
            }
            binary {
                /// Sum.
                Add add { float: |x, y| x + y, int: |x, y| x.wrapping_add(y), } -100.0..100.0, ulp 0;
                /// Difference.
                Sub sub { float: |x, y| x - y, int: |x, y| x.wrapping_sub(y), } -100.0..100.0, ulp 0;
                /// Product.
                Mul mul { float: |x, y| x * y, int: |x, y| x.wrapping_mul(y), } -100.0..100.0, ulp 0;
                /// Quotient; integers round towards zero, and division by zero gives -1.
                Div div {
                    float: |x, y| x / y,
                    int: |x, y| if y == 0 { -1 } else { x.wrapping_div(y) },
                } 0.5..100.0, ulp 1;
                /// Remainder with the sign of the dividend; by integer zero it is the dividend.
                Rem rem {
                    float: |x, y| x % y,
                    int: |x, y| if y == 0 { x } else { x.wrapping_rem(y) },
                } 0.5..100.0, ulp 0;
                /// The larger one; NaN if either is NaN.
                Max max {
                    float: |x, y| if x.is_nan() || x > y { x } else { y },
                    int: |x, y| x.max(y),
                } -100.0..100.0, ulp 0;
                /// The smaller one; NaN if either is NaN.
                Min min {
                    float: |x, y| if x.is_nan() || x < y { x } else { y },
                    int: |x, y| x.min(y),
                } -100.0..100.0, ulp 0;
                /// x to the power y.
                Pow pow { float: |x, y| x.powf(y), } 0.1..5.0, ulp 64;
                /// The angle, from -pi to pi, of the point `y` up and `x` to the right: `y.atan2(x)`.
                Atan2 atan2 { float: |y, x| y.atan2(x), } 0.1..5.0, ulp 16;
                /// Bitwise or logical and.
                And and { int: |x, y| x & y, bool: true, } -100.0..100.0, ulp 0;
                /// Bitwise or logical or.
                Or or { int: |x, y| x | y, bool: true, } -100.0..100.0, ulp 0;
                /// Bitwise or logical exclusive or.
                Xor xor { int: |x, y| x ^ y, bool: true, } -100.0..100.0, ulp 0;
                /// Shift left; an amount of the width or more gives 0.
                Shl shl {
                    int: |x, y| if (0..64).contains(&y) { x << y } else { 0 },
                } 0.0..7.0, ulp 0;
                /// Shift right: arithmetic for signed, logical for unsigned types.
                Shr shr {
                    int: |x, y| if (0..64).contains(&y) { x >> y } else { x >> 63 },
                } 0.0..7.0, ulp 0;
            }
            compare {
                /// Equal; false with NaN.
                Eq eq |x, y| x == y;
                /// Not equal; true with NaN.
                Ne ne |x, y| x != y;
                /// Less; false with NaN.
                Lt lt |x, y| x < y;
                /// Less or equal; false with NaN.
                Le le |x, y| x <= y;
                /// Greater; false with NaN.
                Gt gt |x, y| x > y;
                /// Greater or equal; false with NaN.
                Ge ge |x, y| x >= y;
            }
        }
    };
}
pub(crate) use elementwise_table;

/// `$f` applied to typed arguments; gives closures of the table their types.
#[inline(always)]
fn call1<T: Copy>(f: impl Fn(T) -> T, x: T) -> T {
    f(x)
}

#[inline(always)]
fn call2<T: Copy, R>(f: impl Fn(T, T) -> R, x: T, y: T) -> R {
    f(x, y)
}

macro_rules! present {
    () => {
        false
    };
    ($($any:tt)+) => {
        true
    };
}

macro_rules! define {
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
        /// An element-wise op of one operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unary { $($(#[$udoc])* $uvar,)* }

        /// An element-wise op of two operands of one type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Binary { $($(#[$bdoc])* $bvar,)* }

        /// A comparison of two operands of one type; gives `bool`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Compare { $($(#[$cdoc])* $cvar,)* }

        impl Unary {
            /// Every op, in table order.
            pub const ALL: &[Unary] = &[$(Unary::$uvar,)*];

            /// The name in the text form, and of the `Tile` method.
            pub fn name(self) -> &'static str {
                match self { $(Unary::$uvar => stringify!($uname),)* }
            }

            /// Whether the op takes this element type.
            pub fn accepts(self, dtype: DType) -> bool {
                match self { $(Unary::$uvar => accepts(
                    dtype, present!($($ufx)?), present!($($uix)?), present!($($ubool)?)),)* }
            }

            /// The value on a float, before rounding to the element type. NaN if not defined.
            pub fn eval_float(self, x: f32) -> f32 {
                match self { $(Unary::$uvar => {
                    $(return call1(|$ufx: f32| $uf, x);)?
                    #[allow(unreachable_code, reason = "rows with a float closure return above")]
                    { let _ = x; f32::NAN }
                })* }
            }

            /// The value on an integer or `bool`, before wrapping. 0 if not defined.
            pub fn eval_int(self, x: i64) -> i64 {
                match self { $(Unary::$uvar => {
                    $(return call1(|$uix: i64| $ui, x);)?
                    #[allow(unreachable_code, reason = "rows with an int closure return above")]
                    { let _ = x; 0 }
                })* }
            }

            /// Applies the op in place to floats held as `f32`, without rounding.
            pub fn map_f32(self, values: &mut [f32]) {
                match self { $(Unary::$uvar => {
                    let _ = &values;
                    $(for value in values.iter_mut() { *value = call1(|$ufx: f32| $uf, *value); })?
                })* }
            }

            /// The range tests sample operands from.
            pub fn domain(self) -> std::ops::Range<f64> {
                match self { $(Unary::$uvar => $udom,)* }
            }

            /// By how many ULP of the element type a back end may differ from `eval_float`.
            pub fn ulp(self) -> u32 {
                match self { $(Unary::$uvar => $uulp,)* }
            }
        }

        impl Binary {
            /// Every op, in table order.
            pub const ALL: &[Binary] = &[$(Binary::$bvar,)*];

            /// The name in the text form, and of the `Tile` method.
            pub fn name(self) -> &'static str {
                match self { $(Binary::$bvar => stringify!($bname),)* }
            }

            /// Whether the op takes this element type.
            pub fn accepts(self, dtype: DType) -> bool {
                match self { $(Binary::$bvar => accepts(
                    dtype, present!($($bfx)?), present!($($bix)?), present!($($bbool)?)),)* }
            }

            /// The value on floats, before rounding to the element type. NaN if not defined.
            pub fn eval_float(self, x: f32, y: f32) -> f32 {
                match self { $(Binary::$bvar => {
                    $(return call2(|$bfx: f32, $bfy: f32| $bf, x, y);)?
                    #[allow(unreachable_code, reason = "rows with a float closure return above")]
                    { let _ = (x, y); f32::NAN }
                })* }
            }

            /// The value on integers or `bool`, before wrapping. 0 if not defined.
            pub fn eval_int(self, x: i64, y: i64) -> i64 {
                match self { $(Binary::$bvar => {
                    $(return call2(|$bix: i64, $biy: i64| $bi, x, y);)?
                    #[allow(unreachable_code, reason = "rows with an int closure return above")]
                    { let _ = (x, y); 0 }
                })* }
            }

            /// Applies the op to `lhs` in place with `rhs`, both floats held as `f32`, without
            /// rounding. The slices have one length.
            pub fn zip_f32(self, lhs: &mut [f32], rhs: &[f32]) {
                match self { $(Binary::$bvar => {
                    let _ = (&lhs, rhs);
                    $(for (value, other) in lhs.iter_mut().zip(rhs) {
                        *value = call2(|$bfx: f32, $bfy: f32| $bf, *value, *other);
                    })?
                })* }
            }

            /// The range tests sample operands from.
            pub fn domain(self) -> std::ops::Range<f64> {
                match self { $(Binary::$bvar => $bdom,)* }
            }

            /// By how many ULP of the element type a back end may differ from `eval_float`.
            pub fn ulp(self) -> u32 {
                match self { $(Binary::$bvar => $bulp,)* }
            }
        }

        impl Compare {
            /// Every comparison, in table order.
            pub const ALL: &[Compare] = &[$(Compare::$cvar,)*];

            /// The name in the text form, and of the `Tile` method.
            pub fn name(self) -> &'static str {
                match self { $(Compare::$cvar => stringify!($cname),)* }
            }

            /// The value on two elements.
            pub fn eval<T: PartialOrd + Copy>(self, x: T, y: T) -> bool {
                match self { $(Compare::$cvar => call2(|$cx: T, $cy: T| $c, x, y),)* }
            }
        }
    };
}
elementwise_table!(define);

fn accepts(dtype: DType, float: bool, int: bool, bool: bool) -> bool {
    if dtype.only_stores() {
        false
    } else if dtype.is_float() {
        float
    } else if dtype == DType::Bool {
        bool
    } else {
        int
    }
}

/// One element as a constant. Floats are kept as `f32` bits, so that literals compare and hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    dtype: DType,
    bits: i64,
}

impl Literal {
    /// A float constant, rounded to its type.
    pub fn float(dtype: DType, value: f32) -> Literal {
        Literal { dtype, bits: i64::from(dtype.round_f32(value).to_bits()) }
    }

    /// An integer or `bool` constant, wrapped to its type.
    pub fn int(dtype: DType, value: i64) -> Literal {
        Literal { dtype, bits: dtype.wrap_int(value) }
    }

    /// The result of integer arithmetic on constants. `None` for an `i32` that leaves its range:
    /// it is computed at run time, where the interpreter tells of it if it becomes an index.
    pub(crate) fn folded_int(dtype: DType, value: i64) -> Option<Literal> {
        if dtype == DType::Bool {
            return Some(Literal::int(dtype, value & 1));
        }
        let wraps = dtype.wrap_int(value) != value;
        (dtype != DType::I32 || !wraps).then(|| Literal::int(dtype, value))
    }

    /// A constant of any type from an `f64`, by the rules of `cast`.
    pub fn from_f64(dtype: DType, value: f64) -> Literal {
        match dtype.int_range() {
            Some((lo, hi)) => Literal::int(dtype, (value as i64).clamp(lo, hi)),
            None if dtype == DType::Bool => Literal::int(dtype, i64::from(value != 0.0)),
            // A direct f64 -> bf16 rounding differs from one through f32 only by double rounding
            // of values nobody can write as a literal; constants are f32 in the language.
            None => Literal::float(dtype, value as f32),
        }
    }

    /// Its element type.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// Its value as `f32`, if it is a float.
    pub fn as_f32(self) -> Option<f32> {
        self.dtype.is_float().then(|| f32::from_bits(self.bits as u32))
    }

    /// Its value, if it is an integer or `bool`.
    pub fn as_int(self) -> Option<i64> {
        (!self.dtype.is_float()).then_some(self.bits)
    }
}

/// An element-wise op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elementwise {
    /// A scalar constant. `splat` makes a tile of it.
    Constant(Literal),
    /// One operand.
    Unary(Unary),
    /// Two operands of one type.
    Binary(Binary),
    /// Two operands of one type, to `bool`.
    Compare(Compare),
    /// Operands: a `bool`, then two of one type; the first where true, else the second. Where the
    /// condition is a scalar and the others are tiles, it chooses a whole tile.
    Select,
    /// Converts to another element type, by the rules of [`crate::ir`].
    Cast(DType),
    /// Reads the bits as another element type of the same size.
    Bitcast(DType),
}

impl Elementwise {
    /// The name in the text form.
    pub fn mnemonic(self) -> &'static str {
        match self {
            Elementwise::Constant(_) => "const",
            Elementwise::Unary(op) => op.name(),
            Elementwise::Binary(op) => op.name(),
            Elementwise::Compare(op) => op.name(),
            Elementwise::Select => "select",
            Elementwise::Cast(_) => "cast",
            Elementwise::Bitcast(_) => "bitcast",
        }
    }

    /// The type rule; see [`super::Op::infer`].
    pub(crate) fn infer(self, operands: &[&Type]) -> Result<Results, InferError> {
        let name = self.mnemonic();
        if operands.iter().any(|ty| ty.is_ref()) {
            return Err(InferError::ty(format!(
                "`{name}` takes tiles or scalars, not a reference"
            ))
            .help("load the elements first: `x[..]`"));
        }
        if !matches!(self, Elementwise::Cast(_)) {
            expect_computed(name, operands.iter().map(|ty| ty.dtype()))?;
        }
        match self {
            Elementwise::Constant(literal) => {
                expect_operands(name, operands, 0)?;
                expect_computed(name, [literal.dtype()])?;
                Ok(smallvec![Type::Scalar(literal.dtype())])
            }
            Elementwise::Unary(op) => {
                expect_operands(name, operands, 1)?;
                expect_dtype(name, operands[0], op.accepts(operands[0].dtype()))?;
                Ok(smallvec![operands[0].clone()])
            }
            Elementwise::Binary(op) => {
                expect_operands(name, operands, 2)?;
                expect_same(name, operands[0], operands[1])?;
                expect_dtype(name, operands[0], op.accepts(operands[0].dtype()))?;
                Ok(smallvec![operands[0].clone()])
            }
            Elementwise::Compare(_) => {
                expect_operands(name, operands, 2)?;
                expect_same(name, operands[0], operands[1])?;
                Ok(smallvec![operands[0].with_dtype(DType::Bool)])
            }
            Elementwise::Select => infer_select(operands),
            Elementwise::Cast(dtype) => {
                expect_operands(name, operands, 1)?;
                if dtype.only_stores() && !operands[0].is_tile() {
                    return Err(InferError::ty(format!("a scalar cannot be `{dtype}`"))
                        .help("only tiles are stored in it; keep scalars as f32 or i32"));
                }
                Ok(smallvec![operands[0].with_dtype(dtype)])
            }
            Elementwise::Bitcast(dtype) => {
                expect_operands(name, operands, 1)?;
                expect_computed(name, [dtype])?;
                let from = operands[0].dtype();
                if from.size_bytes() != dtype.size_bytes()
                    || from == DType::Bool
                    || dtype == DType::Bool
                {
                    return Err(InferError::ty(format!(
                        "`bitcast` keeps the size: {from} has {} bytes, {dtype} has {}",
                        from.size_bytes(),
                        dtype.size_bytes()
                    )));
                }
                Ok(smallvec![operands[0].with_dtype(dtype)])
            }
        }
    }
}

fn infer_select(operands: &[&Type]) -> Result<Results, InferError> {
    expect_operands("select", operands, 3)?;
    let [cond, then, other] = [operands[0], operands[1], operands[2]];
    if cond.dtype() != DType::Bool {
        return Err(InferError::ty(format!("the condition of `select` is `{cond}`, not `bool`")));
    }
    expect_same("select", then, other)?;
    if cond.is_tile() && cond.shape() != then.shape() {
        return Err(InferError::shape(format!(
            "`select`: the condition has shape {} but the values have {}",
            Sizes(cond.shape()),
            Sizes(then.shape())
        )));
    }
    Ok(smallvec![then.clone()])
}

fn expect_dtype(name: &str, ty: &Type, accepted: bool) -> Result<(), InferError> {
    if accepted {
        return Ok(());
    }
    Err(InferError::ty(format!("`{name}` is not defined on `{}`", ty.dtype()))
        .help("convert first with `.cast::<T>()`"))
}

fn expect_same(name: &str, lhs: &Type, rhs: &Type) -> Result<(), InferError> {
    if lhs == rhs {
        return Ok(());
    }
    if lhs.dtype() != rhs.dtype() {
        return Err(InferError::ty(format!("`{name}` mixes `{lhs}` with `{rhs}`"))
            .help("element types never convert silently: use `.cast::<T>()`"));
    }
    let fewer = if lhs.shape().len() < rhs.shape().len() { lhs } else { rhs };
    let n_missing = lhs.shape().len().abs_diff(rhs.shape().len());
    let help = if n_missing == 0 || !fewer.is_tile() {
        "sizes must be equal, or 1 to be repeated along that axis".to_owned()
    } else {
        let sizes = [vec![1; n_missing], fewer.shape().to_vec()].concat();
        format!("axes are not added: give `{fewer}` as many, as by `.reshape({sizes:?})`")
    };
    Err(InferError::shape(format!("`{name}`: `{lhs}` does not fit `{rhs}`")).help(help))
}
