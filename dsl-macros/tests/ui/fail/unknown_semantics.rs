use systole::prelude::*;

#[tpu_kernel(grid(i: sequential))] //~ unknown semantics `sequential`: a grid axis is `parallel`, `arbitrary` or `core_parallel`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
