use systole::prelude::*;
use systole::run::Tensor;

#[tpu_kernel(grid(i))]
fn add_into(#[block(m: 8 @ i, n)] x: In<f32>, #[block(m: 8 @ i, n)] sum: InOut<f32>) {
    sum[..] += x[..];
}

fn main() {
    let (x, sum) = (Tensor::<f32>::ones([8, 128]), Tensor::<f32>::zeros([8, 128]));
    let _copied = add_into().call(&x, &sum);
    let _added = add_into().call(&x, sum);
    println!("{sum}"); //~ borrow of moved value: `sum`
}
