use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[buffered(2)] #[scratch([8, 128])] s: Vmem<f32>, //~ `#[buffered]` goes with `#[block]`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    s[..] = a[..];
    o[..] = s[..];
}

fn main() {}
