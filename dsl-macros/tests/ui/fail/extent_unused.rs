use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[extent] steps: Scalar<i32>, //~ no grid axis has the extent `steps`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
