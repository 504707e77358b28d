use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[scratch([8, 128])] s: In<f32>, //~ `#[scratch]` goes with `Vmem<T>`, `Smem<T>`, `Spmem<T>`, `Buffers<T, N>`
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
