//! Indexing, running sums and sorts.

use super::super::{Case, floats, ints, tensor};
use super::case;
use systole::prelude::*;
use systole::run::Order;

pub(super) fn add(cases: &mut Vec<Case>) {
    let x = || floats(&[4, 3], -2.0..2.0);
    let ids = || ints(&[2, 2], &[0, 3, -1, 1]);
    cases.extend([
        case("take", [x(), ids()], |x| x[0].take(&x[1], 0)),
        case("take_last", [x(), ints(&[3], &[2, 0, -3])], |x| x[0].take(&x[1], -1)),
        case("take_scalar", [x(), ints(&[], &[2])], |x| x[0].take(&x[1], 0)),
        case("take_at", [x(), ids(), ints(&[2], &[2, -3])], |x| x[0].take_at(&x[1..])),
        case("take_at_rows", [x(), ints(&[3], &[1, 1, 0])], |x| x[0].take_at(&x[1..])),
        case("put_at", [x(), ints(&[2], &[3, 0]), floats(&[2, 3], 5.0..6.0)], |x| {
            x[0].put_at(&x[1..2], &x[2])
        }),
        case("put_at_points", [x(), ids(), ints(&[2], &[2, 0]), floats(&[2, 1], 5.0..6.0)], |x| {
            x[0].put_at(&x[1..3], &x[3])
        }),
        case("add_at", [x(), ints(&[3], &[3, 0, -1]), floats(&[3, 3], 5.0..6.0)], |x| {
            x[0].add_at(&x[1..2], &x[2])
        }),
        case("add_at_row", [x(), ints(&[4], &[1, 1, 2, 1]), floats(&[3], 5.0..6.0)], |x| {
            x[0].add_at(&x[1..2], &x[2])
        }),
        case("take_along_axis", [x(), ints(&[4, 2], &[0, 2, -1, 1, 1, 1, 2, 0])], |x| {
            x[0].take_along_axis(&x[1], 1)
        }),
        case("take_along_first", [x(), ints(&[1, 3], &[0, 3, -2])], |x| {
            x[0].take_along_axis(&x[1], 0)
        }),
        case(
            "put_along_axis",
            [x(), ints(&[4, 1], &[0, 2, -1, 1]), floats(&[4, 1], 5.0..6.0)],
            |x| x[0].put_along_axis(&x[1], -1, &x[2]),
        ),
        case("one_hot", [ints(&[2, 2], &[0, 3, -1, 9])], |x| x[0].one_hot::<f32>(4)),
        case("one_hot_u8", [tensor(DType::U8, &[3], &[2.0, 255.0, 0.0])], |x| {
            x[0].one_hot::<u8>(3)
        }),
        case("cumsum", [floats(&[3, 5], -1.0..1.0)], |x| x[0].cumsum(-1)),
        case("cumsum_first", [floats(&[5, 2], -1.0..1.0)], |x| x[0].cumsum(0)),
        case("cumprod", [floats(&[2, 6], 0.6..1.5)], |x| x[0].cumprod(1)),
        case("cummax", [floats(&[9], -2.0..2.0)], |x| x[0].cummax(0)),
        case("cummin", [floats(&[9], -2.0..2.0)], |x| x[0].cummin(0)),
        case("sort", [floats(&[2, 7], -2.0..2.0)], |x| x[0].sort(-1, Order::Ascending)),
        case("sort_descending", [floats(&[7, 2], -2.0..2.0)], |x| x[0].sort(0, Order::Descending)),
        case("argsort", [floats(&[2, 7], -2.0..2.0)], |x| x[0].argsort(1, Order::Ascending)),
        case("argsort_descending", [floats(&[7], -2.0..2.0)], |x| {
            x[0].argsort(0, Order::Descending)
        }),
        case("top_k", [floats(&[2, 6], -2.0..2.0)], |x| x[0].top_k(3, -1)),
        case("top_k_first", [floats(&[5, 2], -2.0..2.0)], |x| x[0].top_k(2, 0)),
    ]);
}
