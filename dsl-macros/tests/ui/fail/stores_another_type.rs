use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
    #[scratch([8])] s: Smem<i32>,
) {
    o[..] = a[..].cast::<bf16>(); //~ bf16>` does not mix with a tile of `f32`
    o[..] += a[..].cast::<bf16>(); //~ bf16>` does not mix with a tile of `f32`
    s[0] = 1.5; //~ Float` is not satisfied
    let mut host = [1, 2];
    host[0] = "one"; //~ mismatched types
    o[..] = a[..] * host[0] as f32;
}

fn main() {}
