//! Ops that make tensors, and that move elements about.

use super::super::{Case, floats, ints};
use super::case;
use systole::prelude::*;
use systole::run::{Pick, Tensor};

pub(super) fn add(cases: &mut Vec<Case>) {
    create(cases);
    slices(cases);
    let x = || floats(&[2, 3, 4], -2.0..2.0);
    cases.extend([
        case("reshape", [x()], |x| x[0].reshape([4, 6])),
        case("reshape_flat", [x()], |x| x[0].reshape([24])),
        case("transpose", [x()], |x| x[0].transpose(&[2, 0, -2])),
        case("swap_axes", [x()], |x| x[0].swap_axes(0, -1)),
        case("move_axis", [x()], |x| x[0].move_axis(0, -1)),
        case("move_axis_back", [x()], |x| x[0].move_axis(2, 0)),
        case("broadcast_to", [floats(&[3, 1], -1.0..1.0)], |x| x[0].broadcast_to([2, 3, 4])),
        case("expand_dims", [x()], |x| x[0].expand_dims(-1)),
        case("squeeze", [floats(&[1, 3, 1], -1.0..1.0)], |x| x[0].squeeze(&[-1, 0])),
        case("concat", [x(), floats(&[2, 1, 4], 3.0..4.0)], |x| Tensor::concat(x, 1)),
        case("concat_last", [floats(&[3], 0.0..1.0), floats(&[2], 3.0..4.0)], |x| {
            Tensor::concat(x, -1)
        }),
        case("stack", [floats(&[2, 3], 0.0..1.0), floats(&[2, 3], 3.0..4.0)], |x| {
            Tensor::stack(x, 1)
        }),
        case("stack_last", [floats(&[2], 0.0..1.0), floats(&[2], 3.0..4.0)], |x| {
            Tensor::stack(x, -1)
        }),
        case("split", [x()], |x| x[0].split(&[1, 0, 3], -1)),
        case("pad", [floats(&[2, 3], -1.0..1.0), floats(&[], 7.0..8.0)], |x| {
            x[0].pad(&[(1, 2), (0, 1)], &x[1])
        }),
        case("pad_interior", [floats(&[2, 3], -1.0..1.0), floats(&[], 7.0..8.0)], |x| {
            x[0].pad(&[(0, 0, 2), (1, 0, 1)], &x[1])
        }),
        case("pad_negative", [floats(&[3, 4], -1.0..1.0), floats(&[], 7.0..8.0)], |x| {
            x[0].pad(&[(-1, 2), (2, -2)], &x[1])
        }),
        case("repeat", [floats(&[2, 3], -1.0..1.0)], |x| x[0].repeat(3, 0)),
        case("repeat_last", [floats(&[2, 3], -1.0..1.0)], |x| x[0].repeat(2, -1)),
        case("tile", [floats(&[2, 3], -1.0..1.0)], |x| x[0].tile([2, 3])),
        case("tile_more", [floats(&[3], -1.0..1.0)], |x| x[0].tile([2, 2])),
        case("tile_fewer", [floats(&[2, 3], -1.0..1.0)], |x| x[0].tile([2])),
        case("flip", [x()], |x| x[0].flip(&[0, -1])),
        case("tril", [floats(&[2, 3, 4], -2.0..2.0)], |x| x[0].tril(0)),
        case("tril_above", [floats(&[3, 4], -2.0..2.0)], |x| x[0].tril(1)),
        case("triu", [floats(&[3, 4], -2.0..2.0)], |x| x[0].triu(-1)),
    ]);
}

fn create(cases: &mut Vec<Case>) {
    cases.extend([
        case("iota", [], |_| Tensor::<i32>::iota([2, 3], 1)),
        case("arange_f32", [], |_| Tensor::<f32>::arange(5)),
        case("full", [], |_| Tensor::<f32>::full([2, 2], 2.5)),
        case("eye", [], |_| Tensor::<f32>::eye(3)),
        case("eye_u8", [], |_| Tensor::<u8>::eye(2)),
        case("linspace", [], |_| Tensor::<f32>::linspace(-1.0, 2.0, 7)),
        case("linspace_one", [], |_| Tensor::<f32>::linspace(3.0, 9.0, 1)),
        case("linspace_bf16", [], |_| Tensor::<bf16>::linspace(0.0, 1.0, 4)),
    ]);
}

fn slices(cases: &mut Vec<Case>) {
    let x = || floats(&[4, 5], -2.0..2.0);
    let at = |n: i32| ints(&[], &[n]);
    cases.extend([
        case("slice", [x()], |x| x[0].slice((1..3, ..-1))),
        case("slice_step", [x()], |x| x[0].slice((Pick::by(.., 3), Pick::by(1.., 2)))),
        case("slice_backwards", [x()], |x| x[0].slice((Pick::by(.., -1), Pick::by(2..5, -2)))),
        case("slice_index", [x()], |x| x[0].slice((-1, 2..))),
        case("slice_empty", [x()], |x| x[0].slice(2..2)),
        case("slice_inclusive", [x()], |x| x[0].slice((0..=1, ..=-1))),
        case("index_axis", [x()], |x| x[0].index_axis(-1, 3)),
        case("dynamic_slice", [x(), at(1), at(2)], |x| x[0].dynamic_slice(&x[1..], [2, 2])),
        case("dynamic_update_slice", [x(), floats(&[2, 1], 5.0..6.0), at(2), at(4)], |x| {
            x[0].dynamic_update_slice(&x[1], &x[2..])
        }),
    ]);
}
