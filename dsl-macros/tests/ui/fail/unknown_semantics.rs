use systole::prelude::*;

#[tpu_kernel(grid(i: sequential))] //~ unknown semantics `sequential`: a grid axis is `parallel` or `arbitrary`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
