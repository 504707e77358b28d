use systole::prelude::*;

#[tpu_kernel(grid(i), grid(i))] //~ `grid` is given twice
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
