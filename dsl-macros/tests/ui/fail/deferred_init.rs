use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    let w;
    if i == 0 {
        w = a[..]; //~ `w` gets its first value inside an `if`
    } else {
        w = -a[..]; //~ write `let w = if ..`
    }
    o[..] = w;
}

fn main() {}
