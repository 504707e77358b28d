use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel( //~ a kernel needs an output
    #[block(m: 8 @ i, n)] a: In<f32>,
) {
    let _ = a[..];
}

fn main() {}
