use systole::prelude::*;

#[tpu_kernel(grid(i))] //~ bf16>` does not mix with a tile of `f32`
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..].cast::<bf16>();
}

fn main() {}
