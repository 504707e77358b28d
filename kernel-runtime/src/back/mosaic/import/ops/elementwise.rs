//! Element-wise ops: of `arith` and `math`, and those of `tpu`.

use super::super::array::unsigned;
use super::super::body::{Importer, Outcome, Val, literal_of};
use super::super::read::ast::{Op, find};
use crate::ir::ops::{Binary, Compare, Elementwise, Literal, Unary};
use crate::ir::{self, DType, Shape};

/// Attributes that allow more than is done here.
const LIBERTIES: &[&str] = &["fastmath", "overflowFlags", "isExact"];

pub(super) fn import<'m>(
    importer: &mut Importer<'m>,
    name: &str,
    op: &'m Op,
) -> Option<Outcome<()>> {
    if let Some(unary) = unary(name) {
        return Some(importer.unary(op, unary));
    }
    if let Some((binary, is_unsigned)) = binary(name) {
        return Some(importer.binary(op, binary, is_unsigned));
    }
    Some(match name {
        "arith.constant" => importer.import_constant(op),
        "arith.cmpi" => importer.compare_ints(op),
        "arith.cmpf" => importer.compare_floats(op),
        "arith.select" => importer.import_select(op),
        "tpu.weird" => importer.not_finite(op),
        _ => return None,
    })
}

fn unary(name: &str) -> Option<Unary> {
    Some(match name {
        "arith.negf" => Unary::Neg,
        "math.absf" | "math.absi" => Unary::Abs,
        "math.exp" => Unary::Exp,
        "math.exp2" => Unary::Exp2,
        "math.expm1" => Unary::ExpM1,
        "math.log" => Unary::Log,
        "math.log1p" => Unary::Log1P,
        "math.sqrt" => Unary::Sqrt,
        "math.rsqrt" => Unary::Rsqrt,
        "math.tanh" => Unary::Tanh,
        "math.tan" => Unary::Tan,
        "math.sin" => Unary::Sin,
        "math.cos" => Unary::Cos,
        "math.erf" => Unary::Erf,
        "math.floor" => Unary::Floor,
        "math.ceil" => Unary::Ceil,
        "math.roundeven" => Unary::RoundEven,
        "tpu.logistic" => Unary::Logistic,
        "tpu.reciprocal" => Unary::Reciprocal,
        _ => return None,
    })
}

/// The op, and whether it takes its integers as unsigned.
fn binary(name: &str) -> Option<(Binary, bool)> {
    Some(match name {
        "arith.addf" | "arith.addi" => (Binary::Add, false),
        "arith.subf" | "arith.subi" => (Binary::Sub, false),
        "arith.mulf" | "arith.muli" => (Binary::Mul, false),
        "arith.divf" | "arith.divsi" => (Binary::Div, false),
        "arith.divui" => (Binary::Div, true),
        "arith.remf" | "arith.remsi" => (Binary::Rem, false),
        "arith.remui" => (Binary::Rem, true),
        "arith.maximumf" | "arith.maxsi" => (Binary::Max, false),
        "arith.maxui" => (Binary::Max, true),
        "arith.minimumf" | "arith.minsi" => (Binary::Min, false),
        "arith.minui" => (Binary::Min, true),
        "arith.andi" => (Binary::And, false),
        "arith.ori" => (Binary::Or, false),
        "arith.xori" => (Binary::Xor, false),
        "arith.shli" => (Binary::Shl, false),
        "arith.shrsi" => (Binary::Shr, false),
        "arith.shrui" => (Binary::Shr, true),
        "math.powf" => (Binary::Pow, false),
        "math.atan2" => (Binary::Atan2, false),
        _ => return None,
    })
}

impl<'m> Importer<'m> {
    fn import_constant(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["value"])?;
        let Some((literal, shape)) = find(&op.attrs, "value").and_then(literal_of) else {
            let ty = op.results.first().map(|&result| self.text_of(result)).unwrap_or_default();
            return Err(self.unsupported(op, format!("constants of type `{ty}` like this one")));
        };
        let ty = self.result_ty(op)?;
        let shape: Option<Shape> =
            shape.map(|shape| shape.iter().map(|&size| size.max(0) as usize).collect());
        if ty.dtype() != literal.dtype() || ty.shape() != shape.as_deref().unwrap_or_default() {
            return Err(self.wrong("a constant has another type than its value").into());
        }
        self.bind(op.results[0], Val::Literal { literal, shape });
        Ok(())
    }

    fn unary(&mut self, op: &'m Op, unary: Unary) -> Outcome<()> {
        self.only(op, &[LIBERTIES, &["approx", "full_range"]].concat())?;
        let unary = match unary {
            Unary::Reciprocal if self.flag(op, "approx")? => Unary::ReciprocalApprox,
            other => other,
        };
        let operand = self.operand(op, 0)?;
        let x = self.value(operand)?;
        let value = self.push(op, ir::Op::Elementwise(Elementwise::Unary(unary)), &[x])?;
        self.result(op, value)
    }

    fn binary(&mut self, op: &'m Op, binary: Binary, is_unsigned: bool) -> Outcome<()> {
        self.only(op, LIBERTIES)?;
        let [lhs, rhs] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let [x, y] = [self.value(lhs)?, self.value(rhs)?];
        let what = ir::Op::Elementwise(Elementwise::Binary(binary));
        let value = if is_unsigned {
            let dtype = self.operand_ty(op, 0)?.dtype();
            let [x, y] = [self.as_unsigned(op, x)?, self.as_unsigned(op, y)?];
            let value = self.push(op, what, &[x, y])?;
            self.bitcast(op, value, dtype)?
        } else {
            self.push(op, what, &[x, y])?
        };
        self.result(op, value)
    }

    /// The same bits as an unsigned integer; truth values stay as they are.
    pub(in super::super) fn as_unsigned(
        &mut self,
        op: &Op,
        value: ir::Value,
    ) -> Outcome<ir::Value> {
        let dtype = self.builder.kernel().ty(value).dtype();
        self.bitcast(op, value, unsigned(dtype))
    }

    /// The same bits as another type of the same size.
    pub(in super::super) fn bitcast(
        &mut self,
        op: &Op,
        value: ir::Value,
        to: DType,
    ) -> Outcome<ir::Value> {
        if self.builder.kernel().ty(value).dtype() == to {
            return Ok(value);
        }
        self.push(op, ir::Op::Elementwise(Elementwise::Bitcast(to)), &[value])
    }

    fn compare_ints(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["predicate"])?;
        let [lhs, rhs] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let predicate = self.int_attr(op, "predicate")?;
        if matches!(predicate, 0 | 1) && self.bind_equality(op, predicate == 0)? {
            return Ok(());
        }
        let [mut x, mut y] = [self.value(lhs)?, self.value(rhs)?];
        let compare = match predicate {
            0 => Compare::Eq,
            1 => Compare::Ne,
            2 | 6 => Compare::Lt,
            3 | 7 => Compare::Le,
            4 | 8 => Compare::Gt,
            5 | 9 => Compare::Ge,
            _ => return Err(self.wrong(format!("there is no comparison {predicate}")).into()),
        };
        if predicate > 5 {
            x = self.as_unsigned(op, x)?;
            y = self.as_unsigned(op, y)?;
        }
        let value = self.push(op, ir::Op::Elementwise(Elementwise::Compare(compare)), &[x, y])?;
        self.result(op, value)
    }

    /// Binds what a comparison of two integer constants gives, if it is one: tiles of truth values
    /// that are the same everywhere are written so.
    fn bind_equality(&mut self, op: &'m Op, wanted: bool) -> Outcome<bool> {
        let [lhs, rhs] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let number = |value| self.literal(value).and_then(Literal::as_int);
        let (Some(x), Some(y)) = (number(lhs), number(rhs)) else { return Ok(false) };
        let ty = self.operand_ty(op, 0)?.with_dtype(DType::Bool);
        if !self.same_type(lhs, rhs) || self.result_ty(op)? != ty {
            return Ok(false);
        }
        let literal = Literal::int(DType::Bool, i64::from((x == y) == wanted));
        let shape = ty.is_tile().then(|| Shape::from_slice(ty.shape()));
        self.bind(op.results[0], Val::Literal { literal, shape });
        Ok(true)
    }

    fn compare_floats(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &["predicate", "fastmath"])?;
        let [lhs, rhs] = [self.operand(op, 0)?, self.operand(op, 1)?];
        let operands = [self.value(lhs)?, self.value(rhs)?];
        let predicate = self.int_attr(op, "predicate")?;
        // Unordered comparisons are true with NaN: the opposite ones are then false.
        let (compare, negate) = match predicate {
            1 => (Compare::Eq, false),
            2 => (Compare::Gt, false),
            3 => (Compare::Ge, false),
            4 => (Compare::Lt, false),
            5 => (Compare::Le, false),
            9 => (Compare::Le, true),
            10 => (Compare::Lt, true),
            11 => (Compare::Ge, true),
            12 => (Compare::Gt, true),
            13 => (Compare::Ne, false),
            0 | 6 | 7 | 8 | 14 | 15 => {
                return Err(self.unsupported(op, format!("predicate {predicate}")));
            }
            _ => return Err(self.wrong(format!("there is no comparison {predicate}")).into()),
        };
        let what = ir::Op::Elementwise(Elementwise::Compare(compare));
        let mut value = self.push(op, what, &operands)?;
        if negate {
            value = self.push(op, ir::Op::Elementwise(Elementwise::Unary(Unary::Not)), &[value])?;
        }
        self.result(op, value)
    }

    fn import_select(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let mut operands = Vec::new();
        for idx in 0..3 {
            let operand = self.operand(op, idx)?;
            operands.push(self.value(operand)?);
        }
        let value = self.push(op, ir::Op::Elementwise(Elementwise::Select), &operands)?;
        self.result(op, value)
    }

    /// Whether a float is NaN or infinite: not below infinity in size.
    fn not_finite(&mut self, op: &'m Op) -> Outcome<()> {
        self.only(op, &[])?;
        let operand = self.operand(op, 0)?;
        let x = self.value(operand)?;
        let ty = self.operand_ty(op, 0)?;
        let size = self.push(op, ir::Op::Elementwise(Elementwise::Unary(Unary::Abs)), &[x])?;
        let infinity = self.like(&ty, f64::INFINITY)?;
        let less = ir::Op::Elementwise(Elementwise::Compare(Compare::Lt));
        let is_finite = self.push(op, less, &[size, infinity])?;
        let not = ir::Op::Elementwise(Elementwise::Unary(Unary::Not));
        let value = self.push(op, not, &[is_finite])?;
        self.result(op, value)
    }
}
