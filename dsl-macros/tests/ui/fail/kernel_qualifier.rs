use systole::prelude::*;

#[tpu_kernel(grid(i))]
async fn kernel( //~ a kernel cannot be `async`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
