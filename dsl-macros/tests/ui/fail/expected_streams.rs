use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[streams(4)] //~ expected the axis and the number of copies
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
