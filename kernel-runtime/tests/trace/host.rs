//! Host code in a body keeps its meaning: comparisons, stores and indices of host values.

use super::{map, ramp};
use std::collections::HashMap;
use systole::prelude::*;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Fast,
    Slow,
}

#[tpu_kernel(grid(i))]
fn comparisons(
    #[comptime] bk: usize,
    #[comptime] mode: Mode,
    #[comptime] name: &'static str,
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let k32 = bk as i32;
    let mut n_true = 0;
    let host = [
        bk == 128 && mode == Mode::Fast || name == "abc",
        Some(bk) == None,
        1.5 < 2.5,
        vec![1, 2] == [1, 2],
        name.to_owned() == *name,
        (1, 'a') < (1, 'b'),
        mode != Mode::Slow,
    ];
    for fact in host {
        n_true += usize::from(fact);
    }
    assert_eq!(n_true, 6);
    let a = i == 0;
    let b = 0 == i;
    let c = bk == i;
    let d = i + 1 < n;
    let e = i * bk >= k32;
    let f = 2 * i + 1 > 2;
    let g = (2 * i + 1).min(7) > 2;
    let h = name == "abc";
    let all = h && a && !c || (d || e) && f && g && b && true;
    let mask = x[..] > 0.5;
    let y = select(mask & (x[..] != 2.0), x[..], -1.0);
    o[..] =
        y + select(all, full([8, n], 10.0), 0.0) + select(0.25 < x[..], full([8, n], 100.0), 0.0);
}

#[test]
fn comparisons_of_host_and_device_values_stand_side_by_side() {
    let x = ramp(&[16, 128]);
    let o = comparisons(128, Mode::Fast, "abc").call(&x).unwrap().to_f32();
    for (idx, x) in x.to_f32().into_iter().enumerate() {
        let base = if x > 0.5 && x != 2.0 { x } else { -1.0 };
        let first = if idx < 8 * 128 { 10.0 } else { 0.0 };
        let positive = if x > 0.25 { 100.0 } else { 0.0 };
        assert_eq!(o[idx], base + first + positive, "element {idx}");
    }
}

struct Point {
    a: Tile<f32>,
    counts: Vec<usize>,
}

#[tpu_kernel]
fn stores(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] o: Out<f32>,
    #[scratch([m, n])] acc: Vmem<f32>,
) {
    acc[..] = x[..];
    acc[..] = acc[..] * 2.0;
    acc[(ds(0, 8), 0..n)] += 1.0;
    let mut v = vec![1, 2, 3];
    v[1] = 5;
    v[2] += v[1] + 1;
    let mut arr = [[1, 2], [3, 4]];
    arr[1][0] += arr[0][1];
    let r = &mut v;
    r[0] = 9;
    assert_eq!((&v[..], arr), (&[9, 5, 9][..], [[1, 2], [5, 4]]));
    let mut map = HashMap::new();
    map.insert("a", 1);
    let mut bufs = [x[..], x[..]];
    bufs[1] = bufs[0] + 1.0;
    let mut p = Point { a: x[..], counts: vec![0; 2] };
    p.a *= 3.0;
    p.counts[map["a"]] |= 6;
    (bufs[0], p.a) = (p.a, bufs[1]);
    assert_eq!(p.counts, [0, 6]);
    let mut matrix = vec![vec![1.0_f32; 2]; 2];
    matrix[1][0] = matrix[0][1] + 1.0;
    o[..] = acc[..] + bufs[0] + p.a * matrix[1][0];
}

#[test]
fn stores_to_host_values_mean_what_they_say() {
    let x = ramp(&[8, 128]);
    let o = stores().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| 2.0 * x + 1.0 + 3.0 * x + (x + 1.0) * 2.0));
}

#[tpu_kernel]
fn generic<const N: usize, T>(
    #[comptime] ops: [fn(Tile<T>) -> Tile<T>; N],
    #[comptime] f: impl Fn(Tile<T>, &str) -> Tile<T> + Clone,
    #[comptime] g: impl Fn(Tile<T>) -> Tile<T> + Copy,
    #[block(m, n)] x: In<T>,
    #[block(m, n)] o: Out<T>,
) where
    T: Float,
{
    let mut y = x[..];
    for op in ops {
        y = op(y);
    }
    o[..] = g(f(y, "half"));
}

#[test]
fn kernels_are_generic_over_types_constants_and_closures() {
    let x = ramp(&[8, 128]);
    let scale = 3.0;
    let kernel = generic::<2, f32, _, _>(
        [|x| x * 2.0, |x| x.abs()],
        |x, name| if name == "half" { x * 0.5 } else { x },
        move |x| x * scale,
    );
    let o = kernel.clone().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| x.abs() * 3.0));
}
