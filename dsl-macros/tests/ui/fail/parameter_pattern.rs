use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[comptime] (p, q): (usize, usize), //~ a parameter of a kernel is a plain name
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let _ = (p, q);
    o[..] = a[..];
}

fn main() {}
