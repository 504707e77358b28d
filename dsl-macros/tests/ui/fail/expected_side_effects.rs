use systole::prelude::*;

#[tpu_kernel(grid(i), side_effects(maybe))] //~ expected `side_effects(dataflow)`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
