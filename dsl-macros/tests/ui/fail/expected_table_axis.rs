use systole::prelude::*;

#[tpu_kernel(grid(i))]
fn kernel(
    #[prefetch(b, 8)] ids: Smem<i32>, //~ expected the names of the table's axes
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {}
