use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[streams(k: 4)] //~ `k` is not an axis of this block
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
