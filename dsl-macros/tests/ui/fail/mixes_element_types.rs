use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let x = a[..].cast::<bf16>();
    let y = a[..] * x; //~ bf16>` does not mix with a tile of `f32`
    o[..] = y;
}

fn main() {}
