use systole::prelude::*;

#[tpu_kernel(grid(i), mesh(ring = 2, ring = 4))] //~ mesh axis `ring` is declared twice
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
