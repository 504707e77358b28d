//! Misuse of ops: errors with the numbers and the caller's line, and indices out of range.

use super::{floats, ints, tensor};
use systole::diag::Diagnostics;
use systole::prelude::*;
use systole::run::rng::Key;
use systole::run::{DynTensor, Mode, Order, Tensor, grad, jit, with_mode};

fn error_of(tensor: &DynTensor) -> Diagnostics {
    tensor.to_array().unwrap_err()
}

#[test]
fn misuse_names_the_shapes_and_the_line() {
    let x = || floats(&[2, 3], -1.0..1.0);
    let row = || floats(&[4], -1.0..1.0);
    let flags = || tensor(DType::Bool, &[2], &[0.0, 1.0]);
    let at = |n: i32| ints(&[], &[n]);
    #[rustfmt::skip]
    let cases: Vec<(DynTensor, u32, &str, &[&str])> = vec![
        (x().squeeze(&[1]), line!(), "tensor::shape", &["squeeze", "axis 1 of f32[2, 3]", "size 3"]),
        (x().expand_dims(4), line!(), "tensor::shape", &["expand_dims", "axis 4"]),
        (x().move_axis(0, 2), line!(), "tensor::shape", &["move_axis", "axis 2"]),
        (x().slice((0, 0, 0)), line!(), "tensor::shape", &["slice", "3 ranges", "f32[2, 3]"]),
        (x().slice(2), line!(), "tensor::shape", &["index 2", "axis 0 of f32[2, 3]", "size is 2"]),
        (x().slice((.., 1..5)), line!(), "tensor::shape", &["end 5", "axis 1", "size is 3"]),
        (x().slice(systole::run::Pick::by(.., 0)), line!(), "tensor::argument", &["step", "0"]),
        (x().index_axis(5, 0), line!(), "tensor::shape", &["f32[2, 3]", "2 axes"]),
        (x().flip(&[0, -2]), line!(), "tensor::argument", &["flip", "axis 0", "twice"]),
        (x().dynamic_slice(&[at(0)], [2]), line!(), "tensor::shape", &["1 starts", "f32[2, 3]"]),
        (x().dynamic_slice(&[at(0), at(0)], [3, 3]), line!(), "tensor::shape", &["[3, 3]", "f32[2, 3]"]),
        (x().dynamic_update_slice(&row(), &[at(0), at(0)]), line!(), "tensor::shape", &["[4]", "f32[2, 3]"]),
        (Tensor::concat(&[x(), row()], 0), line!(), "tensor::shape", &["f32[2, 3]", "f32[4]"]),
        (Tensor::concat(&[x(), at(1)], 0), line!(), "tensor::dtype", &["f32[2, 3]", "i32[]"]),
        (Tensor::<f32>::concat(&[] as &[Tensor<f32>], 0).to_dyn(), line!(), "tensor::argument", &["no tensors"]),
        (Tensor::stack(&[x(), row()], 0), line!(), "tensor::shape", &["f32[2, 3]", "f32[4]"]),
        (x().split(&[1, 1], 1).remove(0), line!(), "tensor::shape", &["[1, 1]", "f32[2, 3] has 3"]),
        (x().split(&[], 1).remove(0), line!(), "tensor::argument", &["no parts"]),
        (x().pad(&[(0, 1)], 0.0), line!(), "tensor::shape", &["1 axes", "f32[2, 3]"]),
        (x().pad(&[(0, -3), (0, 0)], 0.0), line!(), "tensor::argument", &["axis 0 of f32[2, 3]", "-1"]),
        (x().repeat(2, 7), line!(), "tensor::shape", &["repeat", "axis 7"]),
        (x().take(&row(), 0), line!(), "tensor::dtype", &["indices are integers", "f32[4]"]),
        (x().take_at(&[at(0), at(0), at(0)]), line!(), "tensor::shape", &["3 tensors of indices", "f32[2, 3]"]),
        (x().put_at(&[ints(&[2], &[0, 1])], row()), line!(), "tensor::shape", &["f32[4]", "f32[2, 3]"]),
        (flags().to_dyn().add_at(&[at(0)], flags().slice(0)), line!(), "tensor::dtype", &["bool"]),
        (x().take_along_axis(&ints(&[3], &[0, 0, 0]), 0), line!(), "tensor::shape", &["i32[3]", "f32[2, 3]"]),
        (x().put_along_axis(&ints(&[2, 1], &[0, 0]), 1, row()), line!(), "tensor::shape", &["[2, 1]", "[4]"]),
        (row().one_hot::<f32>(3).to_dyn(), line!(), "tensor::dtype", &["one_hot", "f32[4]"]),
        (flags().cumsum(0), line!(), "tensor::dtype", &["cumsum", "bool"]),
        (at(0).sort(0, Order::Ascending), line!(), "tensor::shape", &["sort", "axis 0"]),
        (x().top_k(4, 1).0, line!(), "tensor::shape", &["top_k", "f32[2, 3] has 3", "4"]),
        (at(0).softmax(0), line!(), "tensor::dtype", &["softmax", "i32[]"]),
        (x().layer_norm(&row(), &row(), 0.0), line!(), "tensor::shape", &["f32[2, 3]", "[3]", "f32[4]"]),
        (x().rms_norm(&row(), 0.0), line!(), "tensor::shape", &["rms_norm", "f32[4]"]),
        (at(0).gelu(), line!(), "tensor::dtype", &["gelu", "i32[]"]),
        (x().clip(row(), 1.0), line!(), "tensor::shape", &["[2, 3]", "[4]"]),
        (flags().floor_div(flags()), line!(), "tensor::dtype", &["floor_div", "bool"]),
        (at(0).is_nan().to_dyn(), line!(), "tensor::dtype", &["is_nan", "i32[]"]),
        (row().tril(0), line!(), "tensor::shape", &["tril", "f32[4]"]),
        (Tensor::einsum("ij,jk->ik", &[x(), x()]), line!(), "tensor::shape", &["f32[2, 3] and f32[2, 3]", "`j` is 3 and 2"]),
        (Tensor::einsum("ij->ii", &[x()]), line!(), "tensor::argument", &["ij->ii", "twice"]),
        (Tensor::einsum("ij->k", &[x()]), line!(), "tensor::argument", &["no operand", "`k`"]),
        (Tensor::einsum("ijk->k", &[x()]), line!(), "tensor::argument", &["`ijk`", "3 axes", "tensor of 2"]),
        (Tensor::einsum("i1->i", &[x()]), line!(), "tensor::argument", &["`1`"]),
        (Tensor::einsum("ij,ij", &[x()]), line!(), "tensor::argument", &["2 operands", "1 given"]),
        (Tensor::einsum("", &[] as &[DynTensor]), line!(), "tensor::argument", &["no tensors"]),
        (Key::from_words(Tensor::zeros([3])).bits([2]).to_dyn(), line!(), "tensor::shape", &["u32[2]", "u32[3]"]),
        (Key::new(0).bits([1 << 17, 1 << 17]).to_dyn(), line!(), "tensor::argument", &["2^32"]),
        (Key::new(0).randint::<u8>(0..257, [2]).to_dyn(), line!(), "tensor::argument", &["0..257", "u8"]),
    ];
    for (result, line, code, parts) in cases {
        let error = error_of(&result);
        let first = &error.0[0];
        assert_eq!(first.code.as_str(), code, "{error}");
        for part in parts {
            assert!(first.message.contains(part), "`{part}` is not in: {}", first.message);
        }
        let span = &first.labels[0].span;
        assert_eq!(span.line, line, "{error}");
        assert!(span.file.ends_with("debug.rs"), "{error}");
    }
}

#[test]
fn indices_out_of_range_are_errors_in_debug_mode() {
    let x = floats(&[4, 3], -1.0..1.0);
    let (good, bad) = (ints(&[2], &[1, -4]), ints(&[2], &[1, 7]));
    let at = |n: i32| ints(&[], &[n]);
    with_mode(Mode::Debug, || {
        x.take(&good, 0).check().unwrap();
        #[rustfmt::skip]
        let cases: Vec<(DynTensor, u32, &[&str])> = vec![
            (x.take(&bad, 0), line!(), &["index 7", "axis 0 of f32[4, 3]", "size is 4"]),
            (x.take(&ints(&[1], &[-4]), 1), line!(), &["index -4", "axis 1", "size is 3"]),
            (x.take_at(&[&good, &bad]), line!(), &["index 7", "axis 1", "size is 3"]),
            (x.put_at(&[&bad], 0.0), line!(), &["put_at", "index 7"]),
            (x.add_at(&[&bad], 0.0), line!(), &["add_at", "index 7"]),
            (x.take_along_axis(&ints(&[1, 3], &[0, 1, 4]), 0), line!(), &["index 4", "size is 4"]),
            (x.put_along_axis(&ints(&[1, 3], &[0, 1, -5]), 0, 0.0), line!(), &["index -5"]),
            (x.dynamic_slice(&[at(0), at(2)], [2, 2]), line!(), &["2 elements from 2", "axis 1"]),
            (x.dynamic_update_slice(&x, &[at(-1), at(0)]), line!(), &["4 elements from -1"]),
            (x.cross_entropy(&ints(&[4], &[0, 1, 2, 3])), line!(), &["index 3", "size is 3"]),
        ];
        for (result, line, parts) in cases {
            let error = error_of(&result);
            assert_eq!(error.0[0].code.as_str(), "tensor::index", "{error}");
            assert_eq!(error.0[0].labels[0].span.line, line, "{error}");
            for part in parts {
                assert!(error.0[0].message.contains(part), "`{part}` is not in: {error}");
            }
        }
    });
}

#[test]
fn indices_out_of_range_do_as_documented_elsewhere() {
    let bad = || ints(&[2], &[1, 7]);
    let values = |x: DynTensor| x.to_array().unwrap().to_f64();
    for mode in [Mode::Strict, Mode::DeferAndFuse] {
        with_mode(mode, || {
            let fills = [
                (DType::F32, f64::NAN),
                (DType::BF16, f64::NAN),
                (DType::I8, -128.0),
                (DType::I32, f64::from(i32::MIN)),
                (DType::U16, 65535.0),
                (DType::Bool, 1.0),
            ];
            for (dtype, fill) in fills {
                let x = tensor(dtype, &[3], &[0.0, 0.0, 1.0]);
                let taken = values(x.take(&bad(), 0));
                assert!(taken[1] == fill || (taken[1].is_nan() && fill.is_nan()), "{dtype}");
                assert_eq!(values(x.take_along_axis(&bad(), 0))[0], 0.0);
            }
            let x = tensor(DType::I32, &[3], &[1.0, 2.0, 3.0]);
            assert_eq!(values(x.put_at(&[bad()], 9.0)), [1.0, 9.0, 3.0]);
            assert_eq!(values(x.add_at(&[bad()], 9.0)), [1.0, 11.0, 3.0]);
            assert_eq!(values(x.put_along_axis(&ints(&[1], &[-9]), 0, 9.0)), [1.0, 2.0, 3.0]);
            assert_eq!(values(x.dynamic_slice(&[ints(&[], &[5])], [2])), [2.0, 3.0]);
            // An index beyond `i32` is outside like any other.
            let far = tensor(DType::U32, &[1], &[4294967295.0]);
            assert_eq!(values(x.take(&far, 0)), [f64::from(i32::MIN)]);
        });
    }
    let x = floats(&[3], -1.0..1.0);
    let compiled = jit(|x: DynTensor, at: DynTensor| x.take(&at, 0));
    assert!(values(compiled.call((x.clone(), bad())).unwrap())[1].is_nan());
    // What was not taken has no gradient.
    let slope = grad(|x: DynTensor| x.take(&bad(), 0).slice(0) * 2.0)(&x).unwrap();
    assert_eq!(values(slope), [0.0, 2.0, 0.0]);
}

#[test]
fn of_updates_of_one_place_only_the_winner_has_a_gradient() {
    let x = floats(&[3], -1.0..1.0);
    let at = ints(&[4], &[1, 1, 0, 1]);
    let updates = floats(&[4], 2.0..3.0);
    let f = |updates: DynTensor| {
        let weights = tensor(DType::F32, &[3], &[10.0, 100.0, 1000.0]);
        (x.put_at(&[&at], &updates) * weights).sum(&[0])
    };
    let slope = grad(f)(&updates).unwrap().to_array().unwrap().to_f64();
    assert_eq!(slope[2], 10.0);
    let winners = [slope[0], slope[1], slope[3]];
    assert_eq!(winners.iter().filter(|&&g| g == 100.0).count(), 1, "{winners:?}");
    assert_eq!(winners.iter().filter(|&&g| g == 0.0).count(), 2, "{winners:?}");
}
