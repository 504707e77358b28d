use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[prefetch] ids: Vmem<i32>, //~ `#[prefetch]` goes with `Smem<T>`: `ids`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
