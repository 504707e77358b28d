use systole::prelude::*;

#[tpu_kernel(grid(i), core(tensor))] //~ expected what runs the kernel: `core(sparse)`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
