use systole::prelude::*;

#[tpu_kernel(grid(i = n))]
fn kernel(
    #[extent] n: usize, //~ `#[extent]` goes with `Scalar<i32>`
    #[block(m: 8 @ i, k)] a: In<f32>,
    #[block(m: 8 @ i, k)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
