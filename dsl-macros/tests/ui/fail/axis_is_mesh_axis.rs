use systole::prelude::*;

#[tpu_kernel(grid(i), mesh(i = 2))] //~ mesh axis `i` has the same name as a parameter, dimension or grid axis
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
