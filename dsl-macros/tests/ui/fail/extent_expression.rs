use systole::prelude::*;

#[tpu_kernel(grid(i = s / 8))] //~ the extent of this axis computes with `s`
fn kernel(
    #[extent] s: Scalar<i32>,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
