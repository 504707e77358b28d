use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    #[unroll(4)] //~ `#[unroll]` takes no arguments
    for _ in 0..4 {}
    o[..] = a[..];
}

fn main() {}
