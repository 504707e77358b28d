use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block()] b: In<f32>, //~ an array has at least one axis
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
