use systole::prelude::*;

#[tpu_kernel(grid(i), bounds_checks(on))] //~ expected `bounds_checks(off)`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
