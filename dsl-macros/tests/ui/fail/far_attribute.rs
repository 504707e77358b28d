use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m, n)]
    #[buffered(2)] //~ how parts of it are fetched is written in the body
    h: Hbm<f32>,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
