use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    b: In<f32>, //~ `b: In<f32>` needs `#[block(size: tile @ index, ..)]`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
