use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[prefetch] idx: Smem<i32>, //~ `#[prefetch]` is not supported yet
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
