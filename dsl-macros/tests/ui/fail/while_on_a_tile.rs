use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    while a[..] > 0.0 { //~ Tile<bool>` is not a `while` condition
        o[..] = a[..];
    }
}

fn main() {}
