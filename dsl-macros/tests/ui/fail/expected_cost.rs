use systole::prelude::*;

#[tpu_kernel(grid(i), cost(flop = 3))] //~ expected what a call costs
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
