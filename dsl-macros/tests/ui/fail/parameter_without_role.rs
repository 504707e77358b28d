use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    scale: f32, //~ what is `scale`?
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..] * scale;
}

fn main() {}
