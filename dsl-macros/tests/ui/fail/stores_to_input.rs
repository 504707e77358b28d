use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    a[..] = 0.0; //~ cannot store into `systole::prelude::In<f32>`: input blocks are read-only
    o[..] = a[..];
}

fn main() {}
