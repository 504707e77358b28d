use systole::prelude::*;

struct State {
    sum: Tile<f32>,
}

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let mut s = State { sum: a[..] }; //~ `State` cannot be carried through a device loop or branch
    for _ in 0..4 {
        s.sum += a[..];
    }
    o[..] = s.sum;
}

fn main() {}
