use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[comptime] s: Vmem<f32>, //~ `s: Vmem<f32>` is memory of the kernel
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
