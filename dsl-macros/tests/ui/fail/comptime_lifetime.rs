use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[comptime] sizes: &[usize], //~ a `#[comptime]` reference needs a lifetime
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..] * sizes[0] as f32;
}

fn main() {}
