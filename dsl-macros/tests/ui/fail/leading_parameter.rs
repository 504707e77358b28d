use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[prefetch] ids: Smem<i32>, //~ `ids` stands after `a`: prefetched tables come first
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
