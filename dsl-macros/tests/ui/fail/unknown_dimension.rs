use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, p)] o: Out<f32>, //~ nothing gives dimension `p` its size
) {
    o[..] = a[..];
}

fn main() {}
