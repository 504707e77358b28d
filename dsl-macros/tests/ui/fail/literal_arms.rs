use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let scale = if i == 0 { 2.0 } else { 3.0 }; //~ the arms of an `if` on a device condition cannot produce a `{float}`
    o[..] = a[..] * scale;
}

fn main() {}
