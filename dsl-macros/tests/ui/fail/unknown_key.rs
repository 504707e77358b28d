use systole::prelude::*;

#[tpu_kernel(grid(i), smenatics(parallel))] //~ unknown key `smenatics`: expected `grid(..)`, `core(..)`, `mesh(..)`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
