use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let y = a[(i..i + 8, ..)]; //~ Scalar<i32>>` is not an index of an axis
    o[..] = y;
}

fn main() {}
