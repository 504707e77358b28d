use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: element(8) @ i * 4, n)] a: In<f32>, //~ `element` offsets are not supported yet
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
