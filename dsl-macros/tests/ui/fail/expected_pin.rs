use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[pinned(smem)] #[block(m: 8 @ i, n)] a: In<f32>, //~ expected where the array lies around the call
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
