use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[comptime] #[scratch([8, 128])] s: Vmem<f32>, //~ `s` has two of `#[block]`, `#[prefetch]`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
