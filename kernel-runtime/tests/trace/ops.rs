//! Methods, operators and indices of tiles, by what they compute.

use super::{map, ramp};
use systole::prelude::*;

#[tpu_kernel]
fn arithmetic(#[block(m, n)] x: In<f32>, #[block(m, n)] o: Out<f32>) {
    let x = x[..];
    let s = scalar::<f32>(0.5);
    let row = x.row_max();
    let mut y = 2.0 * x - x * 0.5 + 1.0 - (1.0 - x) / 2.0;
    y += s * x + x * s + (s + 1.0) * 2.0;
    y -= row;
    y *= x.max(0.0).min(x.abs() + s);
    y = y.max(row) + (x - row).exp2() * zeros([8, n]);
    o[..] = -y + x % 3.0 + 3.0 % (x.abs() + 1.0);
}

#[test]
fn numbers_scalars_and_tiles_mix_in_either_order() {
    let x = ramp(&[8, 128]);
    let o = arithmetic().call(&x).unwrap().to_f32();
    for (idx, x) in x.to_f32().into_iter().enumerate() {
        let row = 6.0;
        let mut y = 2.0 * x - x * 0.5 + 1.0 - (1.0 - x) / 2.0;
        y += 0.5 * x + x * 0.5 + 1.5 * 2.0;
        y -= row;
        y *= x.max(0.0).min(x.abs() + 0.5);
        y = y.max(row);
        assert_eq!(o[idx], -y + x % 3.0 + 3.0 % (x.abs() + 1.0), "element {idx}");
    }
}

#[tpu_kernel]
fn integers(#[block(m, n)] x: In<i32>, #[block(m, n)] o: Out<i32>) {
    let x = x[..];
    let odd = x & 1;
    let mask = (x > 2) & !(x == 5) | !scalar::<bool>(true) | (x < 0) ^ (x == 1);
    let y = (select(mask, x << 2, x >> 1) + (odd | 2)) ^ 3;
    o[..] = 3 * y - mask.cast::<i32>() + (10 - x) / 3 + x.pow_like();
}

trait PowLike {
    fn pow_like(self) -> Self;
}

impl PowLike for Tile<i32> {
    fn pow_like(self) -> Tile<i32> {
        self * self * 1usize
    }
}

#[test]
fn integers_have_bitwise_ops() {
    let values: Vec<f64> = (0..8 * 128).map(|i| f64::from(i % 17 - 8)).collect();
    let x = Array::from_f64(DType::I32, &[8, 128], &values).unwrap();
    let o = integers().call(&x).unwrap().to_f64();
    for (idx, x) in values.into_iter().enumerate() {
        let x = x as i32;
        let mask = (x > 2) & (x != 5) | (x < 0) ^ (x == 1);
        let y = ((if mask { x << 2 } else { x >> 1 }) + ((x & 1) | 2)) ^ 3;
        let expected = 3 * y - i32::from(mask) + (10 - x) / 3 + x * x;
        assert_eq!(o[idx], f64::from(expected), "element {idx}, x = {x}");
    }
}

#[tpu_kernel]
fn shapes(#[block(m, n)] x: In<f32>, #[block(p, n)] o: Out<f32>, #[comptime] p: usize) {
    let x = x[..];
    let (top, bottom) = (x.slice((0..4, ..)), x.slice(4..));
    let swapped = concat(&[bottom, top], 0);
    o[(0..8, ..)] = swapped;
    o[(8..16, ..)] = x.roll(1, 1);
    o[(ds(16, 4).stride(2), ..)] = top;
    o[(ds(17, 4).stride(2), ..)] = bottom.broadcast_to([4, n]);
    let column = x.reduce_sum(0);
    o[(24..32, ..)] = column.broadcast_to([8, n]) + x.row_argmax().cast::<f32>();
    let flat = x.reshape([4, 2 * n]).slice((.., 0..n)).slice(1).reshape([1, n]);
    o[(32..40, ..)] = x.permute([1, 0]).transpose() - flat;
}

#[test]
fn tiles_are_rearranged() {
    let x = ramp(&[8, 128]);
    let o = shapes(40).call(&x).unwrap().to_f32();
    let x = x.to_f32();
    let at = |r: usize, c: usize| x[r * 128 + c];
    for r in 0..8 {
        for c in 0..128 {
            let sum: f32 = (0..8).map(|r| at(r, c)).sum();
            let best = (0..128).fold(0, |best, c| if at(r, c) > at(r, best) { c } else { best });
            let interleaved = if r % 2 == 0 { at(r / 2, c) } else { at(4 + r / 2, c) };
            let expected = [
                at((r + 4) % 8, c),
                at(r, (c + 127) % 128),
                interleaved,
                sum + best as f32,
                at(r, c) - at(2, c),
            ];
            let found: Vec<f32> = (0..5).map(|b| o[(b * 8 + r) * 128 + c]).collect();
            assert_eq!(found, expected, "row {r}, column {c}");
        }
    }
}

#[tpu_kernel]
fn products(
    #[block(m, k)] a: In<i8>,
    #[block(n, k)] b: In<i8>,
    #[block(m, n)] o: Out<i32>,
    #[block(n, m)] t: Out<f32>,
) {
    o[..] = dot_t(a[..], b[..]);
    let (a, b) = (a[..].cast::<f32>(), b[..].cast::<f32>());
    let op = DotOp { transpose_lhs: true, transpose_rhs: false, precision: Precision::Highest };
    t[..] = dot_with(b.transpose(), a.transpose(), op);
}

#[test]
fn products_accumulate_in_a_wider_type() {
    let values: Vec<f64> = (0..32 * 64).map(|i| f64::from(i * 7 % 256 - 128)).collect();
    let a = Array::from_f64(DType::I8, &[32, 64], &values).unwrap();
    let (o, t) = products().call(&a, &a).unwrap();
    let (o, t) = (o.to_f64(), t.to_f64());
    for i in 0..32 {
        for j in 0..32 {
            let sum: f64 = (0..64).map(|k| values[i * 64 + k] * values[j * 64 + k]).sum();
            assert_eq!((o[i * 32 + j], t[j * 32 + i]), (sum, sum));
        }
    }
}

#[tpu_kernel(grid(i))]
fn masked(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    let rows = iota([8, 1], 0) + i * 8;
    let inside = rows < m;
    let y = select(inside, x[..], 0.0);
    o[..] = 0.0;
    o.store_masked(.., y + 1.0, inside);
    let total = x.load_masked(.., inside.broadcast_to([8, n]));
    o.store_masked(.., total + y + 1.0, inside);
    device_assert(i >= 0, "a grid index is not negative");
}

#[test]
fn masks_keep_padding_out() {
    let x = ramp(&[12, 128]);
    let o = masked().call(&x).unwrap();
    assert_eq!(o.to_f32(), map(&x, |x| 2.0 * x + 1.0));
}
