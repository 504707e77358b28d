use systole::prelude::*;
use systole::run::Tensor;

#[tpu_kernel(grid(i))]
fn largest(
    #[block(m: 8 @ i, n)] x: In<f32>,
    #[block(m: 8 @ i, one)] at: Out<i32>,
    #[comptime] one: usize,
) {
    at[..] = x[..].row_argmax();
}

fn main() {
    let x = Tensor::<f32>::ones([8, 128]);
    let at: Tensor<i32> = largest(1).call(&x).unwrap();
    let wrong: Tensor<f32> = largest(1).call(&x).unwrap(); //~ mismatched types
    println!("{at} {wrong}");
}
