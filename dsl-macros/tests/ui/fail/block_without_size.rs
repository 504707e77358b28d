use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m @ i, n)] a: In<f32>, //~ how large is a block of `m`?
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
