use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    s: Vmem<f32>, //~ `s: Vmem<f32>` needs its shape
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
