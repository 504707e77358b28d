use systole::prelude::*;

#[tpu_kernel(grid(m))] //~ grid axis `m` has the same name as a dimension
fn kernel(
    #[block(m: 8 @ m, n)] a: In<f32>,
    #[block(m: 8 @ m, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
