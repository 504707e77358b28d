use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[bolck(m, n)] b: In<f32>, //~ unknown attribute `#[bolck]`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
