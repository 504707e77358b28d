use systole::prelude::*;

#[tpu_kernel(grid(i = s, j = s))] //~ two grid axes have the extent `s`
fn kernel(
    #[extent] s: Scalar<i32>,
    #[block(m: 8 @ i, n: 128 @ j)] a: In<f32>,
    #[block(m: 8 @ i, n: 128 @ j)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
