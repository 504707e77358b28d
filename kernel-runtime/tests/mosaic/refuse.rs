//! What the target cannot do is refused at the user's line, with a cure.

use super::cases;
use super::sketch::{Cut, Sketch, run};
use systole::back::mosaic::{self, Options};
use systole::diag::{Code, Diagnostics};
use systole::ir::ops::{Binary, ConvertOp, Precision, RollStride, ShapeOp};
use systole::ir::{DType, Kernel, Op, ParamKind, Semantics, Shape, Streams};
use systole::target::{GENERIC, Target, V4, V5E, V6E};
use systole::valid;

fn refusal(kernel: Kernel, target: &'static Target) -> Diagnostics {
    let valid = valid::check(kernel, target).unwrap_or_else(|errors| panic!("{errors}"));
    mosaic::lower(&valid, &Options::default()).expect_err("the target cannot do this")
}

/// Checks that every refusal is `mosaic::unsupported`, has a place and a cure, and that one of
/// them says `message`.
fn expect(errors: &Diagnostics, message: &str) {
    assert!(errors.iter().any(|error| error.message.contains(message)), "{errors}");
    for error in errors.iter() {
        assert_eq!(error.code, Code::MOSAIC_UNSUPPORTED, "{error}");
        assert_eq!(error.code.as_str(), "mosaic::unsupported");
        assert!(error.help.is_some(), "{error}");
        assert_eq!(error.labels.first().map(|label| &*label.span.file), Some("kernel.rs"));
    }
}

/// The chips multiply them, but the compiler takes every integer as signed.
#[test]
fn refuses_unsigned_dots() {
    let kernel = cases::matmul(DType::U8, (false, false), Precision::Medium);
    expect(&refusal(kernel, &V6E), "there is no `dot` of u8 with u8 on v6e");
}

#[test]
fn refuses_strided_slices_along_lanes() {
    let mut k = Sketch::new("k");
    let x = k.whole(ParamKind::In, "x", DType::F32, &[16, 128]);
    let o = k.whole(ParamKind::Out, "o", DType::F32, &[16, 64]);
    let x = k.load(x);
    let slice = ShapeOp::Slice {
        starts: Shape::from_slice(&[0, 0]),
        sizes: Shape::from_slice(&[16, 64]),
        strides: Shape::from_slice(&[1, 2]),
    };
    let part = k.op(Op::Shape(slice), &[x]);
    k.store(o, part);
    expect(&refusal(k.finish(), &V5E), "64 elements in steps of 2 along axis 1");
}

#[test]
fn refuses_strided_loads_of_narrow_types() {
    let mut k = Sketch::new("k");
    let x = k.whole(ParamKind::In, "x", DType::BF16, &[32, 128]);
    let o = k.whole(ParamKind::Out, "o", DType::BF16, &[16, 128]);
    let part = k.load_part(x, &[run(0, 16, 2), run(0, 128, 1)], &[]);
    k.store(o, part);
    expect(&refusal(k.finish(), &V5E), "bf16 cannot be read or written in steps");
}

/// `o = op(x)` or `op(x, indices)`.
fn shaped(op: ShapeOp, from: &[usize], to: &[usize]) -> Kernel {
    let mut k = Sketch::new("k");
    let x = k.whole(ParamKind::In, "x", DType::F32, from);
    let indices = k.whole(ParamKind::In, "indices", DType::I32, to);
    let o = k.whole(ParamKind::Out, "o", DType::F32, to);
    let (x, indices) = (k.load(x), k.load(indices));
    let second = match op {
        ShapeOp::Roll { .. } => k.int(1),
        _ => indices,
    };
    let value = k.op(Op::Shape(op), &[x, second]);
    k.store(o, value);
    k.finish()
}

#[test]
fn refuses_taking_where_no_register_reaches() {
    let take = |axis| ShapeOp::TakeAlongAxis { axis };
    let kernel = shaped(take(0), &[2, 8, 128], &[2, 8, 128]);
    expect(&refusal(kernel, &V5E), "elements cannot be taken along axis 0 on v5e");
    let kernel = shaped(take(1), &[8, 200], &[8, 256]);
    expect(&refusal(kernel, &V5E), "256 elements cannot be taken from 200 along axis 1");
    let kernel = shaped(take(1), &[8, 2048], &[8, 2048]);
    expect(&refusal(kernel, &V5E), "needs 256 registers to be looked up, more than 64");
    let kernel = shaped(take(0), &[8, 128], &[8, 128]);
    expect(&refusal(kernel, &V4), "cannot be taken along the rows of a tile on v4");
}

#[test]
fn refuses_strided_rolls_but_along_lanes() {
    let roll = |axis, rows| {
        let stride = Some(RollStride { by: 1, axis: rows });
        shaped(ShapeOp::Roll { axis, stride }, &[8, 128], &[8, 128])
    };
    expect(&refusal(roll(0, 1), &V6E), "a roll along axis 0 that counts the rows along axis 1");
    expect(&refusal(roll(1, 0), &V4), "a roll of each row by its own amount does not exist on v4");
}

#[test]
fn refuses_bits_of_a_few_rows() {
    let mut k = Sketch::new("k");
    let x = k.whole(ParamKind::In, "x", DType::F32, &[4, 128]);
    let o = k.whole(ParamKind::Out, "o", DType::BF16, &[8, 128]);
    let value = k.load(x);
    let convert = ConvertOp::BitcastRows { dtype: DType::BF16 };
    let value = k.op(Op::Convert(convert), &[value]);
    k.store(o, value);
    expect(&refusal(k.finish(), &V5E), "the bits of 4 rows of f32 cannot be read as another type");
}

#[test]
fn refuses_scalar_pow() {
    let mut k = Sketch::new("k");
    let s = k.smem(ParamKind::In, "s", DType::F32, &[2]);
    let o = k.whole(ParamKind::Out, "o", DType::F32, &[32, 128]);
    let x = k.load_part(s, &[super::sketch::at(0)], &[]);
    let y = k.binary(Binary::Pow, x, x);
    let y = k.splat_value(y, &[32, 128]);
    k.store(o, y);
    expect(&refusal(k.finish(), &V5E), "`pow` of scalars");
}

#[test]
fn refuses_a_dynamic_start_in_a_streamed_block() {
    let mut k = Sketch::new("k");
    let i = k.axis("i", 2, Semantics::Arbitrary);
    let x = k.param(ParamKind::In, "x", DType::F32, &[64, 128], &[Cut::Whole, Cut::Whole]);
    let o = k.param(ParamKind::Out, "o", DType::F32, &[32, 128], &[Cut::By(16, 0), Cut::Whole]);
    if let Some(window) = &mut k.b.kernel_mut().params[0].window {
        window.streams = Some(Streams { axis: 0, n: 2 });
    }
    let sixteen = k.int(16);
    let start = k.binary(Binary::Mul, i, sixteen);
    let part = k.load_part(x, &[super::sketch::run_from(16, 16), run(0, 128, 1)], &[start]);
    k.store(o, part);
    expect(&refusal(k.finish(), &V5E), "a block fetched in 2 parts");
}

#[test]
fn refuses_targets_and_versions_that_do_not_exist() {
    let kernel = cases::scale_add(DType::F32);
    let valid = valid::check(kernel.clone(), &GENERIC).unwrap();
    let errors = mosaic::lower(&valid, &Options::default()).expect_err("no TPU");
    assert_eq!(errors.0[0].message, "target generic is no TPU");
    let valid = valid::check(kernel, &V5E).unwrap();
    let errors = mosaic::lower(&valid, &Options { version: 99 }).expect_err("no such version");
    assert!(errors.0[0].message.contains("version 99"), "{errors}");
}
