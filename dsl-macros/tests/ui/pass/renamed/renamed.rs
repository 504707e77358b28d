#![deny(warnings)]
use tpu::prelude::*;

#[derive(Carried)]
struct Sum(Tile<f32>);

#[tpu_fn]
fn add(sum: &mut Sum, x: Tile<f32>, i: Scalar<i32>) {
    if i > 0 {
        sum.0 += x;
    }
}

#[tpu_kernel(grid(i))]
fn kernel(#[block(m: 8 @ i, n)] a: In<f32>, #[block(m: 8 @ i, n)] o: Out<f32>) {
    let mut sum = Sum(a[..]);
    for j in 0..4 {
        add(&mut sum, a[..], j);
    }
    o[..] = sum.0;
}

fn main() {
    let _ = kernel();
}
