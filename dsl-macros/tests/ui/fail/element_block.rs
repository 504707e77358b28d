use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: element @ i * 4, n)] a: In<f32>, //~ expected a window placed by elements
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
