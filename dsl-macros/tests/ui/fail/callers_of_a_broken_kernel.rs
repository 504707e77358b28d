use systole::prelude::*;

#[tpu_kernel(grid(i: sequential))] //~ unknown semantics `sequential`
fn kernel(
    #[comptime] n_rows: usize,
    #[block(m: 8 @ i, n)] a: In<f32>,
    #[block(m: 8 @ i, n)] o: Out<f32>,
) {
    o[..] = a[..];
}

fn main() {
    let array = Array::zeros(DType::F32, &[8, 128]);
    let _ = kernel(4).call(&array);
}
