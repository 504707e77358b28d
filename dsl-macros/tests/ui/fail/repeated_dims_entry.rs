use systole::prelude::*;

#[tpu_kernel(grid(i), dims(n = 128))] //~ dimension `n` already has its size from an input
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
