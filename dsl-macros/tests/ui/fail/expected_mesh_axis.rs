use systole::prelude::*;

#[tpu_kernel(grid(i), mesh(4))] //~ expected an axis of the mesh of devices and its size: `mesh(ring = n)`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
