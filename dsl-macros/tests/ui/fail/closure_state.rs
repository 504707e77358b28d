use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mut sum = a[..];
    let mut add = |x: Tile<f32>| sum += x; //~ cannot be carried through a device loop or branch
    for _ in 0..4 {
        add(a[..]);
    }
    o[..] = sum;
}

fn main() {}
