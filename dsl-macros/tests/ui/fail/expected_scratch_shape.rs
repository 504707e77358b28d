use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[scratch] s: Vmem<f32>, //~ expected the shape of the scratch
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
