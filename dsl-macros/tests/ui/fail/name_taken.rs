use systole::prelude::*;

#[tpu_kernel(grid(i))] //~ the name `i` is used twice
fn kernel(
    #[comptime] i: usize,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
