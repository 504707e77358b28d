use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mask = a[..] > 0.0 && a[..] < 1.0; //~ Tile<bool>` is not an operand of `&&` and `||`
    o[..] = select(mask, a[..], 0.0);
}

fn main() {}
