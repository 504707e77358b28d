//! The blocks, line for line, each in a function that begins with what its block takes from the text
//! around it and ends with what it gives.

use systole::prelude::*;

/// `c = gelu(a b)`, one `m x n` block of `c` at a time, `k` columns of `a` per step.
#[tpu_kernel(grid(i: parallel, j: parallel, l: arbitrary))]
fn matmul_gelu<T: Float>(
    #[comptime] t: [usize; 3],
    #[block(m: t[0] @ i, k: t[1] @ l)] a: In<T>,
    #[block(k: t[1] @ l, n: t[2] @ j)] b: In<T>,
    #[block(m: t[0] @ i, n: t[2] @ j)] c: Out<T>,
    #[scratch([t[0], t[2]])] acc: Vmem<f32>,
) {
    if l == 0 {
        acc[..] = 0.0;
    }
    acc[..] += dot(a[..], b[..]);
    if l == l.last() {
        let x = acc[..];
        c[..] = (x * 0.5 * ((x * 0.707_106_77).erf() + 1.0)).cast();
    }
}

use std::error::Error;
use systole::run::{Device, Dim, Mesh, Partition, Tensor, grad, jit};

pub(super) fn kernel(a: &Array, b: &Array) -> Result<Array, Box<dyn Error>> {
    Ok(matmul_gelu::<f32>([8, 128, 128]).call(a, b)?)
}

pub(super) fn tensors() -> Result<[Tensor<f32>; 4], Box<dyn Error>> {
    use systole::run::{Mode, Tensor, grad, jit, with_mode};

    let x = Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0], [2, 2])?;
    let y = (&x.matmul(&x) + 1.0).tanh();            // each op is handed to the device, and not waited for
    println!("{y}");                                  // reading waits

    let z = with_mode(Mode::DeferAndFuse, || (&x * 2.0).exp().sum(&[1]));
    println!("{z}");                                  // one program for three ops

    let layer = jit(|x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w).tanh());
    let h = layer.call((x.clone(), x.clone()))?;      // traced and compiled once per type
    let dx = grad(|x: Tensor<f32>| x.matmul(&x).sum(&[0, 1]))(&x)?;

    Ok([y, z, h, dx])
}

#[tpu_kernel]
fn square(#[block(m, n)] x: In<f32>, #[block(m, n)] y: Out<f32>) {
    y[..] = x[..] * x[..];
}

#[tpu_kernel]
fn square_gradient(
    #[block(m, n)] x: In<f32>,
    #[block(m, n)] g: In<f32>,
    #[block(m, n)] dx: Out<f32>,
) {
    dx[..] = x[..] * g[..] * 2.0;
}

#[tpu_kernel]
fn add_into(#[block(m, n)] x: In<f32>, #[block(m, n)] sum: InOut<f32>) {
    sum[..] += x[..];
}

pub(super) fn gradients(
    x: Tensor<f32>,
    sum: Tensor<f32>,
) -> Result<Tensor<f32>, Box<dyn Error>> {
    use systole::diag::Diagnostics;
    use systole::run::{GradientCheck, check_gradient};

    let square = square().with_vjp(|inputs, _outputs, gradients| {
        let dx = square_gradient().call(&inputs[0], &gradients[0])?;      // a kernel again
        Ok::<_, Diagnostics>(vec![Some(dx.to_dyn())])                     // one per input
    });
    let loss = |x: Tensor<f32>| Ok::<_, Diagnostics>(square.call(&x)?.sum(&[0, 1]));
    check_gradient(loss, &x, &GradientCheck::default())?;
    let dx = grad(loss)(&x)?;

    let sum = add_into().call(&dx, sum)?;                                 // `sum: InOut<f32>` moves

    Ok(sum)
}

pub(super) fn bounded() -> Result<Tensor<f32>, Box<dyn Error>> {
    let seq = Dim::buckets([64, 128, 512]).named("seq");
    let pool = jit(|x: Tensor<f32>| x.mean(&[1])).bounded(seq, &[(0, 1)]); // argument 0, axis 1
    let y = pool.call((Tensor::ones([8, 5, 32]),))?;  // compiled for 64; a thread compiles for 128 meanwhile

    Ok(y)
}

pub(super) fn meshes() -> Result<(), Box<dyn Error>> {
    let layer = jit(|x: Tensor<f32>, w: Tensor<f32>| x.matmul(&w).tanh());
    let mesh = Mesh::new(&Device::cpus(8), [("data", 2), ("model", 4)])?;
    let x = mesh.shard(&Tensor::<f32>::ones([16, 64]), ["data", ""]); // rows over `data`
    let w = mesh.shard(&Tensor::<f32>::ones([64, 32]), ["", "model"]); // columns over `model`
    let y = layer.call((x, w))?; // the function from above; split as ["data", "model"]
    let total = mesh.shard_map(
        |y: Tensor<f32>| y.sum(&[0, 1]).all_reduce_sum("data model"),
        [["data", "model"]],
        [Partition::replicated()],
    );
    println!("{}", total.call((y,))?);

    Ok(())
}
