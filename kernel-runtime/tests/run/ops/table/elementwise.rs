//! Element-wise ops, reductions and products.

use super::super::{Case, floats, ints, tensor};
use super::case;
use systole::ir::ops::{Binary, Compare, Unary};
use systole::prelude::*;
use systole::run::{DynTensor, Tensor};

pub(super) fn add(cases: &mut Vec<Case>) {
    cases.extend(Unary::ALL.iter().map(|&op| unary_case(op)));
    cases.extend(Binary::ALL.iter().map(|&op| binary_case(op)));
    cases.extend(Compare::ALL.iter().map(|&op| compare_case(op)));
    let x = || floats(&[2, 3], -2.0..2.0);
    let flags = || tensor(DType::Bool, &[2, 1], &[1.0, 0.0]);
    let whole = || ints(&[5], &[-7, -1, 0, 3, 100]);
    cases.extend([
        case("select", [flags(), x(), floats(&[3], 3.0..5.0)], |x| x[0].select(&x[1], &x[2])),
        case("cast_f32_bf16", [x()], |x| x[0].cast::<bf16>()),
        case("cast_f32_i8", [floats(&[6], -3.0..3.0)], |x| x[0].cast::<i8>()),
        case("cast_i32_f32", [whole()], |x| x[0].cast::<f32>()),
        case("cast_i32_u8", [whole()], |x| x[0].cast::<u8>()),
        case("bitcast", [x()], |x| x[0].bitcast::<u32>()),
        case("trunc", [floats(&[6], -3.0..3.0)], |x| x[0].trunc()),
        case("relu", [floats(&[6], -3.0..3.0)], |x| x[0].relu()),
        case(
            "clip",
            [floats(&[8], -3.0..3.0), floats(&[1], -1.6..-1.2), floats(&[8], 0.5..1.5)],
            |x| x[0].clip(&x[1], &x[2]),
        ),
        case("clip_i32", [whole()], |x| x[0].clip(-2.0, 50.0)),
        case("floor_div", [floats(&[3, 1], -9.0..9.0), floats(&[2], 1.3..2.3)], |x| {
            x[0].floor_div(&x[1])
        }),
        case("floor_mod", [floats(&[3, 1], -9.0..9.0), floats(&[2], 1.3..2.3)], |x| {
            x[0].floor_mod(&x[1])
        }),
        case("floor_div_int", [whole(), ints(&[5], &[2, -3, 4, -2, 7])], |x| x[0].floor_div(&x[1])),
        case("floor_mod_int", [whole(), ints(&[5], &[2, -3, 4, -2, 7])], |x| x[0].floor_mod(&x[1])),
        case("is_nan", [x()], |x| x[0].is_nan()),
        case("is_finite", [x()], |x| x[0].is_finite()),
        case("is_infinite", [x()], |x| x[0].is_infinite()),
    ]);
    reductions(cases);
    products(cases);
}

fn unary_case(op: Unary) -> Case {
    let f: fn(&DynTensor) -> DynTensor = match op {
        Unary::Neg => DynTensor::neg,
        Unary::Abs => DynTensor::abs,
        Unary::Sign => DynTensor::sign,
        Unary::Exp => DynTensor::exp,
        Unary::Exp2 => DynTensor::exp2,
        Unary::ExpM1 => DynTensor::expm1,
        Unary::Log => DynTensor::log,
        Unary::Log1P => DynTensor::log1p,
        Unary::Sqrt => DynTensor::sqrt,
        Unary::Rsqrt => DynTensor::rsqrt,
        Unary::Reciprocal => DynTensor::reciprocal,
        Unary::ReciprocalApprox => DynTensor::reciprocal_approx,
        Unary::Tan => DynTensor::tan,
        Unary::Tanh => DynTensor::tanh,
        Unary::Logistic => DynTensor::logistic,
        Unary::Sin => DynTensor::sin,
        Unary::Cos => DynTensor::cos,
        Unary::Erf => DynTensor::erf,
        Unary::Floor => DynTensor::floor,
        Unary::Ceil => DynTensor::ceil,
        Unary::RoundEven => DynTensor::round_even,
        Unary::Not => DynTensor::not,
    };
    // Narrow and away from poles, where finite differences are good.
    let domain = op.domain();
    let low = if domain.start < 0.0 { domain.start.max(-0.6) } else { domain.start.max(0.8) };
    let input = match op {
        Unary::Not => ints(&[3], &[0, -1, 77]),
        _ => floats(&[7], low..domain.end.min(2.4)),
    };
    case(op.name(), [input], move |x| f(&x[0]))
}

fn binary_case(op: Binary) -> Case {
    let f: fn(&DynTensor, &DynTensor) -> DynTensor = match op {
        Binary::Add => |x, y| x.add(y),
        Binary::Sub => |x, y| x.sub(y),
        Binary::Mul => |x, y| x.mul(y),
        Binary::Div => |x, y| x.div(y),
        Binary::Rem => |x, y| x.rem(y),
        Binary::Max => |x, y| x.max(y),
        Binary::Min => |x, y| x.min(y),
        Binary::Pow => |x, y| x.pow(y),
        Binary::Atan2 => |x, y| x.atan2(y),
        Binary::And => |x, y| x.and(y),
        Binary::Or => |x, y| x.or(y),
        Binary::Xor => |x, y| x.xor(y),
        Binary::Shl => |x, y| x.shl(y),
        Binary::Shr => |x, y| x.shr(y),
    };
    let inputs = match op {
        Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => {
            [ints(&[2, 1], &[-77, 12]), ints(&[3], &[1, 3, 5])]
        }
        _ => [floats(&[2, 3], 1.0..3.0), floats(&[3], 1.1..2.4)],
    };
    case(op.name(), inputs, move |x| f(&x[0], &x[1]))
}

fn compare_case(op: Compare) -> Case {
    let f: fn(&DynTensor, &DynTensor) -> Tensor<bool> = match op {
        Compare::Eq => |x, y| x.eq(y),
        Compare::Ne => |x, y| x.ne(y),
        Compare::Lt => |x, y| x.lt(y),
        Compare::Le => |x, y| x.le(y),
        Compare::Gt => |x, y| x.gt(y),
        Compare::Ge => |x, y| x.ge(y),
    };
    let inputs = [floats(&[2, 3], -1.0..1.0), tensor(DType::F32, &[1], &[0.25])];
    case(op.name(), inputs, move |x| f(&x[0], &x[1]))
}

fn reductions(cases: &mut Vec<Case>) {
    let x = || floats(&[2, 3, 4], -2.0..2.0);
    let flags = || tensor(DType::Bool, &[2, 3], &[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
    cases.extend([
        case("sum_0", [x()], |x| x[0].sum(&[0])),
        case("sum_last_and_first", [x()], |x| x[0].sum(&[-1, 0])),
        case("sum_none", [x()], |x| x[0].sum(&[])),
        case("reduce_max", [x()], |x| x[0].reduce_max(&[-1])),
        case("reduce_min", [x()], |x| x[0].reduce_min(&[0, 2])),
        case("mean", [x()], |x| x[0].mean(&[1, 2])),
        case("argmax", [x()], |x| x[0].argmax(-1)),
        case("argmin", [x()], |x| x[0].argmin(0)),
        case("any", [flags()], |x| x[0].any(&[-1])),
        case("all", [flags()], |x| x[0].all(&[-1])),
    ]);
}

fn products(cases: &mut Vec<Case>) {
    let x = |shape: &[usize]| floats(shape, -1.0..1.0);
    let small = |shape: &[usize]| {
        let n = shape.iter().product::<usize>() as i64;
        let values: Vec<f64> = (0..n).map(|idx| (idx * 37 % 19 - 9) as f64).collect();
        tensor(DType::I8, shape, &values)
    };
    let einsum = |name, subscripts: &'static str, inputs: Vec<DynTensor>| {
        case(name, inputs, move |x| Tensor::einsum(subscripts, x))
    };
    cases.extend([
        case("matmul", [x(&[2, 3]), x(&[3, 4])], |x| x[0].matmul(&x[1])),
        case("matmul_batch", [x(&[2, 1, 2, 3]), x(&[2, 3, 2])], |x| x[0].matmul(&x[1])),
        case("matmul_vectors", [x(&[3]), x(&[3])], |x| x[0].matmul(&x[1])),
        case("matmul_i8", [small(&[2, 3]), small(&[3, 2])], |x| x[0].matmul(&x[1])),
        case("dot_general", [x(&[3, 2, 2]), x(&[2, 4, 3])], |x| {
            x[0].dot_general(&x[1], (&[0], &[2]), (&[1], &[0]))
        }),
        einsum("einsum_attention", "bhqd,bhkd->bhqk", vec![x(&[1, 2, 3, 2]), x(&[1, 2, 2, 2])]),
        einsum("einsum_implicit", "ij,kj", vec![x(&[2, 3]), x(&[4, 3])]),
        einsum("einsum_transpose", "ijk->kij", vec![x(&[2, 3, 2])]),
        einsum("einsum_sum", "ij->j", vec![x(&[3, 2])]),
        einsum("einsum_outer_sum", "ij,k->k", vec![x(&[2, 3]), x(&[4])]),
        einsum("einsum_three", "ab,bc,cd->da", vec![x(&[2, 3]), x(&[3, 2]), x(&[2, 4])]),
        einsum("einsum_diagonal", "iij->ji", vec![x(&[3, 3, 2])]),
        einsum("einsum_trace", "ii,i->", vec![x(&[3, 3]), x(&[3])]),
        einsum("einsum_rest", "...ij,...jk->...ik", vec![x(&[2, 2, 3]), x(&[2, 3, 2])]),
        einsum("einsum_i8", "ij,jk->ki", vec![small(&[2, 3]), small(&[3, 2])]),
    ]);
}
